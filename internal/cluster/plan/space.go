// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// A member is defragmented as it starts: it restarts as for a change of the spec, so that clients are moved away before, leadership
// too, and a quorum serves meanwhile. Which one restarts is written into the status first; facts then count its Pod as outdated
// until it is one that defragments.

// defragmentOnce is asked as soon as a container runs that was started to defragment, and before anything that may wait: when it starts
// again, in a crash or as its node restarts, there may be no room for a copy of its data.
func defragmentOnce(v cluster.View) Step {
	return markAll(v, Plain, func(m cluster.Member) bool { return m.Pod.DefragmentsAgain })
}

// giveUpDefragmenting ends a defragmentation that fails, for want of room for example, or whose member does not come to restart: others
// wait for it.
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
	case m.Pod.UID != d.Pod || m.Pod.IsTerminating(): // it has begun
		return nil
	case noRoom(v, m) != "":
		return RecordDefragmented(v, noRoom(v, m))
	case m.HeldUp:
		return RecordDefragmented(v, "it was not restarted in time"+heldUpBy(v, m))
	default:
		return nil
	}
}

// heldUpBy says what a restart waits for; empty if that is not known.
func heldUpBy(v cluster.View, m cluster.Member) string {
	for _, step := range []Step{readEtcd(v), keepQuorum(v), finishLearner(v), awaitHealth(v), guards(v), startAnew(v, m)} {
		if wait, waits := step.(Wait); waits {
			return ": waiting for " + wait.For
		}
		if refusal, refuses := step.(Refuse); refuses {
			return ": " + refusal.Because
		}
	}
	return ""
}

// guards are what has to come before members restart for a change of the spec.
func guards(v cluster.View) Step { return cmp.Or(keepRoom(v), awaitBackup(v), prepareVersion(v)) }

// endDefragmenting is asked while every voter is healthy.
func endDefragmenting(v cluster.View) Step {
	m, _ := v.Member(v.Record.Defragmenting.Member)
	if !m.Pod.Defragments || !cluster.IsSteady(m) {
		return nil
	}
	if d := v.Record.Defragmenting; m.DBSize >= d.Size && m.InUse < d.Size/10*9 {
		return RecordDefragmented(v, "its database is as large as it was: see how its container ended before, and --bootstrap-defrag-threshold-"+
			"megabytes in spec.etcd.extraArgs")
	}
	return RecordDefragmented(v, "")
}

// endNoSpace makes room while all voters run steadily, so that the others are a quorum beside the one that restarts. It comes before all
// that may take for ever and only wants to change members: a learner that cannot start, a backup that is not good, a quota that is refused,
// the drain of a node (docs/adr/0078).
func endNoSpace(v cluster.View) Step {
	alarms := v.Raised(cluster.NoSpace)
	if len(alarms) == 0 || !v.Want.Heals || v.Count(cluster.IsVoter, cluster.Not(cluster.IsSteady)) > 0 {
		return nil
	}
	return cmp.Or(endDefragmenting(v), makeRoom(v, alarms), restartFull(v))
}

// restartFull restarts the member that is chosen, or one that is full and does not have the spec yet, which may give it a larger quota.
// Where that waits for the work of a later rule, or of nobody, later rules go on. An image that holds another version than expected goes to
// no further member.
func restartFull(v cluster.View) Step {
	m, chosen := v.Member(v.Record.Defragmenting.Member)
	if full := leaderLast(v.Select(cluster.IsVoter, isToMakeRoom(v), cluster.IsSuperseded)); !chosen && len(full) > 0 {
		m = full[0]
	}
	if !cluster.IsOutdated(m) || v.Target.Misnamed != "" || v.Want.Ephemeral {
		return nil
	}
	step := restart(v, m)
	if wait, waits := step.(Wait); Rests(step) && !(waits && wait.Look == Soon) {
		return nil
	}
	return startAnew(v, m)
}

// isToMakeRoom says whether a member restarts to end NOSPACE.
func isToMakeRoom(v cluster.View) func(cluster.Member) bool {
	heals := len(v.Raised(cluster.NoSpace)) > 0 && v.Want.Heals
	return func(m cluster.Member) bool {
		return heals && (m.Name == v.Record.Defragmenting.Member || cluster.IsFull(m) && !m.Pod.QuotaBelowDBSize)
	}
}

// startAnew restarts a member as a roll does, a leader after it has handed over.
func startAnew(v cluster.View, m cluster.Member) Step {
	if m.Leader && v.Count(cluster.IsVoter) > 1 && v.NotRoot == "" {
		return handOver(v, m)
	}
	return restart(v, m)
}

// makeRoom ends the alarm NOSPACE, by which etcd refuses every write, in the order that etcd's documentation gives
// (https://etcd.io/docs/v3.6/op-guide/maintenance/#space-quota): compact, defragment, disarm. History is dropped only if a member would
// be full without it. The alarm is not disarmed while any member is full, or the next write would raise it again.
func makeRoom(v cluster.View, alarms cluster.Alarms) Step {
	full := v.Select(cluster.IsVoter, cluster.IsFull)
	switch {
	case v.Count(cluster.IsVoter, func(m cluster.Member) bool { return m.Pod.Quota == 0 }) > 0:
		return nil // it is not known whether all have room
	case len(full) == 0:
		return DisarmAlarm{Kind: alarms[0].Kind, ID: alarms[0].ID, Because: "every member is below nine tenths of its quota again"}
	case v.Record.Defragmenting.Member != "":
		return nil // it is about to restart
	case v.Count(cluster.IsVoter, cluster.IsFull, cluster.Not(isHelped(v))) > 0 && v.Compacted < confirmed(v) && !v.Freeing:
		return Compact{Revision: confirmed(v), Because: "history is what can be dropped to make room for writes"}
	}
	for _, m := range leaderLast(full) {
		if isHelped(v)(m) && v.Target.Misnamed == "" {
			return RecordDefragmenting(v, m, "etcd refuses writes, because it has raised the alarm "+alarms.String())
		}
	}
	if v.Freeing {
		return Wait{For: "etcd to say what the compaction has freed", Look: Soon}
	}
	return nil
}

// defragment begins with the next member whose database is to be defragmented, the leader last. It would restart behind a change that is
// held up, and so does not begin. One that has no room is begun, too, and given up at once: then the reason is in the status.
func defragment(v cluster.View) Step {
	if isBusy(v) || guards(v) != nil {
		return nil
	}
	for _, m := range leaderLast(v.Select(cluster.IsVoter, cluster.IsSteady)) {
		if why := fragmented(v, m); why != "" {
			return RecordDefragmenting(v, m, why)
		}
	}
	return nil
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
	for _, m := range v.Select(cluster.IsVoter, cluster.IsFull, cluster.Not(isHelped(v))) {
		if v.Compacted == 0 {
			continue
		}
		holds := fmt.Sprintf("; %s holds %s of data, of a quota of %s", m.Name, mebibytes(m.InUse), mebibytes(m.Pod.Quota))
		if why := noRoom(v, m); why != "" {
			return raised + holds + ", and cannot be defragmented: " + why
		}
		return raised + holds + ": delete keys (see kubectl etcd keys " + v.Name + "), or raise spec.etcd.quota (and spec.storage.size)"
	}
	return ""
}

func leaderLast(members []cluster.Member) []cluster.Member {
	return slices.SortedStableFunc(slices.Values(members), func(a, b cluster.Member) int { return last(a.Leader, b.Leader) })
}

// confirmed is the revision that a quorum has confirmed a moment ago.
func confirmed(v cluster.View) int64 {
	_, highest := Confirmed(v)
	return highest
}
