// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package drill_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/drill"
)

// TestScripts runs the scripts in testdata. A script has one command, settle, and lines of what happens, in their order:
//
//	action=ACTION, size=N, ephemeral, forbidden, missing, backup=AGE   what is wanted, and what there is; c-0 leads
//	not-whole (WHY), whole, paused, busy=backup|restore|rotation|roll, idle   how the cluster is
//	earlier, earlier=scheduled, ended   another drill of the cluster
//	schedule CRON, zone=ZONE, suspended, resumed   when it is carried out; it was created at noon
//	job=silent|fails|vanishes|foreign|leaves|writes   how the Job that writes is
//	held     an earlier version has left its finalizer
//	noticed   the newest follower is not healthy, although it has its Pod
//	no-backup, name-taken, serves, keys=N, survives, joins=NAME   the backup and the cluster that it is restored into
//	expect prefix=P min=N max=N, expect key=K value=V   what is expected of that cluster
//	holds KEY VALUE, compacted   what it has by keys=N, and that its first revision can no longer be read
//	podless   a Pod is missing
//	leader=unknown|NAME   which member leads
//	pass=DURATION, shown   time passes; the status shows which members have no Pod
//	replaced, repaired   members come back, by other names or their own
//	other-cluster, gone, deleted   the cluster or the drill
//	settle   obey the plan until it rests; so does the end of the script
//
// What is printed is each step with its rule, and at the end how the drill stands.
//
// If it fails, run with -rewrite and read the diff before you commit it.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w := newWorld(t)
			for _, line := range strings.Split(d.Input, "\n") {
				word, words, _ := strings.Cut(strings.TrimSpace(line), " ")
				key, value, _ := strings.Cut(word, "=")
				w.tell(key, value, words)
			}
			w.settle()
			w.stands()
			return w.out.String()
		})
	})
}

type world struct {
	*testing.T
	seen  drill.Seen
	there *v1beta1.EtcdCluster
	holds map[string]string // keys of the cluster that a backup is restored into
	later bool              // the revision that was restored is compacted
	pods  int               // that were ever made
	job   string            // how the next one is
	out   strings.Builder
}

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func newWorld(t *testing.T) *world {
	w := &world{T: t, job: "writes", holds: map[string]string{}}
	w.there = &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "c-uid", Generation: 1}}
	w.there.Spec.Drills = v1beta1.DrillsAllowed
	w.there.Status.ObservedGeneration, w.there.Status.ClusterID = 1, "cid"
	w.seen = drill.Seen{Cluster: w.there, Now: noon, Leader: "id-c-0"}
	w.seen.Drill = &v1beta1.EtcdDrill{
		ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "d-uid", CreationTimestamp: metav1.NewTime(noon)},
		Spec:       v1beta1.EtcdDrillSpec{Cluster: "c", Action: v1beta1.KillMember},
	}
	w.backup("1h")
	w.size(3)
	w.condition(v1beta1.ConditionProgressing, metav1.ConditionFalse, v1beta1.ReasonUpToDate, "nothing is left to do")
	return w
}

func (w *world) size(n int) {
	w.there.Spec.Size = ptr.To(int32(n)) //nolint:gosec // a small number
	w.there.Status.Members, w.seen.Pods, w.seen.Claims = nil, nil, nil
	for i := range n {
		w.start(fmt.Sprintf("c-%d", i))
	}
	w.well()
}

func (w *world) start(name string) {
	w.pods++
	role := v1beta1.RoleVoter
	if len(w.there.Status.Members) == 0 {
		role = v1beta1.RoleLeader
	}
	known := slices.ContainsFunc(w.there.Status.Members, func(m v1beta1.MemberStatus) bool { return m.Name == name })
	if !known {
		w.there.Status.Members = append(w.there.Status.Members, v1beta1.MemberStatus{Name: name, ID: "id-" + name, Role: role, Healthy: true})
	}
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(fmt.Sprintf("p%d", w.pods))}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	w.seen.Pods = append(w.seen.Pods, pod)
	if !slices.ContainsFunc(w.seen.Claims, func(c corev1.PersistentVolumeClaim) bool { return c.Name == name }) {
		w.seen.Claims = append(w.seen.Claims, corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(fmt.Sprintf("v%d", w.pods))},
		})
	}
}

