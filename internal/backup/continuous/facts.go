// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package continuous

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// Seen is what was read for the log of one EtcdCluster, and nothing concluded from it.
type Seen struct {
	Cluster *v1beta1.EtcdCluster
	Paused  string                   // why nothing may be changed; empty if it may
	Store   *v1beta1.EtcdBackupStore // that spec.backup names; nil: there is none
	Backups []v1beta1.EtcdBackup     // of the namespace
	Client  string                   // version of the Secret by which members know who reads; empty: there is none
	Job     jobs.Observed
	Now     time.Time
}

// What a Job has when spec.backup.continuous does not say it: an EtcdCluster that was not admitted by the API server.
const (
	defaultFlush = time.Second
	defaultSize  = log.DefaultSize
)

// Facts turns what was read into facts.
func (b JobBuilder) Facts(seen Seen) View {
	c := seen.Cluster
	v := View{
		Cluster: c.Name, UID: string(c.UID), Wanted: c.KeepsLog(), Lineage: Lineage(c), Job: seen.Job, Now: seen.Now,
	}
	if c.Status.Log != nil {
		v.Status = *c.Status.Log
	}
	if !v.Wanted {
		return v
	}
	v.Flush = flush(c)
	v.Hold, v.Obstacle, v.Asked = hold(seen), obstacle(seen), asked(seen)
	if seen.Store != nil && len(jobs.Voters(c)) > 0 {
		v.For = v.Lineage + "/" + b.digest(seen)
	}
	v.Fulls = fulls(seen)
	return v
}

func flush(c *v1beta1.EtcdCluster) time.Duration {
	return cmp.Or(c.Spec.Backup.Continuous.Flush.Duration, defaultFlush)
}

