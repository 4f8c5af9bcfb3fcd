// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/etcd/etcdtest"
)

// TestUserLives: with the rights of the generated roles, a user and its role are made before authentication is enabled; what is
// changed by hand is put back; and what is deleted is gone from etcd first.
func TestUserLives(t *testing.T) {
	w := newUsers(t, "users-life")
	operator := w.reconciler(interceptor.Funcs{})
	if w.mustSettle(operator); len(w.etcd.Log()) > 0 {
		t.Errorf("a cluster without users is not touched: %q", w.etcd.Log())
	}
	r, u := w.role("orders", "/orders/"), w.user("app", "orders")
	w.update(w.cluster, func() { w.cluster.Spec.Auth.Enabled = true })
	result := w.mustSettle(operator)
	want := []string{
		"add role orders", `grant role orders permission to read keys from "/orders/" up to "/orders0"`,
		"add user app", "grant role orders to user app",
		"add user root", "add role root", "grant role root to user root", "enable authentication",
	}
	if got := w.did(0); !slices.Equal(got, want) {
		t.Errorf("did %q, want %q", got, want)
	}
	if result.RequeueAfter < 5*time.Minute || result.RequeueAfter > 10*time.Minute {
		t.Errorf("looks again after %s", result.RequeueAfter)
	}
	w.get(w.cluster)
	w.wantReady(w.cluster.Status.Conditions, v1beta1.ConditionAuthEnabled, v1beta1.ReasonAuthAsSpecified)
	w.get(r)
	w.wantReady(r.Status.Conditions, v1beta1.ConditionReady, v1beta1.ReasonSynced)
	w.get(u)
	if r.Status.ObservedGeneration != r.Generation || u.Status.ObservedGeneration != u.Generation {
		t.Errorf("generations %d and %d were observed, want %d and %d", r.Status.ObservedGeneration, u.Status.ObservedGeneration, r.Generation,
			u.Generation)
	}
	w.wantBound(u)

	since := len(want)
	root := w.etcd.Client("a-0")
	if _, err := root.GrantRole(t.Context(), "app", "root"); err != nil {
		t.Fatal(err)
	}
	w.mustSettle(operator)
	if got := w.did(since); !slices.Equal(got, []string{"grant role root to user app", "revoke role root from user app"}) {
		t.Errorf("did %q", got)
	}
	since = len(w.etcd.Log())
	w.delete(u)
	w.delete(r)
	w.update(w.cluster, func() { w.cluster.Spec.Auth.Enabled = false })
	w.mustSettle(operator)
	if got := w.did(since); !slices.Equal(got, []string{"delete role orders", "delete user app", "disable authentication"}) {
		t.Errorf("did %q", got)
	}
	if !w.isGone(u) || !w.isGone(r) {
		t.Error("the objects are still there")
	}
	w.get(w.cluster)
	if w.cluster.Status.Auth != nil {
		t.Errorf("status.auth is %+v", w.cluster.Status.Auth)
	}
}

