// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/rules"
)

// VolumesView is one observation of a cluster that is restored: one that begins with a backup, or whose EtcdRestore has begun.
type VolumesView struct {
	Cluster   *v1beta1.EtcdCluster
	Paused    string                                  // what says that nothing is to be changed; empty if nothing does
	Forbidden string                                  // what the spec asks for and is not allowed, and what to do; empty if all is
	Backups   []v1beta1.EtcdBackup                    // of the namespace; none once one was chosen
	Store     *v1beta1.EtcdBackupStore                // that the status names, or before that the spec; nil: there is none
	Claims    map[string]corev1.PersistentVolumeClaim // that have a name which a member could have, by name
	Pods      []string                                // of members
	Beside    map[string]Beside                       // of members of a restore in place that have a Pod, by name
	Hashes    []cluster.Hash                          // of their data, once all of them serve, by serial number
	Jobs      map[string]jobs.Observed                // by member
	NoImage   string                                  // why the operator does not know its own image; empty if it does
	Search    jobs.Observed                           // the Job that looks for the target in the log
	Logged    *v1beta1.EtcdCluster                    // that LoggedBy names; nil: there is none
	NoSecret  string                                  // the Secret with identities that does not exist; empty if it does, or none is needed
	ClusterID string                                  // that the first members will form, in hexadecimal; empty until they are chosen
	Request   *v1beta1.EtcdRestore                    // of the name that a restore in place was asked for by; nil: there is none
	Now       time.Time
}

var volumesRule = rules.New[VolumesView, VolumesStep]

// The rules are asked in order: know before acting, record what is done before more is done, ask for the store only where something is
// left to be restored.
var volumesPolicy = rules.List[VolumesView, VolumesStep]{rules.Under("rules of the volumes",
	volumesRule("leave deleted clusters alone", leaveDeletedCluster, "restores nothing for an EtcdCluster that is being deleted"),
	volumesRule("undo", undoVolumes,
		"deletes the Jobs of members that are not to come, and ends there if no member had been stopped for them"),
	volumesRule("finish", finish, "cleans up once the cluster has adopted its volumes, and says when the data was served"),
	volumesRule("leave others alone", leaveOthers, "does nothing where no restore is wanted, or the cluster has begun without one"),
	volumesRule("cancel", cancelDeleted, "drops what a deleted EtcdRestore has begun, unless members may have been stopped for it"),
	volumesRule("pause", pause, "changes nothing while the cluster is paused, or asks for what is not allowed"),
	volumesRule("find the target", findBootstrapTarget,
		"has a Job look through the log for the moment that is meant, and waits for its answer"),
	volumesRule("choose the backup", resolve, "finds the backup that is meant, and fixes it with the names of the first members"),
	volumesRule("drop the search", dropBootstrapSearch, "deletes the Job that has found the target, once that is fixed"),
	volumesRule("leave pods alone", leavePods, "restores nothing where members run: a Job would mount what they have mounted; "+
		"in place, fills no volume again once a new member may have run"),
	volumesRule("leave volumes alone", leaveVolumes, "writes to no volume that may hold data and was not made for this restore"),
	volumesRule("wait for volumes to go", awaitVolumes, "waits while a volume that was deleted still has its name"),
	volumesRule("drop jobs of other volumes", dropJobs, "deletes a Job whose volume is gone: it says nothing about the next one of that name"),
	volumesRule("mark volumes", markVolumes, "marks all volumes as filled whose Jobs have said so, before the Jobs are deleted"),
	volumesRule("wait for the new members", awaitBeside, "in place, stops no member until the new ones serve beside the old ones with the "+
		"same data, or cannot in time"),
	volumesRule("record the restore", record, "lets the cluster begin once each volume is known to have the data"),
	volumesRule("restore again", restoreAgain,
		"fills a volume again that was lost before a member has run; until then the cluster does not begin"),
	volumesRule("clean up", cleanUp, "deletes Jobs once all volumes have the data"),
	volumesRule("need parts", needParts, "waits for the store, the image of the Jobs and the Secret with identities"),
	volumesRule("create volumes", createVolumes, "creates the volumes of the first members"),
	volumesRule("leave the jobs of others", leaveJobs, "waits while something else has a Job of the same name"),
	volumesRule("retry", retry, "deletes a Job that has failed, after a pause, to create it again"),
	volumesRule("create jobs", createJobs, "creates the Jobs that fill the volumes"),
	volumesRule("wait to retry", awaitRetry, "says why a Job has failed, while the pause lasts or until a person has fixed it"),
)}

