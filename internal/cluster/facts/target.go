// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// target says what members are to run now, and compares every Pod with that. It depends on what
// all members run, so it comes late.
func (j *builder) target() {
	c, v := j.c, &j.v
	for name, pod := range j.pods {
		m := j.member(name)
		m.Pod.DefaultImage = specs.RunsDefaultImage(pod, m.Version)
	}
	v.Target = j.transition().Target()
	trusted, known := j.held().Trust()
	if !c.MountsCertificates() {
		trusted, known = "", false
	}
	v.Target.Trust = trusted
	v.Revocation = j.revocation()
	v.Target.RevokedAt = v.Revocation.At
	isRevoking := len(v.Revocation.Serials) > 0 || v.Revocation.At == "" // no member restarts for a certificate that is no longer revoked
	v.Target.Misnamed = j.misnamed()
	peers := slices.Concat(j.listed(), j.sources())
	for name, pod := range j.pods {
		m := j.member(name)
		m.Pod.OldCABundle = known && pod.Annotations[v1beta1.AnnotationTrust] != trusted
		isDefragmented := v.Record.Defragmenting.Member == name && specs.IsDefragmenting(pod)
		m.Pod.Change = j.change(keepingQuota(specs.Targeted(c, v.Target.For(*m)), pod, isDefragmented), pod)
		m.Pod.PredatesRevocation = known && isRevoking && pod.Annotations[v1beta1.AnnotationRevokedAt] != v.Revocation.At
		if m.Pod.OldCABundle || m.Pod.PredatesRevocation && v.Revocation.Await == "" {
			m.Pod.Change = cluster.Rebuild // etcd reads the CA bundle only when it starts, and open connections stay
		}
		m.Pod.QuotaBelowDBSize = c.QuotaBytes() < min(specs.QuotaOf(pod), m.DBSize)
		if !m.Started && specs.IsJoining(pod) && j.emptied[name] { // it has no data yet
			m.Damage, m.Pod.StalePeerList = "", v.Unread == "" && !slices.Equal(specs.Peers(pod), peers)
		}
	}
	v.Target.Current = v.Target.CurrentOf(j.sorted())
	j.refuseEphemeralDowngrade()
}

// refuseEphemeralDowngrade refuses a downgrade that needs new Pods if the data of a member goes with its Pod.
func (j *builder) refuseEphemeralDowngrade() {
	v := &j.v
	if v.Target.Downgrade != "" && v.Want.Ephemeral && j.takesNewPods() {
		v.Target.NoUpgradePath = fmt.Sprintf("members of etcd %s need new pods, because flags differ, "+
			"and with its pod the data of a member goes; "+
			"etcd lets no new member join while it goes down: set spec.version back", v.Target.Downgrade)
		v.Target.Downgrade, v.Target.Before = "", ""
	}
}

// sources are the names of the members of a cluster that is adopted.
func (j *builder) sources() []string {
	var names []string
	for _, source := range j.v.Sources() {
		names = append(names, source.Name)
	}
	return names
}

// misnamed says which image holds another version than expected, if a member that runs it
// reports so: the user's choice, or what a mirror or an admission policy has put in the place
// of the usual one. Versions that are no release are not judged.
func (j *builder) misnamed() string {
	target := j.v.Target
	wanted, image := wantedVersion(j.c)
	for _, m := range j.sorted() {
		pod := j.pods[m.Name]
		runs := pod != nil && cluster.IsListed(m) && m.Answers && !m.Pod.Settling && version.MinorOf(m.Version) != ""
		switch {
		case !runs:
		case image != "" && m.Version != wanted && specs.IsMadeFor(pod, image):
			return fmt.Sprintf("spec.image holds etcd %s, which %s runs, and not %s: correct spec.image or spec.version", m.Version, m.Name, wanted)
		case image == "" && m.Version != target.Version && specs.IsMadeFor(pod, specs.DefaultImage(target.Version)):
			return fmt.Sprintf("%s was given the image of etcd %s, and runs %s: fix the mirror or the policy that gives it another image, "+
				"and delete pod %s", m.Name, target.Version, m.Version, m.Name)
		}
	}
	return ""
}

// takesNewPods says whether what is wanted cannot run in a Pod that there is.
func (j *builder) takesNewPods() bool {
	wanted, image := wantedVersion(j.c)
	end := specs.Targeted(j.c, cluster.Target{Version: wanted, Image: image})
	for _, pod := range j.pods {
		if j.change(end, pod) == cluster.Rebuild {
			return true
		}
	}
	return false
}

