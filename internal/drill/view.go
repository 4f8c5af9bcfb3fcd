// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
)

// View is one observation of an EtcdDrill and of what it disturbs: facts only, as plain values.
type View struct {
	Name, UID string
	Created   time.Time
	Deleting  bool
	Held      bool // by the finalizer of an earlier version

	Spec   v1beta1.EtcdDrillSpec
	Status v1beta1.EtcdDrillStatus

	Due          Due
	RestoredName string // of the cluster that a backup is restored into

	Cluster    Cluster
	Earlier    string    // another drill of the cluster that has not ended and comes first; empty: there is none
	LastBackup time.Time // when the newest verified backup of the cluster's data was begun; zero: there is none
	Backup     v1beta1.DrillBackup
	Restored   Restored
	Job        jobs.Observed // that writes
	Now        time.Time
}

// Cluster is the EtcdCluster that is disturbed.
type Cluster struct {
	Exists    bool // and is not being deleted
	UID       string
	Allowed   bool   // by spec.drills
	Ephemeral bool   // members have no volumes
	Size      int    // voters that are wanted
	NotWhole  string // why not every member that is wanted is a healthy voter; empty if they are
	Busy      string // what is in progress, or why the operator would not repair it; empty: nothing
	Members   []Member
	Leader    string // the member that leads, by its own word a moment ago; empty: it is not known
}

// Member is one that the status of the cluster lists.
type Member struct {
	Name      string
	Healthy   bool
	PodUID    string // empty: it has no Pod
	PodReady  bool
	PodLeaves bool

	VolumeUID    string // empty: it has no volume
	VolumeLeaves bool
}

// Seen is what was read for one look.
type Seen struct {
	Drill    *v1beta1.EtcdDrill
	Cluster  *v1beta1.EtcdCluster // nil: there is none
	Paused   string               // why the operator changes nothing; empty: it may
	Pods     []corev1.Pod         // of the members
	Claims   []corev1.PersistentVolumeClaim
	Drills   []v1beta1.EtcdDrill
	Backups  []v1beta1.EtcdBackup
	Restores []v1beta1.EtcdRestore
	Restored *v1beta1.EtcdCluster // of the name of the throw-away cluster; nil: there is none
	Clone    Parts                // of the members of that
	Served   *Served              // what that has; nil: not read
	Leader   string               // etcd's ID of the member that leads, in hexadecimal; empty: no member says it
	Job      jobs.Observed
	Now      time.Time
}

// Parts are what members of a cluster consist of.
type Parts struct {
	Pods   []corev1.Pod
	Claims []corev1.PersistentVolumeClaim
}

// Facts turns what was read into facts.
func Facts(s Seen) View {
	d := s.Drill
	v := View{
		Name: d.Name, UID: string(d.UID), Created: d.CreationTimestamp.Time, Deleting: d.DeletionTimestamp != nil,
		Held: slices.Contains(d.Finalizers, v1beta1.FinalizerDrill),
		Spec: d.Spec, Status: d.Status, Due: dueOf(d, s.Now), RestoredName: RestoredName(d), Restored: restoredOf(s),
		Cluster: clusterOf(s), Earlier: earlier(d, s.Drills), Job: s.Job, Now: s.Now,
	}
	if b := lastBackup(s); b != nil {
		v.LastBackup = b.Time
		v.Backup = v1beta1.DrillBackup{
			Name: b.Backup.Name, Version: b.Backup.Status.EtcdVersion, Revision: b.Backup.Status.Revision, Keys: b.Backup.Status.Keys,
		}
	}
	return v
}

func clusterOf(s Seen) Cluster {
	c := s.Cluster
	if c == nil || c.DeletionTimestamp != nil {
		return Cluster{}
	}
	made := Cluster{
		Exists: true, UID: string(c.UID), Allowed: c.AllowsDrills(), Ephemeral: c.Spec.Storage.Ephemeral != nil, Size: c.Size(),
		NotWhole: notWhole(c), Busy: busy(s),
	}
	for _, m := range c.Status.Members {
		made.Members = append(made.Members, memberOf(m, Parts{s.Pods, s.Claims}))
		if s.Leader != "" && m.ID == s.Leader {
			made.Leader = m.Name
		}
	}
	return made
}

func memberOf(m v1beta1.MemberStatus, of Parts) Member {
	made := Member{Name: m.Name, Healthy: m.Healthy && m.Role != v1beta1.RoleLearner && m.Role != v1beta1.RoleUnlisted}
	for _, p := range of.Pods {
		if p.Name == m.Name {
			made.PodUID, made.PodReady, made.PodLeaves = string(p.UID), isReady(p), p.DeletionTimestamp != nil
		}
	}
	for _, claim := range of.Claims {
		if claim.Name == m.Name {
			made.VolumeUID, made.VolumeLeaves = string(claim.UID), claim.DeletionTimestamp != nil
		}
	}
	return made
}

