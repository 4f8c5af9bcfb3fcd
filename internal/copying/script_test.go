// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package copying_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/copying"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// TestScripts runs the scripts in testdata. "new" begins one, with an EtcdCluster a that has formed empty and serves, and a source of
// etcd 3.5.9 at revision 10 with 5 keys. The other commands change something: "cluster" the EtcdCluster, "source" and "target" what is
// in etcd, "time" passes, "until" obeys up to that step and no further, as an operator does that dies. Each prints what is done until
// nothing is left to do but to follow.
//
// If it fails, run with -rewrite and read the diff before you commit it.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var w *world
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				w = newWorld()
			}
			w.T, w.until = t, ""
			for _, arg := range d.CmdArgs {
				w.change(d, arg.Key, strings.Join(arg.Vals, ","))
			}
			return w.settles()
		})
	})
}

// A world is a cluster and the source that is copied into it. It fails its test where a step does what none may.
type world struct {
	*testing.T
	cluster  *v1beta1.EtcdCluster
	now      time.Time
	paused   string
	source   copying.Source
	target   copying.Target
	services []copying.Service
	oldest   int64 // revision of the source that has history
	differs  bool
	slow     time.Duration // what a comparison takes
	until    string
}

func newWorld() *world {
	c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: types.UID("u1"), Annotations: map[string]string{}}}
	c.Spec.Bootstrap = &v1beta1.BootstrapSpec{Copy: &v1beta1.Copy{Endpoints: []string{"http://b:2379"}}}
	c.Status.ClusterID, c.Status.Bootstrap = "c1", &v1beta1.Bootstrap{Token: "u1", Members: []string{"a-0"}}
	available(c, metav1.ConditionTrue)
	return &world{
		cluster: c, now: time.Unix(1_700_000_000, 0).UTC(), target: copying.Target{Revision: 1},
		source: copying.Source{ClusterID: "b1", Version: "3.5.9", DBSize: 1 << 20, Revision: 10}, slow: time.Second,
	}
}

func available(c *v1beta1.EtcdCluster, status metav1.ConditionStatus) {
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: v1beta1.ConditionAvailable, Status: status, Reason: "R"})
}

func (w *world) change(d *datadriven.TestData, key, value string) {
	w.Helper()
	switch d.Cmd {
	case "new", "cluster":
		w.changeCluster(key, value)
	case "source":
		w.changeSource(key, value)
	case "target":
		w.changeTarget(key)
	case "time":
		passes, err := time.ParseDuration(key)
		if err != nil {
			w.Fatal(err)
		}
		w.now = w.now.Add(passes)
	case "until":
		w.dies(key, value)
	default:
		w.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	}
}

// dies has the operator die before that step, when the switch is asked for while clients write.
func (w *world) dies(word, value string) {
	switch word {
	case "switch", "available":
		w.changeCluster(word, value)
	case "writes":
		w.changeSource(word, value)
	default:
		w.until = value
	}
}

func (w *world) changeCluster(word, value string) {
	c := w.cluster
	switch word {
	case "automatic":
		c.Spec.Bootstrap.Copy.Switch = v1beta1.SwitchAutomatic
	case "without-copy":
		c.Spec.Bootstrap = nil
	case "deleted":
		c.DeletionTimestamp = &metav1.Time{}
	case "forming":
		c.Status.ClusterID = ""
	case "formed":
		c.Status.ClusterID = "c1"
	case "unavailable":
		available(c, metav1.ConditionUnknown)
	case "available":
		available(c, metav1.ConditionTrue)
	case "paused":
		w.paused = "spec.paused is true"
	case "unpaused":
		w.paused = ""
	case "restoring":
		c.Status.Restore = &v1beta1.RestoreStatus{Request: "r", RequestUID: "u"}
	case "adopted": // its volumes, with their data
		c.Status.Bootstrap.Adopted = true
	case "switch":
		c.Annotations[v1beta1.AnnotationSwitch] = value
	case "withdrawn":
		delete(c.Annotations, v1beta1.AnnotationSwitch)
	case "service":
		w.services = []copying.Service{{Name: "old", Refused: value, Missing: value == "missing"}}
	case "slow": // comparisons
		w.slow = time.Minute
	default:
		w.Fatalf("unknown word %q of a cluster", word)
	}
}

func (w *world) changeSource(word, value string) {
	number, _ := strconv.ParseInt(value, 10, 64)
	switch word {
	case "away":
		w.source.Err = "no leader"
	case "back":
		w.source.Err = ""
	case "version":
		w.source.Version = value
	case "id":
		w.source.ClusterID = value
	case "mib":
		w.source.DBSize = number << 20
	case "marked":
		w.source.HasMark = true
	case "alarm":
		alarm := etcd.Alarm{MemberID: 7, Kind: value}
		if value == "ours" {
			alarm = copying.Alarm(w.cluster)
		}
		w.source.Alarms = append(w.source.Alarms, alarm)
	case "calm":
		w.source.Alarms = nil
	case "writes":
		if !w.isStopped() {
			w.source.Revision += number
		}
	case "compacts":
		w.oldest = w.source.Revision
	case "users":
		two := int32(2)
		w.source.Users, w.source.Roles = &two, &two
	default:
		w.Fatalf("unknown word %q of a source", word)
	}
}

