package plan

import (
	"fmt"
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// A member is defragmented as it starts: it restarts as for a change of the spec, so that clients are moved away before, leadership
// too, and a quorum serves meanwhile. Which one restarts is written into the status first; facts then count its Pod as outdated
// until it is one that defragments.

// giveUpDefragmenting gives a member back its plain Pod if it does not start while it is defragmented, for want of room for example.
func giveUpDefragmenting(v cluster.View) Step {
	d := v.Record.Defragmenting
	if d.Member == "" {
		return nil
	}
	m, _ := v.Member(d.Member)
	switch {
	case m.Pod.Defragments && m.Pod.Failing && !m.Answers:
		return RecordDefragmented(v, d.Member+" does not start"+why(m))
	case v.Unread == "" && !cluster.IsListed(m):
		return RecordDefragmented(v, d.Member+" is no member any more")
	default:
		return nil
	}
}

// endDefragmenting is reached while every voter is healthy.
func endDefragmenting(v cluster.View) Step {
	m, _ := v.Member(v.Record.Defragmenting.Member)
	if !m.Pod.Defragments || !cluster.IsSteady(m) {
		return nil
	}
	return RecordDefragmented(v, "")
}

// endNoSpace ends the alarm NOSPACE, by which etcd refuses every write, in the order that etcd's documentation gives
// (https://etcd.io/docs/v3.6/op-guide/maintenance/#space-quota): compact, defragment, disarm. History is dropped only if a member would
// be full without it. The alarm is not disarmed while any member is full, or the next write would raise it again.
func endNoSpace(v cluster.View) Step {
	alarms := v.Raised(cluster.NoSpace)
	if len(alarms) == 0 || !v.Want.Heals {
		return nil
	}
	full := v.Select(cluster.IsVoter, cluster.IsFull)
	switch {
	case v.Count(cluster.IsVoter, func(m cluster.Member) bool { return m.Pod.Quota == 0 }) > 0:
		return nil // it is not known whether all have room
	case len(full) == 0:
		return DisarmAlarm{Kind: alarms[0].Kind, ID: alarms[0].ID, Because: "every member is below nine tenths of its quota again"}
	case v.Record.Defragmenting.Member != "":
		return nil // it is about to restart
	case v.Count(cluster.IsVoter, cluster.IsFull, cluster.Not(cluster.IsHelped)) > 0 && v.Compacted < confirmed(v) && !v.Freeing:
		return Compact{Revision: confirmed(v), Because: "history is what can be dropped to make room for writes"}
	}
	for _, m := range leaderLast(full) {
		if cluster.IsHelped(m) {
			return RecordDefragmenting(v, m, "etcd refuses writes, because it has raised the alarm "+alarms.String())
		}
	}
	if v.Freeing {
		return Wait{For: "etcd to say what the compaction has freed", Look: Soon}
	}
	return nil
}

// defragment begins with the next member whose database is to be defragmented, the leader last.
func defragment(v cluster.View) Step {
	if v.Record.Defragmenting.Member != "" || len(v.Alarms) > 0 || v.Count(cluster.IsListed, cluster.IsOutdated) > 0 {
		return nil
	}
	for _, m := range leaderLast(v.Select(cluster.IsVoter, cluster.IsSteady)) {
		if m.Fragmented != "" && m.NoRoom == "" {
			return RecordDefragmenting(v, m, m.Fragmented)
		}
	}
	return nil
}

// growVolumes is asked after what gives space back was tried.
func growVolumes(v cluster.View) Step {
	if v.Growth.Size <= v.Record.Grown || v.Record.Defragmenting.Member != "" {
		return nil
	}
	return RecordGrowth(v)
}

// NoSpace says why etcd refuses writes that need room and what a person has to do; empty if nothing is left to a person.
func NoSpace(v cluster.View) string {
	alarms := v.Raised(cluster.NoSpace)
	if len(alarms) == 0 || v.Unread != "" {
		return ""
	}
	raised := "etcd refuses every write that needs room: it has raised the alarm " + alarms.String()
	if !v.Want.Heals {
		return raised + "; delete keys, compact and defragment, and run etcdctl alarm disarm, or set spec.maintenance.noSpace to Heal"
	}
	for _, m := range v.Select(cluster.IsVoter, cluster.IsFull, cluster.Not(cluster.IsHelped)) {
		if v.Compacted == 0 {
			continue
		}
		holds := fmt.Sprintf("; %s holds %s of data, of a quota of %s", m.Name, mebibytes(m.InUse), mebibytes(m.Pod.Quota))
		if m.NoRoom != "" {
			return raised + holds + ", and cannot be defragmented: " + m.NoRoom
		}
		return raised + holds + filledBy(v) + ": delete keys, or raise spec.etcd.quota (and spec.storage.size)"
	}
	return ""
}

// filledBy names the prefix that has the most data; empty if that was not measured.
func filledBy(v cluster.View) string {
	if len(v.Largest) == 0 {
		return ""
	}
	most := v.Largest[0]
	return fmt.Sprintf(", about %s of it in the %d keys that begin with %q", mebibytes(most.Bytes), most.Keys, most.Text)
}

func leaderLast(members []cluster.Member) []cluster.Member {
	return slices.SortedStableFunc(slices.Values(members), func(a, b cluster.Member) int { return last(a.Leader, b.Leader) })
}

// confirmed is the revision that a quorum has confirmed a moment ago.
func confirmed(v cluster.View) int64 {
	_, highest := Confirmed(v)
	return highest
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }
