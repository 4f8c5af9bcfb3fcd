package facts

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

const (
	// betweenDefragmentations is the least time between two defragmentations of a member by the rules of the spec: what writes and deletes
	// faster than that would have members restart all the time.
	betweenDefragmentations = 2 * time.Hour
	// tried is the least time between two defragmentations of a member that is full.
	tried = time.Minute
	// triedInVain is that after one that has failed: each takes the member away for as long as it reads its database and its log.
	triedInVain = 10 * time.Minute
	// growAbove is the share of its quota in percent that a member's data takes when volumes grow. Only a part is left by then that may be
	// filled before they have.
	growAbove = 70
	// growWithin is how many hours ahead growth is looked at, of data that takes half of its quota: the storage of some clouds may be
	// resized only once in six hours.
	growWithin = 6
	// growBy is the part of their size by which volumes grow: a quarter, and leastGrowth at least.
	growBy      = 4
	leastGrowth = 256 << 20
	// nearQuota is the share of a database that must be free where the database is near its quota, in percent.
	nearQuota = 10
)

// space records what is to be known of the room in members' databases.
func (j *builder) space() {
	for name, pod := range j.pods {
		m := j.member(name)
		chosen := j.v.Record.Defragmenting
		isChosen := chosen.Member == name
		m.Pod.Defragments = specs.IsDefragmenting(pod) && !(isChosen && chosen.Pod == m.Pod.UID)
		m.Pod.Quota = specs.QuotaOf(pod)
		m.NoRoom = j.noRoom(*m)
		m.Fragmented = j.fragmented(*m)
		last := lastDefragmentation(j.c, name)
		m.Tried = j.isRecent(last.Time.Time, tried) || last.Failure != "" && j.isRecent(last.Time.Time, triedInVain)
		if isChosen && !m.Pod.Defragments || !isChosen && m.Pod.Defragments && m.Pod.Failing {
			m.Pod.Change = cluster.Rebuild
		}
	}
}

// growth is what volumes are to grow to, if the user allows it and what was asked for before is done. A quota that the user has set does
// not follow the size of volumes, nor does one that has reached etcd's largest: then they grow only for what lies beside the database.
func growth(c *v1beta1.EtcdCluster, v cluster.View) cluster.Growth {
	allowed := c.Spec.Storage.AutoGrow
	size, given := c.VolumeSize(), c.Status.VolumeSize
	if allowed == nil || size.Cmp(allowed.MaxSize) >= 0 || given == nil || given.Cmp(size) < 0 || len(v.Refused) > 0 {
		return cluster.Growth{}
	}
	quotaGrows := c.Spec.Etcd.Quota == nil && c.QuotaBytes() < v1beta1.MaxQuota.Value()
	for _, m := range v.Select(cluster.IsVoter) {
		if why := cmp.Or(outgrows(m, quotaGrows), crowded(m, given.Value())); why != "" {
			next := size.Value() + max(size.Value()/growBy, leastGrowth)
			return cluster.Growth{Size: min(next/leastGrowth*leastGrowth, allowed.MaxSize.Value()), Why: why}
		}
	}
	return cluster.Growth{}
}

// outgrows says why a member's volume is too small; empty if it is not.
func outgrows(m cluster.Member, quotaGrows bool) string {
	quota := m.Pod.Quota
	switch {
	case !m.Answers || m.Pod.Change != cluster.Same:
		return ""
	case quotaGrows && quota > 0 && m.InUse >= quota/100*growAbove:
		return fmt.Sprintf("the data of %s takes %d %% of its quota", m.Name, m.InUse*100/quota)
	case quotaGrows && quota > 0 && m.InUse >= quota/2 && m.InUse+growWithin*m.HourlyGrowth >= quota/10*9:
		return fmt.Sprintf("the data of %s grows by %d MiB an hour: at this rate it fills its quota of %d MiB within %d hours",
			m.Name, m.HourlyGrowth>>20, quota>>20, growWithin)
	case m.NoRoom != "" && (m.Fragmented != "" || cluster.IsFull(m) && cluster.IsHollow(m)):
		return m.Name + " cannot be defragmented: " + m.NoRoom
	default:
		return ""
	}
}

// crowded says why a member's volume is about to have no room beside its database and the log; empty if it has. Only on small volumes that
// comes before the database is near its quota.
func crowded(m cluster.Member, volume int64) string {
	log := v1beta1.LogRoom(volume)
	if !m.Answers || m.Pod.Change != cluster.Same || m.DBSize+log <= volume/4*3 {
		return ""
	}
	return fmt.Sprintf("the database of %s has %d MiB, and its log may take %d MiB, of a volume of %d MiB", m.Name, m.DBSize>>20, log>>20,
		volume>>20)
}

