// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
)

// TestFault82UserIsIssuedAnother: the status of a user has the number of its certificate. When that is revoked its Secret gets another
// one at once, says since when, and the user is ready all the while.
func TestFault82UserIsIssuedAnother(t *testing.T) {
	w := newUsers(t, "users-revoked")
	operator := w.reconciler(interceptor.Funcs{})
	u := w.user("app")
	w.mustSettle(operator)
	w.get(u)
	first := u.Status.Serial
	if first == "" || first != certs.Serial(w.secret(u)) {
		t.Fatalf("the status says %q, and the certificate %q", first, certs.Serial(w.secret(u)))
	}
	password := &v1beta1.EtcdUser{
		ObjectMeta: w.named("p"), Spec: v1beta1.EtcdUserSpec{Cluster: "a", Authentication: v1beta1.PasswordAuthentication},
	}
	w.create(password)
	w.mustSettle(operator)
	w.get(password)
	kept := string(w.secret(password).Data["password"])
	before := time.Now().Add(-time.Second)
	w.update(w.cluster, func() {
		w.cluster.Spec.TLS.Revocations = []v1beta1.Revocation{{Serial: first, Reason: "leaked"}, {Serial: password.Status.Serial}}
	})
	w.mustSettle(operator)
	w.get(u)
	second := w.secret(u)
	if u.Status.Serial == first || u.Status.Serial != certs.Serial(second) {
		t.Errorf("the status says %q after %q, and the certificate %q", u.Status.Serial, first, certs.Serial(second))
	}
	w.wantReady(u.Status.Conditions, v1beta1.ConditionReady, v1beta1.ReasonSynced)
	at, err := time.Parse(time.RFC3339, second.Annotations[v1beta1.AnnotationWrittenAt])
	if err != nil || at.Before(before.Truncate(time.Second)) {
		t.Errorf("it was written at %q, after %s: %v", second.Annotations[v1beta1.AnnotationWrittenAt], before, err)
	}
	if got := string(w.secret(password).Data["password"]); got != kept || w.etcd.Password("p") != kept {
		t.Error("a password has changed with the certificate beside it")
	}
}
