// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// Seen is what was read for one EtcdBackup, and nothing concluded from it.
type Seen struct {
	Backup  *v1beta1.EtcdBackup
	Store   *v1beta1.EtcdBackupStore // nil: there is none
	Cluster *v1beta1.EtcdCluster     // nil: there is none
	Job     jobs.Observed            // of the name in the status
	Others  []v1beta1.EtcdBackup     // all of the namespace
	// Kept are all of the namespace, and Present is the cluster, as the API server has them now, before what is stored is deleted.
	Kept    []v1beta1.EtcdBackup
	Present *v1beta1.EtcdCluster // nil: there is none
	// Volume is the one that spec.volume names, and Pod its member's; nil: there is none.
	Volume *corev1.PersistentVolumeClaim
	Pod    *corev1.Pod
	// Snapshot is the VolumeSnapshot that SnapshotName names; nil: there is none. NoSnapshots is why Kubernetes has none at all; empty: it can
	// have. Source is the member whose volume would be taken, if NeedsSource.
	Snapshot    *unstructured.Unstructured
	NoSnapshots string
	Source      Source
	Now         time.Time
}

// volumeOf is what is known of the volume that is to be backed up.
func volumeOf(seen Seen) Volume {
	v := Volume{Name: seen.Backup.Spec.Volume, Exists: seen.Volume != nil, Runs: seen.Pod != nil}
	if seen.Volume == nil || seen.Cluster == nil {
		return v
	}
	before := *seen.Cluster // whichever members and ID it had: a volume that a restore has set aside has those of before
	before.Status = v1beta1.EtcdClusterStatus{}
	v.Foreign = specs.Foreign(&before, seen.Volume)
	v.Size = seen.Volume.Spec.Resources.Requests.Storage().Value()
	v.ClusterID = seen.Volume.Annotations[v1beta1.AnnotationClusterID]
	v.Version = cmp.Or(
		seen.Volume.Annotations[v1beta1.AnnotationVersion], seen.Cluster.Status.Version, version.Full(seen.Cluster.Spec.Version),
	)
	return v
}

// StoreName is the name of the store that a backup is in, or is written to. Once something may have been written, it is
// fixed. The cluster may be nil.
func StoreName(b *v1beta1.EtcdBackup, c *v1beta1.EtcdCluster) string {
	switch {
	case b.Spec.VolumeSnapshot != nil:
		return ""
	case b.Status.Path != "":
		return b.Status.Store
	case b.Spec.Store != "":
		return b.Spec.Store
	case c != nil && c.Spec.Backup != nil:
		return c.Spec.Backup.Store
	default:
		return ""
	}
}

// ClusterName is the name of the cluster that a backup is of; empty if that is not known.
func ClusterName(b *v1beta1.EtcdBackup) string {
	if b.Spec.Cluster != "" {
		return b.Spec.Cluster
	}
	return b.Status.Cluster
}

// Facts turns what was read into facts.
func Facts(seen Seen) View {
	b := seen.Backup
	v := View{
		Name: b.Name, Namespace: b.Namespace, UID: string(b.UID),
		Created: b.CreationTimestamp.Time, Deleting: b.DeletionTimestamp != nil,
		HasFinalizer: slices.Contains(b.Finalizers, v1beta1.FinalizerBackup),
		Scheduled:    b.Labels[v1beta1.LabelScheduled] != "",
		Upload:       b.Annotations[v1beta1.AnnotationUpload],
		Request:      b.Annotations[v1beta1.AnnotationVerifyOnce],
		Spec:         b.Spec, Status: b.Status,
		Volume: volumeOf(seen), Listed: listing(b), Store: storeOf(seen), Cluster: clusterOf(seen), Job: seen.Job, Now: seen.Now,
	}
	if b.Spec.Found == "" {
		v.Gone = b.Annotations[v1beta1.AnnotationGone]
	}
	v.Again = again(b, v.Store.Name, seen.Others)
	if v.isSnapshot() {
		v.snapshot(seen)
		return v
	}
	if b.Spec.Encryption != nil {
		v.Recipients = b.Spec.Encryption.Recipients
	}
	if b.Spec.Decryption != nil {
		v.Decryption = b.Spec.Decryption.Secret
	}
	if seen.Cluster != nil && seen.Cluster.Spec.Backup != nil {
		v.inherit(seen.Cluster.Spec.Backup)
	}
	return v
}