// NextOfVolumes is the one step to take now, and the name of the rule that chose it.
func NextOfVolumes(v VolumesView) (VolumesStep, string) {
	if step, name := volumesPolicy.Next(v); step != nil {
		return step, name
	}
	return VolumesWait{Status: status(v, progress(v), "")}, "wait for the jobs"
}

func leaveDeletedCluster(v VolumesView) VolumesStep {
	if v.Cluster.DeletionTimestamp.IsZero() {
		return nil
	}
	return VolumesDone{}
}

func leaveOthers(v VolumesView) VolumesStep {
	if c := v.Cluster; c.IsRestoring() || !clusterHasBegun(c) && IsWanted(c) {
		return nil
	}
	return VolumesDone{}
}

// clusterHasBegun says whether the cluster has members, or is about to.
func clusterHasBegun(c *v1beta1.EtcdCluster) bool {
	return c.Status.Bootstrap != nil || c.Status.ClusterID != ""
}

// IsWanted says whether the cluster begins with a backup.
func IsWanted(c *v1beta1.EtcdCluster) bool {
	return c.Spec.Bootstrap != nil && c.Spec.Bootstrap.Restore != nil
}

// status is the one that is there with another progress or problem.
func status(v VolumesView, progress, problem string) v1beta1.RestoreStatus {
	var s v1beta1.RestoreStatus
	if v.Cluster.Status.Restore != nil {
		s = *v.Cluster.Status.Restore.DeepCopy()
	}
	s.Progress, s.Problem, s.Failure = progress, problem, lasting(v, s.Failure)
	return s
}

// Refused is the status with a problem that only a person can end.
func Refused(v VolumesView, problem string) v1beta1.RestoreStatus { return status(v, "", problem) }

func refuse(v VolumesView, problem string) VolumesStep {
	return VolumesWait{Status: Refused(v, problem)}
}

// cancelDeleted drops what a deleted EtcdRestore has begun, as its undo would: else it could not be ended if the store is gone for good.
// Once that is recorded, members may have been stopped, and it continues.
func cancelDeleted(v VolumesView) VolumesStep {
	s, er := v.Cluster.Status.Restore, v.Request
	switch {
	case s == nil || s.Request == "" || s.RestoredAt != nil:
		return nil
	case er != nil && string(er.UID) == s.RequestUID && er.DeletionTimestamp.IsZero():
		return nil
	}
	return VolumesRecord{
		Status: reversed(s, "the jobs to be gone"), Event: "RestoreCancelled",
		What: fmt.Sprintf("EtcdRestore %s was deleted before any member was stopped: the restore is cancelled", s.Request),
	}
}

func pause(v VolumesView) VolumesStep {
	switch {
	case v.Paused != "":
		return VolumesWait{Status: status(v, "the end of the pause: "+v.Paused, "")}
	case v.Cluster.Size() == 0:
		return VolumesWait{Status: status(v, "spec.size to be more than 0", "")}
	case v.Forbidden != "":
		return refuse(v, v.Forbidden) // volumes and Jobs are made by the spec
	}
	return nil
}

// resolve finds the backup that is meant, and fixes it with the names of the first members: from then on nothing else is restored.
func resolve(v VolumesView) VolumesStep {
	if s := v.Cluster.Status.Restore; s != nil && s.Path != "" {
		return nil
	}
	want := bootstrapRequest(v.Cluster)
	what, problem := source{}, ""
	if want.Target != nil {
		what, problem = foundIn(want, v.Backups, v.Search)
	} else if b, why := Choose(want, v.Backups, v.Store); why != "" {
		problem = why
	} else {
		what = alone(b)
	}
	if problem != "" {
		return refuse(v, "bootstrap.restore: "+problem)
	}
	s := newPlan(want, what, startPoint{Serial: int(v.Cluster.Status.NextSerial), Now: v.Now})
	return VolumesRecord{
		Status: s, What: "begin with " + words(s.Backup, s.Revision, s.Log), Event: "RestorePlanned",
	}
}

// leavePods restores nothing where members run: the record of the cluster was lost, and a Job would mount what they have mounted.
func leavePods(v VolumesView) VolumesStep {
	if v.Cluster.IsRestoring() {
		return leaveBeside(v) // the old members run on
	}
	if len(v.Pods) == 0 {
		return nil
	}
	return refuse(v, fmt.Sprintf("pods of members exist (%s) but the record of the cluster is empty, and nothing is restored beside them; "+
		"if its status was lost, restore it; if the pods are another cluster's, choose another cluster name", strings.Join(sorted(v.Pods), ", ")))
}