// wantBound wants what an application needs in the Secret of the user app.
func (w *users) wantBound(u *v1beta1.EtcdUser) {
	w.t.Helper()
	w.get(u)
	w.wantReady(u.Status.Conditions, v1beta1.ConditionReady, v1beta1.ReasonSynced)
	secret := w.secret(u)
	if secret == nil || u.Status.Binding == nil || u.Status.Binding.Name != secret.Name || secret.Type != "servicebinding.io/etcd" {
		w.t.Fatalf("the binding is %+v, and the Secret %+v", u.Status.Binding, secret)
	}
	for key, want := range map[string]string{
		"type": "etcd", "provider": "etcd-operator.dev", "host": "a-client." + w.namespace + ".svc", "port": "2379", "username": "app",
		"endpoints": "https://a-client." + w.namespace + ".svc:2379",
	} {
		if got := string(secret.Data[key]); got != want {
			w.t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	block, _ := pem.Decode(secret.Data[corev1.TLSCertKey])
	if block == nil {
		w.t.Fatal("there is no certificate")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil || cert.Subject.CommonName != "app" {
		w.t.Errorf("the certificate is of %s: %v", cert.Subject.CommonName, err)
	}
	if _, has := secret.Data["password"]; has || len(secret.Data["ca.crt"]) == 0 || len(secret.Data["tls.key"]) == 0 {
		w.t.Error("the Secret has a password, or lacks the authority or the key")
	}
}

// TestFault71PasswordSecret: one that is deleted is made again, and set in etcd, as is one that a person changes; and a
// foreign Secret of the name is left alone.
func TestFault71PasswordSecret(t *testing.T) {
	w := newUsers(t, "users-password")
	operator := w.reconciler(interceptor.Funcs{})
	u := &v1beta1.EtcdUser{
		ObjectMeta: w.named("p"), Spec: v1beta1.EtcdUserSpec{Cluster: "a", Authentication: v1beta1.PasswordAuthentication},
	}
	w.create(u)
	w.mustSettle(operator)
	first := string(w.secret(u).Data["password"])
	if len(first) != 32 || w.etcd.Password("p") != first {
		t.Errorf("the password has %d bytes, and etcd knows it: %t", len(first), w.etcd.Password("p") == first)
	}
	w.delete(w.secret(u))
	w.mustSettle(operator)
	if second := string(w.secret(u).Data["password"]); second == first || w.etcd.Password("p") != second {
		t.Error("the password is the same, or etcd does not know the next one")
	}
	secret := w.secret(u)
	w.update(secret, func() { secret.Data["password"] = []byte("correct-horse-battery") })
	w.mustSettle(operator)
	if w.etcd.Password("p") != "correct-horse-battery" {
		t.Error("the password that a person has chosen was not set in etcd")
	}
	if calls := w.etcd.Calls(etcdtest.SetPassword); calls != 2 {
		t.Errorf("the password was set %d times", calls)
	}
	w.create(&corev1.Secret{ObjectMeta: w.named("a-user-q")})
	q := w.user("q")
	w.mustSettle(operator)
	w.get(q)
	w.wantReady(q.Status.Conditions, v1beta1.ConditionReady, v1beta1.ReasonSecretTaken)
	if secret := w.secret(q); len(secret.Data) > 0 {
		t.Error("a foreign Secret was changed")
	}
}

// TestFault115EditedUserSecret: what is edited of a Secret is put right, also under the further names that an application has for it; a key
// that the EtcdUser asks for no longer is removed; and a Secret of the chosen name that another has made is left alone.
func TestFault115EditedUserSecret(t *testing.T) {
	w := newUsers(t, "users-further")
	operator := w.reconciler(interceptor.Funcs{})
	u := &v1beta1.EtcdUser{ObjectMeta: w.named("agent"), Spec: v1beta1.EtcdUserSpec{
		Cluster: "a", Authentication: v1beta1.PasswordAuthentication,
		Secret: &v1beta1.EtcdUserSecret{Name: "cilium-etcd-secrets", Keys: []v1beta1.EtcdUserSecretKey{
			{Key: "etcd-client.key", Value: v1beta1.ValuePrivateKey},
			{Key: "PASSWORD", Value: v1beta1.ValuePassword},
			{Key: "HOSTS", Value: v1beta1.ValueAddress},
		}},
	}}
	w.create(u)
	w.mustSettle(operator)
	first := w.secret(u)
	if first == nil || first.Name != "cilium-etcd-secrets" || !bytes.Equal(first.Data["etcd-client.key"], first.Data["tls.key"]) {
		t.Fatalf("the Secret is %+v", first)
	}
	w.update(first, func() {
		first.Data["HOSTS"], first.Data["stray"], first.Data["password"] = []byte("elsewhere"), []byte("x"), []byte("correct-horse-battery")
	})
	w.mustSettle(operator)
	second := w.secret(u).Data
	if _, stray := second["stray"]; stray || string(second["HOSTS"]) != "a-client."+w.namespace+".svc:2379" {
		t.Errorf("the Secret has HOSTS %q, and a key that nobody asked for: %t", second["HOSTS"], stray)
	}
	if string(second["PASSWORD"]) != "correct-horse-battery" || w.etcd.Password("agent") != "correct-horse-battery" {
		t.Errorf("the password that a person has chosen is %q under the other name", second["PASSWORD"])
	}
	w.update(u, func() { u.Spec.Secret.Keys = u.Spec.Secret.Keys[:1] })
	w.mustSettle(operator)
	if third := w.secret(u).Data; len(third["PASSWORD"]) > 0 || len(third["etcd-client.key"]) == 0 {
		t.Error("a key that is not asked for any more is still there, or another one is gone")
	}
	w.create(&corev1.Secret{ObjectMeta: w.named("of-a-person"), Data: map[string][]byte{"mine": []byte("x")}})
	q := &v1beta1.EtcdUser{ObjectMeta: w.named("q"), Spec: v1beta1.EtcdUserSpec{
		Cluster: "a", Secret: &v1beta1.EtcdUserSecret{Name: "of-a-person"},
	}}
	w.create(q)
	w.mustSettle(operator)
	w.get(q)
	w.wantReady(q.Status.Conditions, v1beta1.ConditionReady, v1beta1.ReasonSecretTaken)
	if theirs := w.secret(q).Data; len(theirs) != 1 {
		t.Errorf("a foreign Secret was changed: %d keys", len(theirs))
	}
}

// TestUsersAreReadOnce: a thousand users cost what there is to do for each, and one more costs only that. Nothing is read again while
// etcd says that nothing else has changed anything.
func TestUsersAreReadOnce(t *testing.T) {
	const many = 120
	w := newUsers(t, "users-many")
	operator := w.reconciler(interceptor.Funcs{})
	w.role("r", "/r/")
	for n := range many {
		w.user(fmt.Sprintf("u-%d", n), "r")
	}
	w.mustSettle(operator)
	if log := w.etcd.Log(); len(log) != 2+2*many {
		t.Errorf("%d changes", len(log))
	}
	if reads := w.etcd.Calls(etcdtest.User) + w.etcd.Calls(etcdtest.Role); reads > 0 || w.etcd.Calls(etcdtest.Users) != 1 {
		t.Errorf("%d users and roles were read, and the list %d times", reads, w.etcd.Calls(etcdtest.Users))
	}
	w.user("one-more", "r")
	w.mustSettle(operator)
	if reads := w.etcd.Calls(etcdtest.User); reads > 0 || w.etcd.Calls(etcdtest.Users) != 1 {
		t.Errorf("%d users were read for one more, and the list %d times", reads, w.etcd.Calls(etcdtest.Users))
	}
	if _, err := w.etcd.Client("a-0").AddUser(t.Context(), "stranger", ""); err != nil {
		t.Fatal(err)
	}
	w.mustSettle(operator)
	if reads := w.etcd.Calls(etcdtest.User); reads != many+1 || w.etcd.Calls(etcdtest.Users) != 2 {
		t.Errorf("%d users were read after a change by other means, and the list %d times", reads, w.etcd.Calls(etcdtest.Users))
	}
}

// TestFinalizersOfUsersAreRemoved: an object that is deleted stays while etcd does not answer, and not a moment longer than the cluster is
// there.
func TestFinalizersOfUsersAreRemoved(t *testing.T) {
	w := newUsers(t, "users-finalizers")
	operator := w.reconciler(interceptor.Funcs{})
	u, r := w.user("u"), w.role("r", "")
	w.mustSettle(operator)
	w.etcd.Stop("a-0")
	w.delete(u)
	w.delete(r)
	if result := w.mustSettle(operator); result.RequeueAfter > time.Minute || w.isGone(u) {
		t.Errorf("looks again after %s; the object is gone: %t", result.RequeueAfter, w.isGone(u))
	}
	w.wantReady(u.Status.Conditions, v1beta1.ConditionReady, v1beta1.ReasonClusterUnreachable)
	w.delete(w.cluster)
	w.mustSettle(operator)
	if !w.isGone(u) || !w.isGone(r) {
		t.Error("the objects are still there")
	}
	late := w.user("late")
	w.mustSettle(operator)
	w.get(late)
	w.wantReady(late.Status.Conditions, v1beta1.ConditionReady, v1beta1.ReasonClusterMissing)
}

// TestOperatorDiesWithUsers: whatever it had done, the next one finishes, and etcd has each user and role once (fault 1).
func TestOperatorDiesWithUsers(t *testing.T) {
	dies(t, "users-dies", 10, func(t *testing.T, namespace string, dying *mortal) {
		w := newUsers(t, namespace)
		r, u := w.role("r", "/r/"), w.user("u", "r")
		p := &v1beta1.EtcdUser{
			ObjectMeta: w.named("p"), Spec: v1beta1.EtcdUserSpec{Cluster: "a", Authentication: v1beta1.PasswordAuthentication},
		}
		w.create(p)
		w.update(w.cluster, func() { w.cluster.Spec.Auth.Enabled = true })
		settle := func() {
			if _, err := w.settle(w.reconciler(dying.funcs())); err != nil && !errors.Is(err, errDead) {
				t.Fatal(err)
			}
			w.mustSettle(w.reconciler(interceptor.Funcs{}))
		}
		settle()
		auth, err := w.etcd.Client("a-0").Auth(t.Context())
		if err != nil || !auth.Enabled || w.etcd.Password("p") != string(w.secret(p).Data["password"]) {
			t.Errorf("authentication %+v, and etcd has the password: %t: %v", auth, w.etcd.Password("p") != "", err)
		}
		w.delete(u)
		w.delete(r)
		settle()
		names, err := w.etcd.Client("a-0").Users(t.Context())
		if err != nil || !slices.Equal(names, []string{"p", "root"}) || !w.isGone(u) || !w.isGone(r) {
			t.Errorf("users %q: %v", names, err)
		}
	})
}

// TestFault72AuthEnabledByHand: it is reported and left as it is, until the spec says so.
func TestFault72AuthEnabledByHand(t *testing.T) {
	w := newUsers(t, "users-by-hand")
	operator := w.reconciler(interceptor.Funcs{})
	w.enableByHand()
	since := len(w.etcd.Log())
	w.mustSettle(operator)
	w.get(w.cluster)
	w.wantReady(w.cluster.Status.Conditions, v1beta1.ConditionAuthEnabled, v1beta1.ReasonAuthEnabledByHand)
	if event := <-w.events.Events; !strings.Contains(event, "set spec.auth.enabled to true") {
		t.Errorf("the event says %q", event)
	}
	w.update(w.cluster, func() { w.cluster.Spec.Auth.Enabled = true })
	w.mustSettle(operator)
	w.update(w.cluster, func() { w.cluster.Spec.Auth.Enabled = false })
	w.mustSettle(operator)
	if got := w.did(since); !slices.Equal(got, []string{"disable authentication"}) {
		t.Errorf("did %q", got)
	}
	w.get(w.cluster)
	w.wantReady(w.cluster.Status.Conditions, v1beta1.ConditionAuthEnabled, v1beta1.ReasonAuthAsSpecified)
}

// TestEtcdRefusesAUser: what etcd answers is in the condition, authentication waits, and it is tried again.
func TestEtcdRefusesAUser(t *testing.T) {
	w := newUsers(t, "users-refused")
	operator := w.reconciler(interceptor.Funcs{})
	u := w.user("u")
	w.update(w.cluster, func() { w.cluster.Spec.Auth.Enabled = true })
	w.etcd.FailBefore(etcdtest.AddUser, errors.New("no room"))
	if _, err := w.settle(operator); err == nil {
		t.Error("no error")
	}
	w.get(u)
	w.wantReady(u.Status.Conditions, v1beta1.ConditionReady, v1beta1.ReasonAccessFailed)
	if log := w.etcd.Log(); len(log) > 0 {
		t.Errorf("did %q", log)
	}
	w.mustSettle(operator)
	w.get(u)
	w.wantReady(u.Status.Conditions, v1beta1.ConditionReady, v1beta1.ReasonSynced)
	if !slices.Contains(w.etcd.Log(), "enable authentication") {
		t.Error("authentication is not enabled")
	}
}

func second[T any](_ T, err error) error { return err }

// TestMemberOfAnotherClusterIsNotAsked: who runs on another cluster's data has other users.
func TestMemberOfAnotherClusterIsNotAsked(t *testing.T) {
	w := newUsers(t, "users-foreign")
	w.cluster.Status.ClusterID = "beef"
	w.write(w.cluster)
	u := w.user("u")
	w.mustSettle(w.reconciler(interceptor.Funcs{}))
	w.get(u)
	w.wantReady(u.Status.Conditions, v1beta1.ConditionReady, v1beta1.ReasonClusterUnreachable)
	if log := w.etcd.Log(); len(log) > 0 {
		t.Errorf("did %q", log)
	}
}
