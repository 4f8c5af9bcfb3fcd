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

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/build"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/task"
)

// View is one observation of a cluster that begins with a backup.
type View struct {
	Cluster   *v1alpha1.EtcdCluster
	Backups   []v1alpha1.EtcdBackup                   // of the namespace
	Store     *v1alpha1.EtcdBackupStore               // that the status names; nil: there is none
	Claims    map[string]corev1.PersistentVolumeClaim // that have a name which a member could have, by name
	Jobs      map[string]Job                          // by member
	NoImage   string                                  // why the operator does not know its own image; empty if it does
	ClusterID string                                  // that the first members will form, in hexadecimal; empty until they are chosen
	Now       time.Time
}

// Job is the one that fills the volume of a member.
type Job struct {
	Object   *batchv1.Job
	Ended    bool
	EndedAt  time.Time
	End      task.Line     // Done or Failed, of one that has ended
	Progress task.Progress // of one that runs
	Trouble  string        // why its Pod does not run, or how it ended, in the words of Kubernetes
}

// Step is the one next thing to do. The set is closed.
//
//sumtype:decl
type Step interface {
	fmt.Stringer
	step()
}

type (
	// Record writes status.restore.
	Record struct {
		Status v1alpha1.RestoreStatus
		What   string
		Event  string // its reason; empty: none
	}
	// CreateVolumes makes the volumes of members.
	CreateVolumes struct{ Members []string }
	// CreateJobs makes the Jobs that fill volumes, all at once.
	CreateJobs struct{ Members []string }
	// MarkVolume writes on a volume that it has the data of the cluster with this ID.
	MarkVolume struct{ Member, ClusterID string }
	// DeleteJob deletes a Job whose work is done, or that is tried again.
	DeleteJob struct{ Member, UID, Because string }
	// Wait changes nothing but what the status says.
	Wait struct {
		Status v1alpha1.RestoreStatus
		Until  time.Time // zero: a watch tells
	}
	// Done means that there is nothing to restore, or no longer.
	Done struct{}
)

func (Record) step()        {}
func (CreateVolumes) step() {}
func (CreateJobs) step()    {}
func (MarkVolume) step()    {}
func (DeleteJob) step()     {}
func (Wait) step()          {}
func (Done) step()          {}

func (s Record) String() string        { return s.What }
func (s CreateVolumes) String() string { return "make volumes of " + strings.Join(s.Members, ", ") }
func (s CreateJobs) String() string    { return "fill volumes of " + strings.Join(s.Members, ", ") }
func (s MarkVolume) String() string    { return "volume of " + s.Member + " has the data" }
func (s DeleteJob) String() string     { return "delete job of " + s.Member + ": " + s.Because }
func (s Wait) String() string {
	if s.Status.Problem != "" {
		return "wait: " + s.Status.Problem
	}
	return "wait: " + s.Status.Progress
}
func (s Done) String() string { return "done" }

// Next is the one step to take now.
func Next(v View) Step {
	c := v.Cluster
	switch {
	case !c.DeletionTimestamp.IsZero():
		return Done{}
	case c.Status.Restore != nil && c.Status.Restore.RestoredAt != nil:
		return finish(v)
	case !IsWanted(c) || c.Status.Bootstrap != nil || c.Status.ClusterID != "":
		return Done{}
	}
	for _, rule := range []func(View) Step{pause, resolve, leaveVolumes, needParts, makeVolumes, markVolumes, retry, makeJobs, record} {
		if step := rule(v); step != nil {
			return step
		}
	}
	return Wait{Status: status(v, progress(v), "")}
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
	s.Progress, s.Problem = progress, problem
	return s
}

func stuck(v View, problem string) Step { return Wait{Status: status(v, "", problem)} }

func pause(v View) Step {
	c := v.Cluster
	if !c.Spec.Paused && c.Annotations[v1alpha1.AnnotationPaused] != "true" && c.Size() > 0 {
		return nil
	}
	return Wait{Status: status(v, "the end of the pause, or of hibernation", "")}
}

// resolve finds the backup that is meant, and fixes it with the names of the first members: from then on nothing else is restored.
func resolve(v View) Step {
	if s := v.Cluster.Status.Restore; s != nil && s.Path != "" {
		return nil
	}
	b, problem := Choose(v.Cluster, v.Backups)
	if problem != "" {
		return stuck(v, problem)
	}
	s := planned(v, b)
	return Record{Status: s, What: fmt.Sprintf("begin with backup %s of revision %d", b.Name, b.Status.Revision), Event: "RestorePlanned"}
}

func planned(v View, b *v1alpha1.EtcdBackup) v1alpha1.RestoreStatus {
	c, of := v.Cluster, b.Status
	s := v1alpha1.RestoreStatus{
		Store: of.Store, Path: of.Path, Backup: b.Name, ManifestSHA256: of.ManifestSHA256, Revision: of.Revision, Keys: of.Keys,
		Time: of.StartedAt, Version: startVersion(c, of.EtcdVersion), Progress: "the volumes to be made",
	}
	if from := c.Spec.Bootstrap.Restore.Decryption; from != nil {
		s.Decryption = from.Secret
	}
	for i := range c.Size() {
		s.Members = append(s.Members, cluster.MemberName(c.Name, int(c.Status.NextSerial)+i))
	}
	return s
}