// snapshot is about a VolumeSnapshot: nothing of it is in a store, and what a cluster says of encryption is about stores.
func (v *View) snapshot(seen Seen) {
	v.Taken, v.Reference = observeSnapshot(seen.Snapshot, seen.Backup, seen.Now), referenceTo(seen.Snapshot)
	v.NoSnapshots, v.Source = seen.NoSnapshots, seen.Source
	v.Gone = v.withoutSnapshot()
	if job := v.Status.Job; job != nil && job.Task == Backup {
		v.Job = v.Taken
	}
}

// inherit takes from the cluster what the EtcdBackup does not say.
func (v *View) inherit(from *v1beta1.Backup) {
	if v.Spec.Encryption == nil && from.Encryption != nil {
		v.Recipients = from.Encryption.Recipients
	}
	if v.Spec.Decryption == nil && from.Decryption != nil {
		v.Decryption = from.Decryption.Secret
	}
}

// listing is what the controller of the store has written on the object.
func listing(b *v1beta1.EtcdBackup) *jobspec.Found {
	text := b.Annotations[v1beta1.AnnotationFound]
	if b.Spec.Found == "" || text == "" {
		return nil
	}
	found := &jobspec.Found{}
	if err := json.Unmarshal([]byte(text), found); err != nil {
		return &jobspec.Found{Problem: fmt.Sprintf("the annotation %s cannot be read: %v", v1beta1.AnnotationFound, err)}
	}
	return found
}

func storeOf(seen Seen) Store {
	s := Store{Name: StoreName(seen.Backup, seen.Cluster)}
	if seen.Store == nil {
		return s
	}
	s.Exists = true
	ready := meta.FindStatusCondition(seen.Store.Status.Conditions, v1beta1.ConditionReady)
	switch {
	case ready == nil:
		s.Why = "it has not been looked at yet"
	case ready.Status != metav1.ConditionTrue:
		s.Why = ready.Message
	default:
		s.Ready = true
	}
	return s
}

func clusterOf(seen Seen) Cluster {
	c := seen.Cluster
	if c == nil || c.IsGoing() {
		return Cluster{Name: ClusterName(seen.Backup)}
	}
	facts := Cluster{
		Name: c.Name, Exists: true, UID: string(c.UID), ID: c.Status.ClusterID, Recoveries: c.Status.Recoveries,
		Hibernated: c.Size() == 0 && len(answering(c)) == 0, Answering: len(answering(c)),
		Ephemeral: c.Spec.Storage.Ephemeral != nil, Why: "it says nothing yet",
	}
	if available := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionAvailable); available != nil {
		facts.Why, facts.Locked = available.Message, available.Reason == v1beta1.ReasonAuthenticationRequired
		if available.Reason == v1beta1.ReasonCorrupt {
			facts.Corrupt = available.Message
		}
	}
	if c.Spec.Backup != nil {
		facts.Verify = c.Spec.Backup.Verify
	}
	facts.LastVerified = lastVerified(seen.Others, facts.UID)
	return facts
}

// lastVerified is when the newest verified backup of a cluster was begun; zero if there is none.
func lastVerified(all []v1beta1.EtcdBackup, uid string) time.Time {
	var verified []*v1beta1.EtcdBackup
	for i := range all {
		b := &all[i]
		isThere := !meta.IsStatusConditionFalse(b.Status.Conditions, v1beta1.ConditionComplete)
		if isThere && b.Status.Verified != nil && b.Status.StartedAt != nil && b.Status.ClusterUID == uid {
			verified = append(verified, b)
		}
	}
	if len(verified) == 0 {
		return time.Time{}
	}
	return v1beta1.NewestFirst(verified, v1beta1.AgeOf)[0].Time
}

// answering are the members that answer linearizable reads and can send a snapshot.
func answering(c *v1beta1.EtcdCluster) []v1beta1.MemberStatus {
	return slices.DeleteFunc(slices.Clone(c.Status.Members), func(m v1beta1.MemberStatus) bool { return m.ID == "" || !m.Healthy })
}
