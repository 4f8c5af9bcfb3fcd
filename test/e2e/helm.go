// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/test/e2e/internal/witness"
)

const (
	// chart is what people install by Helm.
	chart = "charts/etcd-operator"
	// releaseName is the one by which its objects are called as in the manifest.
	releaseName = "etcd-operator"
	clustersCRD = "etcdclusters.etcd-operator.dev"
)

// helm runs Helm: that of HELM, or the pinned one.
func helm(args ...string) (string, error) {
	program := os.Getenv("HELM")
	if program == "" {
		program = filepath.Join(top, "bin", "helm")
	}
	command := exec.Command(program, args...)
	command.Dir = top
	output, err := command.CombinedOutput()
	GinkgoWriter.Printf("helm %v: %v\n%s\n", args, err, output)
	return string(output), err
}

// takesOwnership has Helm take over what others have installed. Helm 4 lets the API server merge, which refuses to change what
// others have set.
func takesOwnership() []string {
	GinkgoHelper()
	version, err := helm("version", "--short")
	Expect(err).NotTo(HaveOccurred())
	if strings.HasPrefix(version, "v3.") {
		return []string{"--take-ownership"}
	}
	return []string{"--take-ownership", "--force-conflicts"}
}

// helmDoes wants Helm to do something to the release, and waits until it is done.
func helmDoes(verb string, args ...string) {
	GinkgoHelper()
	output, err := helm(append([]string{verb, releaseName, "--namespace", deployment.Namespace, "--wait"}, args...)...)
	Expect(err).NotTo(HaveOccurred(), output)
}

// pushedImage is the operator's image as `make images` has pushed it last: its name and its digest.
func pushedImage() (name, digest string) {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(top, "bin", "image.txt"))
	Expect(err).NotTo(HaveOccurred(), "make images")
	tagged, digest, found := strings.Cut(strings.TrimSpace(string(text)), "@")
	Expect(found).To(BeTrue())
	return tagged[:strings.LastIndex(tagged, ":")], digest
}

// thisImage has a release run it.
func thisImage() []string {
	GinkgoHelper()
	name, digest := pushedImage()
	return []string{"--set", "image.repository=" + name, "--set", "image.digest=" + digest}
}

// setBeyondTheManifest is a setting that the manifest does not mention, and so leaves as it is.
const setBeyondTheManifest = "--set=monitoring.serviceMonitorLabels.release=prometheus"

// withoutDescription is the chart of a version whose EtcdCluster had no description yet.
func withoutDescription() string {
	GinkgoHelper()
	older := filepath.Join(GinkgoT().TempDir(), "chart")
	Expect(os.CopyFS(older, os.DirFS(filepath.Join(top, chart)))).To(Succeed())
	for file, change := range map[string]struct{ old, new string }{
		"Chart.yaml": {`(?m)^version: .*$`, "version: 0.0.1"},
		"templates/crds/etcdclusters.yaml": {
			`(?s)(      openAPIV3Schema:\n)        description: .*?\n(        properties:)`, "$1$2",
		},
	} {
		path := filepath.Join(older, file)
		text, err := os.ReadFile(path)
		Expect(err).NotTo(HaveOccurred())
		changed := regexp.MustCompile(change.old).ReplaceAllString(string(text), change.new)
		Expect(changed).NotTo(Equal(string(text)), file)
		Expect(os.WriteFile(path, []byte(changed), 0o600)).To(Succeed())
	}
	return older
}

func ourCRD(name string) *unstructured.Unstructured {
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	crd.SetName(name)
	return crd
}

// clusterDescription is the description of EtcdCluster in the API server, empty if there is none.
func clusterDescription() string {
	GinkgoHelper()
	crd := ourCRD(clustersCRD)
	Expect(api.Get(ctx, keyOf(crd), crd)).To(Succeed())
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	Expect(err).NotTo(HaveOccurred())
	version, _ := versions[0].(map[string]any)
	text, _, err := unstructured.NestedString(version, "schema", "openAPIV3Schema", "description")
	Expect(err).NotTo(HaveOccurred())
	return text
}

// forgetDescription takes it away, as if the API server had an older version.
func forgetDescription() {
	GinkgoHelper()
	patch := []byte(`[{"op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/description"}]`)
	Expect(api.Patch(ctx, ourCRD(clustersCRD), client.RawPatch("application/json-patch+json", patch))).To(Succeed())
	Expect(clusterDescription()).To(BeEmpty())
}

// neverSeen takes away the operator, all its types and its namespace: this Kubernetes has never seen it.
func neverSeen() {
	GinkgoHelper()
	if !isLocal() {
		Skip("removes the operator and its types: on the local cluster only")
	}
	writeManifestOf("registry.example/etcd-operator/etcd-operator:none")
	// A CRD that was created a moment ago takes that long: its storage is not there yet, and kube-apiserver looks again minutes later.
	run("kubectl", "delete", "-f", manifest, "--ignore-not-found", "--timeout=5m")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: deployment.Namespace}}
	Eventually(func() bool { return apierrors.IsNotFound(api.Get(ctx, keyOf(namespace), namespace)) }).Should(BeTrue())
}

// managerArgs are those of the operator's container.
func managerArgs() []string {
	GinkgoHelper()
	var found appsv1.Deployment
	Expect(api.Get(ctx, deployment, &found)).To(Succeed())
	return found.Spec.Template.Spec.Containers[0].Args
}

// operatorUIDs are those of the operator's Pods that serve.
func operatorUIDs() []string {
	GinkgoHelper()
	all := map[string]bool{}
	for _, p := range operatorPods(Default) {
		if p.DeletionTimestamp == nil && witness.IsReady(p) {
			all[string(p.UID)] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
