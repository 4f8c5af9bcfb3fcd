// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
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

// Without a logger, clients complain that there is none.
func init() { ctrl.SetLogger(GinkgoLogr) }

func connect() {
	var err error
	config, err = clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	api = clientFor(v1beta1.GroupVersion)
}

// clientFor is a client that reads and writes the operator's kinds in a version.
func clientFor(version schema.GroupVersion) client.Client {
	GinkgoHelper()
	scheme := runtime.NewScheme()
	Expect(v1beta1.AddVersion(scheme, version)).To(Succeed())
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, olm.AddToScheme, operatorsv1.AddToScheme, operatorsv2.AddToScheme,
	} {
		Expect(add(scheme)).To(Succeed())
	}
	straight, err := client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return patient{straight}
}

// asEarlier reads and writes the operator's kinds in the version that releases up to 0.8 serve alone.
func asEarlier(do func()) {
	GinkgoHelper()
	current := api
	defer func() { api = current }()
	api = clientFor(v1beta1.EarlierVersion)
	do()
}

// watcher is a client that can watch.
func watcher() client.WithWatch {
	GinkgoHelper()
	made, err := client.NewWithWatch(config, client.Options{Scheme: api.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	return made
}

func installCRD() {
	files, err := filepath.Glob(filepath.Join(top, "config/crd/bases/*.yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(files).NotTo(BeEmpty())
	for _, file := range files {
		apply(readObject(file))
	}
	Eventually(func() error { return api.List(ctx, &v1beta1.EtcdClusterList{}, client.Limit(1)) }).Should(Succeed())
}

func readObject(file string) *unstructured.Unstructured {
	GinkgoHelper()
	text, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	object := &unstructured.Unstructured{}
	Expect(yaml.Unmarshal(text, &object.Object)).To(Succeed())
	return object
}

// apply is tried again: the largest CustomResourceDefinition takes an API server that is busy half a minute, which it ends then.
func apply(object *unstructured.Unstructured) {
	GinkgoHelper()
	Eventually(func() error {
		return api.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("e2e"), client.ForceOwnership)
	}).Should(Succeed())
}

func kubectl(args ...string) error {
	command := exec.Command("kubectl", args...)
	command.Stdout, command.Stderr = GinkgoWriter, GinkgoWriter
	return command.Run()
}

// keyOf is where an object is.
func keyOf(object client.Object) client.ObjectKey { return client.ObjectKeyFromObject(object) }