// Lineage names the history that a cluster has now. A restore gives the cluster another ID. Whatever else may replace acknowledged writes
// by others under the same ID is counted: recoveries, and forks that the log itself has found. Empty: the cluster has not formed.
func Lineage(c *v1beta1.EtcdCluster) string {
	if all := Lineages(c, c.Status.ClusterID); len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// Lineages are all that an EtcdCluster can have had until now while etcd had an ID: the number only grows, whatever the ID is.
func Lineages(c *v1beta1.EtcdCluster, clusterID string) (all []string) {
	id, err := strconv.ParseUint(clusterID, 16, 64)
	if err != nil {
		return nil
	}
	latest := c.Status.Recoveries
	if c.Status.Log != nil {
		latest += c.Status.Log.Forks
	}
	for n := range latest + 1 {
		all = append(all, log.Lineage(id, int(n)))
	}
	return all
}

// hold is why no process may keep the log now.
func hold(seen Seen) Obstacle {
	c := seen.Cluster
	is := func(reason, format string, args ...any) Obstacle {
		return Obstacle{reason, fmt.Sprintf(format, args...)}
	}
	switch {
	case c.DeletionTimestamp != nil:
		return is(v1beta1.ReasonDeleting, "the log is not kept any more: the cluster is being deleted")
	case seen.Paused != "":
		return is(v1beta1.ReasonPaused, "the log is not kept: %s", seen.Paused)
	case Lineage(c) == "":
		return is(v1beta1.ReasonClusterNotFormed, "the log begins once the cluster has formed")
	case c.Status.Recovering != "":
		return is(v1beta1.ReasonRecovering, "the log begins again once the cluster is recovered from the data of %s", c.Status.Recovering)
	case c.Size() == 0:
		return is(v1beta1.ReasonClusterHibernated, "the log is not kept while spec.size is 0: the data does not change")
	}
	if err := log.CheckVersion(c.Status.Version); c.Status.Version != "" && err != nil {
		return is(v1beta1.ReasonVersionUnsupported, "the log is not kept: %v", err)
	}
	return Obstacle{}
}

// obstacle is why no full backup can be made, and no Job started.
func obstacle(seen Seen) Obstacle {
	name := seen.Cluster.Spec.Backup.Store
	if seen.Store == nil {
		return Obstacle{v1beta1.ReasonStoreMissing, fmt.Sprintf("the log is not kept: EtcdBackupStore %s does not exist; create it", name)}
	}
	ready := meta.FindStatusCondition(seen.Store.Status.Conditions, v1beta1.ConditionReady)
	switch {
	case ready == nil:
		return Obstacle{v1beta1.ReasonStoreUnready, fmt.Sprintf("the log waits: EtcdBackupStore %s has not been looked at yet", name)}
	case ready.Status != metav1.ConditionTrue:
		return Obstacle{v1beta1.ReasonStoreUnready, fmt.Sprintf("the log waits: EtcdBackupStore %s is not ready: %s", name, ready.Message)}
	case len(jobs.Voters(seen.Cluster)) == 0:
		return Obstacle{v1beta1.ReasonNoMemberAnswers, "the log waits: no member is known that can be read"}
	}
	return Obstacle{}
}

// isOurs says whether the operator has made the backup of this very cluster.
func isOurs(c *v1beta1.EtcdCluster, b *v1beta1.EtcdBackup) bool {
	return b.Annotations[v1beta1.AnnotationClusterUID] == string(c.UID)
}

func asked(seen Seen) Asked {
	s := seen.Cluster.Status.Log
	if s == nil || s.FullBackup == "" {
		return Asked{}
	}
	i := slices.IndexFunc(seen.Backups, func(b v1beta1.EtcdBackup) bool { return b.Name == s.FullBackup })
	if i < 0 {
		return Asked{}
	}
	b := &seen.Backups[i]
	a := Asked{
		Exists: true, Foreign: !isOurs(seen.Cluster, b), Deleting: b.DeletionTimestamp != nil,
		Complete: meta.IsStatusConditionTrue(b.Status.Conditions, v1beta1.ConditionComplete),
	}
	if b.Status.Phase == v1beta1.BackupFailed {
		a.Failed = "it has failed, and does not say why"
		if complete := meta.FindStatusCondition(b.Status.Conditions, v1beta1.ConditionComplete); complete != nil {
			a.Failed = complete.Message
		}
	}
	return a
}

// IsSince says whether a full backup was requested since the log was last interrupted, by when it was created. Those that were requested
// for the log were, whatever clocks say.
func IsSince(s v1beta1.LogStatus, name string, created time.Time) bool {
	isRequested := name == s.FullBackup || s.Base != nil && name == s.Base.Name
	return s.Since == nil || isRequested || !created.Before(s.Since.Time)
}

// fulls are the backups of the history that the cluster has now, the lowest revision first. What was made of the volume of a single member
// may have writes that no quorum had, and a VolumeSnapshot is in no store.
func fulls(seen Seen) []Full {
	c := seen.Cluster
	known := ptr.Deref(c.Status.Log, v1beta1.LogStatus{})
	var all []Full
	for i := range seen.Backups {
		b := &seen.Backups[i]
		s := b.Status
		isHere := s.ClusterUID == string(c.UID) && s.ClusterID == c.Status.ClusterID && s.Store == c.Spec.Backup.Store
		isFull := b.Spec.Found == "" && b.Spec.Volume == "" && b.Spec.VolumeSnapshot == nil && s.Revision > 0 && s.StartedAt != nil
		isThere := b.DeletionTimestamp == nil && b.Annotations[v1beta1.AnnotationGone] == "" &&
			meta.IsStatusConditionTrue(s.Conditions, v1beta1.ConditionComplete)
		if isHere && isFull && isThere && IsSince(known, b.Name, b.CreationTimestamp.Time) {
			all = append(all, Full{Name: b.Name, Revision: s.Revision, Time: v1beta1.BegunAt(b)})
		}
	}
	slices.SortFunc(all, func(a, b Full) int { return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Name, b.Name)) })
	return all
}
