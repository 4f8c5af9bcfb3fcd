// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

func voters(change func(*cluster.Member)) cluster.View {
	v := cluster.View{Members: []cluster.Member{
		{Name: "a-0", Role: cluster.Voter, Healthy: true}, {Name: "a-1", Role: cluster.Voter, Healthy: true},
	}}
	change(&v.Members[1])
	return v
}

// TestRestartIsKnownUntilItIsOver: from the step to the member's return, and no
// longer than it may take.
func TestRestartIsKnownUntilItIsOver(t *testing.T) {
	well := func(*cluster.Member) {}
	ending := func(m *cluster.Member) { m.Pod.Deletion = cluster.Terminating }
	settling := func(m *cluster.Member) { m.Pod.Settling = true }
	down := func(m *cluster.Member) { m.Healthy = false }
	type look struct {
		sees  func(*cluster.Member)
		after time.Duration // since the step
		known bool
	}
	stop := plan.DeletePods{Pods: []plan.PodRef{{Name: "a-1"}}}
	for what, test := range map[string]struct {
		step  plan.Step
		was   func(*cluster.Member)
		looks []look
	}{
		"a pod is created again": {stop, well, []look{
			{ending, 0, true}, {down, time.Second, true}, {down, restartTime, true}, {well, restartTime, false}, {down, restartTime, false},
		}},
		"an image is exchanged": {plan.UpdateImage{Name: "a-1"}, well, []look{
			{settling, 0, true}, {down, time.Second, true}, {well, 2 * time.Second, false},
		}},
		"a surplus pod is deleted": {plan.DeletePods{How: plan.Detached, Pods: []plan.PodRef{{Name: "a-1"}}}, well, []look{
			{ending, 0, true}, {down, time.Second, true}, {down, restartTime + 1, false},
		}},
		"the cache is behind": {stop, well, []look{{well, 0, true}, {ending, time.Second, true}, {down, time.Second, true}}},
		"it does not come back": {stop, well, []look{
			{down, time.Second, true}, {down, restartTime + 1, false}, {down, restartTime, false},
		}},
		"it was down before":          {stop, down, []look{{down, 0, false}}},
		"it is no voter":              {stop, func(m *cluster.Member) { m.Role = cluster.Unlisted }, []look{{down, 0, false}}},
		"another one is stopped":      {plan.DeletePods{Pods: []plan.PodRef{{Name: "a-0"}}}, well, []look{{down, 0, false}}},
		"a step that stops no member": {plan.MarkPods{Pods: []plan.PodRef{{Name: "a-1"}}, As: plan.Detach}, well, []look{{down, 0, false}}},
	} {
		t.Run(what, func(t *testing.T) {
			var known restarts
			known.note(voters(test.was), test.step, noon)
			for i, look := range test.looks {
				v := voters(look.sees)
				known.mark(v, noon.Add(look.after))
				if got := v.Members[1].Restarting; got != look.known {
					t.Errorf("look %d: %v, want %v", i, got, look.known)
				}
			}
		})
	}
}
