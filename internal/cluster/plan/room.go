// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

const (
	// betweenDefragmentations is the least time between two defragmentations of a member by the rules of the spec: what writes and deletes
	// faster than that would have members restart all the time.
	betweenDefragmentations = 2 * time.Hour
	// tried is the least time between two defragmentations of a member that is full.
	tried = time.Minute
	// triedInVain is that after one that has failed: each takes the member away for as long as it reads its database and its log.
	triedInVain = 10 * time.Minute
	// nearQuota is the share of a database that must be free where the database is near its quota, in percent.
	nearQuota = 10
	// growAbove is the share of its quota in percent that a member's data takes when volumes grow. Only a part is left by then that may be
	// filled before they have.
	growAbove = 70
	// growWithin is how many hours ahead growth is looked at, of data that takes half of its quota: the storage of some clouds may be
	// resized only once in six hours.
	growWithin = 6
	// growBy is the part of their size by which volumes grow: a quarter, and leastGrowth at least.
	growBy      = 4
	leastGrowth = 256 << 20
	// crowdedAbove is the share of a volume in percent that the database and the log take when volumes grow.
	crowdedAbove = 75
)

// What the page of rules says of these figures.
var (
	whenFragmented = fmt.Sprintf("when minFree and freePercent of its database are free, or %d %% of one that takes quotaPercent of its "+
		"quota or is about to have no room for its copy: within the window, and %g hours after the last time", nearQuota,
		betweenDefragmentations.Hours())
	whenOutgrown = fmt.Sprintf("when data takes %d %% of its quota, or half of it and fills nine tenths within %d hours, when a database has "+
		"no room for its copy, or when it and its log take %d %% of the volume", growAbove, growWithin, crowdedAbove)
)

// isRecent says whether something was less than that long ago. What another clock says is further in the future counts as long past.
func isRecent(v cluster.View, at int64, within time.Duration) bool {
	return math.Abs(float64(v.At-at)) < within.Seconds()
}

// fragmented says why a member's database is to be defragmented; empty if it is not.
func fragmented(v cluster.View, m cluster.Member) string {
	s, asked, last := v.Space, v.Want.Defragment, m.Defragmented
	switch {
	case !m.Answers || m.InUse == 0 || noRoom(v, m) != "" && isGrowing(v, m) || s.BackingUp != "":
		return ""
	case asked != "" && asked != last.Request:
		return "the annotation etcd-operator.dev/defragment asks for it"
	case v.Want.Ephemeral, !s.Defragments, isRecent(v, last.At, betweenDefragmentations), !s.InWindow:
		return ""
	}
	return worthwhile(v, m, m.DBSize-m.InUse)
}

// worthwhile says what a defragmentation gives back, if that is enough by the spec. A cluster of one is away meanwhile, so that it has
// to be near its quota for it. So is a database that is about to have no room for a copy of its data on its volume.
func worthwhile(v cluster.View, m cluster.Member, free int64) string {
	s, share := v.Space, free*100/m.DBSize
	switch {
	case free >= s.LeastFree && share >= s.FreePercent && v.Want.Size > 1:
		return fmt.Sprintf("%s of its database of %s are free", mebibytes(free), mebibytes(m.DBSize))
	case m.Pod.Quota > 0 && m.DBSize >= min(m.Pod.Quota/100*s.QuotaPercent, m.Room.Copied) && share >= nearQuota:
		return fmt.Sprintf("its database takes %d %% of its quota, and %s of it are free", m.DBSize*100/m.Pod.Quota, mebibytes(free))
	default:
		return ""
	}
}

// isGrowing says whether a member's volume is about to be larger, which it is not while Kubernetes or its storage refuses that.
func isGrowing(v cluster.View, m cluster.Member) bool {
	refused := slices.ContainsFunc(v.Refused, func(o cluster.Object) bool { return o.Name == m.Name })
	return !v.Want.Ephemeral && !refused && m.Room.Volume > 0 && m.Room.Volume < v.Space.Volume
}

// HeldQuota is what a member's quota is at least while it is defragmented, in bytes; 0 if that of the spec will do. While that is refused,
// because a database is larger, the member must not come back with less before its own is defragmented.
func HeldQuota(v cluster.View, name string) int64 {
	if d := v.Record.Defragmenting; d.Member == name && v.Count(cluster.IsListed, cluster.HasQuotaBelowDBSize) > 0 {
		return d.Size
	}
	return 0
}

