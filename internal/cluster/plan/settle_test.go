// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/quorum"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// settle lets the world come to rest: containers run, the cluster forms, a leader
// is elected, learners catch up, what is gone is forgotten.
func (w *world) settle() {
	v := &w.view
	w.restore()
	w.fillInPlace()
	w.form()
	for i := range v.Members {
		w.run(&v.Members[i])
	}
	w.forceNewCluster()
	w.version()
	up, all := w.voters(func(m *cluster.Member) bool { return m.Answers })
	led := quorum.Holds(up+v.HealthySources(), all+len(v.Sources()))
	for i := range v.Members {
		m := &v.Members[i]
		m.Healthy = m.Answers && led
		m.Leader = m.Leader && m.Healthy && m.Role == cluster.Voter
		m.Confirmed = 0
		if m.Healthy && m.Role == cluster.Voter {
			m.Confirmed = w.confirmed()
		}
		m.Synced = m.Role == cluster.Learner && m.Healthy
		m.Recorded = m.Recorded || m.Role != cluster.Unlisted && w.formed
		if m.Role != cluster.Unlisted && m.Name == v.Record.Joining {
			v.Record.Joining = ""
		}
	}
	_, has := v.Leader()
	if _, led := v.SourceLeader(); led {
		has = true
	}
	if led && !has {
		w.elect()
	}
	v.Unread = ""
	if !led {
		v.Unread = "no member answers a linearizable read"
	}
	w.space()
	w.schemes()
	w.aim()
	w.turns()
	w.backUp()
	w.compare()
	v.Members = slices.DeleteFunc(v.Members, w.forgets)
	w.watchBudget()
	w.watchVolumes()
}

// confirmed is the revision that a quorum answers with: that of the record, or less.
func (w *world) confirmed() int64 {
	if w.missing {
		return 3
	}
	return known
}

// known is the revision that the record of a cluster that has formed says it had.
const known = 7

// compare does what the observer does while an alarm says that data differs: all voters are
// asked for the hash of theirs. Each odd one has a hash of its own.
func (w *world) compare() {
	v := &w.view
	v.Alarms, v.Undecided = nil, ""
	for i := range v.Members {
		v.Members[i].HashMismatch = false
	}
	if w.full {
		v.Alarms = append(v.Alarms, cluster.Alarm{Kind: cluster.NoSpace, ID: v.Members[0].ID, Member: v.Members[0].Name})
	}
	if w.corrupt == 0 || v.Unread != "" {
		return
	}
	alarm := cluster.Alarm{Kind: cluster.Corrupt, ID: w.corrupt}
	var hashes []cluster.Hash
	for i, m := range v.Members {
		if m.ID == w.corrupt && cluster.IsListed(m) {
			alarm.Member = m.Name
		}
		hash := cluster.Hash{Member: m.Name}
		if !m.Answers {
			hash.Unread = "it does not answer"
		}
		if w.fate(m.Name).odd {
			hash.Sum = uint32(1 + i) //nolint:gosec // a small number
		}
		if cluster.IsVoter(m) {
			hashes = append(hashes, hash)
		}
	}
	v.Alarms = []cluster.Alarm{alarm}
	odd, undecided := cluster.Odd(hashes)
	v.Undecided = undecided
	for _, name := range odd {
		w.at(name).HashMismatch = true
	}
}

// budget is the disruption budget of every world that has one.
var budget = cluster.Object{Kind: "PodDisruptionBudget", Name: "a"}

// watchBudget sees whether the disruption budget is as wanted, in a world that has one.
func (w *world) watchBudget() {
	v := &w.view
	if has := slices.Contains(v.Objects, budget); w.budget == 0 || has == (w.budget != v.MustStay()) {
		return
	} else if has {
		v.Objects = slices.DeleteFunc(slices.Clone(v.Objects), func(o cluster.Object) bool { return o == budget })
		return
	}
	v.Objects = append(slices.Clip(v.Objects), budget)
}

// watchVolumes sees the volumes that never held data, once the first members are chosen.
func (w *world) watchVolumes() {
	v := &w.view
	if !v.Planned() {
		return
	}
	unused := func(volume cluster.Volume) bool { return volume.Unused }
	if slices.ContainsFunc(v.Volumes, unused) {
		v.Volumes = slices.DeleteFunc(slices.Clone(v.Volumes), unused)
	}
	for _, m := range v.Members {
		if m.Unused {
			v.Volumes = append(slices.Clip(v.Volumes), cluster.Volume{Name: m.Name, UID: "volume", Unused: true, Unfit: w.fate(m.Name).unfit})
		}
	}
}

// isDrainable says whether all Pods that may be evicted leave a quorum of voters behind, or there
// is none to lose. A Pod that has become ready since the world before is not counted.
func (w *world) isDrainable(before *world) bool {
	ready := w.view.Select(func(m cluster.Member) bool {
		return m.Pod.Exists() && m.Pod.Ready && !m.Pod.IsTerminating() && before.member(m.Name).Pod.Ready
	})
	healthy, all := w.voters(staysHealthy)
	return !quorum.Holds(healthy, all) || quorum.Holds(healthy-max(0, len(ready)-w.budget), all)
}

// voters counts the voters of which something is true, and all.
func (w *world) voters(is func(*cluster.Member) bool) (some, all int) {
	for i := range w.view.Members {
		m := &w.view.Members[i]
		if m.Role != cluster.Voter {
			continue
		}
		if all++; is(m) {
			some++
		}
	}
	return some, all
}

// forgets says whether nothing is left of a member, and drops the truth about it: its
// name is never used again.
func (w *world) forgets(m cluster.Member) bool {
	named := m.Recorded || m.Chosen || m.Name == w.view.Record.Joining
	left := named || m.Pod.Exists() || m.Volume != cluster.NoVolume || m.Role != cluster.Unlisted
	if !left {
		*w.fate(m.Name) = fate{}
	}
	return !left
}

// form lists the first members in etcd once a quorum of them runs.
func (w *world) form() {
	if w.formed || !w.view.Planned() || w.view.Record.Adopted {
		return
	}
	running := w.view.Select(cluster.IsRecorded, func(m cluster.Member) bool { return m.Pod.Exists() && w.runs(m) })
	if !quorum.Holds(len(running), len(w.view.Record.First)) {
		return
	}
	w.formed = true
	for i, name := range w.view.Record.First {
		m := w.at(name)
		m.Role, m.ID = cluster.Voter, uint64(100+i)
	}
}

func (w *world) runs(m cluster.Member) bool {
	f := w.fate(m.Name)
	if m.Role == cluster.Learner && !f.data && w.downgrade != "" { // etcd lets no member join meanwhile
		return false
	}
	if w.misled(m) {
		return false
	}
	if f.unfit || f.damaged || f.silent || f.unreachable || f.nodeGone || f.away > 0 {
		return false
	}
	if f.bare && w.cannotMount() || w.bad != "" && m.Pod.Image == w.bad {
		return false
	}
	return cluster.HasPod(m) && (!f.broken || f.cured && !f.stale)
}

// misled says whether a member has no data and its initial cluster differs from etcd's member list:
// etcd ends with "member count is unequal". First members of a new cluster are not asked.
func (w *world) misled(m cluster.Member) bool {
	f := w.fate(m.Name)
	return m.Role != cluster.Unlisted && m.Pod.Exists() && !f.data && f.initial != 0 && f.initial != w.listed()
}

// cannotMount says whether the Secret is gone that members mount. A member that runs has it.
func (w *world) cannotMount() bool {
	return w.spoilt == refusedSecret || slices.ContainsFunc(w.view.Lost, func(o cluster.Object) bool { return o.Holder == "" })
}

// cannotReturn says whether a member that restarts alone, or is new, would not run, or would not be accepted.
func (w *world) cannotReturn() bool { return w.cannotMount() || w.rotating.ended }

// returning says whether a container is about to run again by itself, or volumes are being filled.
func (w *world) returning() bool {
	return w.fills() || w.isFilling() || len(w.view.Select(func(m cluster.Member) bool { return w.fate(m.Name).away > 0 })) > 0
}

// failing says whether the wanted spec runs somewhere, and does not work.
func (w *world) failing() bool {
	return len(w.view.Select(cluster.IsListed, cluster.Not(cluster.IsOutdated), func(m cluster.Member) bool { return m.Pod.Failing })) > 0
}

// place finds a node for a Pod that has none, if there is one, and has etcd not run in it yet.
func (w *world) place(m *cluster.Member) {
	waits := m.Pod.Phase == cluster.Unplaced && m.Volume == cluster.NoVolume && !w.view.Want.Ephemeral
	switch {
	case !m.Pod.Exists(), m.Pod.Phase == cluster.Finished:
	case w.fate(m.Name).unfit, waits:
		m.Pod.Phase = cluster.Unplaced
	default:
		m.Pod.Phase = cluster.Placed
	}
}

