// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// leastKept is how many members a cluster needs whose volumes are kept: each of them is down for a moment, and the others are to be a
// quorum.
const leastKept = 3

// SourceVolumes are the volumes of the Pods that the StatefulSet has, or had when the adoption began, by their names alone.
func SourceVolumes(s Snapshot) []cluster.SourceVolume {
	most := 0
	if s.Workload != nil {
		most = int(ptr.Deref(s.Workload.Spec.Replicas, 1))
	}
	if status := s.Cluster.Status.Adoption; status != nil {
		most = max(most, len(status.Sources))
	}
	var all []cluster.SourceVolume
	for i := range most {
		all = append(all, cluster.SourceVolume{
			Source: cluster.MemberName(s.Cluster.Spec.Bootstrap.Adopt.StatefulSet, i), Member: cluster.MemberName(s.Cluster.Name, i),
		})
	}
	return all
}

// isSourceVolume says whether a claim is a source's, and no mark on it says yet that it is to be a member's.
func (j *builder) isSourceVolume(claim *corev1.PersistentVolumeClaim) bool {
	return j.v.Adoption.Keeps && !labels.SelectorFromSet(specs.MemberSelector(j.c)).Matches(labels.Set(claim.Labels))
}

// sourceVolumes judges the volumes of the sources that are recorded, or listed before that.
func (j *builder) sourceVolumes() {
	a := &j.v.Adoption
	if !a.Keeps {
		return
	}
	sources := j.v.Record.Adopting.Sources
	if !j.v.Planned() {
		sources = sourcesIn(j.List)
	}
	for _, source := range sources {
		volume := cluster.SourceVolume{Source: source.Name, Member: cluster.MemberName(j.c.Name, cluster.Ordinal(source.Name))}
		pod := j.SourcePods[source.Name]
		volume.InUse = pod != nil
		if j.isSource(source.ID) {
			volume.Directory, volume.Unfit = j.judgeVolume(volume, pod)
		}
		a.Volumes = append(a.Volumes, volume)
	}
}

// isSource says whether etcd lists a member of that ID that has yet to become one of ours.
func (j *builder) isSource(id uint64) bool {
	for _, m := range j.v.Sources() {
		if m.ID == id {
			return true
		}
	}
	return false
}

// unfitToKeep says why volumes cannot become those of members, and what to do; empty if they can, or are not to.
func (j *builder) unfitToKeep() string {
	a, set := j.v.Adoption, j.Workload
	if !a.Keeps {
		return ""
	}
	const instead = ", or adopt it with volumes Copy"
	switch n := len(a.Sources); {
	case j.c.Spec.Storage.Ephemeral != nil:
		return "volumes are to be kept, and this EtcdCluster has ephemeral data: leave out spec.storage.ephemeral" + instead
	case n < leastKept:
		return fmt.Sprintf("it has %d members, and while a volume is taken over its member is down: at least %d are needed for that; adopt it "+
			"with volumes Copy", n, leastKept)
	case n != j.c.Size():
		return fmt.Sprintf("it has %d members, and spec.size is %d: volumes are kept where both are the same; change spec.size afterwards", n,
			j.c.Size())
	case a.Workload.Replicas != n:
		return fmt.Sprintf("it has %d members, and StatefulSet %s has %d replicas: all members have to be its Pods"+instead, n, set.Name,
			a.Workload.Replicas)
	case set.Spec.Ordinals != nil && set.Spec.Ordinals.Start > 0:
		return fmt.Sprintf("the Pods of StatefulSet %s are numbered from %d: volumes are kept where the first one has 0; adopt it with volumes "+
			"Copy", set.Name, set.Spec.Ordinals.Start)
	}
	for _, volume := range a.Volumes {
		if volume.Unfit != "" {
			return volume.Unfit
		}
	}
	return ""
}

// judgeVolume is where etcd's data is on the volume of a source, and why that volume cannot become a member's.
func (j *builder) judgeVolume(volume cluster.SourceVolume, pod *corev1.Pod) (directory, unfit string) {
	if pod == nil || !runsPod(j.v.Adoption.Workload, volume.Source) {
		return "", fmt.Sprintf("its member %s is no Pod of StatefulSet %s", volume.Source, j.v.Adoption.Workload.Name)
	}
	claim, directory, unfit := SourceData(pod)
	switch {
	case unfit != "":
		return "", unfit
	case claim != volume.Member:
		wanted := strings.TrimSuffix(claim, volume.Source[strings.LastIndex(volume.Source, "-"):])
		return "", fmt.Sprintf("the data of its member %s is on claim %s, and members have claims of their own names: to keep volumes name the "+
			"EtcdCluster %s", volume.Source, claim, wanted)
	default:
		return directory, unfitClaim(j.c, claim, j.SourceClaims[claim])
	}
}

func runsPod(w cluster.Workload, source string) bool {
	return source == cluster.MemberName(w.Name, cluster.Ordinal(source))
}

