// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/restore"
)

// TestVolumesStories runs the scripts in testdata/volumes. Each file is one story after another. "new" begins one, with cluster a of three
// members that begins with the backup first. "new in-place" begins one in which members a-0, a-1 and a-2 run, and EtcdRestore er restores
// that backup. The other commands say what happens: "cluster" to the cluster, "request" to the EtcdRestore, "backup" to the backup,
// "operator" to what the Jobs need besides the store, "store" to the store, "volume" to volumes and "job" to Jobs of members, which are
// named first; "search" to the Job that looks for the target in the log; "pod" to the Pod of a new member and "hashes" to the
// data of all; "after" is how much time goes by. Each prints what the plan does until it waits.
//
// If it fails, run with -rewrite and read the diff before you commit it.
func TestVolumesStories(t *testing.T) {
	datadriven.Walk(t, "testdata/volumes", func(t *testing.T, path string) {
		var w *volumesWorld
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				if w = newVolumesWorld(t, v1beta1.Restore{Backup: "first"}); d.HasArg("in-place") {
					w = newInPlace(t)
				}
			}
			w.T = t
			w.happens(d)
			return w.tells()
		})
	})
}

// happens has one thing happen.
func (w *volumesWorld) happens(d *datadriven.TestData) {
	for i, arg := range d.CmdArgs {
		value := strings.Join(arg.Vals, ", ")
		switch d.Cmd {
		case "new":
			switch arg.Key {
			case "in-place":
			case "without-backup":
				w.view.Backups = nil
			case "revision", "time", "deleted-key":
				w.view.Cluster.Spec.Bootstrap.Restore.Target = targetIs(arg.Key, value)
			default:
				w.cluster(arg.Key, value)
			}
		case "cluster":
			w.cluster(arg.Key, value)
		case "request":
			w.request(arg.Key)
		case "backup", "store", "operator":
			w.part(d.Cmd, arg.Key, value)
		case "volume":
			if i > 0 {
				w.volume(d.CmdArgs[0].Key, arg.Key)
			}
		case "job":
			if i > 0 {
				w.job(d.CmdArgs[0].Key, arg.Key, value)
			}
		case "pod":
			if i > 0 {
				w.beside(d.CmdArgs[0].Key, arg.Key)
			}
		case "hashes":
			w.hash(arg.Key)
		case "search":
			w.view.Search = searchEnds(w.T, w.view.Search, w.view.Now, arg.Key, value)
		case "after":
			passes, err := time.ParseDuration(arg.Key)
			if err != nil {
				w.Fatal(err)
			}
			w.view.Now = w.view.Now.Add(passes)
		default:
			w.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
		}
	}
}

func (w *volumesWorld) cluster(key, value string) {
	c := w.view.Cluster
	switch key {
	case "deleted":
		c.DeletionTimestamp = &metav1.Time{Time: w.view.Now}
	case "without-restore":
		c.Spec.Bootstrap = nil
	case "paused":
		w.view.Paused = "spec.paused is true"
	case "unpaused":
		w.view.Paused = ""
	case "size":
		c.Spec.Size = ptr.To(map[string]int32{"0": 0, "1": 1, "3": 3}[value])
	case "forbidden":
		w.view.Forbidden = "spec.image is not allowed"
	case "allowed":
		w.view.Forbidden = ""
	case "pods":
		w.view.Pods = strings.Split(value, ", ")
	case "begins": // with its volumes: they are adopted, or those of the old members are set aside
		c.Status.Bootstrap = &v1beta1.Bootstrap{Token: "uid"}
		if s := c.Status.Restore; s != nil {
			c.Status.Bootstrap.Members, c.Status.Bootstrap.Restore = s.Members, s.ID()
		}
	case "available", "unavailable":
		available := metav1.Condition{Type: v1beta1.ConditionAvailable, Status: metav1.ConditionFalse}
		if key == "available" {
			available.Status = metav1.ConditionTrue
		}
		c.Status.Conditions = []metav1.Condition{available}
	case "serves":
		c.Status.ClusterID = "c1"
		c.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionAvailable, Status: metav1.ConditionTrue}}
	default:
		w.Fatalf("unknown word %q of a cluster", key)
	}
}

// beside changes the Pod of a new member.
func (w *volumesWorld) beside(member, word string) {
	if w.view.Beside == nil {
		w.view.Beside = map[string]restore.Beside{}
	}
	switch word {
	case "starts":
		w.view.Beside[member] = restore.Beside{}
	case "ready":
		w.view.Beside[member] = restore.Beside{Ready: true}
	case "unschedulable":
		w.view.Beside[member] = restore.Beside{Unschedulable: true}
	case "gone":
		delete(w.view.Beside, member)
	default:
		w.Fatalf("unknown word %q of a Pod", word)
	}
}

