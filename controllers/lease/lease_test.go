// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// apiServer answers each read with one lease, or fails.
type apiServer struct {
	client.Reader
	lease coordinationv1.LeaseSpec
	asked client.ObjectKey
	err   error
}

func (s *apiServer) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	s.asked = key
	into.(*coordinationv1.Lease).Spec = s.lease //nolint:forcetypeassert // another type is a failure of the test
	return s.err
}

type namedLock struct{ resourcelock.Interface }

func (namedLock) Identity() string { return "us" }
func (namedLock) Describe() string { return "ns/etcd-operator.dev" }

// TestFault11LeaseIsReadAgain: a replica that was stopped for a while learns from the API
// server, and from nothing else, that it no longer leads (faults 11 and 12).
func TestFault11LeaseIsReadAgain(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	renewed := func(ago time.Duration) *metav1.MicroTime { return ptr.To(metav1.NewMicroTime(now.Add(-ago))) }
	for _, c := range []struct {
		name  string
		lease coordinationv1.LeaseSpec
		leads bool
	}{
		{"ours, renewed just now", coordinationv1.LeaseSpec{HolderIdentity: ptr.To("us"), RenewTime: renewed(0)}, true},
		{"ours, about to run out", coordinationv1.LeaseSpec{HolderIdentity: ptr.To("us"), RenewTime: renewed(Duration)}, true},
		{"ours, run out", coordinationv1.LeaseSpec{HolderIdentity: ptr.To("us"), RenewTime: renewed(Duration + time.Millisecond)}, false},
		{"ours, never renewed", coordinationv1.LeaseSpec{HolderIdentity: ptr.To("us")}, false},
		{"of another", coordinationv1.LeaseSpec{HolderIdentity: ptr.To("them"), RenewTime: renewed(0)}, false},
		{"given up", coordinationv1.LeaseSpec{HolderIdentity: ptr.To(""), RenewTime: renewed(0)}, false},
		{"of nobody", coordinationv1.LeaseSpec{RenewTime: renewed(0)}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			live := &apiServer{lease: c.lease}
			err := Leads(live, namedLock{}, func() time.Time { return now })(t.Context())
			if c.leads && err != nil || !c.leads && !errors.Is(err, ErrNotLeading) {
				t.Errorf("it says %v", err)
			}
			if want := (client.ObjectKey{Namespace: "ns", Name: "etcd-operator.dev"}); live.asked != want {
				t.Errorf("it read the lease %s instead of %s", live.asked, want)
			}
		})
	}
}

func TestALeaseThatCannotBeReadIsNotOurs(t *testing.T) {
	lease := coordinationv1.LeaseSpec{HolderIdentity: ptr.To("us"), RenewTime: ptr.To(metav1.NewMicroTime(time.Now()))}
	if err := Leads(&apiServer{lease: lease, err: errSilent}, namedLock{}, time.Now)(t.Context()); !errors.Is(err, errSilent) {
		t.Errorf("it says %v, and the API server did not answer", err)
	}
}
