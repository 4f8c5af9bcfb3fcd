// Package restore decides the one next step for a cluster that begins with a backup, until its volumes have the data and the
// cluster can adopt them as it adopts volumes that were kept (docs/adr/0029-restores-make-volumes.md). The same View always
// gives the same Step.
//
// It must never import a client, a clock, a logger or a context, and never touch a volume that it did not make.
package restore

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
	"github.com/etcd-operator/etcd-operator/internal/rules"
)

// View is one observation of a cluster that begins with a backup.
type View struct {
	Cluster   *v1alpha1.EtcdCluster
	Paused    string                                  // what says that nothing is to be changed; empty if nothing does
	Forbidden string                                  // what the spec asks for and is not allowed, and what to do; empty if all is
	Backups   []v1alpha1.EtcdBackup                   // of the namespace; none once one was chosen
	Store     *v1alpha1.EtcdBackupStore               // that the status names, or before that the spec; nil: there is none
	Claims    map[string]corev1.PersistentVolumeClaim // that have a name which a member could have, by name
	Pods      []string                                // of members
	Jobs      map[string]Job                          // by member
	NoImage   string                                  // why the operator does not know its own image; empty if it does
	NoSecret  string                                  // the Secret with identities that does not exist; empty if it does, or none is needed
	ClusterID string                                  // that the first members will form, in hexadecimal; empty until they are chosen
	Request   *v1alpha1.EtcdRestore                   // of the name that a restore in place was asked for by; nil: there is none
	Now       time.Time
}

var rule = rules.New[View, Step]

// The rules are asked in order: know before acting, record what is done before more is done, ask for the store only where something is
// left to be restored.
var policy = rules.Of(
	rule("leave deleted clusters alone", leaveDeleted, "restores nothing for an EtcdCluster that is being deleted"),
	rule("undo", undo, "deletes the Jobs of members that are not to come, and ends there if no member had been stopped for them"),
	rule("finish", finish, "cleans up once the cluster has adopted its volumes, and says when the data was served"),
	rule("leave others alone", leaveOthers, "does nothing where no restore is wanted, or the cluster has begun without one"),
	rule("cancel", cancel, "drops what a deleted EtcdRestore has begun, unless all volumes have the data"),
	rule("pause", pause, "changes nothing while the cluster is paused, or asks for what is not allowed"),
	rule("choose the backup", resolve, "finds the backup that is meant, and fixes it with the names of the first members"),
	rule("leave pods alone", leavePods, "restores nothing where members run: a Job would mount what they have mounted"),
	rule("leave volumes alone", leaveVolumes, "writes to no volume that may hold data and was not made for this restore"),
	rule("wait for volumes to go", awaitVolumes, "waits while a volume that was deleted still has its name"),
	rule("drop jobs of other volumes", dropJobs, "deletes a Job whose volume is gone: it says nothing about the next one of that name"),
	rule("mark volumes", markVolumes, "marks a volume as filled when its Job has said so, and before the Job is deleted"),
	rule("record the restore", record, "lets the cluster begin once each volume is known to have the data"),
	rule("restore again", restoreAgain, "takes that back if a volume was lost before a member has run"),
	rule("clean up", cleanUp, "deletes Jobs once all volumes have the data"),
	rule("need parts", needParts, "waits for the store, the image of the Jobs and the Secret with identities"),
	rule("create volumes", createVolumes, "creates the volumes of the first members"),
	rule("leave the jobs of others", leaveJobs, "waits while something else has a Job of the same name"),
	rule("retry", retry, "deletes a Job that has failed, after a pause, to create it again"),
	rule("create jobs", createJobs, "creates the Jobs that fill the volumes"),
	rule("wait to retry", awaitRetry, "says why a Job has failed, while the pause lasts or until a person has fixed it"),
)

// Next is the one step to take now, and the name of the rule that chose it.
func Next(v View) (Step, string) {
	if step, name := policy.Next(v); step != nil {
		return step, name
	}
	return Wait{Status: status(v, progress(v), "")}, "wait for the jobs"
}

func leaveDeleted(v View) Step {
	if v.Cluster.DeletionTimestamp.IsZero() {
		return nil
	}
	return Done{}
}

func leaveOthers(v View) Step {
	if c := v.Cluster; c.IsRestoring() || !hasBegun(c) && IsWanted(c) {
		return nil
	}
	return Done{}
}

// hasBegun says whether the cluster has members, or is about to.
func hasBegun(c *v1alpha1.EtcdCluster) bool {
	return c.Status.Bootstrap != nil || c.Status.ClusterID != ""
}