// change is what it takes to bring a Pod to the spec. Resources that Kubernetes does
// not change in a running Pod take a new one, and so do those that the kubelet fails to change.
func (j *builder) change(c *v1beta1.EtcdCluster, pod *corev1.Pod) cluster.Change {
	change := specs.Change(c, pod)
	if change == cluster.Resize && !specs.IsResizable(pod, c, j.Resizes) {
		if c.IsScaled() && specs.IsResizable(pod, c, specs.ResizesAll) {
			return cluster.Same // no member restarts for what it is given beyond the spec
		}
		return cluster.Rebuild
	}
	if change == cluster.Same && specs.IsStuck(pod, j.Now) && !c.IsScaled() {
		return cluster.Rebuild
	}
	return change
}

// keepingQuota is the cluster with the quota that the Pod's member has, if the default is less: no member restarts only for that. Nor does
// one that is just defragmented, whose Pod holds a quota that is refused for now.
func keepingQuota(targeted *v1beta1.EtcdCluster, pod *corev1.Pod, isDefragmented bool) *v1beta1.EtcdCluster {
	if had := specs.QuotaOf(pod); (targeted.Spec.Etcd.Quota == nil || isDefragmented) && had > targeted.QuotaBytes() {
		targeted.Spec.Etcd.Quota = resource.NewQuantity(had, resource.BinarySI)
	}
	return targeted
}

// transition is what stands between the members and the version that is wanted.
func (j *builder) transition() version.Transition {
	wanted, image := wantedVersion(j.c)
	running, runningImage := j.running()
	return version.Transition{
		Wanted: cluster.Revision{Version: wanted, Image: image}, Running: running, Image: runningImage,
		Downgrade: j.v.DowngradeTarget, LastTarget: j.c.Status.TargetVersion,
		Answers:    slices.ContainsFunc(j.sorted(), func(m cluster.Member) bool { return m.Answers }),
		Unmigrated: j.unmigrated, Unproven: j.v.Unproven(),
		Legacy: j.c.Status.LegacyEntries, Cleansed: j.areCleansed(),
		Guarded: j.v.Want.Guarded, Backed: j.v.Record.Backed(),
	}
}

// areCleansed says whether all members have dropped what they had in their logs from
// etcd 3.5. Each has written a snapshot when it is healthy again, and not before, because
// joining and raising the cluster's version are two entries at least. Once that was so the
// status remembers it by what comes next: then members are recreated without the setting.
func (j *builder) areCleansed() bool {
	if target := j.c.Status.TargetVersion; target != "" && !version.ReadsLegacy(target) {
		return true
	}
	for _, m := range j.members {
		pod := j.pods[m.Name]
		if m.Role != cluster.Unlisted && (pod == nil || !specs.IsCleansing(pod) || !m.Healthy) {
			return false
		}
	}
	return true
}

// wantedVersion is what the spec wants, or what was put in its place after it
// failed.
func wantedVersion(c *v1beta1.EtcdCluster) (wanted, image string) {
	if isRolledBack(c) {
		return c.Status.Rollback.Version, c.Status.Rollback.Image
	}
	return version.Full(c.Spec.Version), c.Spec.Image
}

// isRolledBack says whether the spec still wants what has failed, even if it is written differently:
// 3.7 is the newest patch of it.
func isRolledBack(c *v1beta1.EtcdCluster) bool {
	r := c.Status.Rollback
	return r != nil && version.Full(r.Refused) == version.Full(c.Spec.Version) && r.RefusedImage == c.Spec.Image
}

// running are the versions of all listed members, and the image that the user has chosen
// for one of them that runs the newest: one that answers, else one whose volume says so.
// Adopted members count before etcd lists them.
func (j *builder) running() (versions []string, image string) {
	var all []cluster.Member
	for _, m := range j.sorted() {
		if adopted := j.v.Unproven() && m.Recorded; (m.Role != cluster.Unlisted || adopted) && m.Version != "" {
			all, versions = append(all, m), append(versions, m.Version)
		}
	}
	newest := version.Highest(versions)
	for _, m := range all {
		switch {
		case m.Version != newest:
		case m.Answers:
			return versions, m.Choice()
		default:
			image = cmp.Or(image, j.chosen[m.Name])
		}
	}
	return versions, image
}
