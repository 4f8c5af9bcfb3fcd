package observe

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/build"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/version"
)

// judge compares every Pod with what it should run now. That depends on what all
// members run, so it comes last.
func (o *Observer) judge(c *v1alpha1.EtcdCluster, v *cluster.View, members *join) {
	for name, pod := range members.pods {
		m := members.member(name)
		m.Pod.DefaultImage = build.RunsDefaultImage(pod, m.Version)
	}
	v.Target = target(c, v.DowngradeTarget, members)
	v.Target.Misnamed = misnamed(c, v.Target, members)
	listed := cluster.Names(slices.DeleteFunc(members.sorted(), cluster.Not(cluster.IsListed)))
	for name, pod := range members.pods {
		m := members.member(name)
		m.Pod.Change = o.change(build.Targeted(c, v.Target.For(*m)), pod)
		m.Pod.Cramped = c.QuotaBytes() < min(build.QuotaOf(pod), m.DBSize)
		if !m.Started && build.IsJoining(pod) && members.emptied[name] { // it has no data yet
			m.Damage, m.Pod.Misled = "", v.Unread == "" && !slices.Equal(build.Peers(pod), listed)
		}
	}
	v.Target.Held = v.Target.Hold(members.sorted())
	if v.Target.Downgrade != "" && v.Want.Ephemeral && o.takesNewPods(c, members) {
		v.Target.Barred = fmt.Sprintf("members of etcd %s need new pods, because flags differ, and with its pod the data of a member goes; "+
			"etcd lets no new member join while it goes down: set spec.version back", v.Target.Downgrade)
		v.Target.Downgrade = ""
	}
}

// misnamed says which image holds another version than it was taken for, if a member that runs
// it tells so: the user's choice, or what a mirror or an admission policy has put in the place
// of the usual one. Versions that are no release are not judged.
func misnamed(c *v1alpha1.EtcdCluster, target cluster.Target, members *join) string {
	wanted, image := wantedVersion(c)
	for _, m := range members.sorted() {
		pod := members.pods[m.Name]
		runs := pod != nil && cluster.IsListed(m) && m.Answers && !m.Pod.Settling && minorOf(m.Version) != ""
		switch {
		case !runs:
		case image != "" && m.Version != wanted && build.IsMadeFor(pod, image):
			return fmt.Sprintf("spec.image holds etcd %s, which %s runs, and not %s: correct spec.image or spec.version", m.Version, m.Name, wanted)
		case image == "" && m.Version != target.Version && build.IsMadeFor(pod, build.DefaultImage(target.Version)):
			return fmt.Sprintf("%s was given the image of etcd %s, and runs %s: fix the mirror or the policy that gives it another image, "+
				"and delete pod %s", m.Name, target.Version, m.Version, m.Name)
		}
	}
	return ""
}

// takesNewPods says whether what is wanted cannot run in a Pod that there is.
func (o *Observer) takesNewPods(c *v1alpha1.EtcdCluster, members *join) bool {
	wanted, image := wantedVersion(c)
	end := build.Targeted(c, cluster.Target{Version: wanted, Image: image})
	for _, pod := range members.pods {
		if o.change(end, pod) == cluster.Rebuild {
			return true
		}
	}
	return false
}

// change is what it takes to bring a Pod to the spec. Resources that Kubernetes does
// not change in a running Pod take a new one, and so do those that the kubelet fails to change.
func (o *Observer) change(c *v1alpha1.EtcdCluster, pod *corev1.Pod) cluster.Change {
	change := build.Change(c, pod)
	if change == cluster.Resize && !build.IsResizable(pod, c, o.Resizes()) {
		return cluster.Rebuild
	}
	if change == cluster.Same && build.IsStuck(pod, o.Now()) {
		return cluster.Rebuild
	}
	return change
}