// IsWanted says whether the cluster begins with a backup.
func IsWanted(c *v1alpha1.EtcdCluster) bool {
	return c.Spec.Bootstrap != nil && c.Spec.Bootstrap.Restore != nil
}

// status is the one that is there with another progress or problem.
func status(v View, progress, problem string) v1alpha1.RestoreStatus {
	var s v1alpha1.RestoreStatus
	if v.Cluster.Status.Restore != nil {
		s = *v.Cluster.Status.Restore.DeepCopy()
	}
	s.Progress, s.Problem, s.Failure = progress, problem, lasting(v, s.Failure)
	return s
}

// Refused is the status with a problem that only a person can end.
func Refused(v View, problem string) v1alpha1.RestoreStatus { return status(v, "", problem) }

func refuse(v View, problem string) Step { return Wait{Status: Refused(v, problem)} }

// cancel drops what a deleted EtcdRestore has begun, as its undo would: else nobody could end it where the store is gone for good. Once
// all volumes have the data, members may have been stopped, and it goes on.
func cancel(v View) Step {
	s, er := v.Cluster.Status.Restore, v.Request
	switch {
	case s == nil || s.Request == "" || s.RestoredAt != nil:
		return nil
	case er != nil && string(er.UID) == s.RequestUID && er.DeletionTimestamp.IsZero():
		return nil
	}
	return Record{
		Status: Reversed(s, "the jobs to be gone"), Event: "RestoreCancelled",
		What: fmt.Sprintf("EtcdRestore %s was deleted before all volumes had the data: the restore is cancelled", s.Request),
	}
}

// Reversed is the plan turned round: the members that gave way, or were to, are chosen, and those of the restore give way to them.
func Reversed(s *v1alpha1.RestoreStatus, progress string) v1alpha1.RestoreStatus {
	turned := *s.DeepCopy()
	turned.Undo, turned.Members, turned.SetAside = true, s.SetAside, s.Members
	turned.CompletedAt, turned.Progress, turned.Problem, turned.Failure = nil, progress, "", nil
	return turned
}

func pause(v View) Step {
	switch {
	case v.Paused != "":
		return Wait{Status: status(v, "the end of the pause: "+v.Paused, "")}
	case v.Cluster.Size() == 0:
		return Wait{Status: status(v, "spec.size to be more than 0", "")}
	case v.Forbidden != "":
		return refuse(v, v.Forbidden) // volumes and Jobs are made by the spec
	}
	return nil
}

// resolve finds the backup that is meant, and fixes it with the names of the first members: from then on nothing else is restored.
func resolve(v View) Step {
	if s := v.Cluster.Status.Restore; s != nil && s.Path != "" {
		return nil
	}
	b, problem := Choose(Begin(v.Cluster), v.Backups, v.Store)
	if problem != "" {
		return refuse(v, "bootstrap.restore: "+problem)
	}
	s := Plan(Begin(v.Cluster), b, Start{Serial: int(v.Cluster.Status.NextSerial), Now: v.Now})
	return Record{Status: s, What: fmt.Sprintf("begin with backup %s of revision %d", b.Name, b.Status.Revision), Event: "RestorePlanned"}
}

// A Start is where a restored cluster begins.
type Start struct {
	Serial int   // number in the name of its first member
	Seen   int64 // highest revision that clients are known to have seen; 0: none is known
	Now    time.Time
}

// Plan is what is restored, fixed before the first volume is made.
func Plan(want Request, b *v1alpha1.EtcdBackup, start Start) v1alpha1.RestoreStatus {
	c, of := want.Cluster, b.Status
	s := v1alpha1.RestoreStatus{
		Store: of.Store, Path: of.Path, Backup: b.Name, ManifestSHA256: of.ManifestSHA256, Revision: of.Revision,
		Bump: Bump(of.Revision, start.Seen, began(b), start.Now), Keys: of.Keys, DatabaseSize: of.DatabaseSize, Time: of.StartedAt,
		Version: version.Begin(of.EtcdVersion, version.Full(c.Spec.Version)), Progress: "the volumes to be created",
		Verified: of.ManifestSHA256 != "" && of.Verified != nil && meta.IsStatusConditionTrue(of.Conditions, v1alpha1.ConditionVerified),
	}
	if from := want.Decryption; from != nil && of.Encrypted {
		s.Decryption = from.Secret
	}
	for i := range c.Size() {
		s.Members = append(s.Members, cluster.MemberName(c.Name, start.Serial+i))
	}
	return s
}

func began(b *v1alpha1.EtcdBackup) time.Time {
	if b.Status.StartedAt == nil {
		return time.Time{}
	}
	return b.Status.StartedAt.Time
}