func (w *world) run(m *cluster.Member) {
	f := w.fate(m.Name)
	f.away = max(f.away-1, 0)
	w.place(m)
	m.Unused = m.Unused && !(m.Pod.Exists() && m.Pod.Phase != cluster.Unplaced)
	alive := m.Pod.Exists() && w.runs(*m)
	m.Pod.Silent, m.Pod.StalePeerList = "", w.misled(*m) && f.away == 0 && !f.silent && !f.unreachable && !f.nodeGone && !f.broken
	if m.Pod.Exists() && (f.silent || f.unreachable) {
		m.Pod.Silent = "n1"
	}
	m.Pod.Ready, m.Pod.Settling = alive && w.formed, false
	if m.Pod.Phase == cluster.Placed && (alive || m.Pod.Silent != "") {
		m.Pod.Phase = cluster.Running
	}
	m.Pod.DefragmentsAgain = f.armed && m.Pod.Phase == cluster.Running
	m.Pod.Proven = m.Pod.Proven || m.Pod.Ready
	if m.Pod.IsDetached() {
		m.Pod.Clients = cluster.Gone
	}
	m.Pod.Failing = m.Pod.Exists() && !alive && !m.Pod.IsTerminating() && !f.unreachable && f.away == 0
	m.Pod.Ready = m.Pod.Ready && w.corrupt == 0 // etcd's readyz fails everywhere while that alarm is raised
	m.Answers = alive && w.formed && m.Role != cluster.Unlisted && !w.fate(m.Name).foreign && w.accepts(*m)
	m.ClusterID, m.Damage, m.NodeUnreachable, m.NodeGone, m.Foreign, m.Index = "", "", "", "", "", 0
	if alive && w.fate(m.Name).foreign {
		m.Foreign = "its data is of cluster c2"
	}
	if m.Pod.Exists() && w.fate(m.Name).damaged {
		m.Damage = "its data is damaged"
	}
	if m.Pod.Exists() && w.fate(m.Name).silent {
		m.NodeUnreachable = "its node is silent"
	}
	if m.Pod.Exists() && f.nodeGone {
		m.NodeGone = "its node no longer exists"
	}
	if w.view.Want.Ephemeral {
		m.Volume = cluster.NoVolume
		if cluster.HasPod(*m) {
			m.Volume = cluster.Kept
		}
	}
	if !m.Pod.Exists() && m.Volume == cluster.Going {
		m.Volume, w.fate(m.Name).data = cluster.NoVolume, false
	}
	if m.Answers {
		m.ClusterID, m.Started = clusterID, true
		m.Revision, m.Index = 7, uint64(100+cluster.Serial(w.view.Name, m.Name)) //nolint:gosec // a small number
		w.fate(m.Name).data = true
		w.judgeVersion(*m)
		m.Version = m.Pod.Image
	}
}

// forceNewCluster removes every member from the list but a survivor that starts with --force-new-cluster.
// Members that it adds later stay.
func (w *world) forceNewCluster() {
	for _, survivor := range w.view.Members {
		if !survivor.Pod.Forced || !survivor.Answers || w.view.Record.Recovering != survivor.Name {
			continue
		}
		for i := range w.view.Members {
			if m := &w.view.Members[i]; m.Name != survivor.Name && m.Role == cluster.Voter && !m.Answers {
				m.Role, m.ID, m.Recorded = cluster.Unlisted, 0, false
			}
		}
	}
}

// settling says whether a container is about to restart.
func (w *world) settling() bool {
	return len(w.view.Select(func(m cluster.Member) bool { return m.Pod.Settling })) > 0
}

// judgeVersion notes what etcd refuses: a member of an older minor version than its
// cluster's, or more than one newer
// (https://etcd.io/docs/v3.6/upgrades/upgrading-etcd/).
func (w *world) judgeVersion(m cluster.Member) {
	if w.minor == "" || m.Version == m.Pod.Image {
		return
	}
	has, now := minorOf(w.minor), minorOf(m.Pod.Image)
	if now < has || now > has+1 {
		w.fault = fmt.Sprintf("%s starts with %s in a cluster of version %s", m.Name, m.Pod.Image, w.minor)
	}
}