// target is the next version on the way to the wanted one. Members run what they
// run until etcd is prepared for it. A downgrade is not even asked for before its data is
// of its own version: that it is of the older one would prove nothing then.
func target(c *v1alpha1.EtcdCluster, goesDown string, members *join) cluster.Target {
	wanted, image := wantedVersion(c)
	running, runningImage := members.running()
	hop := version.Next(wanted, running, goesDown, image != "")
	if hop.Downgrade != "" && !members.answer() && c.Status.TargetVersion == hop.To {
		hop.Downgrade = "" // it was allowed, and nobody is there to say so
	}
	t := cluster.Target{Version: hop.To, Downgrade: hop.Downgrade, Cancel: hop.Cancel, Barred: hop.Barred}
	up, legacy := goesUp(running, hop.To), c.Status.LegacyEntries && !readsLegacy(wanted)
	switch {
	case (up || hop.Downgrade != "" || goesDown == minorOf(hop.To)) && members.unmigrated != "":
		t.Await = "etcd to prepare its data: " + members.unmigrated
		t.Version = version.Highest(running)
	case members.unproven:
		t.Version = version.Wake(hop.To, running)
	case t.Downgrade != "", legacy && up && !readsLegacy(hop.To) && !members.areCleansed(c):
		t.Version = version.Highest(running)
	}
	t.Cleanse = legacy && minorOf(t.Version) == lastLegacy
	switch {
	case t.Version == wanted:
		t.Image = image
	case image != "":
		t.Image = runningImage
	}
	return t
}

// lastLegacy is the last minor version that reads requests in the form of etcd 3.5. It
// replays those in its log from the last snapshot on, which may be the whole log.
// etcd 3.7 panics on one ("unmarshal should never fail"): its raft log may hold only
// requests of its own form (apply_v2.go of the server is gone in 3.7).
const lastLegacy = "3.6"

func readsLegacy(full string) bool { return minorOf(full) == "3.5" || minorOf(full) == lastLegacy }

// areCleansed says whether all members have dropped what they had in their logs from
// etcd 3.5. Each has written a snapshot when it is healthy again, and not before, because
// joining and raising the cluster's version are two entries at least. Once that was so the
// status remembers it by what comes next: then members are made anew without the setting.
func (j *join) areCleansed(c *v1alpha1.EtcdCluster) bool {
	if c.Status.TargetVersion != "" && !readsLegacy(c.Status.TargetVersion) {
		return true
	}
	for _, m := range j.members {
		pod := j.pods[m.Name]
		if m.Role != cluster.Unlisted && (pod == nil || !build.IsCleansing(pod) || !m.Healthy) {
			return false
		}
	}
	return true
}

// answer says whether any member does.
func (j *join) answer() bool {
	for _, m := range j.members {
		if m.Answers {
			return true
		}
	}
	return false
}

// goesUp says whether a version is of a newer minor version than every member's.
func goesUp(running []string, to string) bool {
	highest := version.Highest(running)
	return highest != "" && version.Order(highest, to) < 0 && minorOf(highest) != minorOf(to)
}

func minorOf(full string) string {
	v, err := version.Parse(full)
	if err != nil {
		return ""
	}
	return v.Minor()
}

// wantedVersion is what the spec wants, or what was put in its place after it
// failed.
func wantedVersion(c *v1alpha1.EtcdCluster) (wanted, image string) {
	if isRolledBack(c) {
		return c.Status.Rollback.Version, c.Status.Rollback.Image
	}
	return version.Full(c.Spec.Version), c.Spec.Image
}

// isRolledBack says whether the spec still wants what has failed, be it in other words:
// 3.7 is the newest patch of it.
func isRolledBack(c *v1alpha1.EtcdCluster) bool {
	r := c.Status.Rollback
	return r != nil && version.Full(r.Refused) == version.Full(c.Spec.Version) && r.RefusedImage == c.Spec.Image
}

// running are the versions of all listed members, and the image that the user has chosen
// for one of them that runs the newest: one that answers, else one whose volume says so.
// Adopted members count before etcd lists them.
func (j *join) running() (versions []string, image string) {
	var all []cluster.Member
	for _, m := range j.sorted() {
		if adopted := j.unproven && m.Recorded; (m.Role != cluster.Unlisted || adopted) && m.Version != "" {
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
