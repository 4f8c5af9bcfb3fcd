// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// TestHoldingOf: a Lease is held until twice its time has passed since it was renewed.
func TestHoldingOf(t *testing.T) {
	leases := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	silent := errors.New("no route to host")
	lease := func(holder string, age time.Duration, lasts *int32) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, RenewTime: &metav1.MicroTime{Time: noon.Add(-age)}, LeaseDurationSeconds: lasts,
		}}
	}
	for _, test := range []struct {
		what  string
		lease *coordinationv1.Lease
		err   error
		want  Holding
		fails error
	}{
		{what: "just renewed", lease: lease("a", 0, ptr.To[int32](15)), want: Held},
		{what: "renewed by a clock that is ahead", lease: lease("a", -time.Hour, ptr.To[int32](15)), want: Held},
		{what: "late", lease: lease("a", 30*time.Second, ptr.To[int32](15)), want: Held},
		{what: "over", lease: lease("a", 31*time.Second, ptr.To[int32](15)), want: Ended},
		{what: "a longer one", lease: lease("a", 31*time.Second, ptr.To[int32](60)), want: Held},
		{what: "without a duration", lease: lease("a", 30*time.Second, nil), want: Held},
		{what: "without a duration, over", lease: lease("a", 31*time.Second, nil), want: Ended},
		{what: "given up", lease: lease("", 0, ptr.To[int32](1)), want: Ended},
		{what: "never held", lease: &coordinationv1.Lease{}, want: Ended},
		{what: "gone", err: apierrors.NewNotFound(leases, Name), want: Ended},
		{what: "not ours to read", err: apierrors.NewForbidden(leases, Name, nil), want: Hidden},
		{what: "not read", err: silent, want: Held, fails: silent},
	} {
		got, err := HoldingOf(test.lease, test.err, noon)
		if got != test.want || !errors.Is(err, test.fails) {
			t.Errorf("%s: %d, %v; want %d, %v", test.what, got, err, test.want, test.fails)
		}
	}
}