func isReady(p corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// notWhole says why not all voters that are wanted are healthy; empty if they are.
func notWhole(c *v1beta1.EtcdCluster) string {
	available := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionAvailable)
	switch {
	case available == nil:
		return "its status does not say yet whether it is available"
	case available.Status != metav1.ConditionTrue || available.Reason != v1beta1.ReasonHealthy:
		return available.Message
	case len(c.Status.UnknownMembers) > 0:
		return "etcd lists members that the operator has not added"
	}
	return ""
}

// busy says what is in progress on the cluster, or keeps the operator from repairing it; empty if nothing is.
func busy(s Seen) string {
	c := s.Cluster
	switch awaited := c.Status.AwaitedBackup; {
	case s.Paused != "":
		return "it is paused: " + s.Paused
	case c.Status.ObservedGeneration != c.Generation:
		return "its spec was changed a moment ago"
	case c.IsRestoring():
		return "it is being restored"
	case c.Status.Defragmenting != nil:
		return c.Status.Defragmenting.Member + " is being defragmented"
	case awaited != nil && !awaited.Done:
		return "EtcdBackup " + awaited.Name + " is awaited before " + awaited.Before
	}
	for _, a := range c.Status.Authorities {
		if a.Phase != v1beta1.RotationStable && a.Phase != "" {
			return "the authority " + a.Name + " is being rotated"
		}
	}
	if p := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionProgressing); p == nil || p.Reason != v1beta1.ReasonUpToDate {
		return progress(p)
	}
	return cmp.Or(backupRuns(s), restoreRuns(s))
}

func progress(p *metav1.Condition) string {
	if p == nil {
		return "its status does not say yet whether anything is in progress"
	}
	return p.Message
}

func backupRuns(s Seen) string {
	for _, b := range s.Backups {
		isOurs := b.Spec.Cluster == s.Cluster.Name || b.Status.ClusterUID == string(s.Cluster.UID)
		if isOurs && (b.Status.Phase == v1beta1.BackupRunning || b.Status.Phase == v1beta1.BackupVerifying) {
			return "EtcdBackup " + b.Name + " is " + string(b.Status.Phase)
		}
	}
	return ""
}

func restoreRuns(s Seen) string {
	for _, r := range s.Restores {
		isOurs := r.Spec.Cluster == s.Cluster.Name
		switch r.Status.Phase { //nolint:exhaustive // those that change the cluster, or are about to
		case v1beta1.RestoreBackingUp, v1beta1.RestoreRunning, v1beta1.RestoreUndoing:
			if isOurs {
				return "EtcdRestore " + r.Name + " is " + string(r.Status.Phase)
			}
		}
	}
	return ""
}

// earlier is the drill of the cluster that comes before this one: one that was begun before, or else was created before. Of two that were
// begun at the same moment, one comes before the other.
func earlier(d *v1beta1.EtcdDrill, all []v1beta1.EtcdDrill) string {
	for i := range all {
		o := &all[i]
		waits := o.Spec.Schedule != "" && o.Status.ScheduledFor == nil
		if waits || o.UID == d.UID || o.Spec.Cluster != d.Spec.Cluster || o.HasEnded() || o.DeletionTimestamp != nil {
			continue
		}
		begun := o.Status.StartedAt != nil || o.Status.Job != nil
		if begun && d.Status.Job == nil || begun == (d.Status.Job != nil) && before(o, d) {
			return o.Name
		}
	}
	return ""
}

func before(a, b *v1beta1.EtcdDrill) bool {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name)) < 0
}

// lastBackup is the newest verified backup of the data that the cluster has, and when it was begun; nil if there is none.
func lastBackup(s Seen) *v1beta1.Ranked[*v1beta1.EtcdBackup] {
	var good []*v1beta1.EtcdBackup
	for i := range s.Backups {
		b := &s.Backups[i]
		isThere := b.DeletionTimestamp == nil && b.Status.StartedAt != nil &&
			meta.IsStatusConditionTrue(b.Status.Conditions, v1beta1.ConditionComplete) &&
			meta.IsStatusConditionTrue(b.Status.Conditions, v1beta1.ConditionVerified)
		if s.Cluster != nil && isThere && b.Status.ClusterUID == string(s.Cluster.UID) && b.Status.ClusterID == s.Cluster.Status.ClusterID {
			good = append(good, b)
		}
	}
	if len(good) == 0 {
		return nil
	}
	return &v1beta1.NewestFirst(good, v1beta1.AgeOf)[0]
}
