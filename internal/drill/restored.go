// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Restored is the throw-away cluster that a backup is restored into.
type Restored struct {
	Exists   bool // and is the drill's
	Taken    bool // another object has its name
	UID      string
	Leaves   bool
	NotWhole string   // why it does not serve the data yet; empty if it does
	Keys     *int64   // that it has; nil: not counted
	Unmet    []string // of spec.expect, as sentences
	IsLater  bool     // keys are those of now: the revision at which it began was compacted
	Members  []Member
}

// RestoredName is the name of the throw-away cluster of a drill. An EtcdCluster may have a shorter name than an EtcdDrill, and no dots.
func RestoredName(d *v1beta1.EtcdDrill) string {
	sum := sha256.Sum256([]byte(d.Name + "/" + string(d.UID)))
	return "drill-" + hex.EncodeToString(sum[:8])
}

// RestoredCluster is that cluster: one member, or three where quorum is to be lost, with volumes, version, image, scheduling and quota as
// the cluster has them, and the resources that its members run with, which goes with its volume, and with the drill. Certificates of others
// name other hosts: it has its own.
func RestoredCluster(d *v1beta1.EtcdDrill, c *v1beta1.EtcdCluster, b v1beta1.DrillBackup) *v1beta1.EtcdCluster {
	made := &v1beta1.EtcdCluster{
		TypeMeta: metav1.TypeMeta{APIVersion: v1beta1.GroupVersion.String(), Kind: "EtcdCluster"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, Name: RestoredName(d), Labels: map[string]string{v1beta1.LabelDrill: d.Name},
			OwnerReferences: []metav1.OwnerReference{ownerOf(d)},
		},
		Spec: v1beta1.EtcdClusterSpec{
			Size: ptr.To[int32](1), Version: b.Version, ImagePullSecrets: c.Spec.ImagePullSecrets,
			Storage:   v1beta1.Storage{Size: ptr.To(c.VolumeSize()), StorageClassName: c.Spec.Storage.StorageClassName},
			Resources: c.MemberResources(), Etcd: v1beta1.EtcdSettings{Quota: c.Spec.Etcd.Quota},
			Scheduling: c.Spec.Scheduling, Auth: c.Spec.Auth, TLS: v1beta1.TLS{Mode: c.Spec.TLS.Mode},
			Bootstrap:      &v1beta1.BootstrapSpec{Restore: &v1beta1.Restore{Backup: b.Name}},
			DeletionPolicy: v1beta1.Delete,
		},
	}
	if d.Spec.Action == v1beta1.LoseQuorum {
		made.Spec.Size, made.Spec.Recovery.QuorumLoss = ptr.To[int32](cloneSize), v1beta1.Automatic
	}
	if c.Spec.Image != "" && c.Status.Version == b.Version {
		made.Spec.Image = c.Spec.Image
	}
	if c.Spec.Backup != nil {
		made.Spec.Bootstrap.Restore.Decryption = c.Spec.Backup.Decryption
	}
	return made
}

func ownerOf(d *v1beta1.EtcdDrill) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: v1beta1.OwnerVersion.String(), Kind: "EtcdDrill", Name: d.Name, UID: d.UID,
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}
}

func restoredOf(s Seen) Restored {
	c := s.Restored
	if c == nil {
		return Restored{}
	}
	made := Restored{UID: string(c.UID), Leaves: c.DeletionTimestamp != nil, NotWhole: notWhole(c)}
	if s.Served != nil {
		made.Keys, made.Unmet, made.IsLater = &s.Served.Keys, unmet(s.Drill.Spec.Expect, s.Served.Found), s.Served.IsLater
	}
	for _, m := range c.Status.Members {
		made.Members = append(made.Members, memberOf(m, s.Clone))
	}
	made.Exists = metav1.IsControlledBy(c, s.Drill)
	made.Taken = !made.Exists
	return made
}

// CountsKeys says whether the throw-away cluster serves, and how many keys it has is not known yet.
func CountsKeys(s Seen) bool {
	v := Facts(s)
	return v.Restored.Exists && v.Restored.NotWhole == "" && v.Status.StartedAt != nil && v.Status.EndedAt == nil
}

// RestoredRevision is the revision at which the throw-away cluster began: later, keys may have gone with their leases. 0: it does not say.
func RestoredRevision(c *v1beta1.EtcdCluster) int64 {
	if r := c.Status.Restore; r != nil {
		return r.Revision + r.Bump
	}
	return 0
}

// Restores says whether the action restores a backup into a throw-away cluster.
func Restores(action v1beta1.DrillAction) bool {
	return action == v1beta1.RestoreBackup || action == v1beta1.LoseQuorum
}

func (v View) restores() bool { return Restores(v.Spec.Action) }