func (w *world) changeTarget(word string) {
	switch word {
	case "away":
		w.target.Err = "no quorum"
	case "back":
		w.target.Err = ""
	case "written": // by something else
		w.target.Revision, w.target.Keys = w.target.Revision+1, w.target.Keys+1
	case "differs":
		w.differs = true
	default:
		w.Fatalf("unknown word %q of a target", word)
	}
}

func (w *world) isStopped() bool { return slices.Contains(w.source.Alarms, copying.Alarm(w.cluster)) }

func (w *world) view() copying.View {
	source, target := w.source, w.target
	if w.target.Mark != nil {
		mark := *w.target.Mark
		target.Mark = &mark
		source.Compacted = max(mark.Read, mark.Revision) < w.oldest
	}
	return copying.View{
		Cluster: w.cluster, Now: w.now, Paused: w.paused, Source: &source, Target: &target, Services: slices.Clone(w.services),
	}
}

// settles obeys until nothing is left to do, and prints what is done.
func (w *world) settles() string {
	var out strings.Builder
	view := copying.View{Cluster: w.cluster, Now: w.now, Paused: w.paused}
	followed := false
	for range 60 {
		step, rule := copying.Next(view)
		if _, follows := step.(copying.Follow); follows && followed {
			return out.String()
		}
		fmt.Fprintf(&out, "%s (%s)\n", step, rule)
		if w.until != "" && strings.HasPrefix(step.String(), w.until) {
			return out.String() + "  the operator dies\n"
		}
		switch s := step.(type) {
		case copying.Look:
			view = w.view()
			continue
		case copying.SetCondition, copying.RemoveCondition, copying.Done:
			w.report(view, step)
			return out.String()
		case copying.Follow:
			w.follow(w.source.Revision)
			followed = w.source.Revision == w.target.Mark.Revision && s.Condition.Reason != v1beta1.ReasonFollowing
		default:
			w.do(step)
		}
		w.report(view, step)
		view = w.view()
	}
	return out.String() + "never settles\n"
}

func (w *world) do(step copying.Step) {
	switch s := step.(type) {
	case copying.Begin:
		w.write(copying.Mark{Cluster: "u1", Source: w.source.ClusterID, Read: s.Revision})
	case copying.ReadKeys:
		mark := *w.target.Mark
		mark.Whole, mark.Keys, mark.Revision = true, 5, mark.Read
		w.write(mark)
	case copying.Drain:
		w.follow(s.To)
	case copying.StopWrites:
		if w.cluster.Status.Copy.StoppedAt == nil {
			w.Error("writes are stopped, and that is not recorded")
		}
		w.source.Alarms = append(w.source.Alarms, copying.Alarm(w.cluster))
	case copying.Release:
		if w.cluster.HasSwitched() {
			w.Error("writes to the source go on after the switch")
		}
		ours := copying.Alarm(w.cluster)
		w.source.Alarms = slices.DeleteFunc(w.source.Alarms, func(a etcd.Alarm) bool { return a == ours })
	case copying.RecordSwitch:
		if !w.isStopped() || w.target.Mark.Revision != w.source.Revision || w.differs || w.target.Mark.Base+1 != w.target.Revision {
			w.Errorf("switched although it must not be: %+v", w)
		}
	case copying.BindLeases:
		w.target.Mark.Leased = true
	case copying.RouteService:
		if !w.cluster.HasSwitched() {
			w.Error("clients are sent here before the switch is decided")
		}
		w.services[0].Switched = true
	case copying.RemoveMark:
		w.target.Mark, w.target.Changed = nil, 0
	}
}

// write is a transaction of the copy.
func (w *world) write(mark copying.Mark) {
	mark.Base = w.target.Revision
	w.target.Revision++
	w.target.Mark, w.target.Changed, w.target.Keys = &mark, w.target.Revision, 6
}

func (w *world) follow(to int64) {
	if mark := *w.target.Mark; mark.Revision < to && mark.Revision >= w.oldest {
		mark.Revision = to
		w.write(mark)
	}
}

// report does what the reconciler does.
func (w *world) report(v copying.View, step copying.Step) {
	c := w.cluster
	if c.Status.Copy == nil {
		c.Status.Copy = &v1beta1.CopyStatus{}
	}
	status, now := c.Status.Copy, metav1.NewMicroTime(w.now)
	switch s := step.(type) {
	case copying.Begin:
		status.Users, status.Roles = w.source.Users, w.source.Roles
	case copying.Compare:
		status.Comparison = &v1beta1.CopyComparison{
			Equal: !w.differs, Keys: 5, SourceRevision: v.Target.Mark.Revision, TargetRevision: v.Target.Revision,
			Duration: metav1.Duration{Duration: w.slow},
		}
	case copying.RecordStop:
		status.StoppedAt, status.Request, status.Failure, status.ReleasedAt = &now, s.Request, "", nil
	case copying.Release:
		if status.StoppedAt != nil {
			status.StoppedAt, status.ReleasedAt, status.Failure = nil, &now, s.Because
		}
	case copying.RecordSwitch:
		status.SwitchedAt = &now
	case copying.RecordDone:
		done := metav1.NewTime(w.now)
		status.CompletedAt = &done
	case copying.RemoveCondition:
		meta.RemoveStatusCondition(&c.Status.Conditions, v1beta1.ConditionCopied)
	}
	if w.target.Mark != nil && !c.HasSwitched() {
		status.Revision = w.target.Mark.Revision
	}
	if is := copying.ConditionAfter(v, step); is != nil {
		meta.SetStatusCondition(&c.Status.Conditions, *is)
	}
}
