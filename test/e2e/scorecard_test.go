package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// ourTests and builtIn are how many tests the bundle must have.
const (
	builtIn  = 6
	ourTests = 4
)

// scorecard runs the tests of the bundle as the Operator SDK runs them.
func scorecard() {
	It("passes every test of its bundle, without an error or a suggestion", func() {
		t := newTenant()
		DeferCleanup(func() { t.unsubscribe() })
		t.publish(published("0.4.0"))
		t.group()
		t.subscribe(stableChannel)
		t.succeeds("0.4.0")
		bundle := bundleWithTests()

		namespace := newNamespace()
		scorecardAccount(namespace)
		command := exec.Command(filepath.Join(top, "bin", "operator-sdk"), "scorecard", bundle,
			"--namespace", namespace, "--service-account", "scorecard", "--pod-security", "restricted",
			"--untar-image", "quay.io/operator-framework/scorecard-untar:v1.42.2", "--wait-time", "5m", "--output", "json")
		command.Env = os.Environ()
		var said strings.Builder
		command.Stderr = &said
		output, err := command.Output() // it fails when a test does, which is told better below
		var list v1alpha3.TestList
		Expect(json.Unmarshal(output, &list)).To(Succeed(), "%v: %s%s", err, output, &said)
		Expect(list.Items).To(HaveLen(builtIn + ourTests))
		for _, item := range list.Items {
			Expect(item.Status.Results).NotTo(BeEmpty(), "%v", item.Spec.Entrypoint)
			for _, result := range item.Status.Results {
				AddReportEntry(result.Name, string(result.State))
				Expect(result.State).To(Equal(v1alpha3.PassState), "%s: %v %s", result.Name, result.Errors, result.Log)
				Expect(result.Errors).To(BeEmpty(), result.Name)
				Expect(result.Suggestions).To(BeEmpty(), result.Name)
			}
		}
		Expect(err).NotTo(HaveOccurred())
	})
}

// bundleWithTests is the bundle of this tree, with every image by its digest. That matters
// for tests: a node that has an image of a tag does not ask for it again.
func bundleWithTests() string {
	GinkgoHelper()
	run("make", "scorecard-image", "bundle", "REGISTRY="+registry, "IMAGE_REGISTRY="+registry)
	digest, err := os.ReadFile(filepath.Join(top, "bin", "scorecard.digest"))
	Expect(err).NotTo(HaveOccurred())
	bundle := filepath.Join(top, "dist", "bundle")
	config, err := os.ReadFile(filepath.Join(bundle, "tests", "scorecard", "config.yaml"))
	Expect(err).NotTo(HaveOccurred())
	ours := "image: " + registry + "/etcd-operator/etcd-operator-scorecard@" + strings.TrimSpace(string(digest))
	Expect(strings.Count(string(config), ours)).To(Equal(ourTests), "%s", config)
	Expect(strings.Count(string(config), "@sha256:")).To(Equal(ourTests+builtIn), "%s", config)
	return bundle
}

// scorecardAccount lets the tests' Pods do what they need, in one namespace.
func scorecardAccount(namespace string) {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(top, "config/scorecard/rbac.yaml"))
	Expect(err).NotTo(HaveOccurred())
	objects := []client.Object{&corev1.ServiceAccount{}, &rbacv1.Role{}, &rbacv1.RoleBinding{}}
	parts := strings.Split(string(text), "\n---\n")
	Expect(parts).To(HaveLen(len(objects)))
	for i, object := range objects {
		Expect(yaml.UnmarshalStrict([]byte(parts[i]), object)).To(Succeed())
		object.SetNamespace(namespace)
		if binding, is := object.(*rbacv1.RoleBinding); is {
			binding.Subjects[0].Namespace = namespace
		}
		Expect(api.Create(ctx, object)).To(Succeed())
	}
}
