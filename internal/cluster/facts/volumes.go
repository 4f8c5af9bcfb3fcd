// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

func (j *builder) volume(claim *corev1.PersistentVolumeClaim) {
	c, v := j.c, &j.v
	serial := cluster.Serial(c.Name, claim.Name)
	if serial < 0 {
		return // a copy is not ours: it is neither grown nor owned nor deleted
	}
	v.Record.NextSerial = max(v.Record.NextSerial, serial+1)
	if j.isAwaited(claim.Name) {
		return // it is being filled while the members go on
	}
	if j.isSourceVolume(claim) || j.ownedByOther(claim) {
		return
	}
	for _, first := range history(claim).First {
		v.Record.NextSerial = max(v.Record.NextSerial, cluster.Serial(c.Name, first)+1)
	}
	j.expiry(claim)
	if v.Want.Ephemeral {
		return // a cluster with ephemeral data ignores a volume of an earlier one
	}
	j.misfits(claim)
	if isQuarantined(claim) && !j.isChosen(claim.Name) {
		return
	}
	m := j.member(claim.Name)
	m.SetAside, m.DataDirectory = isQuarantined(claim), claim.Annotations[v1beta1.AnnotationDataDirectory]
	m.Volume, j.chosen[claim.Name] = volumeState(claim), claim.Annotations[v1beta1.AnnotationChosenImage]
	m.Unused = specs.IsUnused(claim)
	if m.Volume == cluster.Kept {
		past := history(claim)
		past.Unused, past.Unfit = m.Unused, m.Unused && !specs.IsFitting(c, claim)
		v.Volumes = append(v.Volumes, past)
	}
	if had := claim.Annotations[v1beta1.AnnotationVersion]; v.Unproven() && version.MinorOf(had) != "" {
		m.Version = had
	}
}

// ownedByOther notes a volume with a member's name that has another owner, or data of
// another cluster. A volume that a Pod has mounted is judged by what its etcd reports.
func (j *builder) ownedByOther(claim *corev1.PersistentVolumeClaim) bool {
	if metav1.GetControllerOf(claim) == nil && j.isChosen(claim.Name) {
		return false // it has data of the cluster that is about to be adopted
	}
	if metav1.GetControllerOf(claim) == nil && j.isGivenUp(claim) {
		return false
	}
	if metav1.GetControllerOf(claim) == nil && (j.v.Want.Ephemeral || isQuarantined(claim) || j.pods[claim.Name] != nil) {
		return false
	}
	return j.belongsToOthers("PersistentVolumeClaim", claim)
}

// isGivenUp says whether a volume is of a member that has replaced no other, because its restore was cancelled: it was made for this very
// EtcdCluster, has data of another cluster and is of none of its members. It is set aside as that of one that was removed.
func (j *builder) isGivenUp(claim *corev1.PersistentVolumeClaim) bool {
	of, id := claim.Annotations[v1beta1.AnnotationClusterID], j.c.Status.ClusterID
	m, known := j.members[claim.Name]
	return claim.Annotations[v1beta1.AnnotationToken] == string(j.c.UID) && of != "" && id != "" && of != id && (!known || !m.Recorded)
}

func isQuarantined(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Labels[v1beta1.LabelQuarantined] != ""
}

func volumeState(claim *corev1.PersistentVolumeClaim) cluster.VolumeState {
	switch {
	case claim.Status.Phase == corev1.ClaimLost:
		return cluster.NoVolume
	case claim.DeletionTimestamp != nil:
		return cluster.Going
	default:
		return cluster.Kept
	}
}

func history(claim *corev1.PersistentVolumeClaim) cluster.Volume {
	volume := cluster.Volume{
		Name:      claim.Name,
		Token:     claim.Annotations[v1beta1.AnnotationToken],
		ClusterID: claim.Annotations[v1beta1.AnnotationClusterID],
		Version:   claim.Annotations[v1beta1.AnnotationVersion],
		Image:     claim.Annotations[v1beta1.AnnotationChosenImage],
		TLSMode:   claim.Annotations[v1beta1.AnnotationTLSMode],
		Size:      sizeOf(claim),
		UID:       string(claim.UID),
	}
	if plan := claim.Annotations[v1beta1.AnnotationPlan]; plan != "" {
		volume.First = strings.Split(plan, ",")
	}
	return volume
}

// sizeOf is how large the volume of a claim is: as large as its disk, and at most what it asks for. One that has no disk yet gets that.
func sizeOf(claim *corev1.PersistentVolumeClaim) int64 {
	asked, has := claim.Spec.Resources.Requests.Storage().Value(), claim.Status.Capacity.Storage().Value()
	if has == 0 {
		return asked
	}
	return min(asked, has)
}

// expiry notes a volume that was set aside long enough ago.
func (j *builder) expiry(claim *corev1.PersistentVolumeClaim) {
	since, err := time.Parse(time.RFC3339, claim.Annotations[v1beta1.AnnotationQuarantinedAt])
	if !isQuarantined(claim) || claim.DeletionTimestamp != nil || err != nil || j.isChosen(claim.Name) {
		return
	}
	keep, err := time.ParseDuration(claim.Annotations[v1beta1.AnnotationKeepFor])
	if err != nil {
		keep = j.c.Spec.Storage.KeepFor()
	}
	if age := j.come().Sub(since); age >= keep {
		j.v.Expired = append(j.v.Expired, cluster.Object{Kind: "PersistentVolumeClaim", Name: claim.Name, UID: string(claim.UID)})
	}
}