func needParts(v VolumesView) VolumesStep {
	name := v.Cluster.Status.Restore.Store
	switch {
	case v.NoImage != "":
		return refuse(v, v.NoImage)
	case v.Store == nil && v.Cluster.Status.Restore.VolumeSnapshot == nil:
		return refuse(v, fmt.Sprintf("EtcdBackupStore %s does not exist any more: create it again", name))
	case v.NoSecret != "":
		field := "bootstrap.restore.decryption"
		if by := v.Cluster.Status.Restore.Request; by != "" {
			field = "spec.decryption of EtcdRestore " + by
		}
		return refuse(v, fmt.Sprintf("Secret %s, which %s names, does not exist: create it with the age identities in its key %s",
			v.NoSecret, field, v1beta1.KeyIdentities))
	}
	return nil
}

// record says that the cluster may begin. It is not said before each volume is known to have the data.
func record(v VolumesView) VolumesStep {
	if v.Cluster.Status.Restore.RestoredAt != nil || len(unfilled(v)) > 0 {
		return nil
	}
	s := status(v, "", "")
	s.RestoredAt = ptr.To(metav1.NewTime(v.Now))
	if v.Cluster.IsRestoring() {
		s.SetAside = others(v)
	}
	return VolumesRecord{
		Status: s, What: fmt.Sprintf("the volumes of %s have the data", strings.Join(s.Members, ", ")), Event: "VolumesRestored",
	}
}

// restoreAgain takes that back if a volume was lost before a member has run: it gets the same data again, by the same plan.
func restoreAgain(v VolumesView) VolumesStep {
	lost := unfilled(v)
	if v.Cluster.Status.Restore.RestoredAt == nil || len(lost) == 0 || v.Cluster.IsRestoring() {
		return nil // in place, the old members are being replaced: only the undo leads back to them
	}
	s := status(v, "the volumes to be created", "")
	s.RestoredAt = nil
	return VolumesRecord{
		Status: s, What: fmt.Sprintf("volumes of %s were lost before members ran, and are restored again", strings.Join(lost, ", ")),
		Event: "VolumesRestoreRetried",
	}
}

// undoVolumes deletes the Jobs of members that are no longer wanted. If none had been stopped for them, the restore is over with that.
func undoVolumes(v VolumesView) VolumesStep {
	s := v.Cluster.Status.Restore
	if s == nil || !s.Undo || !v.Cluster.IsRestoring() && !s.IsCancelled() {
		return nil
	}
	if step := deleteJobs(v, s.SetAside); step != nil {
		return step
	}
	if s.CompletedAt != nil {
		return VolumesDone{}
	}
	if !s.IsCancelled() {
		return VolumesWait{Status: status(v, "the members to come back with their data", "")}
	}
	ended := status(v, "", "")
	ended.CompletedAt = ptr.To(metav1.NewTime(v.Now))
	return VolumesRecord{Status: ended, What: "the restore was undone before any member was stopped", Event: "RestoreUndone"}
}

// finish cleans up once the cluster has adopted its volumes, and says when the data was served.
func finish(v VolumesView) VolumesStep {
	s := v.Cluster.Status.Restore
	if v.Cluster.IsRestoring() || !clusterHasBegun(v.Cluster) || s == nil || s.RestoredAt == nil {
		return nil
	}
	if step := deleteJobs(v, v.Cluster.Status.Restore.Members); step != nil {
		return step
	}
	if s.CompletedAt != nil || v.Cluster.Status.ClusterID == "" || !isAvailable(v.Cluster) {
		return VolumesDone{}
	}
	completed := status(v, "", "")
	completed.CompletedAt = ptr.To(metav1.NewTime(v.Now))
	return VolumesRecord{Status: completed, What: served(*s), Event: "Restored"}
}

func served(s v1beta1.RestoreStatus) string {
	if s.Undo {
		return "the cluster serves what it had before backup " + s.Backup + " was restored"
	}
	what := "the cluster serves " + words(s.Backup, s.Revision, s.Log)
	if s.Keys != nil {
		what += fmt.Sprintf(" with %d keys", *s.Keys)
	}
	if s.Time != nil {
		what += ", as it was at " + s.Time.UTC().Format(time.RFC3339)
	}
	return what
}

func isAvailable(c *v1beta1.EtcdCluster) bool {
	return meta.IsStatusConditionTrue(c.Status.Conditions, v1beta1.ConditionAvailable)
}