// clone adds a member to the cluster that a backup is restored into.
func (w *world) clone(name string) {
	w.pods++
	w.seen.Restored.Status.Members = append(w.seen.Restored.Status.Members, v1beta1.MemberStatus{Name: name, Healthy: true})
	uid := types.UID(fmt.Sprintf("p%d", w.pods))
	w.seen.Clone.Pods = append(w.seen.Clone.Pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid}})
	w.seen.Clone.Claims = append(w.seen.Clone.Claims, corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(fmt.Sprintf("v%d", w.pods))},
	})
}

func (w *world) condition(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&w.there.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
}

func (w *world) well() {
	w.condition(v1beta1.ConditionAvailable, metav1.ConditionTrue, v1beta1.ReasonHealthy, "all members are healthy")
	for i := range w.there.Status.Members {
		w.there.Status.Members[i].Healthy = true
	}
}

func (w *world) backup(age string) {
	d, err := time.ParseDuration(age)
	if err != nil {
		w.Fatal(err)
	}
	b := v1beta1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	b.Status.EtcdVersion, b.Status.Revision, b.Status.Keys = "3.6.16", 42, ptr.To[int64](7)
	b.Status.ClusterUID, b.Status.ClusterID, b.Status.StartedAt = "c-uid", "cid", ptr.To(metav1.NewTime(noon.Add(-d)))
	for _, kind := range []string{v1beta1.ConditionComplete, v1beta1.ConditionVerified} {
		meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "R"})
	}
	w.seen.Backups = []v1beta1.EtcdBackup{b}
}

func (w *world) tell(key, value, words string) {
	d, c := w.seen.Drill, w.there
	switch key {
	case "":
	case "settle":
		w.settle()
	case "action":
		d.Spec.Action = v1beta1.DrillAction(value)
	case "size":
		n, err := strconv.Atoi(value)
		if err != nil {
			w.Fatal(err)
		}
		w.size(n)
	case "ephemeral":
		c.Spec.Storage.Ephemeral = &v1beta1.Ephemeral{}
	case "forbidden":
		c.Spec.Drills = v1beta1.DrillsForbidden
	case "schedule":
		d.Spec.Schedule = words
	case "zone":
		d.Spec.TimeZone = value
	case "suspended", "resumed":
		d.Spec.Suspend = key == "suspended"
	case "backup":
		w.backup(value)
	case "earlier":
		o := v1beta1.EtcdDrill{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a-uid", CreationTimestamp: metav1.NewTime(noon)}, Spec: d.Spec}
		if value == "scheduled" {
			o.Spec.Schedule = "0 14 * * *"
		}
		w.seen.Drills = []v1beta1.EtcdDrill{*d, o}
	case "ended":
		w.seen.Drills[1].Status.EndedAt = ptr.To(metav1.NewMicroTime(w.seen.Now))
	case "job":
		w.changeJob(value)
	case "held":
		d.Finalizers = []string{v1beta1.FinalizerDrill}
	case "podless":
		w.seen.Pods = w.seen.Pods[1:]
	case "no-backup":
		w.seen.Backups = nil
	case "name-taken":
		w.seen.Restored = &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: drill.RestoredName(d)}}
	case "serves":
		meta.SetStatusCondition(&w.seen.Restored.Status.Conditions, metav1.Condition{
			Type: v1beta1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonHealthy,
		})
	case "noticed": // the newest follower
		members := c.Status.Members
		members[len(members)-1].Healthy = false
		w.condition(v1beta1.ConditionAvailable, metav1.ConditionTrue, v1beta1.ReasonQuorumHealthy, "c-2 is not healthy")
	case "survives": // the first member alone, by itself
		w.seen.Restored.Status.Members = w.seen.Restored.Status.Members[:1]
		w.seen.Served = nil
		meta.SetStatusCondition(&w.seen.Restored.Status.Conditions, metav1.Condition{
			Type: v1beta1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonQuorumHealthy, Message: "1 of 1 voters are " +
				"healthy",
		})
	case "joins":
		w.clone(value)
	case "keys":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			w.Fatal(err)
		}
		w.serve(n)
	case "leader":
		w.seen.Leader = map[string]string{"unknown": ""}[value]
		if value != "unknown" {
			w.seen.Leader = "id-" + value
		}
	case "pass":
		by, err := time.ParseDuration(value)
		if err != nil {
			w.Fatal(err)
		}
		w.seen.Now = w.seen.Now.Add(by)
	case "deleted":
		d.DeletionTimestamp = &metav1.Time{Time: w.seen.Now}
	default:
		w.tellCluster(key, value, words)
	}
}

