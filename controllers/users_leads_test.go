// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/lease"
	"github.com/etcd-operator/etcd-operator/internal/users"
)

// TestRunsAskAgainWhoLeads: a run over many users takes longer than a replica may rely on what it has read at the start.
func TestRunsAskAgainWhoLeads(t *testing.T) {
	clock, asked, holds := time.Unix(1_700_000_000, 0), 0, error(nil)
	p := &userRun{UsersReconciler: &UsersReconciler{now: func() time.Time { return clock }, leads: func(context.Context) error {
		asked++
		return holds
	}}, view: users.View{Cluster: &v1beta1.EtcdCluster{}}}
	for range 3 {
		if err := p.carryOut(t.Context(), &target{}, users.RecordUnmanaged{}); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times at one moment", asked)
	}
	clock, holds = clock.Add(leadsFor), lease.ErrNotLeading
	for _, o := range []users.Operation{users.RecordUnmanaged{}, users.EnableAuth{}, users.DeleteUser{}, users.RemoveFinalizer{}} {
		if err := p.carryOut(t.Context(), &target{}, o); !errors.Is(err, lease.ErrNotLeading) { // else there is no member, object or client
			t.Errorf("%s: got %v", o, err)
		}
	}
}
