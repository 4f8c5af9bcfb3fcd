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

// TestProgressBeginsAnotherRow: a row ends with another step, or another error.
func TestProgressBeginsAnotherRow(t *testing.T) {
	var known Cluster
	stuck, well := plan.Wait{For: "x", Look: plan.Soon}, Ending{}
	known.Row(stuck, well, noon)
	late := noon.Add(time.Hour)
	if row := known.Row(stuck, well, late); row.lasts != time.Hour || row.Times != 2 {
		t.Fatalf("%+v", row)
	}
	if row := known.Row(plan.Promote{Name: "a-3"}, well, late); row.Times != 1 {
		t.Errorf("another step: %+v", row)
	}
	if row := known.Row(stuck, well, late); row.lasts > 0 || row.Times != 1 {
		t.Errorf("the same after another step: %+v", row)
	}
	if row := known.Row(stuck, Ending{Err: errors.New("x")}, late); row.Times != 1 {
		t.Errorf("an error: %+v", row)
	}
	if row := known.Row(stuck, Ending{Err: errors.New("y"), Outdated: true}, late); row.Times != 1 {
		t.Errorf("what has changed meanwhile: %+v", row)
	}
}

// TestNotedOnce: and again when it is another thing.
func TestNotedOnce(t *testing.T) {
	var known Cluster
	for i, test := range []struct {
		note string
		want bool
	}{{"1", true}, {"1", false}, {"2", true}, {"2", false}, {"1", true}} {
		if got := known.NoteChanged(test.note); got != test.want {
			t.Errorf("%d: %v", i, got)
		}
	}
}

// TestEndings: a step that etcd refuses has stopped no member, and what Kubernetes denies is no error
// for as long as all else can go on.
func TestEndings(t *testing.T) {
	var known Cluster
	well := voters(func(*cluster.Member) {})
	refused := known.Note(well, plan.RemoveMember{Name: "a-1"}, Ending{Err: errors.New("x"), NotReady: true}, noon)
	if !refused.NotReady || refused.Outdated {
		t.Errorf("the ending is %+v", refused)
	}
	if e := known.Note(well, plan.Apply{Objects: []cluster.Object{budget}}, denied, noon); !e.Outdated {
		t.Errorf("the ending is %+v", e)
	}
	known.Note(well, plan.UpdateImage{Name: "a-0"}, Ending{Err: errors.New("x")}, noon)
	known.Note(well, plan.UpdateImage{Name: "a-1"}, Ending{}, noon)
	v := of(well, voters(func(m *cluster.Member) { m.Healthy = false }))
	v.Objects = []cluster.Object{budget}
	if known.Mark(v, noon); v.Members[0].Restarting || !v.Members[1].Restarting || !v.Objects[0].Denied.Stands() {
		t.Errorf("the view is %+v", v)
	}
}
