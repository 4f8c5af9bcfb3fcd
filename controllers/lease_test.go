// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"context"
	"net/http"
	"os"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/controllers/lease"
	"github.com/etcd-operator/etcd-operator/controllers/manager"
)

// A replica is a manager that leads or stands by.
type replica struct {
	leads    <-chan struct{}
	stop     func() // as a Pod that is terminated
	requests *counter
}

// startReplica starts a manager in a namespace with the rights of its role.
func startReplica(t *testing.T, namespace string) *replica {
	t.Helper()
	r := &replica{requests: &counter{}}
	config := rest.CopyConfig(rights)
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			r.requests.note(request)
			return inner.RoundTrip(request)
		})
	})
	started, err := manager.NewIdle(config, manager.Options{
		MetricsAddress: "0", ProbeAddress: "0", LeaderElect: true, LeaseNamespace: namespace, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- started.Start(ctx) }()
	stopped := false
	r.leads, r.stop = started.Elected(), func() {
		if cancel(); !stopped {
			stopped = true
			if err := <-ended; err != nil {
				t.Errorf("the manager: %v", err)
			}
		}
	}
	t.Cleanup(r.stop)
	return r
}

// newLeaseNamespace is one in which the operator may have a Lease, by the role that is
// installed.
func newLeaseNamespace(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile("../config/rbac/leader_election_role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.Role{}
	if err := yaml.UnmarshalStrict(text, role); err != nil {
		t.Fatal(err)
	}
	role.Namespace = name
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "operator"}},
	}
	for _, object := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, role, binding} {
		if err := server.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// leadsInTime waits until the replica leads, and says how long that took.
func leadsInTime(t *testing.T, r *replica) time.Duration {
	t.Helper()
	began := time.Now()
	select {
	case <-r.leads:
	case <-time.After(patience):
		t.Fatalf("it does not lead after %s", patience)
	}
	return time.Since(began)
}

// TestStandbyTakesOverAtOnce: when the lease is given up, which one that stops does, and not before. While one
// leads and the other stands by they ask the API server about once in two seconds.
func TestStandbyTakesOverAtOnce(t *testing.T) {
	t.Parallel() // it mostly waits
	newLeaseNamespace(t, "replicas")
	first := startReplica(t, "replicas")
	leadsInTime(t, first)
	second := startReplica(t, "replicas")

	time.Sleep(2 * time.Second) // they begin
	first.requests.take()
	second.requests.take()
	const idle = 16 * time.Second // longer than a lease lasts that is not renewed
	began := time.Now()
	select {
	case <-second.leads:
		t.Fatal("both lead")
	case <-time.After(idle):
	}
	asked := append(first.requests.take(), second.requests.take()...)
	// Tests of the lease count to the request, by a clock of their own. Here a watch that is late costs a read more.
	if most := time.Since(began).Seconds(); float64(len(asked)) > most || len(asked) == 0 {
		t.Errorf("%d requests in %s, at most %.1f are allowed: %v", len(asked), idle, most, asked)
	}
	var held coordinationv1.Lease
	if err := server.Get(t.Context(), client.ObjectKey{Namespace: "replicas", Name: lease.Name}, &held); err != nil {
		t.Fatal(err)
	}
	if age := time.Since(held.Spec.RenewTime.Time); age > 15*time.Second || ptr.Deref(held.Spec.LeaseDurationSeconds, 0) != 15 {
		t.Errorf("renewed %s ago: %+v", age, held.Spec)
	}

	holder := ptr.Deref(held.Spec.HolderIdentity, "")
	first.stop()
	if err := server.Get(t.Context(), client.ObjectKeyFromObject(&held), &held); err != nil {
		t.Fatal(err)
	}
	if ptr.Deref(held.Spec.HolderIdentity, "") == holder {
		t.Errorf("it was stopped, and has not given the lease up: %+v", held.Spec)
	}
	took := leadsInTime(t, second)
	t.Logf("%d requests in %s; took over in %s", len(asked), idle, took)
}
