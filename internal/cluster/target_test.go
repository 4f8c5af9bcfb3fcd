// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// ran is a Pod that is not updated yet.
var ran = cluster.Pod{Phase: cluster.Placed, Proven: true, Image: "old", Change: cluster.Swap}

// TestHold: what members ran is held while the first that was changed fails, and only then.
func TestHold(t *testing.T) {
	halted := func() []cluster.Member {
		return []cluster.Member{
			{Name: "a-0", Role: cluster.Voter, Version: "3.6.16", Pod: cluster.Pod{Phase: cluster.Placed, Proven: true, Image: "new"}},
			{Name: "a-1", Role: cluster.Voter, Version: "3.6.16", Pod: ran},
			{Name: "a-2", Role: cluster.Voter, Version: "3.6.16"},
		}
	}
	old := cluster.Revision{Version: "3.6.16", Image: "old"}
	for what, test := range map[string]struct {
		change func([]cluster.Member)
		want   cluster.Revision
	}{
		"halted":                        {func([]cluster.Member) {}, old},
		"the image is usual":            {func(m []cluster.Member) { m[1].Pod.DefaultImage = true }, cluster.Revision{Version: "3.6.16"}},
		"the new one answers":           {func(m []cluster.Member) { m[0].Answers = true }, cluster.Revision{}},
		"the new one is ready":          {func(m []cluster.Member) { m[0].Pod.Ready = true }, cluster.Revision{}},
		"the new one works elsewhere":   {func(m []cluster.Member) { m[2] = m[0]; m[2].Pod.Ready = true }, cluster.Revision{}},
		"nothing was tried":             {func(m []cluster.Member) { m[0].Pod = cluster.Pod{} }, cluster.Revision{}},
		"it was finished":               {func(m []cluster.Member) { m[0].Pod.Phase = cluster.Finished }, cluster.Revision{}},
		"tried by one no longer listed": {func(m []cluster.Member) { m[0].Role = cluster.Unlisted }, cluster.Revision{}},
		"the image is the same":         {func(m []cluster.Member) { m[1].Pod.Image = "new" }, cluster.Revision{}},
		"the old one never ran":         {func(m []cluster.Member) { m[1].Pod.Proven = false }, cluster.Revision{}},
		"the old one fails":             {func(m []cluster.Member) { m[1].Pod.Failing = true }, cluster.Revision{}},
		"the old version is unknown":    {func(m []cluster.Member) { m[1].Version = "" }, cluster.Revision{}},
	} {
		members := halted()
		test.change(members)
		if got := (cluster.Target{Version: "3.7.3"}).CurrentOf(members); got != test.want {
			t.Errorf("%s: held %+v, want %+v", what, got, test.want)
		}
	}
}

// TestHoldWhatIsMisnamed: an image that runs, but holds another version, is for no other member.
func TestHoldWhatIsMisnamed(t *testing.T) {
	members := []cluster.Member{
		{Name: "a-0", Role: cluster.Voter, Version: "3.7.3", Answers: true, Pod: cluster.Pod{Phase: cluster.Placed, Ready: true, Image: "new"}},
		{Name: "a-1", Role: cluster.Voter, Version: "3.6.16", Pod: ran},
	}
	target := cluster.Target{Version: "3.6.17", Misnamed: "spec.image holds etcd 3.7.3"}
	if got, want := target.CurrentOf(members), (cluster.Revision{Version: "3.6.16", Image: "old"}); got != want {
		t.Errorf("held %+v, want %+v", got, want)
	}
}

// TestCurrentIsForMembersThatRanIt: a Pod that is there goes on to the target, and so does a member that ran
// something else.
func TestCurrentIsForMembersThatRanIt(t *testing.T) {
	target := cluster.Target{Version: "3.7.3", Image: "new", Current: cluster.Revision{Version: "3.6.16", Image: "old"}}
	evicted := cluster.Member{Role: cluster.Voter, Version: "3.6.16"}
	if got := target.For(evicted); got.Version != "3.6.16" || got.Image != "old" {
		t.Errorf("evicted: %+v", got)
	}
	running, other, learner := evicted, evicted, evicted
	running.Pod.Phase, other.Version, learner.Role = cluster.Running, "3.5.35", cluster.Learner
	for _, m := range []cluster.Member{running, other, learner} {
		if got := target.For(m); got != target {
			t.Errorf("%+v: %+v", m, got)
		}
	}
	target.Current = cluster.Revision{}
	if got := target.For(cluster.Member{Role: cluster.Voter}); got != target {
		t.Errorf("nothing is held: %+v", got)
	}
}