func (w *world) tellCluster(key, value, words string) {
	c := w.there
	switch key {
	case "missing", "gone":
		w.seen.Cluster = nil
	case "there":
		w.seen.Cluster = c
	case "other-cluster":
		c.UID = "c2-uid"
	case "expect":
		w.expects(words)
	case "holds":
		name, content, _ := strings.Cut(words, " ")
		w.holds[name] = content
	case "compacted":
		w.later = true
	case "not-whole":
		w.condition(v1beta1.ConditionAvailable, metav1.ConditionTrue, v1beta1.ReasonQuorumHealthy, words)
	case "whole":
		w.well()
	case "paused":
		w.seen.Paused = "spec.paused is true"
	case "idle":
		w.seen.Paused, c.Status.Authorities, w.seen.Restores, w.seen.Backups = "", nil, nil, w.seen.Backups[:1]
		w.condition(v1beta1.ConditionProgressing, metav1.ConditionFalse, v1beta1.ReasonUpToDate, "nothing is left to do")
	case "busy":
		w.busy(value)
	case "shown":
		for i, m := range c.Status.Members {
			c.Status.Members[i].Healthy = slices.ContainsFunc(w.seen.Pods, func(p corev1.Pod) bool {
				return p.Name == m.Name
			})
		}
		w.condition(v1beta1.ConditionAvailable, metav1.ConditionTrue, v1beta1.ReasonQuorumHealthy, "not all members are healthy")
	case "repaired":
		for _, m := range c.Status.Members {
			if !slices.ContainsFunc(w.seen.Pods, func(p corev1.Pod) bool { return p.Name == m.Name }) {
				w.start(m.Name)
			}
		}
		w.well()
	case "replaced":
		c.Status.Members = slices.DeleteFunc(c.Status.Members, func(m v1beta1.MemberStatus) bool {
			return !slices.ContainsFunc(w.seen.Pods, func(p corev1.Pod) bool { return p.Name == m.Name })
		})
		w.start("c-9")
		w.well()
	default:
		w.Fatalf("unknown word %q", key)
	}
}

func (w *world) busy(how string) {
	switch how {
	case "backup":
		b := v1beta1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Name: "b2"}, Spec: v1beta1.EtcdBackupSpec{Cluster: "c"}}
		b.Status.Phase = v1beta1.BackupRunning
		w.seen.Backups = append(w.seen.Backups, b)
	case "restore":
		r := v1beta1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Spec: v1beta1.EtcdRestoreSpec{Cluster: "c"}}
		r.Status.Phase = v1beta1.RestoreRunning
		w.seen.Restores = append(w.seen.Restores, r)
	case "rotation":
		w.there.Status.Authorities = []v1beta1.AuthorityStatus{{Name: "client", Phase: v1beta1.RotationSwitched}}
	case "roll":
		w.condition(v1beta1.ConditionProgressing, metav1.ConditionTrue, v1beta1.ReasonActing, "restart member c-2")
	default:
		w.Fatalf("unknown way to be busy %q", how)
	}
}

func (w *world) changeJob(how string) {
	w.job = how
	j := &w.seen.Job
	if !j.Exists {
		return
	}
	switch how {
	case "writes":
		j.Progress.Writes = &jobspec.Writes{Acknowledged: 1200, Failed: 12, LongestGap: 1234 * time.Millisecond}
	case "fails":
		j.Ended, j.Lines = true, []jobspec.Line{{Failed: &jobspec.Failed{Reason: jobspec.MemberFailed, Message: "no member answers"}}}
	case "vanishes":
		*j = jobs.Observed{}
	case "foreign":
		j.Owned = false
	case "leaves":
		j.Deleting = true
	case "silent":
	default:
		w.Fatalf("unknown Job %q", how)
	}
}

