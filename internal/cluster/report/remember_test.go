// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// TestRecoveryIsRemembered: until it has ended, so that an operator that dies goes on.
func TestRecoveryIsRemembered(t *testing.T) {
	c := formed()
	c.Status.Revision, c.Status.RevisionTime = 340, &metav1.Time{}
	c.Status = report.Status(c, healthy(), plan.BeginRecovery(healthy(), cluster.Loss{Survivor: "a-1"}), nil)
	if c.Status.Recovering != "a-1" {
		t.Errorf("recovering %q", c.Status.Recovering)
	}
	if c.Status.Revision != 0 || c.Status.RevisionTime != nil {
		t.Errorf("revision %d is to be had again, although its loss was accepted", c.Status.Revision)
	}
	c.Status = report.Status(c, healthy(), plan.CreatePods{Names: []string{"a-1"}, Forced: true}, nil)
	if c.Status.Recovering != "a-1" {
		t.Errorf("recovering %q", c.Status.Recovering)
	}
	c.Status = report.Status(c, healthy(), plan.EndRecovery(healthy()), nil)
	if c.Status.Recovering != "" {
		t.Errorf("still recovering %q", c.Status.Recovering)
	}
	if c.Status.Recoveries != 1 {
		t.Errorf("%d recoveries are counted", c.Status.Recoveries)
	}
}

// TestRollBackIsRemembered: in full, for as long as the spec is seen to want the same.
func TestRollBackIsRemembered(t *testing.T) {
	c := formed()
	c.Spec.Version = "3.7"
	wants := with(func(v *cluster.View) { v.Want.Version = version.Full("3.7") })
	c.Status = report.Status(c, wants, plan.RecordRollBack(wants, "3.6.16", "", "a-1 does not run"), nil)
	if r := c.Status.Rollback; r == nil || r.Refused != version.Full("3.7") || r.Version != "3.6.16" {
		t.Fatalf("rollback %+v", r)
	}
	c.Spec.Version = version.Full("3.7")
	still := with(func(v *cluster.View) { v.Record.RolledBack.Version = "3.6.16" })
	if c.Status = report.Status(c, still, plan.Done{}, nil); c.Status.Rollback == nil {
		t.Error("it is forgotten")
	}
	if c.Status = report.Status(c, healthy(), plan.Done{}, nil); c.Status.Rollback != nil {
		t.Errorf("still %+v", c.Status.Rollback)
	}
}

// TestFault13NewerStatusIsKept: as it is, whatever is seen.
func TestFault13NewerStatusIsKept(t *testing.T) {
	c := formed()
	c.Status.Format, c.Status.Members = v1beta1.StatusFormat+1, nil
	before := *c.Status.DeepCopy()
	v := healthy()
	v.Newer = "its format"
	if after := report.Status(c, v, plan.Refuse{Because: "newer"}, nil); !reflect.DeepEqual(after, before) {
		t.Errorf("from %+v\nto   %+v", before, after)
	}
}

// TestLegacyEntriesAreRemembered: from the first member of 3.5 that is seen, or data
// whose history is not known, until all run 3.7.
func TestLegacyEntriesAreRemembered(t *testing.T) {
	running := func(versions ...string) cluster.View {
		return with(func(v *cluster.View) {
			for i, version := range versions {
				v.Members[i].Version = version
			}
		})
	}
	for name, test := range map[string]struct {
		before bool
		view   cluster.View
		want   bool
	}{
		"one of 3.5":         {false, running("3.6.16", "3.5.35", "3.6.16"), true},
		"all went to 3.6":    {true, running("3.6.16", "3.6.16", "3.6.16"), true},
		"not all run 3.7":    {true, running("3.7.3", "3.6.16", "3.7.3"), true},
		"one is not known":   {true, running("3.7.3", "", "3.7.3"), true},
		"all run 3.7":        {true, running("3.7.3", "3.7.3", "3.7.3"), false},
		"never was":          {false, running("3.6.16", "3.6.16", "3.6.16"), false},
		"nothing was listed": {true, cluster.View{Name: "a", Record: healthy().Record}, true},
	} {
		c := formed()
		c.Status.LegacyEntries = test.before
		if got := report.Status(c, test.view, plan.Done{}, nil).LegacyEntries; got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	c := formed()
	c.Status.Format = 0
	if !report.Status(c, running("3.6.16", "3.6.16", "3.6.16"), plan.Done{}, nil).LegacyEntries {
		t.Error("a cluster of an operator that did not look may have some")
	}
	for _, formed := range []bool{true, false} {
		adopted := report.Status(unplanned(), unseen, plan.RecordAdoption(unseen, "u0", first, formed), nil)
		if adopted.LegacyEntries != formed {
			t.Errorf("adopted with data %t: %t", formed, adopted.LegacyEntries)
		}
		restored := unplanned()
		restored.Status.Restore = &v1beta1.RestoreStatus{}
		if report.Status(restored, unseen, plan.RecordAdoption(unseen, "u0", first, formed), nil).LegacyEntries {
			t.Error("a restore has made new logs, and they count as old")
		}
	}
}
