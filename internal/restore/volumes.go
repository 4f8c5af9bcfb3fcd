// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// Token distinguishes this cluster from all others of its name, and is etcd's initial cluster token.
func Token(c *v1beta1.EtcdCluster) string { return string(c.UID) }

// NewVolume is what a first member gets to be filled. That it holds nothing is never said of it. Until the cluster has adopted it,
// it is deleted with the EtcdCluster, whatever the deletion policy is: there is no data in it that the backup does not have.
func NewVolume(c *v1beta1.EtcdCluster, member string) *corev1.PersistentVolumeClaim {
	claim := specs.Volume(c, member, &v1beta1.Bootstrap{Token: Token(c), Members: c.Status.Restore.Members})
	claim.OwnerReferences = []metav1.OwnerReference{specs.Owner(c)}
	delete(claim.Annotations, v1beta1.AnnotationUnused)
	claim.Annotations[v1beta1.AnnotationVersion] = c.Status.Restore.Version
	if c.Spec.Image != "" && c.Status.Restore.Version == version.Full(c.Spec.Version) {
		claim.Annotations[v1beta1.AnnotationChosenImage] = c.Spec.Image
	}
	return claim
}

// leaveVolumes never writes to what may hold data: every volume that could be this cluster's must have been made for this restore.
func leaveVolumes(v VolumesView) VolumesStep {
	if v.Cluster.IsRestoring() {
		return leaveNamesakes(v)
	}
	var others []string
	for _, name := range slices.Sorted(maps.Keys(v.Claims)) {
		claim := v.Claims[name]
		switch {
		case isOurVolume(v, claim):
		case isGoing(v, claim):
			return VolumesWait{Status: status(v, "volume "+name+" of an earlier cluster to be gone", "")}
		default:
			others = append(others, name)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return refuse(v, fmt.Sprintf("there are volumes of an earlier cluster of this name with its data (%s), and nothing is restored over "+
		"them: create the EtcdCluster without bootstrap.restore to bring that cluster back, or under another name to have the backup restored",
		strings.Join(others, ", ")))
}

// leaveNamesakes never writes to a volume of a future member that was not made for this restore. All others are left alone.
func leaveNamesakes(v VolumesView) VolumesStep {
	for _, m := range v.Cluster.Status.Restore.Members {
		if claim, there := v.Claims[m]; there && !isOurVolume(v, claim) && claim.DeletionTimestamp == nil {
			return refuse(v, fmt.Sprintf("volume %s was not made for this restore, may have the data of another cluster, and nothing is "+
				"restored over it: begin the restore again, which takes other names, by another EtcdRestore or by an EtcdCluster of another name", m))
		}
	}
	return nil
}

// isOurs says whether a volume was made for this restore.
func isOurVolume(v VolumesView, claim corev1.PersistentVolumeClaim) bool {
	id := claim.Annotations[v1beta1.AnnotationClusterID]
	return claim.Annotations[v1beta1.AnnotationToken] == Token(v.Cluster) && slices.Contains(v.Cluster.Status.Restore.Members, claim.Name) &&
		claim.Labels[v1beta1.LabelQuarantined] == "" && (id == "" || id == v.ClusterID)
}

// isGoing says whether Kubernetes deletes a volume, or will, because the earlier EtcdCluster that owns it is gone.
func isGoing(v VolumesView, claim corev1.PersistentVolumeClaim) bool {
	owner := metav1.GetControllerOf(&claim)
	ofEarlier := owner != nil && owner.Kind == "EtcdCluster" && owner.Name == v.Cluster.Name && owner.UID != v.Cluster.UID
	return claim.DeletionTimestamp != nil || ofEarlier
}

// awaitVolumes waits for a volume that is being deleted: until then no other can have its name.
func awaitVolumes(v VolumesView) VolumesStep {
	for _, m := range v.Cluster.Status.Restore.Members {
		if claim, there := v.Claims[m]; there && claim.DeletionTimestamp != nil {
			return VolumesWait{Status: status(v, "volume "+m+", which was deleted, to be gone", "")}
		}
	}
	return nil
}

func createVolumes(v VolumesView) VolumesStep {
	missing := lacking(v, func(m string) bool { _, there := v.Claims[m]; return there })
	if len(missing) == 0 {
		return nil
	}
	return CreateVolumes{missing}
}

// markVolumes is what makes volumes count as filled: the mark is written after the Job of each has said so, and before that Job is deleted.
func markVolumes(v VolumesView) VolumesStep {
	filled := slices.DeleteFunc(unfilled(v), func(m string) bool {
		job := v.Jobs[m]
		return !job.Owned || !isAbout(v, job, m) || job.Done() == nil
	})
	if len(filled) == 0 {
		return nil
	}
	return MarkVolumes{filled, v.ClusterID}
}

// isFilled says whether a volume has the data: that is written on it.
func isFilled(v VolumesView, member string) bool {
	claim, there := v.Claims[member]
	return there && v.ClusterID != "" && claim.Annotations[v1beta1.AnnotationClusterID] == v.ClusterID
}

// unfilled are the first members whose volumes are not known to have the data.
func unfilled(v VolumesView) []string {
	return lacking(v, func(m string) bool { return isFilled(v, m) })
}

func lacking(v VolumesView, has func(member string) bool) []string {
	var missing []string
	for _, m := range v.Cluster.Status.Restore.Members {
		if !has(m) {
			missing = append(missing, m)
		}
	}
	return missing
}

// others are the members to be replaced, by serial number: members may have joined or left since the restore was planned.
func others(v VolumesView) []string {
	var all []string
	for name, claim := range v.Claims {
		aside := claim.Labels[v1beta1.LabelQuarantined] != ""
		if !aside && !slices.Contains(v.Cluster.Status.Restore.Members, name) && specs.Foreign(v.Cluster, &claim) == "" {
			all = append(all, name)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		return cluster.Serial(v.Cluster.Name, a) - cluster.Serial(v.Cluster.Name, b)
	})
	return all
}