// hash has all new members serve, and be asked for the hashes of their data.
func (w *volumesWorld) hash(word string) {
	for i, m := range w.status().Members {
		w.beside(m, "ready")
		hash := cluster.Hash{Member: m, Sum: 7}
		switch {
		case word == "unread":
			hash.Unread = "etcd answers its users only"
		case word == "differ" && i == 1:
			hash.Sum = 8
		}
		w.view.Hashes = append(w.view.Hashes, hash)
	}
}

func (w *volumesWorld) request(word string) {
	switch word {
	case "undo":
		w.turnRound()
	case "gone":
		w.view.Request = nil
	default:
		w.Fatalf("unknown word %q of an EtcdRestore", word)
	}
}

// part changes what is needed to restore.
func (w *volumesWorld) part(command, key, value string) {
	switch command + " " + key {
	case "backup made":
		w.view.Backups = []v1beta1.EtcdBackup{newBackup("first", 100, start.Add(-time.Hour))}
	case "store gone":
		w.view.Store = nil
	case "store created":
		w.view.Store = &v1beta1.EtcdBackupStore{}
	case "operator without-image":
		w.view.NoImage = "the operator does not know its image: start it with --task-image"
	case "operator with-image":
		w.view.NoImage = ""
	case "operator without-secret":
		w.view.NoSecret = value
	case "operator with-secret":
		w.view.NoSecret = ""
	default:
		w.Fatalf("unknown word %q of the %s", key, command)
	}
}

func (w *volumesWorld) volume(member, word string) {
	claim, there := w.view.Claims[member]
	switch word {
	case "deleted":
		claim.DeletionTimestamp = &metav1.Time{Time: w.view.Now}
	case "gone":
		w.loseVolume(member)
		return
	case "of-another":
		claim = corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: member}}
	case "of-deleted-cluster": // and Kubernetes is about to delete it
		claim = corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: member, OwnerReferences: []metav1.OwnerReference{
			specs.Owner(&v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "earlier"}}),
		}}}
	default:
		w.Fatalf("unknown word %q of a volume (%t)", word, there)
	}
	w.view.Claims[member] = claim
}

func (w *volumesWorld) job(member, word, value string) {
	job := w.view.Jobs[member]
	switch word {
	case "done":
		w.end(member, jobspec.Line{Done: &jobspec.Done{}})
		return
	case "fails":
		w.end(member, failed(value, false))
		return
	case "fails-for-good":
		w.end(member, failed(value, true))
		return
	case "silent":
		w.end(member, jobspec.Line{})
		job = w.view.Jobs[member]
		job.Trouble = value
	case "unread":
		w.end(member, jobspec.Line{})
		job = w.view.Jobs[member]
		job.Unread = value
	case "trouble":
		job.Trouble = value
	case "runs": // and has read so much of 1000 MiB
		var read int64
		if _, err := fmt.Sscan(value, &read); err != nil {
			w.Fatal(err)
		}
		job.Trouble, job.Progress = "", jobspec.Progress{Read: read << 20, Total: 1000 << 20}
	case "of-another":
		job = jobs.Observed{Exists: true, Name: jobs.RestoreName(member), UID: "other", For: string(w.view.Claims[member].UID)}
	case "gone":
		delete(w.view.Jobs, member)
		return
	default:
		w.Fatalf("unknown word %q of a job", word)
	}
	w.view.Jobs[member] = job
}

// tells obeys until the plan waits, and prints what it does.
func (w *volumesWorld) tells() string {
	w.Helper()
	var out strings.Builder
	for range 30 {
		step, rule := restore.NextOfVolumes(w.view)
		fmt.Fprintf(&out, "%s (%s)\n", step, rule)
		w.obey(step)
		switch s := step.(type) {
		case restore.VolumesRecord:
			fmt.Fprintf(&out, "  event %s\n", s.Event)
			if s.Event == "RestorePlanned" {
				fmt.Fprintf(&out, "  members %v begin with etcd %s at revision %d\n", s.Status.Members, s.Status.Version,
					s.Status.Revision+s.Status.Bump)
				if target := restore.TargetOf(&s.Status); target != nil {
					fmt.Fprintf(&out, "  each replays lineage %s up to revision %d\n", target.Lineage, target.Revision)
				}
			}
		case restore.VolumesWait:
			if f := s.Status.Failure; f != nil {
				fmt.Fprintf(&out, "  %s\n", s.Status.Failing())
			}
			if !s.Until.IsZero() {
				fmt.Fprintf(&out, "  again after %s\n", s.Until.Sub(w.view.Now))
			}
			return out.String()
		case restore.VolumesDone:
			return out.String()
		case restore.FindTarget:
			fmt.Fprintf(&out, "  it looks for %s\n", lookedFor(s))
		case restore.DropSearch, restore.CreateVolumes, restore.CreateJobs, restore.MarkVolumes, restore.DeleteJob:
		}
	}
	return out.String() + "never settles\n"
}
