// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/quorum"
)

// formed is a cluster of so many voters that run, and what else.
func formed(size, voters int, others ...cluster.Member) cluster.View {
	v := cluster.View{Want: cluster.Want{Size: size}, Record: cluster.Record{ClusterID: "c1"}}
	for i := range voters {
		v.Members = append(v.Members, cluster.Member{Name: cluster.MemberName("a", i), Role: cluster.Voter, Pod: runs})
	}
	v.Members = append(v.Members, others...)
	return v
}

var runs = cluster.Pod{Phase: cluster.Running, Ready: true}

// TestServesWithout: who starts beside a quorum that serves.
func TestServesWithout(t *testing.T) {
	serving := func(voters, down int, others ...cluster.Member) cluster.View {
		v := formed(voters, voters, others...)
		for i := range v.Members[down:] {
			v.Members[down+i].Healthy = true
		}
		return v
	}
	ending := serving(3, 1)
	ending.Members[1].Pod.Deletion = cluster.Terminating
	sources := cluster.View{}
	for id := range 3 {
		sources.Unknown = append(sources.Unknown, cluster.UnknownMember{ID: uint64(1 + id), Voter: true, Source: true, Healthy: id > 0})
	}
	unknown := serving(3, 1)
	unknown.Unknown = []cluster.UnknownMember{{ID: 9, Voter: true}}
	for what, test := range map[string]struct {
		view   cluster.View
		member string
		want   bool
	}{
		"one of three":              {serving(3, 1), "a-0", true},
		"two of three":              {serving(3, 2), "a-0", false},
		"all of three":              {serving(3, 3), "a-0", false},
		"one that serves itself":    {serving(3, 0), "a-0", true},
		"itself does not count":     {serving(3, 1), "a-1", false},
		"two of five":               {serving(5, 2), "a-0", true},
		"three of five":             {serving(5, 3), "a-0", false},
		"the only one":              {serving(1, 1), "a-0", false},
		"beside the only one":       {serving(1, 0, cluster.Member{Name: "a-8", Role: cluster.Learner}), "a-8", true},
		"a learner counts for none": {serving(3, 2, cluster.Member{Name: "a-8", Role: cluster.Learner, Pod: runs}), "a-0", false},
		"another one ends":          {ending, "a-0", false},
		"before it has formed":      {cluster.View{Record: cluster.Record{First: []string{"a-0"}}}, "a-0", false},
		"beside sources":            {sources, "a-0", true},
		"unknown voters":            {unknown, "a-0", false},
	} {
		if got := test.view.ServesWithout(test.member); got != test.want {
			t.Errorf("%s: got %t", what, got)
		}
	}
}

func TestMustStay(t *testing.T) {
	learner := cluster.Member{Name: "a-8", Role: cluster.Learner, Pod: runs}
	unformed := cluster.View{Members: []cluster.Member{{Pod: runs}}, Record: cluster.Record{First: []string{"a-0", "a-1", "a-2"}}}
	with := func(m cluster.Member, change func(*cluster.Member)) cluster.Member { change(&m); return m }
	unknown := func(v cluster.View, n int) cluster.View {
		v.Unknown = append(make([]cluster.UnknownMember, 0, n+1), cluster.UnknownMember{ID: 9})
		for range n {
			v.Unknown = append(v.Unknown, cluster.UnknownMember{Voter: true})
		}
		return v
	}
	for what, test := range map[string]struct {
		view cluster.View
		want int
	}{
		"one":                    {formed(1, 1), 1},
		"three":                  {formed(3, 3), 2},
		"four on the way":        {formed(5, 4), 3},
		"five":                   {formed(5, 5), 3},
		"before it has formed":   {unformed, 2},
		"a learner":              {formed(3, 1, learner), 2},
		"a learner that starts":  {formed(3, 2, with(learner, func(m *cluster.Member) { m.Pod.Ready = false })), 3},
		"one that waits":         {formed(5, 3, with(learner, func(m *cluster.Member) { m.Pod = cluster.Pod{Phase: cluster.Placed} })), 2},
		"one without a pod":      {formed(5, 3, with(learner, func(m *cluster.Member) { m.Pod = cluster.Pod{} })), 2},
		"one that ends":          {formed(5, 3, with(learner, func(m *cluster.Member) { m.Pod.Deletion = cluster.Terminating })), 2},
		"one that has ended":     {formed(5, 3, with(learner, func(m *cluster.Member) { m.Pod.Phase = cluster.Finished })), 2},
		"one that was removed":   {formed(3, 3, with(learner, func(m *cluster.Member) { m.Role = cluster.Unlisted })), 3},
		"a voter with such data": {formed(3, 2, with(learner, func(m *cluster.Member) { m.Role, m.Foreign = cluster.Voter, "x" })), 3},
		"one leaves three":       {formed(1, 3), 3},
		"one leaves four":        {formed(3, 4), 3},
		"one leaves five":        {formed(3, 5), 4},
		"one has ended, one leaves": {formed(3, 4, with(learner, func(m *cluster.Member) {
			m.Role, m.Pod.Deletion = cluster.Voter, cluster.Terminating
		})), 4},
		"all that leave have ended": {formed(3, 3, cluster.Member{Name: "a-8", Role: cluster.Voter}, with(learner, func(m *cluster.Member) {
			m.Name, m.Role, m.Pod.Deletion = "a-9", cluster.Voter, cluster.Terminating
		})), 3},
		"one is replaced": {formed(3, 2, with(learner, func(m *cluster.Member) {
			m.Role, m.Volume, m.Pod.Change = cluster.Voter, cluster.Going, cluster.Rebuild
		})), 3},
		"one is created again": {formed(3, 2, with(learner, func(m *cluster.Member) {
			m.Role, m.Volume, m.Pod.Change = cluster.Voter, cluster.Kept, cluster.Rebuild
		})), 2},
		"none leaves for size 0":     {formed(0, 3), 2},
		"an unknown one may be down": {unknown(formed(3, 3), 1), 3},
		"more unknown than ours":     {unknown(formed(3, 3), 5), 3},
		"an unknown learner":         {unknown(formed(3, 3), 0), 2},
	} {
		if got := test.view.MustStay(); got != test.want {
			t.Errorf("%s: %d must stay, want %d", what, got, test.want)
		}
	}
}

// TestEvictionsKeepAQuorum: all Pods that may go, before and after each change of the membership
// that the budget has yet to follow.
func TestEvictionsKeepAQuorum(t *testing.T) {
	for voters := 1; voters <= 9; voters++ {
		learner := cluster.Member{Name: "a-9", Role: cluster.Learner, Pod: runs}
		promoted, removed, ended := formed(9, voters, learner), formed(1, voters), formed(voters-1, voters)
		ended.Members[voters-1].Pod.Deletion = cluster.Terminating
		for what, test := range map[string]struct{ pods, stay, healthy, voters int }{
			"nothing":        {voters, formed(voters, voters).MustStay(), voters, voters},
			"a promotion":    {voters + 1, promoted.MustStay(), voters + 1, voters + 1},
			"none yet":       {voters + 1, promoted.MustStay(), voters, voters},
			"a removal":      {voters, removed.MustStay(), voters - 1, voters - 1},
			"one that ended": {voters - 1, ended.MustStay(), voters - 1, voters - 1},
		} {
			if test.voters == 0 {
				continue
			}
			if may := max(0, test.pods-test.stay); !quorum.Holds(test.healthy-may, test.voters) {
				t.Errorf("%s: of %d pods %d must stay, and %d of %d voters may be left", what, test.pods, test.stay, test.healthy-may, test.voters)
			}
		}
	}
}
