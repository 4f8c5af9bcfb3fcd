package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

var (
	ctx = context.Background()
	// config and api are an administrator's and never fail on purpose.
	config *rest.Config
	api    client.Client
	// program is the operator, built from this tree.
	program string
	// top is the top of the repository.
	top, _ = filepath.Abs("../..")
	// useDeployed leaves the work to the operator that is deployed in the cluster.
	useDeployed = os.Getenv("E2E_DEPLOYED") == "1"
	// slept is how many replicas the deployed operator had before it was put to sleep.
	slept *int32
)

func connect() {
	var err error
	config, err = clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, v1alpha1.AddToScheme, olm.AddToScheme, operatorsv1.AddToScheme, operatorsv2.AddToScheme,
	} {
		Expect(add(scheme)).To(Succeed())
	}
	straight, err := client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	api = patient{straight}
}

// build builds the operator for as long as the suite runs.
func build() string {
	GinkgoHelper()
	built := filepath.Join(GinkgoT().TempDir(), "etcd-operator")
	run("go", "build", "-o", built, top)
	return built
}

func installCRD() {
	files, err := filepath.Glob(filepath.Join(top, "config/crd/bases/*.yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(files).NotTo(BeEmpty())
	for _, file := range files {
		apply(readObject(file))
	}
	Eventually(func() error { return api.List(ctx, &v1alpha1.EtcdClusterList{}, client.Limit(1)) }).Should(Succeed())
}

func readObject(file string) *unstructured.Unstructured {
	GinkgoHelper()
	text, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	object := &unstructured.Unstructured{}
	Expect(yaml.Unmarshal(text, &object.Object)).To(Succeed())
	return object
}

func apply(object *unstructured.Unstructured) {
	GinkgoHelper()
	Expect(api.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("e2e"), client.ForceOwnership)).To(Succeed())
}

// run runs a program to its end.
func run(name string, args ...string) string {
	GinkgoHelper()
	command := exec.Command(name, args...)
	command.Dir = top
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s %v: %s", name, args, output)
	return string(output)
}

var deployment = client.ObjectKey{Namespace: "etcd-operator-system", Name: "etcd-operator-controller-manager"}

// sleepDeployed scales a deployed operator to nothing, so that ours is the only one.
func sleepDeployed() {
	GinkgoHelper()
	var found appsv1.Deployment
	err := api.Get(ctx, deployment, &found)
	if apierrors.IsNotFound(err) {
		return
	}
	Expect(err).NotTo(HaveOccurred())
	if ptr.Deref(found.Spec.Replicas, 1) > 0 {
		slept = found.Spec.Replicas
		scaleDeployed(0)
	}
	Eventually(func(g Gomega) {
		g.Expect(podsOf(g, deployment.Namespace, client.MatchingLabels(found.Spec.Selector.MatchLabels))).To(BeEmpty())
	}).Should(Succeed())
}

func scaleDeployed(replicas int32) {
	GinkgoHelper()
	var found appsv1.Deployment
	Expect(api.Get(ctx, deployment, &found)).To(Succeed())
	before := client.MergeFrom(found.DeepCopy())
	found.Spec.Replicas = ptr.To(replicas)
	Expect(api.Patch(ctx, &found, before)).To(Succeed())
}

// wakeDeployed brings a deployed operator back to how it was found.
func wakeDeployed() {
	if slept != nil {
		scaleDeployed(*slept)
	}
}