// settle obeys until the plan rests.
func (w *world) settle() {
	for range 30 {
		view := drill.Facts(w.seen)
		step, rule := drill.Next(view)
		fmt.Fprintf(&w.out, "%s (%s)\n", step, rule)
		w.obey(step)
		before := w.seen.Drill.Status
		w.seen.Drill.Status = drill.Report(view, 1, step, nil)
		for _, e := range drill.Events(before, w.seen.Drill.Status, step, nil) {
			fmt.Fprintf(&w.out, "  event %s\n", e.Reason)
		}
		switch step.(type) {
		case drill.Wait, drill.Done:
			return
		}
	}
	w.out.WriteString("never settles\n")
}

// obey does what a step says, and fails for what none may say.
func (w *world) obey(step drill.Step) {
	status := w.seen.Drill.Status
	switch s := step.(type) {
	case drill.CreateJob:
		w.seen.Job = jobs.Observed{Exists: true, Owned: true, Name: s.Name, UID: "j-" + s.Name, Created: w.seen.Now}
		w.changeJob(w.job)
	case drill.DeleteJob:
		w.seen.Job = jobs.Observed{}
	case drill.Disrupt:
		if w.there.Spec.Drills != v1beta1.DrillsAllowed || status.StartedAt == nil {
			w.Errorf("%s, which must not be", s)
		}
		for _, t := range s.Targets {
			w.seen.Clone.Pods = slices.DeleteFunc(w.seen.Clone.Pods, func(p corev1.Pod) bool { return string(p.UID) == t.PodUID })
			w.seen.Clone.Claims = slices.DeleteFunc(w.seen.Clone.Claims, func(c corev1.PersistentVolumeClaim) bool {
				return string(c.UID) == t.VolumeUID
			})
			w.seen.Pods = slices.DeleteFunc(w.seen.Pods, func(p corev1.Pod) bool { return string(p.UID) == t.PodUID })
			w.seen.Claims = slices.DeleteFunc(w.seen.Claims, func(c corev1.PersistentVolumeClaim) bool { return string(c.UID) == t.VolumeUID })
		}
	case drill.RemoveFinalizer:
		w.seen.Drill.Finalizers = nil
	case drill.CreateCluster:
		w.seen.Restored = drill.RestoredCluster(w.seen.Drill, w.there, s.Backup)
		w.seen.Restored.UID = "r-uid"
		for i := range int(*w.seen.Restored.Spec.Size) {
			w.clone(fmt.Sprintf("r-%d", i))
		}
	case drill.DeleteCluster:
		if s.UID != "r-uid" {
			w.Errorf("%s, which is not the drill's", s)
		}
		w.seen.Restored = nil
	case drill.Finish:
		if status.EndedAt != nil {
			w.Errorf("%s, which has ended", s)
		}
	case drill.Record, drill.Wait, drill.Done:
	}
}

// stands prints how the drill is.
func (w *world) stands() {
	s := w.seen.Drill.Status
	if s.Phase == "" {
		return
	}
	complete := meta.FindStatusCondition(s.Conditions, v1beta1.ConditionComplete)
	fmt.Fprintf(&w.out, "%s: Complete=%s %s: %s\n", s.Phase, complete.Status, complete.Reason, complete.Message)
	if s.NextAt != nil {
		fmt.Fprintf(&w.out, "  next at %s\n", s.NextAt.UTC().Format(time.RFC3339))
	}
	for _, r := range s.History {
		fmt.Fprintf(&w.out, "  %s %s: %s\n", r.EndedAt.UTC().Format(time.RFC3339), r.Phase, r.Report)
	}
	if s.LongestGap != nil {
		fmt.Fprintf(&w.out, "  gap %s, %d writes, %d failed\n", s.LongestGap.Duration, *s.Writes, *s.FailedWrites)
	}
}
