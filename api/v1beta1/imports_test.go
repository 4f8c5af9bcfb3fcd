// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package v1beta1_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// What is refused of what a cluster begins with, and what the refusal says.
func TestRefusedImports(t *testing.T) {
	const one, two = "names either a configMapRef or a secretRef", "exclude each other"
	for name, c := range map[string]struct{ bad, good, says string }{
		"import-of-two":      {"configMapRef: {name: a}, secretRef: {name: b}", "configMapRef: {name: a}", one},
		"import-of-none":     {"prefix: /a/", "secretRef: {name: b}, prefix: /a/", one},
		"import-of-nameless": {"configMapRef: {name: ''}", "configMapRef: {name: a.b}", "name"},
		"import-no-name":     {"secretRef: {name: ../b}", "secretRef: {name: b-1.c}", "name must be the name of a ConfigMap or Secret"},
		"import-long-prefix": {
			"configMapRef: {name: a}, prefix: " + strings.Repeat("p", 1025), "configMapRef: {name: a}, prefix: " + strings.Repeat("p", 1024), "1024",
		},
		"import-and-restore": {"configMapRef: {name: a}}, restore: {backup: b", "configMapRef: {name: a}", two},
	} {
		bad, good := "{bootstrap: {import: {"+c.bad+"}}}", "{bootstrap: {import: {"+c.good+"}}}"
		err := server.Create(t.Context(), ofKind(t, "EtcdCluster", name, bad), strict)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s is accepted, or refused without saying %q: %v", bad, c.says, err)
		}
		wantAccepted(t, server.Create(t.Context(), ofKind(t, "EtcdCluster", name, good), strict), good)
	}
}

// TestImportIsFixed: it is neither changed nor added later; once the cluster has formed it may be removed.
func TestImportIsFixed(t *testing.T) {
	c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "import-fixed"}}
	c.Spec.Bootstrap = &v1beta1.BootstrapSpec{
		Import: &v1beta1.Import{ConfigMapRef: &v1beta1.ImportReference{Name: "a"}},
	}
	if err := server.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	wantFixed := func(when string, change func(*v1beta1.EtcdClusterSpec)) {
		t.Helper()
		changed := c.DeepCopy()
		change(&changed.Spec)
		wantRefused(t, server.Update(t.Context(), changed), when)
	}
	other := func(s *v1beta1.EtcdClusterSpec) { s.Bootstrap.Import.ConfigMapRef.Name = "b" }
	none := func(s *v1beta1.EtcdClusterSpec) { s.Bootstrap = nil }
	wantFixed("another ConfigMap", other)
	wantFixed("none before it has formed", none)
	c.Status.ClusterID = "c1"
	if err := server.Status().Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	wantFixed("another ConfigMap when it has formed", other)
	none(&c.Spec)
	wantAccepted(t, server.Update(t.Context(), c), "none when it has formed")
	wantFixed("an import where there was none", func(s *v1beta1.EtcdClusterSpec) {
		s.Bootstrap = &v1beta1.BootstrapSpec{Import: &v1beta1.Import{ConfigMapRef: &v1beta1.ImportReference{Name: "a"}}}
	})
}
