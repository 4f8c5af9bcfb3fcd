// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers"
)

// withPassword makes a user that logs in.
func (w *users) withPassword(name string) *v1beta1.EtcdUser {
	u := &v1beta1.EtcdUser{
		ObjectMeta: w.named(name), Spec: v1beta1.EtcdUserSpec{Cluster: "a", Authentication: v1beta1.PasswordAuthentication},
	}
	w.create(u)
	return u
}

// creating has each creation go through that.
func creating(through func(ctx context.Context, create func() error, object client.Object) error) interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.CreateOption) error {
			return through(ctx, func() error { return c.Create(ctx, object, opts...) }, object)
		},
	}
}

// TestFault84UsersOfTheOtherKind: a user that etcd has already may have a known password, or be one that can have none.
func TestFault84UsersOfTheOtherKind(t *testing.T) {
	w := newUsers(t, "users-kind")
	root := w.etcd.Client("a-0")
	for name, password := range map[string]string{"app": "known-to-a-stranger", "job": ""} {
		if _, err := root.AddUser(t.Context(), name, password); err != nil {
			t.Fatal(err)
		}
	}
	app, job := w.user("app"), w.withPassword("job")
	operator := w.reconciler(interceptor.Funcs{})
	w.mustSettle(operator)
	if w.etcd.Password("app") != "" {
		t.Error("the password of before is still valid")
	}
	if got := w.etcd.Password("job"); got == "" || got != string(w.secret(job).Data["password"]) {
		t.Errorf("the user cannot log in: its password is %q", got)
	}
	w.get(app)
	w.get(job)
	w.wantReady(app.Status.Conditions, v1beta1.ConditionReady, v1beta1.ReasonSynced)
	w.wantReady(job.Status.Conditions, v1beta1.ConditionReady, v1beta1.ReasonSynced)
	since := len(w.etcd.Log())
	w.mustSettle(w.reconciler(interceptor.Funcs{}))
	if did := w.did(since); len(did) > 0 {
		t.Errorf("another operator, which finds them, did %q", did)
	}
}

// TestUserAddedMeanwhile: a user that was not there when users were read, and is when it is to be added, is foreign.
func TestUserAddedMeanwhile(t *testing.T) {
	w := newUsers(t, "users-meanwhile")
	u := w.withPassword("app")
	added := false
	operator := w.reconciler(creating(func(ctx context.Context, create func() error, _ client.Object) error {
		if err := create(); err != nil || added {
			return err
		}
		added = true // its Secret is made after users were read, and before it is added
		return second(w.etcd.Client("a-0").AddUser(ctx, "app", ""))
	}))
	if _, err := w.settle(operator); err == nil || !strings.Contains(err.Error(), "added by other means") {
		t.Errorf("got %v", err)
	}
	w.mustSettle(operator)
	if got := w.etcd.Password("app"); got == "" || got != string(w.secret(u).Data["password"]) {
		t.Errorf("the user cannot log in: its password is %q", got)
	}
}

// TestOneUserDoesNotKeepAuth: a user that cannot be made holds back that authentication is enabled, and a condition says so; it holds
// back nothing else.
func TestOneUserDoesNotKeepAuth(t *testing.T) {
	w := newUsers(t, "users-one")
	w.user("u")
	refuses := false
	operator := w.reconciler(creating(func(_ context.Context, create func() error, object client.Object) error {
		if refuses && strings.HasPrefix(object.GetName(), "a-user-") {
			return errors.New("the quota is used up")
		}
		return create()
	}))
	enabled := func(want bool) {
		t.Helper()
		auth, err := w.etcd.Client("a-0").Auth(t.Context())
		if err != nil || auth.Enabled != want {
			t.Errorf("authentication is enabled: %t, want %t: %v", auth.Enabled, want, err)
		}
	}
	refuses = true
	w.user("late")
	w.update(w.cluster, func() { w.cluster.Spec.Auth.Enabled = true })
	if _, err := w.settle(operator); err == nil {
		t.Error("no error")
	}
	enabled(false)
	w.get(w.cluster)
	w.wantReady(w.cluster.Status.Conditions, v1beta1.ConditionAuthEnabled, v1beta1.ReasonAuthChanging)
	message := meta.FindStatusCondition(w.cluster.Status.Conditions, v1beta1.ConditionAuthEnabled).Message
	if !strings.Contains(message, "late: create secret a-user-late: the quota is used up") {
		t.Errorf("the condition says %q", message)
	}
	refuses = false
	w.mustSettle(operator)
	enabled(true)

	refuses = true
	w.user("later")
	w.update(w.cluster, func() { w.cluster.Spec.Auth.Enabled = false })
	if _, err := w.settle(operator); err == nil {
		t.Error("no error")
	}
	enabled(false)
	w.get(w.cluster)
	w.wantReady(w.cluster.Status.Conditions, v1beta1.ConditionAuthEnabled, v1beta1.ReasonAuthAsSpecified)
}