// noRoom says why a member's volume does not hold a copy of its data beside the database and the log, or why a restart makes none of it.
func (j *builder) noRoom(m cluster.Member) string {
	has := j.capacity(m.Name)
	switch needs := m.DBSize + m.InUse + v1beta1.LogRoom(has); {
	case j.v.Want.Ephemeral && v1beta1.UsableRoom(has) < needs:
		return goesWithPod + "nor has spec.storage.ephemeral.sizeLimit room for etcdctl defrag: raise spec.etcd.quota, or copy the data to a " +
			"new cluster"
	case j.v.Want.Ephemeral:
		return goesWithPod + "run etcdctl defrag in its pod while all members are healthy, in the leader's last"
	case !m.Answers:
		return ""
	case has == 0:
		return "the size of its volume is not known"
	case v1beta1.UsableRoom(has) < needs:
		return fmt.Sprintf("its volume of %d MiB has no room for a copy of its data beside the database and the log, %d MiB: "+
			"raise spec.storage.size", has>>20, needs>>20)
	default:
		return ""
	}
}

// goesWithPod is why no member with ephemeral storage is defragmented by a restart: the leader sends its database as it is, free pages too.
const goesWithPod = "its data goes with its pod, and a member in its place gets the same file from the leader; "

// capacity is how large the volume of a member is, or its emptyDir may be; 0 if that is not known.
func (j *builder) capacity(member string) int64 {
	if j.v.Want.Ephemeral {
		size := j.c.VolumeSize()
		return size.Value()
	}
	for i := range j.Volumes {
		if claim := &j.Volumes[i]; claim.Name == member {
			size := claim.Status.Capacity[corev1.ResourceStorage]
			return size.Value()
		}
	}
	return 0
}

// fragmented says why a member's database is to be defragmented; empty if it is not.
func (j *builder) fragmented(m cluster.Member) string {
	window, last := j.c.Spec.Maintenance.Defragmentation.Window, lastDefragmentation(j.c, m.Name)
	asked := j.c.Annotations[v1beta1.AnnotationDefragment]
	switch {
	case !m.Answers || m.InUse == 0 || m.NoRoom != "" && j.isGrowing(m.Name) || j.BackingUp != "":
		return ""
	case asked != "" && asked != last.Request:
		return fmt.Sprintf("the annotation %s asks for it", v1beta1.AnnotationDefragment)
	case j.v.Want.Ephemeral, !j.c.Defragments(), j.isRecent(last.Time.Time, betweenDefragmentations), !isOpen(window, j.Now):
		return ""
	}
	return worthwhile(j.c, m, m.DBSize-m.InUse, j.capacity(m.Name))
}

// isGrowing says whether a member's volume is about to be larger, which it is not while Kubernetes or its storage refuses that.
func (j *builder) isGrowing(member string) bool {
	wanted := j.c.VolumeSize()
	refused := slices.ContainsFunc(j.v.Refused, func(o cluster.Object) bool { return o.Name == member })
	return !j.v.Want.Ephemeral && !refused && j.capacity(member) > 0 && j.capacity(member) < wanted.Value()
}

// worthwhile says what a defragmentation gives back, if that is enough by the spec. A cluster of one is away meanwhile, so that it has
// to be near its quota for it. So is a database that is about to have no room for a copy of its data on a volume of that size.
func worthwhile(c *v1beta1.EtcdCluster, m cluster.Member, free, volume int64) string {
	d, share := c.Spec.Maintenance.Defragmentation, free*100/m.DBSize
	near := min(m.Pod.Quota/100*int64(d.QuotaPercent), v1beta1.DefaultQuota(volume))
	switch {
	case free >= d.LeastFree() && share >= int64(d.FreePercent) && c.Size() > 1:
		return fmt.Sprintf("%d MiB of its database of %d MiB are free", free>>20, m.DBSize>>20)
	case m.Pod.Quota > 0 && m.DBSize >= near && share >= nearQuota:
		return fmt.Sprintf("its database takes %d %% of its quota, and %d MiB of it are free", m.DBSize*100/m.Pod.Quota, free>>20)
	default:
		return ""
	}
}

// mayDefragment says whether it has to be known whether a backup goes on: a member's database may be defragmented.
func mayDefragment(s Snapshot) bool {
	for _, a := range s.Answers {
		free := a.Status.DBSize - a.Status.DBSizeInUse
		asked := s.Cluster.Annotations[v1beta1.AnnotationDefragment]
		if a.Err == nil && (free >= s.Cluster.Spec.Maintenance.Defragmentation.LeastFree() || free*nearQuota >= a.Status.DBSize && free > 0 ||
			asked != "" && asked != lastDefragmentation(s.Cluster, a.Member).Request) {
			return true
		}
	}
	return false
}

// BackingUp is the backup of the cluster that goes on, of those of its namespace; empty if none does. Before etcd 3.5.23 and 3.6.5 a
// snapshot beside a defragmentation could be torn (https://github.com/etcd-io/etcd/blob/main/CHANGELOG/CHANGELOG-3.6.md#v365-2025-09-19).
func BackingUp(c *v1beta1.EtcdCluster, backups []v1beta1.EtcdBackup) string {
	for i := range backups {
		if b := &backups[i]; b.Spec.Cluster == c.Name && b.Status.Phase == v1beta1.BackupRunning {
			return b.Name
		}
	}
	return ""
}

func lastDefragmentation(c *v1beta1.EtcdCluster, member string) v1beta1.MemberDefragmentation {
	for _, m := range c.Status.Members {
		if m.Name == member && m.LastDefragmentation != nil {
			return *m.LastDefragmentation
		}
	}
	return v1beta1.MemberDefragmentation{}
}