// goesWithPod is why no member with ephemeral storage is defragmented by a restart: the leader sends its database as it is, free pages too.
const goesWithPod = "its data goes with its pod, and a member in its place gets the same file from the leader; "

// noRoom says why a member's volume does not hold a copy of its data beside the database and the log, or why a restart makes none of it.
func noRoom(v cluster.View, m cluster.Member) string {
	switch needs := m.DBSize + m.InUse + m.Room.Log; {
	case v.Want.Ephemeral && m.Room.Files < needs:
		return goesWithPod + "nor has spec.storage.ephemeral.sizeLimit room for etcdctl defrag: raise spec.etcd.quota, or copy the data to a " +
			"new cluster"
	case v.Want.Ephemeral:
		return goesWithPod + "run etcdctl defrag in its pod while all members are healthy, in the leader's last"
	case !m.Answers:
		return ""
	case m.Room.Volume == 0:
		return "the size of its volume is not known"
	case m.Room.Files < needs:
		return fmt.Sprintf("its volume of %s has no room for a copy of its data beside the database and the log, %s: "+
			"raise spec.storage.size", mebibytes(m.Room.Volume), mebibytes(needs))
	default:
		return ""
	}
}

// isHelped says whether a defragmentation would take a member that is full below that, its volume has room for it, and it was not in vain a
// moment ago.
func isHelped(v cluster.View) func(cluster.Member) bool {
	return func(m cluster.Member) bool {
		last := m.Defragmented
		wasTried := isRecent(v, last.At, tried) || last.Failed && isRecent(v, last.At, triedInVain)
		return cluster.IsFull(m) && isHollow(m) && !wasTried && noRoom(v, m) == ""
	}
}

// isHollow says whether so much of a member's quota would be left after a defragmentation that it were not full for a while.
func isHollow(m cluster.Member) bool { return m.InUse < m.Pod.Quota/10*8 }

// growVolumes is asked after what gives space back was tried, and if volumes have what was asked for before. A quota that the user has set
// does not follow the size of volumes, nor does one that has reached etcd's largest: then they grow only for what lies beside the database.
func growVolumes(v cluster.View) Step {
	s := v.Space
	if s.Volume >= s.MaxVolume || s.Given < s.Volume || len(v.Refused) > 0 || v.Record.Defragmenting.Member != "" {
		return nil
	}
	for _, m := range v.Select(cluster.IsVoter, isAsItIs) {
		if why := cmp.Or(outgrows(v, m), crowded(v, m)); why != "" {
			next := s.Volume + max(s.Volume/growBy, leastGrowth)
			return RecordGrowth(v, min(next/leastGrowth*leastGrowth, s.MaxVolume), why)
		}
	}
	return nil
}

// isAsItIs says whether the member answers with the quota of the spec.
func isAsItIs(m cluster.Member) bool { return m.Answers && m.Pod.Change == cluster.Same }

// outgrows says why a member's volume is too small for its data; empty if it is not.
func outgrows(v cluster.View, m cluster.Member) string {
	quota := m.Pod.Quota
	quotaGrows := v.Space.QuotaGrows && quota > 0
	switch {
	case quotaGrows && m.InUse >= quota/100*growAbove:
		return fmt.Sprintf("the data of %s takes %d %% of its quota", m.Name, m.InUse*100/quota)
	case quotaGrows && m.InUse >= quota/2 && m.InUse+growWithin*m.HourlyGrowth >= quota/10*9:
		return fmt.Sprintf("the data of %s grows by %s an hour: at this rate it fills its quota of %s within %d hours",
			m.Name, mebibytes(m.HourlyGrowth), mebibytes(quota), growWithin)
	case noRoom(v, m) != "" && (fragmented(v, m) != "" || cluster.IsFull(m) && isHollow(m)):
		return m.Name + " cannot be defragmented: " + noRoom(v, m)
	default:
		return ""
	}
}

// crowded says why a member's volume is about to have no room beside its database and the log; empty if it has. Only on small volumes that
// comes before the database is near its quota.
func crowded(v cluster.View, m cluster.Member) string {
	if m.DBSize+v.Space.GivenLog <= v.Space.Given/100*crowdedAbove {
		return ""
	}
	return fmt.Sprintf("the database of %s has %s, and its log may take %s, of a volume of %s", m.Name, mebibytes(m.DBSize),
		mebibytes(v.Space.GivenLog), mebibytes(v.Space.Given))
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }
