// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestFault82MembersReadTheList: once a certificate was revoked the Secret that members mount has a list, and stays as it is until
// another one is; a member that starts then reads it, even alone, and before that no member is configured to read what is not there.
func TestFault82MembersReadTheList(t *testing.T) {
	c := example()
	c.Spec.TLS.Revocations = []v1beta1.Revocation{{Serial: "abc"}}
	c.Status.Recovering = "a-0"
	s := newScene(t, c, seen(), secrets(t, now)...)
	member := plan.Apply{Objects: applyAll().Objects[2:3]}
	s.mustDo(member)
	first := s.secret("a-member-tls")
	at := first.Annotations[v1beta1.AnnotationRevokedAt]
	if at == "" || len(first.Data[specs.RevokedKey]) == 0 {
		t.Fatalf("revoked at %q, with a list of %d bytes", at, len(first.Data[specs.RevokedKey]))
	}
	s.mustDo(member)
	if again := s.secret("a-member-tls"); again.ResourceVersion != first.ResourceVersion {
		t.Error("the same list was made again")
	}
	reads := func(name string) bool {
		var pod corev1.Pod
		if !s.get(name, &pod) {
			t.Fatalf("no pod %s", name)
		}
		return pod.Annotations[v1beta1.AnnotationRevokedAt] == at &&
			slices.Contains(specs.Etcd(&pod).Args, "--client-crl-file=/etc/etcd-tls/client.crl")
	}
	s.mustDo(plan.CreatePods{Names: []string{"a-1"}})
	if reads("a-1") {
		t.Error("a member reads a list that was not seen to be there")
	}
	s.view.Target.RevokedAt = at
	s.mustDo(plan.CreatePods{Names: []string{"a-2"}})
	if !reads("a-2") {
		t.Error("a member that starts reads no list")
	}
	s.mustDo(plan.CreatePods{Names: []string{"a-0"}, Forced: true})
	if !reads("a-0") {
		t.Error("a member that goes on alone reads no list")
	}
}
