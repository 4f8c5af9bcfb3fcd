// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package v1beta1_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// server is one kube-apiserver with the CRD, for all tests of this package.
var server client.Client

func TestMain(m *testing.M) {
	environment := &envtest.Environment{CRDDirectoryPaths: []string{"../../config/crd/bases"}, ErrorIfCRDPathMissing: true}
	if err := start(environment); err != nil {
		fmt.Fprintln(os.Stderr, err)
		_ = environment.Stop()
		os.Exit(1)
	}
	code := m.Run()
	if err := environment.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the API server:", err)
	}
	os.Exit(code)
}

func start(environment *envtest.Environment) error {
	config, err := environment.Start()
	if err != nil {
		return fmt.Errorf("start an API server with the CRD: %w", err)
	}
	config.QPS, config.Burst = 200, 400
	if err := v1beta1.AddToScheme(clientgoscheme.Scheme); err != nil {
		return fmt.Errorf("add the kinds to the scheme: %w", err)
	}
	server, err = client.New(config, client.Options{Scheme: clientgoscheme.Scheme})
	return err
}

// strict refuses fields that the CRD does not have, as kubectl does.
var strict = client.FieldValidation("Strict")

// written is an EtcdCluster just as a user writes it, with no Go type in between
// that could add or drop a field.
func written(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(spec), &fields); err != nil {
		t.Fatalf("the test's own YAML %q: %v", spec, err)
	}
	c := &unstructured.Unstructured{Object: map[string]any{"spec": fields}}
	c.SetGroupVersionKind(v1beta1.GroupVersion.WithKind("EtcdCluster"))
	c.SetNamespace("default")
	c.SetName(name)
	return c
}

// create makes an EtcdCluster that stays until the test ends.
func create(t *testing.T, name, spec string) *v1beta1.EtcdCluster {
	t.Helper()
	if err := server.Create(t.Context(), written(t, name, spec), strict); err != nil {
		t.Fatalf("create with %s: %v", spec, err)
	}
	c := get(t, name)
	t.Cleanup(func() {
		if err := server.Delete(context.Background(), c); err != nil {
			t.Errorf("delete %s: %v", name, err)
		}
	})
	return c
}

func get(t *testing.T, name string) *v1beta1.EtcdCluster {
	t.Helper()
	c := &v1beta1.EtcdCluster{}
	if err := server.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, c); err != nil {
		t.Fatalf("get %s: %v", name, err)
	}
	return c
}

// tryCreate asks whether an EtcdCluster would be accepted.
func tryCreate(t *testing.T, name, spec string) error {
	t.Helper()
	return server.Create(t.Context(), written(t, name, spec), client.DryRunAll, strict)
}

// tryUpdate asks whether an existing EtcdCluster could get another spec.
func tryUpdate(t *testing.T, name, spec string) error {
	t.Helper()
	c := written(t, name, spec)
	c.SetResourceVersion(get(t, name).ResourceVersion)
	return server.Update(t.Context(), c, client.DryRunAll, strict)
}

func wantAccepted(t *testing.T, err error, what string) {
	t.Helper()
	if err != nil {
		t.Errorf("refused: %s\n%v", what, err)
	}
}

// wantRefused wants an error that says all the words, and that is not CEL's own
// complaint about a rule.
func wantRefused(t *testing.T, err error, what string, says ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("accepted: %s", what)
		return
	}
	for _, word := range says {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s is refused without saying %q:\n%v", what, word, err)
		}
	}
	for _, word := range []string{"no such key", "evaluation", "failed rule", "no such overload"} {
		if strings.Contains(err.Error(), word) {
			t.Errorf("%s makes a rule fail to be evaluated:\n%v", what, err)
		}
	}
}
