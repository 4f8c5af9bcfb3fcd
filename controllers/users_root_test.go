// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"crypto/rand"
	"slices"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/etcd/etcdtest"
)

// turn takes a pass of the authority of clients, after which members mount what comes of it.
func (w *users) turn(turn cluster.RotationStep) {
	w.t.Helper()
	found := map[string]*corev1.Secret{}
	held := func() certs.KeyMaterial {
		for _, name := range append(certs.Names(w.cluster), w.cluster.RootSecret()) {
			var secret corev1.Secret
			if server.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &secret) == nil {
				found[name] = &secret
			}
		}
		return certs.Read(w.cluster, func(name string) *corev1.Secret { return found[name] })
	}
	now := held()
	made, err := now.Turn(rand.Reader, time.Now(), w.cluster, w.cluster.ClientCA(), turn)
	if err != nil {
		w.t.Fatal(err)
	}
	w.put(made)
	now = held()
	if made, err = now.Make(rand.Reader, time.Now(), w.cluster, "a-member-tls"); err != nil {
		w.t.Fatal(err)
	}
	w.put(made)
}

// put writes a Secret, whether it is there or not.
func (w *users) put(made *corev1.Secret) {
	w.t.Helper()
	var there corev1.Secret
	if server.Get(w.t.Context(), client.ObjectKeyFromObject(made), &there) != nil {
		w.create(made)
		return
	}
	w.update(&there, func() { there.Data, there.Annotations = made.Data, made.Annotations })
}

// TestFault83NotRoot: while the authority of clients is lost authentication is not enabled, also when another one is beside it and when it
// was there a moment ago; then it is.
func TestFault83NotRoot(t *testing.T) {
	w := newUsers(t, "users-not-root")
	operator := w.reconciler(interceptor.Funcs{})
	w.mustSettle(operator) // now the Secrets are remembered
	w.delete(&corev1.Secret{ObjectMeta: w.named("a-client-ca")})
	w.update(w.cluster, func() { w.cluster.Spec.Auth.Enabled = true })
	for _, lost := range []func(){func() {}, func() { w.turn(cluster.RotationStep{Stage: cluster.Introduce, Because: certs.ByLoss}) }} {
		lost()
		if result := w.mustSettle(operator); result.RequeueAfter > time.Minute || len(w.etcd.Log()) > 0 {
			t.Errorf("did %q, and looks again after %s", w.etcd.Log(), result.RequeueAfter)
		}
		w.get(w.cluster)
		w.wantReady(w.cluster.Status.Conditions, v1beta1.ConditionAuthEnabled, v1beta1.ReasonAuthChanging)
	}
	w.turn(cluster.RotationStep{Stage: cluster.Switch})
	w.mustSettle(operator)
	if !slices.Contains(w.etcd.Log(), "enable authentication") {
		t.Errorf("did %q", w.etcd.Log())
	}
	w.get(w.cluster)
	w.wantReady(w.cluster.Status.Conditions, v1beta1.ConditionAuthEnabled, v1beta1.ReasonAuthAsSpecified)
}

// TestFault83ShutOut: etcd says that the operator is not root. The condition says so, until it is.
func TestFault83ShutOut(t *testing.T) {
	w := newUsers(t, "users-shut-out")
	w.update(w.cluster, func() { w.cluster.Spec.Auth.Enabled = true })
	w.mustSettle(w.reconciler(interceptor.Funcs{}))
	next := w.reconciler(interceptor.Funcs{}) // has nothing read yet
	w.etcd.FailBefore(etcdtest.Users, rpctypes.ErrUserNotFound)
	if result := w.mustSettle(next); result.RequeueAfter > time.Minute {
		t.Errorf("looks again after %s", result.RequeueAfter)
	}
	w.get(w.cluster)
	w.wantReady(w.cluster.Status.Conditions, v1beta1.ConditionAuthEnabled, v1beta1.ReasonOperatorNotRoot)
	w.mustSettle(next)
	w.get(w.cluster)
	w.wantReady(w.cluster.Status.Conditions, v1beta1.ConditionAuthEnabled, v1beta1.ReasonAuthAsSpecified)
}

// TestFault83LostAfterAuthByHand: an authority that is lost after a person has enabled authentication locks the operator out, too: it asks
// etcd for what only root may read, although nothing has changed there.
func TestFault83LostAfterAuthByHand(t *testing.T) {
	w := newUsers(t, "users-hand-lost")
	w.enableByHand()
	operator := w.reconciler(interceptor.Funcs{})
	w.mustSettle(operator)
	w.delete(&corev1.Secret{ObjectMeta: w.named("a-client-ca")})
	w.etcd.FailBefore(etcdtest.Users, rpctypes.ErrUserNotFound)
	w.mustSettle(operator)
	w.get(w.cluster)
	w.wantReady(w.cluster.Status.Conditions, v1beta1.ConditionAuthEnabled, v1beta1.ReasonOperatorNotRoot)
}
