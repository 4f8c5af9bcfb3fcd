package observe

import (
	"strings"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/build"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/version"
)

// judge compares every Pod with what it should run now. That depends on what all
// members run, so it comes last.
func judge(c *v1alpha1.EtcdCluster, v *cluster.View, members *join) {
	v.Target = target(c, members)
	targeted := build.Targeted(c, v.Target)
	for name, pod := range members.pods {
		m := members.member(name)
		m.Pod.Change = build.Change(targeted, pod)
		if !m.Started && strings.HasPrefix(m.Damage, emptied) {
			m.Damage = ""
		}
	}
}

// target is the next version on the way to the wanted one. Members run what they
// run until etcd has been told of a downgrade.
func target(c *v1alpha1.EtcdCluster, members *join) cluster.Target {
	wanted, image := wantedVersion(c)
	running, runningImage := members.running()
	hop := version.Next(wanted, running, members.downgrade, image != "")
	t := cluster.Target{Version: hop.To, Downgrade: hop.Downgrade, Cancel: hop.Cancel, Barred: hop.Barred}
	if (goesUp(running, hop.To) || hop.Downgrade == "" && members.downgrade == minorOf(hop.To)) && members.unmigrated != "" {
		t.Await = "etcd to prepare its data: " + members.unmigrated
	}
	if t.Await != "" || t.Downgrade != "" {
		t.Version = version.Highest(running)
	}
	switch {
	case t.Version == wanted:
		t.Image = image
	case image != "":
		t.Image = runningImage
	}
	return t
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

// isRolledBack says whether the spec still wants what has failed.
func isRolledBack(c *v1alpha1.EtcdCluster) bool {
	r := c.Status.Rollback
	return r != nil && r.Refused == c.Spec.Version && r.RefusedImage == c.Spec.Image
}

// running are the versions of all listed members, and the image of one of them
// that runs the newest.
func (j *join) running() (versions []string, image string) {
	for _, m := range j.sorted() {
		if m.Role == cluster.Unlisted || m.Version == "" {
			continue
		}
		versions = append(versions, m.Version)
		if m.Answers && m.Version == version.Highest(versions) {
			image = m.Pod.Image
		}
	}
	return versions, image
}