// TestRefusedUserAndOutdatedCluster: Kubernetes refuses the Secret of a user, and another writer was faster at the status of the cluster:
// the condition of authentication follows soon, and not after the pause of what is refused.
func TestRefusedUserAndOutdatedCluster(t *testing.T) {
	w := newUsers(t, "users-outdated")
	resource := schema.GroupResource{Resource: "secrets"}
	through := creating(func(_ context.Context, create func() error, object client.Object) error {
		if strings.HasPrefix(object.GetName(), "a-user-") {
			return apierrors.NewForbidden(resource, object.GetName(), errors.New("the quota is used up"))
		}
		return create()
	})
	isOutdated := true
	through.SubResourceUpdate = func(
		ctx context.Context, c client.Client, sub string, o client.Object, with ...client.SubResourceUpdateOption,
	) error {
		if _, is := o.(*v1beta1.EtcdCluster); is && isOutdated {
			return apierrors.NewConflict(resource, o.GetName(), errors.New("it has changed"))
		}
		return c.SubResource(sub).Update(ctx, o, with...)
	}
	operator := w.reconciler(through)
	w.user("u")
	w.update(w.cluster, func() { w.cluster.Spec.Auth.Enabled = true })
	look := func() time.Duration {
		t.Helper()
		result, err := operator.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.cluster)})
		if err != nil {
			t.Fatal(err)
		}
		return result.RequeueAfter
	}
	if pause := look(); pause > time.Second {
		t.Errorf("looks again after %s", pause)
	}
	isOutdated = false
	if pause := look(); pause < 10*time.Second {
		t.Errorf("looks again after %s at what is refused", pause)
	}
	w.get(w.cluster)
	w.wantReady(w.cluster.Status.Conditions, v1beta1.ConditionAuthEnabled, v1beta1.ReasonAuthChanging)
}

// TestAuthIsEnabledALookLater: a second after the last user was added, when every member knows of it, and no worker sleeps meanwhile.
func TestAuthIsEnabledALookLater(t *testing.T) {
	w := newUsers(t, "users-later")
	clock := time.Now()
	operator := controllers.NewUsersReconciler(live, w, w.events, func() time.Time { return clock })
	look := func(want time.Duration, enables bool) {
		t.Helper()
		request := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: "a"}}
		result, err := operator.Reconcile(t.Context(), request)
		if err != nil || want > 0 && result.RequeueAfter != want || slices.Contains(w.etcd.Log(), "enable authentication") != enables {
			t.Errorf("did %q, looks again after %s, want %s: %v", w.etcd.Log(), result.RequeueAfter, want, err)
		}
	}
	w.update(w.cluster, func() { w.cluster.Spec.Auth.Enabled = true })
	look(time.Second, false)
	clock = clock.Add(time.Second)
	w.user("late")
	look(time.Second, false)
	clock = clock.Add(time.Second - 1)
	look(1, false)
	clock = clock.Add(1)
	look(0, true)
}

// TestRenewedCertificateTellsNoPassword: a Secret that is written with another certificate has the password that etcd knows.
func TestRenewedCertificateTellsNoPassword(t *testing.T) {
	w := newUsers(t, "users-renewed")
	clock := time.Now()
	operator := controllers.NewUsersReconciler(live, w, w.events, func() time.Time { return clock })
	u := w.withPassword("p")
	w.mustSettle(operator)
	before := w.secret(u)
	clock = clock.Add(300 * 24 * time.Hour) // of a year
	w.mustSettle(operator)
	if after := w.secret(u); bytes.Equal(before.Data["tls.crt"], after.Data["tls.crt"]) {
		t.Fatal("the certificate is not renewed")
	}
	w.mustSettle(w.reconciler(interceptor.Funcs{})) // knows no more than what is written
	if did := w.etcd.Log(); !slices.Equal(did, []string{"add user p"}) {
		t.Errorf("did %q", did)
	}
}