// leavePods restores nothing where members run: the record of the cluster was lost, and a Job would mount what they have mounted.
func leavePods(v View) Step {
	if len(v.Pods) == 0 || v.Cluster.IsRestoring() {
		return nil // in place, they run on until all volumes have the data
	}
	return refuse(v, fmt.Sprintf("pods of members exist (%s) but the record of the cluster is empty, and nothing is restored beside them; "+
		"if its status was lost, restore it; if the pods are not needed, delete them", strings.Join(sorted(v.Pods), ", ")))
}

func needParts(v View) Step {
	name := v.Cluster.Status.Restore.Store
	switch {
	case v.NoImage != "":
		return refuse(v, v.NoImage)
	case v.Store == nil:
		return refuse(v, fmt.Sprintf("EtcdBackupStore %s does not exist any more: create it again", name))
	case v.NoSecret != "":
		field := "bootstrap.restore.decryption"
		if by := v.Cluster.Status.Restore.Request; by != "" {
			field = "spec.decryption of EtcdRestore " + by
		}
		return refuse(v, fmt.Sprintf("Secret %s, which %s names, does not exist: create it with the age identities in its key %s",
			v.NoSecret, field, v1alpha1.KeyIdentities))
	}
	return nil
}

// record says that the cluster may begin. It is not said before each volume is known to have the data.
func record(v View) Step {
	if v.Cluster.Status.Restore.RestoredAt != nil || len(unfilled(v)) > 0 {
		return nil
	}
	s := status(v, "", "")
	s.RestoredAt = ptr.To(metav1.NewTime(v.Now))
	if v.Cluster.IsRestoring() {
		s.SetAside = others(v)
	}
	return Record{Status: s, What: fmt.Sprintf("the volumes of %s have the data", strings.Join(s.Members, ", ")), Event: "VolumesRestored"}
}

// restoreAgain takes that back if a volume was lost before a member has run: it gets the same data again, by the same plan.
func restoreAgain(v View) Step {
	lost := unfilled(v)
	if v.Cluster.Status.Restore.RestoredAt == nil || len(lost) == 0 || v.Cluster.IsRestoring() {
		return nil // in place, the old members have begun to give way: there is no way back to them but the undo
	}
	s := status(v, "the volumes to be created", "")
	s.RestoredAt = nil
	return Record{
		Status: s, What: fmt.Sprintf("volumes of %s were lost before members ran, and are restored again", strings.Join(lost, ", ")),
		Event: "RestoredAgain",
	}
}

// undo deletes the Jobs of members that are not to come. If none had been stopped for them, the restore is over with that.
func undo(v View) Step {
	s := v.Cluster.Status.Restore
	if s == nil || !s.Undo || !v.Cluster.IsRestoring() && !s.IsCancelled() {
		return nil
	}
	if step := deleteJobs(v, s.SetAside); step != nil {
		return step
	}
	if s.CompletedAt != nil {
		return Done{}
	}
	if !s.IsCancelled() {
		return Wait{Status: status(v, "the members to come back with their data", "")}
	}
	ended := status(v, "", "")
	ended.CompletedAt = ptr.To(metav1.NewTime(v.Now))
	return Record{Status: ended, What: "the restore was undone before any member was stopped", Event: "RestoreUndone"}
}

// finish cleans up once the cluster has adopted its volumes, and says when the data was served.
func finish(v View) Step {
	s := v.Cluster.Status.Restore
	if v.Cluster.IsRestoring() || !hasBegun(v.Cluster) || s == nil || s.RestoredAt == nil {
		return nil
	}
	if step := deleteJobs(v, v.Cluster.Status.Restore.Members); step != nil {
		return step
	}
	if s.CompletedAt != nil || v.Cluster.Status.ClusterID == "" || !isAvailable(v.Cluster) {
		return Done{}
	}
	completed := status(v, "", "")
	completed.CompletedAt = ptr.To(metav1.NewTime(v.Now))
	return Record{Status: completed, What: served(*s), Event: "Restored"}
}

func served(s v1alpha1.RestoreStatus) string {
	if s.Undo {
		return "the cluster serves what it had before backup " + s.Backup + " was restored"
	}
	what := fmt.Sprintf("the cluster serves backup %s of revision %d", s.Backup, s.Revision)
	if s.Keys != nil {
		what += fmt.Sprintf(" with %d keys", *s.Keys)
	}
	if s.Time != nil {
		what += ", as it was at " + s.Time.UTC().Format(time.RFC3339)
	}
	return what
}

func isAvailable(c *v1alpha1.EtcdCluster) bool {
	return meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionAvailable)
}
