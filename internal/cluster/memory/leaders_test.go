// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"errors"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

func led(leader string) cluster.View {
	v := cluster.View{}
	for _, name := range []string{"a-0", "a-1"} {
		v.Members = append(v.Members, cluster.Member{Name: name, Role: cluster.Voter, Healthy: true, Leader: name == leader})
	}
	return v
}

// TestALeaderRefusesMembers: one that refuses members for longer than etcd needs, without a
// pause, and for no longer than some minutes.
func TestALeaderRefusesMembers(t *testing.T) {
	adds, removes := plan.AddLearner{Name: "a-2"}, plan.RemoveMember{Name: "a-1"}
	refusal := Ending{Err: errors.New("add learner a-2: unhealthy cluster"), NotReady: true}
	unreached := Ending{Err: errors.New("no route to host")}
	type try struct {
		after  time.Duration // since the first
		leader string
		step   plan.Step
		ending Ending
	}
	// refused is a try in each second of a while.
	refused := func(leader string, step plan.Step, from, to time.Duration) (all []try) {
		for after := from; after <= to; after += time.Second {
			all = append(all, try{after, leader, step, refusal})
		}
		return all
	}
	for what, test := range map[string]struct {
		tries [][]try
		want  bool
		then  time.Duration // when it is looked, since the last try
	}{
		"it refuses a learner": {[][]try{refused("a-0", adds, 0, refusesAfter)}, true, 0},
		"it refuses a removal": {[][]try{refused("a-0", removes, 0, refusesAfter)}, true, 0},
		"now the one, now the other": {[][]try{
			refused("a-0", adds, 0, refusesAfter/3), refused("a-0", removes, refusesAfter/3, refusesAfter),
		}, true, 0},
		"etcd may need so long": {[][]try{refused("a-0", adds, 0, refusesAfter-time.Second)}, false, 0},
		"for some minutes":      {[][]try{refused("a-0", adds, 0, refusesAfter)}, true, refusesFor - 1},
		"and no longer":         {[][]try{refused("a-0", adds, 0, refusesAfter)}, false, refusesFor},
		"another one refuses":   {[][]try{refused("a-1", adds, 0, refusesAfter)}, false, 0},
		"one after the other": {[][]try{
			refused("a-1", adds, 0, refusesAfter-time.Second), refused("a-0", adds, refusesAfter, 2*refusesAfter-time.Second),
		}, false, 0},
		"something else was wanted": {[][]try{
			refused("a-0", adds, 0, refusesAfter-time.Second),
			refused("a-0", adds, refusesAfter+refusesGap, 2*refusesAfter),
		}, false, 0},
		"it has let one join": {[][]try{
			refused("a-0", adds, 0, refusesAfter-time.Second),
			{{refusesAfter, "a-0", adds, Ending{}}},
			refused("a-0", adds, refusesAfter+1, 2*refusesAfter),
		}, false, 0},
		"a leader that has let one join later is still not asked first": {[][]try{
			refused("a-0", adds, 0, refusesAfter), {{refusesAfter, "a-0", adds, Ending{}}},
		}, true, 0},
		"a learner is not in sync": {[][]try{refused("a-0", plan.Promote{Name: "a-2"}, 0, 2*refusesAfter)}, false, 0},
		"other steps between do not matter": {[][]try{
			refused("a-0", adds, 0, refusesAfter/3),
			{{refusesAfter / 3, "a-0", plan.Apply{}, Ending{}}},
			refused("a-0", adds, refusesAfter/3, refusesAfter),
		}, true, 0},
		"it does not answer": {[][]try{
			{{0, "a-0", adds, unreached}, {refusesAfter, "a-0", adds, unreached}},
		}, false, 0},
	} {
		t.Run(what, func(t *testing.T) {
			var known leaders
			last := noon
			for _, some := range test.tries {
				for _, try := range some {
					last = noon.Add(try.after)
					known.note(led(try.leader), try.step, try.ending, last)
				}
			}
			v := led("a-0")
			known.mark(v, last.Add(test.then))
			if v.Members[0].RefusesReconfig != test.want {
				t.Errorf("refuses reconfiguration: %t", v.Members[0].RefusesReconfig)
			}
		})
	}
}
