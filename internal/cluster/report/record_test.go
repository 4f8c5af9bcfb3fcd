// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/limits"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// record is the part of a status that is remembered, not seen.
func record(s v1beta1.EtcdClusterStatus) v1beta1.EtcdClusterStatus {
	return v1beta1.EtcdClusterStatus{Bootstrap: s.Bootstrap, ClusterID: s.ClusterID, NextSerial: s.NextSerial, Joining: s.Joining}
}

// TestFailedStepIsNotRemembered: only what has succeeded may be relied on later.
func TestFailedStepIsNotRemembered(t *testing.T) {
	for _, c := range []*v1beta1.EtcdCluster{unplanned(), unformed(), formed(), joining()} {
		for _, step := range everyStep() {
			if after := report.Status(c, healthy(), step, errWrite); !reflect.DeepEqual(record(after), record(c.Status)) {
				t.Errorf("%T: remembered %+v, was %+v", step, record(after), record(c.Status))
			}
		}
	}
}

// TestStepsAreRemembered: each step that is a fact for later.
func TestStepsAreRemembered(t *testing.T) {
	for _, test := range []struct {
		step plan.Step
		want v1beta1.EtcdClusterStatus
	}{
		{plan.RecordFirstMembers(unseen, first), v1beta1.EtcdClusterStatus{
			Bootstrap: &v1beta1.Bootstrap{
				Token: "u1", Members: first, NetworkPolicy: true, Requests: true, Maintenance: true, DefragRoom: true,
			}, NextSerial: 3,
		}},
		{plan.RecordAdoption(unseen, "u0", []string{"a-2", "a-6"}, true), v1beta1.EtcdClusterStatus{
			Bootstrap: &v1beta1.Bootstrap{
				Token: "u0", Members: []string{"a-2", "a-6"}, Adopted: true, NetworkPolicy: true, Requests: true, Maintenance: true,
			}, NextSerial: 7,
		}},
		{plan.RecordAdoption(unseen, "u0", first, false), v1beta1.EtcdClusterStatus{
			Bootstrap: &v1beta1.Bootstrap{Token: "u0", Members: first, NetworkPolicy: true, Requests: true, Maintenance: true}, NextSerial: 3,
		}},
		{plan.RecordFormation(unseen, "c9", ""), v1beta1.EtcdClusterStatus{ClusterID: "c9"}},
		{plan.ReserveName(unseen, "a-5"), v1beta1.EtcdClusterStatus{Joining: "a-5", NextSerial: 6}},
		{plan.Done{}, v1beta1.EtcdClusterStatus{}},
	} {
		if got := record(report.Status(unplanned(), unseen, test.step, nil)); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: remembered %+v, want %+v", test.step, got, test.want)
		}
	}
}

// TestNextSerialOnlyGrows: through every step upon every record, so that no name is
// used by two members.
func TestNextSerialOnlyGrows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	names := func() []string {
		var all []string
		for range 1 + random.IntN(5) {
			all = append(all, cluster.MemberName("a", random.IntN(12)))
		}
		return all
	}
	for range 5000 {
		c := []*v1beta1.EtcdCluster{unplanned(), unformed(), formed()}[random.IntN(3)]
		c.Status.NextSerial = int64(random.IntN(12))
		steps := append(everyStep(),
			plan.RecordFirstMembers(unseen, names()), plan.RecordAdoption(unseen, "u0", names(), false),
			plan.ReserveName(unseen, names()[0]))
		step := steps[random.IntN(len(steps))]
		after := report.Status(c, healthy(), step, nil).NextSerial
		if after < c.Status.NextSerial {
			t.Fatalf("%s: from %d to %d", step, c.Status.NextSerial, after)
		}
		recorded, _ := step.(plan.Record)
		for _, name := range append(recorded.Fact.First, recorded.Fact.Joining) {
			if after <= int64(cluster.Serial("a", name)) {
				t.Fatalf("%s: the next is %d", step, after)
			}
		}
	}
}

// TestReservedNameIsFreedOnceListed: and not by a list that may be old.
func TestReservedNameIsFreedOnceListed(t *testing.T) {
	listed := with(func(v *cluster.View) {
		v.Members = append(v.Members, cluster.Member{Name: "a-3", ID: 4, Role: cluster.Learner})
	})
	unread := listed
	unread.Unread = "no member answers a linearizable read"
	for _, test := range []struct {
		view cluster.View
		want string
	}{{healthy(), "a-3"}, {listed, ""}, {unread, "a-3"}} {
		if got := report.Status(joining(), test.view, plan.Wait{}, nil).Joining; got != test.want {
			t.Errorf("with %v: joining is %q, want %q", cluster.Names(test.view.Members), got, test.want)
		}
	}
}

// TestSizesAreRounded: up to a power of two, so that growth is seldom news. One
// that is not known stays as it was.
func TestSizesAreRounded(t *testing.T) {
	c := formed()
	for size, want := range map[int64]string{
		1: "1", 2: "2", 3: "4", 1023: "1Ki", 1024: "1Ki", 1025: "2Ki", 20480: "32Ki", 1<<30 - 1: "1Gi", 1<<30 + 1: "2Gi", 8 << 30: "8Gi",
	} {
		v := with(func(v *cluster.View) { v.Members[1].DBSize = size })
		status := report.Status(c, v, plan.Done{}, nil)
		if got := status.Members[1].DBSize; got == nil || got.String() != want {
			t.Errorf("%d bytes are %v, want %s", size, got, want)
		}
		c.Status = status
		v.Members[1].DBSize = 0
		if got := report.Status(c, v, plan.Done{}, nil).Members[1].DBSize; got == nil || got.String() != want {
			t.Errorf("silent after %s: %v", want, got)
		}
	}
}

// TestIdleClusterIsNotWritten: what changes by itself in a cluster that is as wanted
// is not in the status.
func TestIdleClusterIsNotWritten(t *testing.T) {
	c := formed()
	c.Status = stored(t, c.Status)
	for i := range 20 {
		v := healthy()
		for j := range v.Members {
			m := &v.Members[j]
			m.DBSize += int64(i * 512)
			m.Pod.Address, m.Pod.UID = fmt.Sprintf("10.0.%d.%d", i, j), fmt.Sprint("pod-", i)
		}
		v.Members[i%3].Revision, v.Members[i%3].Index, v.Members[i%3].Behind = int64(i), uint64(i), uint64(i) //nolint:gosec // few
		v.Fresh = i%2 == 0
		after := report.Status(c, v, plan.Done{}, nil)
		if got := stored(t, after); !reflect.DeepEqual(got, c.Status) {
			t.Fatalf("look %d writes\n%+v\nover\n%+v", i, got, c.Status)
		}
		if events := report.Events(c.Status, after, plan.Done{}, nil); len(events) > 0 {
			t.Fatalf("look %d says %v", i, events)
		}
	}
}

// TestOnlyWhatIsAllowedIsRemembered: by what was allowed last members are started although limits were narrowed.
func TestOnlyWhatIsAllowedIsRemembered(t *testing.T) {
	c, v := formed(), healthy()
	if got := report.Status(c, v, plan.Done{}, nil).LastAllowed; got != limits.Sum(c) {
		t.Errorf("allowed was %q, want %q", got, limits.Sum(c))
	}
	c.Status.LastAllowed, v.Want.Forbidden = "before", "spec.image is not allowed"
	if got := report.Status(c, v, plan.Done{}, nil).LastAllowed; got != "before" {
		t.Errorf("allowed was %q", got)
	}
}