// unfitClaim says why a claim cannot be that of a member.
func unfitClaim(c *v1beta1.EtcdCluster, name string, claim *corev1.PersistentVolumeClaim) string {
	class, wanted := c.Spec.Storage.StorageClassName, c.VolumeSize()
	switch {
	case claim == nil || claim.DeletionTimestamp != nil || claim.Status.Phase != corev1.ClaimBound:
		return fmt.Sprintf("claim %s is not bound, or is being deleted", name)
	case claim.Status.Capacity.Storage().Cmp(wanted) < 0:
		return fmt.Sprintf("claim %s has %s, and spec.storage.size is %s: create the EtcdCluster with the size that there is, and have volumes "+
			"grow afterwards", name, claim.Status.Capacity.Storage(), wanted.String())
	case len(claim.OwnerReferences) > 0:
		return fmt.Sprintf("claim %s is deleted with %s %s: remove its ownerReferences", name, claim.OwnerReferences[0].Kind,
			claim.OwnerReferences[0].Name)
	case isQuarantined(claim):
		return fmt.Sprintf("claim %s is in quarantine: remove its label %s", name, v1beta1.LabelQuarantined)
	case claim.Labels[v1beta1.LabelCluster] != "" && claim.Labels[v1beta1.LabelCluster] != c.Name:
		return fmt.Sprintf("claim %s has the label %s of another EtcdCluster", name, v1beta1.LabelCluster)
	case class != nil && ptr.Deref(claim.Spec.StorageClassName, "") != *class:
		return fmt.Sprintf("claim %s has the storage class %q, and spec.storage.storageClassName is %q: leave that out to keep volumes", name,
			ptr.Deref(claim.Spec.StorageClassName, ""), *class)
	default:
		return ""
	}
}

var (
	dataDirFlag = regexp.MustCompile(`(?:^|\s)--?data-dir[=\s]+["']?([^\s"'\\;]+)`)
	walDirFlag  = regexp.MustCompile(`(?:^|\s)--?wal-dir[=\s]`)
)

// SourceData is the claim on which the etcd of a Pod has its data, and in which directory; or why that cannot be said.
func SourceData(pod *corev1.Pod) (claim, directory, unfit string) {
	for _, container := range pod.Spec.Containers {
		dir, walDir := dataDirOf(container)
		switch {
		case dir == "":
			continue
		case walDir:
			return "", "", fmt.Sprintf("Pod %s has its log in a directory of its own (wal-dir): adopt it with volumes Copy", pod.Name)
		case strings.Contains(dir, "$"), !path.IsAbs(dir):
			return "", "", fmt.Sprintf("the data directory of Pod %s is %q, which does not say where it is on a volume: write it as a plain "+
				"path, or adopt it with volumes Copy", pod.Name, dir)
		case hasHook(container):
			return "", "", fmt.Sprintf("Pod %s runs a preStop hook, which may remove its member when it stops: remove the hook, or adopt it "+
				"with volumes Copy", pod.Name)
		}
		return claimAt(pod, container, path.Clean(dir))
	}
	return "", "", fmt.Sprintf("Pod %s names no data directory, neither by --data-dir nor by ETCD_DATA_DIR: adopt it with volumes "+
		"Copy", pod.Name)
}

// dataDirOf is what a container gives etcd as data-dir, and whether it gives it a wal-dir.
func dataDirOf(container corev1.Container) (dir string, walDir bool) {
	command := strings.Join(append(append([]string{}, container.Command...), container.Args...), " ")
	if found := dataDirFlag.FindStringSubmatch(command); found != nil {
		dir = found[1]
	}
	walDir = walDirFlag.MatchString(command)
	for _, variable := range container.Env {
		switch variable.Name {
		case "ETCD_DATA_DIR":
			dir = cmp.Or(dir, variable.Value)
		case "ETCD_WAL_DIR":
			walDir = true
		}
	}
	return dir, walDir
}

// hasHook says whether something runs before the container stops.
func hasHook(container corev1.Container) bool {
	hooks := container.Lifecycle
	return hooks != nil && hooks.PreStop != nil && hooks.PreStop.Sleep == nil
}

// claimAt is the claim that has the directory of a container, and where that is on it.
func claimAt(pod *corev1.Pod, container corev1.Container, dir string) (claim, directory, unfit string) {
	var at corev1.VolumeMount
	for _, mount := range container.VolumeMounts {
		where := strings.TrimSuffix(path.Clean(mount.MountPath), "/")
		if (dir == where || strings.HasPrefix(dir, where+"/")) && len(where) >= len(at.MountPath) {
			at = mount
			at.MountPath = where
		}
	}
	for _, volume := range pod.Spec.Volumes {
		if volume.Name == at.Name && volume.PersistentVolumeClaim != nil && at.SubPathExpr == "" {
			return volume.PersistentVolumeClaim.ClaimName, path.Join(".", at.SubPath, strings.TrimPrefix(dir, at.MountPath)), ""
		}
	}
	return "", "", fmt.Sprintf("the data directory %s of Pod %s is on no PersistentVolumeClaim that is known: adopt it with volumes "+
		"Copy", dir, pod.Name)
}
