// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// TestWhatDisturbs: what stops a Pod, takes clients from it, changes the membership, moves leadership, forces a new cluster or deletes
// data rests on answers of members that are new.
func TestWhatDisturbs(t *testing.T) {
	disturb := []plan.Step{
		plan.AddLearner{},
		plan.UpdatePeerURLs{},
		plan.Promote{},
		plan.RemoveMember{},
		plan.MoveLeader{},
		plan.UpdateImage{},
		plan.DeleteVolume{},
		plan.Expire{},
		plan.CreatePods{Names: []string{"a-0"}, Forced: true},
		plan.DeletePods{How: plan.Plainly},
		plan.DeletePods{How: plan.DryRun},
		plan.DeletePods{How: plan.Detached},
		plan.MarkPods{As: plan.Detach},
	}
	others := []plan.Step{
		plan.Record{},
		plan.ResizePod{},
		plan.Downgrade{},
		plan.DisarmAlarm{},
		plan.Quarantine{},
		plan.LiftQuarantine{},
		plan.CreateBackup{},
		plan.CreateRestore{},
		plan.Hold{},
		plan.Wait{},
		plan.Refuse{},
		plan.Done{},
		plan.Apply{Objects: []cluster.Object{{Kind: "Secret"}}},
		plan.CreatePods{Names: []string{"a-0"}},
		plan.DeletePods{How: plan.AtOnce},
		plan.MarkPods{As: plan.Attach},
		plan.MarkPods{As: plan.Existing},
		plan.MarkPods{As: plan.Comparing},
		plan.MarkPods{As: plan.Plain},
	}
	for _, step := range disturb {
		if !plan.KindOf(step).Disturbs {
			t.Errorf("%#v disturbs no member", step)
		}
	}
	for _, step := range others {
		if plan.KindOf(step).Disturbs {
			t.Errorf("%#v disturbs members", step)
		}
	}
}