// leaveVolumes never writes to what may hold data: every volume that could be this cluster's must have been made for this restore.
func leaveVolumes(v View) Step {
	var others []string
	for _, claim := range v.Claims {
		if claim.Annotations[v1alpha1.AnnotationToken] != Token(v.Cluster) {
			others = append(others, claim.Name)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return stuck(v, fmt.Sprintf("there are volumes of an earlier cluster of this name (%s), and nothing is restored over them: "+
		"delete them if their data is not needed, create the EtcdCluster under another name, "+
		"or create it without bootstrap.restore to bring that cluster back",
		strings.Join(sorted(others), ", ")))
}

func needParts(v View) Step {
	name := v.Cluster.Status.Restore.Store
	switch {
	case v.NoImage != "":
		return stuck(v, v.NoImage)
	case v.Store == nil:
		return stuck(v, fmt.Sprintf("EtcdBackupStore %s does not exist any more: create it again", name))
	}
	return nil
}

func makeVolumes(v View) Step {
	missing := lacking(v, func(m string) bool { _, there := v.Claims[m]; return there })
	if len(missing) == 0 {
		return nil
	}
	return CreateVolumes{missing}
}

func markVolumes(v View) Step {
	for _, m := range v.Cluster.Status.Restore.Members {
		if job := v.Jobs[m]; !isFilled(v, m) && job.Ended && job.End.Done != nil {
			return MarkVolume{m, v.ClusterID}
		}
	}
	return nil
}

// Pauses after a Job that failed: what another try can mend, and what only a person can.
const soon, late = 20 * time.Second, 2 * time.Minute

// retry tries a Job again that has failed. What it left on the volume is begun again.
func retry(v View) Step {
	for _, m := range v.Cluster.Status.Restore.Members {
		job := v.Jobs[m]
		if job.Object == nil || !job.Ended || isFilled(v, m) || !job.Object.DeletionTimestamp.IsZero() {
			continue
		}
		why, pause := "it ended without saying why: "+job.Trouble, soon
		if failed := job.End.Failed; failed != nil {
			why = failed.Message
			if failed.Final {
				pause = late
			}
		}
		if again := job.EndedAt.Add(pause); v.Now.Before(again) {
			return Wait{Status: status(v, "", fmt.Sprintf("the data of %s cannot be restored: %s; it is tried again", m, why)), Until: again}
		}
		return DeleteJob{m, string(job.Object.UID), "it failed, and is tried again"}
	}
	return nil
}

func makeJobs(v View) Step {
	missing := lacking(v, func(m string) bool { return isFilled(v, m) || v.Jobs[m].Object != nil })
	if len(missing) == 0 {
		return nil
	}
	return CreateJobs{missing}
}

func record(v View) Step {
	if len(lacking(v, func(m string) bool { return isFilled(v, m) })) > 0 {
		return nil
	}
	s := status(v, "", "")
	s.RestoredAt = ptr.To(metav1.NewTime(v.Now))
	return Record{Status: s, What: fmt.Sprintf("the volumes of %s have the data", strings.Join(s.Members, ", ")), Event: "VolumesRestored"}
}

// finish cleans up, and says when the data was served.
func finish(v View) Step {
	s := v.Cluster.Status.Restore
	for _, m := range s.Members {
		if job := v.Jobs[m]; job.Object != nil && job.Object.DeletionTimestamp.IsZero() {
			return DeleteJob{m, string(job.Object.UID), "its volume has the data"}
		}
	}
	if s.CompletedAt != nil || v.Cluster.Status.ClusterID == "" || !isAvailable(v.Cluster) {
		return Done{}
	}
	completed := status(v, "", "")
	completed.CompletedAt = ptr.To(metav1.NewTime(v.Now))
	return Record{Status: completed, What: served(*s), Event: "Restored"}
}

func served(s v1alpha1.RestoreStatus) string {
	what := fmt.Sprintf("the cluster serves backup %s of revision %d", s.Backup, s.Revision)
	if s.Keys != nil {
		what += fmt.Sprintf(" with %d keys", *s.Keys)
	}
	if s.Time != nil {
		what += ", as it was at " + s.Time.UTC().Format(time.RFC3339)
	}
	return what
}

// progress is what the slowest of the Jobs says.
func progress(v View) string {
	slowest, at := "", 2.0
	for _, m := range v.Cluster.Status.Restore.Members {
		job := v.Jobs[m]
		if isFilled(v, m) || job.Ended {
			continue
		}
		done := 0.0
		if job.Progress.Total > 0 {
			done = float64(job.Progress.Read) / float64(job.Progress.Total)
		}
		if done < at {
			slowest, at = m, done
		}
	}
	if slowest == "" {
		return "the data to be restored"
	}
	if trouble := v.Jobs[slowest].Trouble; trouble != "" {
		return fmt.Sprintf("the job that restores the data of %s to run: %s", slowest, trouble)
	}
	return fmt.Sprintf("the data of %s to be restored: more than %d %%", slowest, int(at*10)*10) // not every per cent is a write
}

func lacking(v View, has func(member string) bool) []string {
	var missing []string
	for _, m := range v.Cluster.Status.Restore.Members {
		if !has(m) {
			missing = append(missing, m)
		}
	}
	return missing
}

// isFilled says whether a volume has the data: that is written on it, after the Job has said so.
func isFilled(v View, member string) bool {
	claim, there := v.Claims[member]
	return there && claim.Annotations[v1alpha1.AnnotationClusterID] != ""
}

// Token tells this cluster from all others of its name, and is etcd's initial cluster token.
func Token(c *v1alpha1.EtcdCluster) string { return string(c.UID) }

// Volume is what a first member gets to be filled. That it holds nothing is never said of it.
func Volume(c *v1alpha1.EtcdCluster, member string) *corev1.PersistentVolumeClaim {
	claim := build.Volume(c, member, &v1alpha1.Bootstrap{Token: Token(c), Members: c.Status.Restore.Members})
	delete(claim.Annotations, v1alpha1.AnnotationUnused)
	claim.Annotations[v1alpha1.AnnotationVersion] = c.Status.Restore.Version
	return claim
}

func isAvailable(c *v1alpha1.EtcdCluster) bool {
	return meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionAvailable)
}