func minorOf(text string) int {
	_, rest, _ := strings.Cut(text, ".")
	minor, _, _ := strings.Cut(rest, ".")
	n, _ := strconv.Atoi(minor)
	return n
}

// version lets etcd's version of the cluster follow the oldest member. A downgrade is never
// over by itself: etcd ends it only some seconds after all members run its target, and none
// that is to join does.
func (w *world) version() {
	low := 99
	for _, running := range w.running() {
		low = min(low, minorOf(running))
	}
	if low < 99 && w.downgrade == "" {
		w.minor = "3." + strconv.Itoa(low)
	}
}

// running is what the members that etcd lists run.
func (w *world) running() []string {
	all := make([]string, 0, len(w.view.Members))
	for i := range w.view.Members {
		if m := &w.view.Members[i]; m.Role != cluster.Unlisted && m.Version != "" {
			all = append(all, m.Version)
		}
	}
	return all
}

// hops are answers of version.Next. It takes long, and there are few questions.
var hops sync.Map

func nextHop(wanted string, running []string, downgrade string) cluster.Target {
	question := [...]string{wanted, strings.Join(running, " "), downgrade}
	if hop, known := hops.Load(question); known {
		return hop.(cluster.Target)
	}
	hop := version.Next(wanted, running, downgrade, false)
	hops.Store(question, hop)
	return hop
}

// aim does what the observer does: it says what members are to run now, and what it
// takes to bring each Pod there.
func (w *world) aim() {
	v := &w.view
	running := w.running()
	v.DowngradeTarget = ""
	if w.reportsDowngrade() {
		v.DowngradeTarget = w.downgrade
	}
	hop := nextHop(v.Want.Version, running, v.DowngradeTarget)
	if v.DowngradeTarget != w.downgrade && hop.Version == w.aimed {
		hop.Downgrade = "" // it was enabled, and no member reports it
	}
	hop.Misnamed = v.Target.Misnamed
	v.Target = hop
	v.Target.Before = w.risks(hop, running)
	if hop.Downgrade != "" {
		v.Target.Version = version.Highest(running)
	}
	if v.Target.Before != "" && v.Target.Before != v.Record.Backed() {
		v.Target.Version, v.Target.Downgrade = version.Highest(running), ""
	}
	if v.Want.Ephemeral && hop.Downgrade == "3.5" {
		v.Target.Before, v.Target.Downgrade, v.Target.NoUpgradePath = "", "", "data would go with the Pods"
	}
	if v.Unproven() {
		v.Target.Version = version.Wake(hop.Version, running)
	}
	w.aimed = v.Target.Version
	for i := range v.Members {
		v.Members[i].Pod.OldCABundle = w.distrusts(v.Members[i])
		v.Members[i].Pod.Change = w.change(v.Members[i])
	}
	if held := v.Target.CurrentOf(v.Members); held.Version != "" {
		v.Target.Current = cluster.Revision{Version: held.Version}
	}
}

// reportsDowngrade says whether any member reports a downgrade: etcd 3.5 does only when asked, which
// is done if a member may be added next.
func (w *world) reportsDowngrade() bool {
	up, all := w.voters(func(m *cluster.Member) bool { return m.Answers })
	newer, _ := w.voters(func(m *cluster.Member) bool { return m.Answers && minorOf(m.Pod.Image) > 5 })
	return newer > 0 || up > 0 && (all < w.view.Want.Size || w.view.Want.Ephemeral)
}

func (w *world) change(m cluster.Member) cluster.Change {
	target := w.view.Target.Version
	switch {
	case !m.Pod.Exists():
		return cluster.Same
	case m.Pod.Forced || w.fate(m.Name).stale || m.Pod.OldCABundle, w.needsAnotherStart(m), w.fate(m.Name).serves != w.wantedWay():
		return cluster.Rebuild
	case m.Pod.Image == target && w.fate(m.Name).cramped:
		return cluster.Resize
	case m.Pod.Image == target:
		return cluster.Same
	case (minorOf(m.Pod.Image) == 5) != (minorOf(target) == 5):
		return cluster.Rebuild // 3.5 has other flags
	default:
		return cluster.Swap
	}
}

func (w *world) elect() {
	for i := range w.view.Members {
		if m := &w.view.Members[i]; m.Role == cluster.Voter && m.Healthy {
			m.Leader = true
			return
		}
	}
}