// deleteRestored is after the end of the drill. Its volume goes with it, since Kubernetes deletes what a cluster owns.
func deleteRestored(v View) Step {
	if v.Status.EndedAt == nil || !v.Restored.Exists || v.Restored.Leaves {
		return nil
	}
	return DeleteCluster{Name: v.Status.Restored, UID: v.Restored.UID}
}

// beginRestore writes down which backup is restored, and what has to be in it, before anything is created.
func beginRestore(v View) Step {
	switch {
	case !v.restores():
		return nil
	case v.Restored.Taken:
		return v.end(v1beta1.DrillFailed, v1beta1.ReasonNameTaken,
			fmt.Sprintf("nothing was restored, because another EtcdCluster has the name %s: create another EtcdDrill", v.RestoredName))
	}
	s := v.status()
	s.ClusterUID, s.Backup, s.Restored = v.Cluster.UID, ptr.To(v.Backup), v.RestoredName
	s.StartedAt = new(metav1.NewMicroTime(v.Now))
	return Record{
		Status: s, Event: "DrillStarted",
		What: fmt.Sprintf("%s: restore EtcdBackup %s into EtcdCluster %s, which is thrown away", v.Spec.Action, v.Backup.Name, v.RestoredName),
	}
}

func restore(v View) Step {
	s := v.Status
	if s.StartedAt == nil || !v.restores() {
		return nil
	}
	switch {
	case v.Now.After(v.limit()):
		return v.end(v1beta1.DrillFailed, v1beta1.ReasonNotRecovered, v.notServed())
	case !v.Restored.Exists:
		return CreateCluster{Name: s.Restored, Backup: *s.Backup}
	case v.Restored.NotWhole != "":
		return Wait{
			Reason: v1beta1.ReasonRecoveryAwaited,
			For:    fmt.Sprintf("EtcdCluster %s to serve EtcdBackup %s: %s", s.Restored, s.Backup.Name, v.Restored.NotWhole),
		}
	case v.Restored.Keys == nil:
		return Wait{Reason: v1beta1.ReasonRecoveryAwaited, For: "EtcdCluster " + s.Restored + " to say how many keys it has"}
	}
	return nil
}

// notServed says what has not come about within the time that it may take.
func (v View) notServed() string {
	s, why := v.Status, cmp.Or(v.Restored.NotWhole, "its status does not say why")
	if s.QuorumLostAt != nil {
		return fmt.Sprintf("EtcdCluster %s had lost %s, and did not recover its quorum within %s: "+
			"%s", s.Restored, namesOf(s.Targets), v.Spec.Limit(), why)
	}
	return fmt.Sprintf("EtcdBackup %s was not served within %s: %s", s.Backup.Name, v.Spec.Limit(), why)
}

// compare ends the drill by what the throw-away cluster serves.
func compare(v View) Step {
	s := v.status()
	if s.StartedAt == nil || !v.restores() {
		return nil
	}
	began, what := s.StartedAt, fmt.Sprintf("%s of %s", v.Spec.Action, s.Backup.Name)
	if s.QuorumLostAt != nil {
		began = s.QuorumLostAt
		what += fmt.Sprintf(": EtcdCluster %s served it, and lost %s with their volumes", s.Restored, namesOf(s.Targets))
	}
	took := v.Now.Sub(began.Time).Round(100 * time.Millisecond)
	keys := *v.Restored.Keys
	s.Keys, s.RecoveredAt, s.RecoveredIn = &keys, new(metav1.NewMicroTime(v.Now)), &metav1.Duration{Duration: took}
	v.Status = s
	if want := s.Backup.Keys; want != nil && *want != keys {
		return v.end(v1beta1.DrillFailed, v1beta1.ReasonJobDifferent, fmt.Sprintf(
			"%s: it was served after %s with %d keys%s, and had %d when it was made: do not rely on it, make another backup",
			what, took, keys, v.later(), *want))
	}
	if len(v.Restored.Unmet) > 0 {
		return v.end(v1beta1.DrillFailed, v1beta1.ReasonNotAsExpected, fmt.Sprintf(
			"%s: it was served after %s with %d keys%s, and not as spec.expect says: %s: look at the same keys of EtcdCluster "+
				"%s; if it has what is expected, do not rely on the backup, and make another one; else correct spec.expect",
			what, took, keys, v.later(), firstOf(v.Restored.Unmet), v.Spec.Cluster))
	}
	text := fmt.Sprintf("%s: revision %d was served after %s, with %d keys", what, s.Backup.Revision, took, keys)
	if s.Backup.Keys != nil {
		text += " as when it was made"
	}
	return v.end(v1beta1.DrillRecovered, v1beta1.ReasonRecovered, text+expectationsMet(len(v.Spec.Expect)))
}

// later says why keys may be missing that the backup has.
func (v View) later() string {
	if !v.Restored.IsLater {
		return ""
	}
	return " (as they are now, without those whose leases have ended, because the revision that was restored is compacted)"
}
