// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// SnapshotKind is that of VolumeSnapshots, whose types are no part of Kubernetes.
var SnapshotKind = schema.GroupVersionKind{Group: jobs.SnapshotGroup, Version: "v1", Kind: jobs.SnapshotKind}

const (
	// takenWithin is how long the snapshot controller and the CSI driver may need before a VolumeSnapshot is taken. That it is copied to where
	// it is kept may take hours after that.
	takenWithin = 10 * time.Minute
	// erroneousFor is how long a VolumeSnapshot may report an error: the snapshot controller tries again by itself.
	erroneousFor = time.Minute
)

// VolumeSnapshot is what a step has taken. It has no owner: it stays when the EtcdBackup goes, unless deletionPolicy says Delete.
func VolumeSnapshot(v View, step CreateSnapshot) *unstructured.Unstructured {
	from := step.Source
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(SnapshotKind)
	u.SetNamespace(v.Namespace)
	u.SetName(step.Name)
	u.SetLabels(map[string]string{
		specs.ManagedByLabel: v1beta1.FieldOwner, specs.ComponentLabel: "backup",
		v1beta1.LabelBackup: v.Name, v1beta1.LabelCluster: v.Cluster.Name, v1beta1.LabelMember: from.Member,
	})
	u.SetAnnotations(map[string]string{
		v1beta1.AnnotationBackupUID: v.UID, v1beta1.AnnotationClusterUID: v.Cluster.UID, v1beta1.AnnotationClusterID: v.Cluster.ID,
		v1beta1.AnnotationRevision:     strconv.FormatInt(from.Revision, 10),
		v1beta1.AnnotationRecoveries:   strconv.FormatInt(v.Cluster.Recoveries, 10),
		v1beta1.AnnotationObservedAt:   clock(from.At),
		v1beta1.AnnotationDatabaseSize: strconv.FormatInt(from.Database, 10), v1beta1.AnnotationVersion: from.Version,
		v1beta1.AnnotationStorageClass: from.StorageClass, v1beta1.AnnotationVolumeSize: from.Size,
	})
	spec := map[string]any{"source": map[string]any{"persistentVolumeClaimName": from.Member}}
	if class := v.Spec.VolumeSnapshot.ClassName; class != "" {
		spec["volumeSnapshotClassName"] = class
	}
	u.Object["spec"] = spec
	return u
}

// observeSnapshot is a VolumeSnapshot as a Job is seen: what stands in its place is waited for, and fails, in the same way.
func observeSnapshot(u *unstructured.Unstructured, b *v1beta1.EtcdBackup, now time.Time) jobs.Observed {
	if u == nil {
		return jobs.Observed{}
	}
	created := u.GetCreationTimestamp().Time
	o := jobs.Observed{
		Exists: true, Name: u.GetName(), UID: string(u.GetUID()), Owned: u.GetAnnotations()[v1beta1.AnnotationBackupUID] == string(b.UID),
		Deleting: u.GetDeletionTimestamp() != nil, For: u.GetLabels()[v1beta1.LabelBackup], Created: created, Begun: created,
	}
	if isReady, _, _ := unstructured.NestedBool(u.Object, "status", "readyToUse"); isReady {
		o.Ended, o.EndedAt = true, now
		o.Lines = []jobspec.Line{{Done: factsOfSnapshot(u, now)}}
		return o
	}
	var patience time.Duration
	o.Trouble, patience = untaken(u)
	if patience > 0 && now.Sub(created) >= patience {
		o.Ended, o.EndedAt = true, now
		o.Lines = []jobspec.Line{{Failed: &jobspec.Failed{
			Reason: jobspec.SnapshotFailed, Message: fmt.Sprintf("VolumeSnapshot %s: %s", u.GetName(), o.Trouble),
		}}}
	}
	return o
}

// untaken says why a VolumeSnapshot is not ready, and how long after its creation that counts as a failure; 0: never.
func untaken(u *unstructured.Unstructured) (why string, patience time.Duration) {
	failed, _, _ := unstructured.NestedString(u.Object, "status", "error", "message")
	taken, _, _ := unstructured.NestedString(u.Object, "status", "creationTime")
	content, _, _ := unstructured.NestedString(u.Object, "status", "boundVolumeSnapshotContentName")
	switch {
	case failed != "":
		return failed, erroneousFor
	case taken != "":
		return fmt.Sprintf("it was taken at %s, and its CSI driver is copying it", taken), 0
	case content == "":
		return "no snapshot controller has begun with it: see whether one runs", takenWithin
	default:
		return "its CSI driver has not taken it yet: see whether that and its csi-snapshotter run", takenWithin
	}
}

func factsOfSnapshot(u *unstructured.Unstructured, now time.Time) *jobspec.Done {
	said, named := u.GetAnnotations(), u.GetLabels()
	number := func(key string) int64 {
		n, _ := strconv.ParseInt(said[key], 10, 64)
		return n
	}
	began, err := time.Parse(time.RFC3339, said[v1beta1.AnnotationObservedAt])
	if err != nil {
		began = u.GetCreationTimestamp().Time
	}
	size := referenceTo(u).Size
	return &jobspec.Done{Source: named[v1beta1.LabelMember], Backup: &jobspec.Facts{
		Name: named[v1beta1.LabelBackup], Namespace: u.GetNamespace(), Cluster: named[v1beta1.LabelCluster],
		ClusterUID: said[v1beta1.AnnotationClusterUID], ClusterID: said[v1beta1.AnnotationClusterID],
		Revision: number(v1beta1.AnnotationRevision), Recoveries: number(v1beta1.AnnotationRecoveries),
		Database: number(v1beta1.AnnotationDatabaseSize), Stored: size.Value(),
		EtcdVersion: said[v1beta1.AnnotationVersion], StartedAt: began, FinishedAt: now,
	}}
}

// referenceTo is what the status keeps of a VolumeSnapshot. A volume that is made of it has the size of the member's at least.
func referenceTo(u *unstructured.Unstructured) *v1beta1.VolumeSnapshotReference {
	if u == nil {
		return nil
	}
	needed, _, _ := unstructured.NestedString(u.Object, "status", "restoreSize")
	size, err := resource.ParseQuantity(cmp.Or(needed, "0"))
	had, wrong := resource.ParseQuantity(u.GetAnnotations()[v1beta1.AnnotationVolumeSize])
	if wrong == nil && (err != nil || had.Cmp(size) > 0) {
		size = had
	}
	return &v1beta1.VolumeSnapshotReference{
		Name: u.GetName(), UID: string(u.GetUID()), StorageClass: u.GetAnnotations()[v1beta1.AnnotationStorageClass], Size: size,
	}
}
