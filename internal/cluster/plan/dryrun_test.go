// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// TestOnlyARollDoesADryRun: a Pod that runs well is stopped for another one, which must be
// found right before. Nothing is to come after one whose cluster is to sleep.
func TestOnlyARollDoesADryRun(t *testing.T) {
	for size, want := range map[int]bool{3: true, 0: false} {
		w := newWorld(3, false)
		w.formed, w.view.Record.ClusterID, w.view.Record.Token = true, clusterID, w.view.UID
		w.view.Want.Size, w.view.Target.Version = size, w.view.Want.Version
		for _, name := range []string{"a-0", "a-1", "a-2"} {
			*w.at(name) = cluster.Member{
				Name: name, Recorded: true, Started: true, Volume: cluster.Kept, Role: cluster.Voter, ID: 1, Answers: true, Healthy: true,
				Leader: name == "a-0", ClusterID: clusterID, Version: w.view.Want.Version,
				Pod: cluster.Pod{
					Phase: cluster.Running, UID: w.nextUID(), Ready: true, Proven: true, Lingers: true,
					Change: cluster.Rebuild,
				},
			}
		}
		step, because := plan.Next(w.view)
		if stop, is := step.(plan.DeletePods); !is || (stop.How == plan.DryRun) != want {
			t.Errorf("size %d: %+v (%s)", size, step, because)
		}
	}
}
