// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/etcdtest"
)

// A users is a namespace with a cluster of one member, which is a fake etcd, and a reconciler that is called by hand.
type users struct {
	t         *testing.T
	namespace string
	cluster   *v1beta1.EtcdCluster
	etcd      *etcdtest.Cluster
	events    *events.FakeRecorder
}

func newUsers(t *testing.T, namespace string) *users {
	return newEtcd(t, namespace, v1beta1.EtcdClusterSpec{})
}

func newEtcd(t *testing.T, namespace string, spec v1beta1.EtcdClusterSpec) *users {
	w := &users{t: t, namespace: namespace, etcd: etcdtest.New("a-0"), events: events.NewFakeRecorder(1000)}
	w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	w.cluster = &v1beta1.EtcdCluster{ObjectMeta: w.named("a"), Spec: spec}
	w.create(w.cluster)
	w.cluster.Status.ClusterID = "c1"
	w.write(w.cluster)
	held := certs.Read(w.cluster, func(string) *corev1.Secret { return nil })
	for _, name := range certs.Names(w.cluster) {
		secret, err := held.Make(rand.Reader, time.Now(), w.cluster, name)
		if err != nil {
			t.Fatal(err)
		}
		w.create(secret)
	}
	pod := &corev1.Pod{ObjectMeta: w.named("a-0"), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "etcd", Image: "etcd"}}}}
	pod.Labels = specs.MemberSelector(w.cluster)
	w.create(pod)
	pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, "10.0.0.1"
	pod.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.1"}}
	w.write(pod)
	return w
}

func (w *users) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

func (w *users) create(object client.Object) {
	w.t.Helper()
	if err := server.Create(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

func (w *users) write(object client.Object) {
	w.t.Helper()
	if err := server.Status().Update(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

// update changes an object as it is now.
func (w *users) update(object client.Object, change func()) {
	w.t.Helper()
	w.get(object)
	change()
	if err := server.Update(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

func (w *users) get(object client.Object) {
	w.t.Helper()
	if err := server.Get(w.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		w.t.Fatal(err)
	}
}

func (w *users) delete(object client.Object) {
	w.t.Helper()
	if err := server.Delete(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

func (w *users) isGone(object client.Object) bool {
	return apierrors.IsNotFound(server.Get(w.t.Context(), client.ObjectKeyFromObject(object), object))
}

func (w *users) user(name string, roles ...string) *v1beta1.EtcdUser {
	u := &v1beta1.EtcdUser{ObjectMeta: w.named(name), Spec: v1beta1.EtcdUserSpec{Cluster: "a", Roles: roles}}
	w.create(u)
	return u
}

func (w *users) role(name, prefix string) *v1beta1.EtcdRole {
	r := &v1beta1.EtcdRole{ObjectMeta: w.named(name), Spec: v1beta1.EtcdRoleSpec{
		Cluster: "a", Permissions: []v1beta1.EtcdPermission{{Access: v1beta1.ReadAccess, Prefix: &prefix}},
	}}
	w.create(r)
	return r
}

// secret is that of a user; nil if there is none.
func (w *users) secret(u *v1beta1.EtcdUser) *corev1.Secret {
	w.t.Helper()
	var secret corev1.Secret
	err := server.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: u.Secret()}, &secret)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return &secret
}

// Member makes the world a dialer.
func (w *users) Member(_ context.Context, _ *v1beta1.EtcdCluster, m cluster.Member) (etcd.Client, error) {
	if m.Pod.Address != "10.0.0.1" || m.Pod.UID == "" {
		return nil, errors.New("no member is there")
	}
	return w.etcd.Client(m.Name), nil
}

// Keep has nothing to keep.
func (w *users) Keep(context.Context, *v1beta1.EtcdCluster, []cluster.Member) {}

// Probe sees nothing: no authority is rotated.
func (w *users) Probe(_ context.Context, _ *v1beta1.EtcdCluster, m cluster.Member) certs.TLSProbe {
	return certs.TLSProbe{Member: m.Name}
}

// reconciler is an operator whose writes go through that.
func (w *users) reconciler(through interceptor.Funcs) *controllers.UsersReconciler {
	return controllers.NewUsersReconciler(interceptor.NewClient(live, through), w, w.events, time.Now)
}

// settle looks until a look changes nothing in etcd and nothing is left that can be done in seconds, and returns the result of the last.
func (w *users) settle(operator *controllers.UsersReconciler) (ctrl.Result, error) {
	for {
		before := w.etcd.Log()
		result, err := operator.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: "a"}})
		switch same := slices.Equal(before, w.etcd.Log()); {
		case err != nil || same && result.RequeueAfter > time.Second:
			return result, err
		case same && result.RequeueAfter > 0:
			time.Sleep(result.RequeueAfter)
		case same:
			return result, nil
		}
	}
}

func (w *users) mustSettle(operator *controllers.UsersReconciler) ctrl.Result {
	w.t.Helper()
	result, err := w.settle(operator)
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

// did returns what was done in etcd since the last time that it had so many entries.
func (w *users) did(since int) []string { return w.etcd.Log()[since:] }

func (w *users) wantReady(conditions []metav1.Condition, kind, reason string) {
	w.t.Helper()
	if c := meta.FindStatusCondition(conditions, kind); c == nil || c.Reason != reason {
		w.t.Errorf("condition %s is %+v, want the reason %s", kind, c, reason)
	}
}

// enableByHand enables authentication as a person does, with a root that has a password.
func (w *users) enableByHand() {
	w.t.Helper()
	root := w.etcd.Client("a-0")
	for _, do := range []func(context.Context) error{
		func(ctx context.Context) error { return second(root.AddUser(ctx, "root", "secret")) },
		func(ctx context.Context) error { return second(root.AddRole(ctx, "root")) },
		func(ctx context.Context) error { return second(root.GrantRole(ctx, "root", "root")) },
		root.EnableAuth,
	} {
		if err := do(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
}

// Source is for adoptions, of which there are none here.
func (w *users) Source(context.Context, *v1beta1.EtcdCluster, string) (etcd.Client, error) {
	return nil, errors.New("no running cluster is adopted here")
}
