// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// writeTask is what the Job of a drill does, as status.job.task says it.
const writeTask = "Write"

// maxJobName is what a Job's Pods can have as the value of a label.
const maxJobName = 63

// jobName is the name of the Job with that number. No two Jobs of any EtcdDrill have the same.
func jobName(v View, number int64) string {
	return named(v.Name, v.UID, fmt.Sprintf("write-%d", number))
}

// named is the name of an object of a drill.
func named(drill, uid, what string) string {
	sum := sha256.Sum256([]byte(drill + "/" + uid))
	suffix := fmt.Sprintf("-%s-%s", hex.EncodeToString(sum[:4]), what)
	begin := strings.ReplaceAll(drill, ".", "-")
	return begin[:min(len(begin), maxJobName-len(suffix))] + suffix
}

// key is what the Job of a drill writes.
func key(uid string) string { return "etcd-operator.dev/drills/" + uid }

func nameJob(v View) Step {
	if v.Status.Job != nil {
		return nil
	}
	s := v.status()
	s.Jobs++
	s.ClusterUID = v.Cluster.UID
	s.Job = &v1beta1.JobReference{Name: jobName(v, s.Jobs), Task: writeTask}
	return Record{Status: s, What: "job " + s.Job.Name + " is to write"}
}

func createJob(v View) Step {
	if v.Status.Job.UID != "" || v.Job.Exists {
		return nil
	}
	return CreateJob{Name: v.Status.Job.Name}
}

func endWithoutWrites(v View) Step {
	why := ""
	switch v.Job.State(patience, v.Now) {
	case jobs.Missing:
		why = "it is gone: something has deleted it"
	case jobs.Foreign:
		why = "another object has a Job of this name: delete it"
	case jobs.Leaving:
		why = "it is being deleted"
	case jobs.Ended, jobs.Unread:
		why = "it has ended"
		if failed := v.Job.Failed(); failed != nil {
			why = failed.Message
		} else if v.Job.Trouble != "" {
			why = v.Job.Trouble
		}
	case jobs.Running:
		if v.acknowledged() >= firstWrites || v.Now.Before(v.Job.Created.Add(writesWithin)) {
			return nil
		}
		why = cmp.Or(v.Job.Trouble, v.Job.Unread, "no write was acknowledged within "+writesWithin.String())
	}
	message := fmt.Sprintf("nothing was disturbed, because job %s does not write: %s; correct that, and create another EtcdDrill",
		v.Status.Job.Name, why)
	return v.end(v1beta1.DrillFailed, v1beta1.ReasonWriterFailed, message)
}

func awaitWrites(v View) Step {
	if v.acknowledged() >= firstWrites {
		return nil
	}
	return Wait{Reason: v1beta1.ReasonMeasuring, For: cmp.Or(v.Job.Trouble, "the first writes of job "+v.Status.Job.Name)}
}

func (v View) acknowledged() int64 {
	if w := v.writes(); w != nil {
		return w.Acknowledged
	}
	return 0
}

// writes are what the Job has measured; nil while that is not known.
func (v View) writes() *jobspec.Writes {
	if done := v.Job.Done(); done != nil {
		return done.Writes
	}
	return v.Job.Progress.Writes
}

func knowLeader(v View) Step {
	for _, m := range v.Cluster.Members {
		if m.PodUID == "" || m.PodLeaves {
			return Wait{Reason: v1beta1.ReasonMeasuring, For: "pod " + m.Name}
		}
	}
	if v.Cluster.Leader == "" {
		return Wait{Reason: v1beta1.ReasonMeasuring, For: "a member to say which one leads"}
	}
	return nil
}

// begin writes down what is to be deleted before anything is: an operator that dies afterwards deletes no more than that.
func begin(v View) Step {
	s := v.status()
	s.Targets = targets(v)
	s.StartedAt = new(metav1.NewMicroTime(v.Now))
	what := Disrupt{Targets: s.Targets}.String()
	if v.measures() {
		what = "write for " + v.Spec.Lasts().String() + ", while another tool causes failures"
	}
	return Record{Status: s, What: fmt.Sprintf("%s: %s", v.Spec.Action, what), Event: "DrillStarted"}
}

// targets are the members that the action is about: the newest follower, by the order of members, the leader, or all.
func targets(v View) []v1beta1.DrillTarget {
	all := slices.Clone(v.Cluster.Members)
	switch v.Spec.Action {
	case v1beta1.KillLeader:
		all = slices.DeleteFunc(all, func(m Member) bool { return m.Name != v.Cluster.Leader })
	case v1beta1.KillMember, v1beta1.LoseVolume:
		all = slices.DeleteFunc(all, func(m Member) bool { return m.Name == v.Cluster.Leader })
		all = all[max(len(all)-1, 0):]
	case v1beta1.Measure:
		return nil
	case v1beta1.KillAll, v1beta1.RestoreBackup, v1beta1.LoseQuorum:
	}
	var made []v1beta1.DrillTarget
	for _, m := range all {
		t := v1beta1.DrillTarget{Member: m.Name, PodUID: m.PodUID}
		if v.Spec.Action == v1beta1.LoseVolume {
			t.VolumeUID = m.VolumeUID
		}
		made = append(made, t)
	}
	return made
}

// Order is what the Job of a drill is told. It ends by itself some minutes after the drill has given up.
func Order(d *v1beta1.EtcdDrill, c *v1beta1.EtcdCluster) *jobspec.WriteOrder {
	order := &jobspec.WriteOrder{
		Key: key(string(d.UID)), Secure: c.IsSecure(), Lasts: writesWithin + d.Spec.Lasts() + d.Spec.Limit() + lingers,
	}
	// The name of a member may be unknown for half a minute after its Pod was missing, that of the Service never is.
	_, service, _ := strings.Cut(specs.Endpoint(c), "://")
	order.Members = []jobspec.Member{{Name: c.ClientService(), Address: service}}
	for _, m := range c.Status.Members {
		order.Members = append(order.Members, jobspec.Member{Name: m.Name, ID: m.ID, Address: specs.ClientAddress(c, m.Name)})
	}
	return order
}

// ReadsJob says whether it matters what the Job says: not while the cluster is waited for, since its log is read each time.
func ReadsJob(d *v1beta1.EtcdDrill, now time.Time) bool {
	s := d.Status
	return s.StartedAt == nil || s.RecoveredAt != nil || s.EndedAt != nil || now.After(s.StartedAt.Add(d.Spec.Lasts()+d.Spec.Limit()))
}

// NeedsLeader says whether nothing is missing before the failure but to know which member leads.
func NeedsLeader(s Seen) bool {
	_, rule := Next(Facts(s))
	return rule == leaderRule
}
