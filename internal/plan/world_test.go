package plan_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/plan"
	"github.com/etcd-operator/etcd-operator/internal/quorum"
	"github.com/etcd-operator/etcd-operator/internal/version"
)

const clusterID = "c1"

// A world is a toy Kubernetes with a toy etcd in it: the truth that a view is an
// observation of. Its members are views' members; health, leadership and
// formation follow from them.
//
// A Pod's image is the version of etcd in it.
type world struct {
	view      cluster.View
	formed    bool            // etcd has formed, whether or not the record says so
	broken    map[string]bool // members whose container cannot run, whatever is done
	cured     map[string]bool // members whose container runs once it has the new spec
	damaged   map[string]bool // members whose etcd cannot use their data
	silent    map[string]bool // members whose node is silent for too long
	bad       string          // a version that does not run
	minor     string          // etcd's version of the whole cluster
	downgrade string          // what etcd was told that its members go down to
	data      [32]bool        // by serial: members that have data on their volume or in their Pod
	stale     [32]bool        // by serial: Pods that were made from an older spec
	pods      int             // Pods ever made, for their UIDs
	impatient bool            // volumes are to be deleted as soon as they are set aside
	fault     string          // what etcd would have refused
}

// clone lets a hostile walk look at an older truth.
func (w *world) clone() *world {
	c := *w
	c.view.Members = slices.Clone(w.view.Members)
	return &c
}

// dataOf says whether a member has data, and can be set.
func (w *world) dataOf(name string) *bool { return &w.data[cluster.Serial(w.view.Name, name)] }

// staleOf says whether a member's Pod was made from an older spec, and can be set.
func (w *world) staleOf(name string) *bool { return &w.stale[cluster.Serial(w.view.Name, name)] }

func (w *world) at(name string) *cluster.Member {
	for i := range w.view.Members {
		if w.view.Members[i].Name == name {
			return &w.view.Members[i]
		}
	}
	w.view.Members = append(w.view.Members, cluster.Member{Name: name})
	slices.SortFunc(w.view.Members, func(a, b cluster.Member) int {
		return cluster.Serial(w.view.Name, a.Name) - cluster.Serial(w.view.Name, b.Name)
	})
	return w.at(name)
}

// obey does what a cooperative Kubernetes and etcd would do with a step. It is as
// safe to repeat as act is: already there and already gone are success.
func (w *world) obey(step plan.Step) {
	switch s := step.(type) {
	case plan.Freeze:
		w.record(w.view.UID, s.Members, false)
	case plan.Adopt:
		w.record(s.Token, s.Members, s.Formed)
		w.formed = w.formed || s.Formed
		for i, name := range s.Members {
			if m := w.at(name); s.Formed {
				m.Role, m.ID, m.Started, m.Volume = cluster.Voter, uint64(100+i), true, cluster.Kept
			}
		}
	case plan.Furnish:
		w.view.Objects, w.view.Misfits = nil, nil
	case plan.Remember:
		w.view.Record.ClusterID = s.ClusterID
	case plan.Start:
		for _, name := range s.Names {
			w.start(name)
		}
	case plan.Force:
		if m := w.at(s.Name); w.view.Record.Recovering == s.Name && !m.Pod.Exists {
			w.start(s.Name)
			m.Pod.Forced = true
		}
	case plan.Stop:
		w.stop(s)
	case plan.Withdraw:
		w.at(s.Name).Pod.Withdrawn = true
	case plan.Readmit:
		w.at(s.Name).Pod.Withdrawn = false
	case plan.Resize:
		w.at(s.Name).Pod.Change = cluster.Same
	case plan.Swap:
		w.settle()
		m := w.at(s.Name)
		m.Pod.Image, m.Pod.Settling, m.Pod.Change = s.Version, m.Pod.Running, cluster.Same
		m.Pod.Withdrawn = m.Pod.Withdrawn || len(w.view.Select(cluster.IsVoter)) > 1
		return // the kubelet takes a moment
	case plan.Reserve:
		w.view.Record.Joining = s.Name
		w.view.Record.NextSerial = max(w.view.Record.NextSerial, cluster.Serial(w.view.Name, s.Name)+1)
	case plan.AddLearner:
		if m := w.at(s.Name); m.Role == cluster.Unlisted {
			m.Role, m.ID = cluster.Learner, uint64(100+cluster.Serial(w.view.Name, s.Name))
		}
	case plan.Promote:
		if m := w.at(s.Name); m.Role == cluster.Learner && m.Synced {
			m.Role = cluster.Voter
		}
	case plan.MoveLeader:
		if to := w.at(s.To); to.Role == cluster.Voter && to.Healthy {
			w.at(s.From).Leader, to.Leader = false, true
		}
	case plan.Remove:
		m := w.at(s.Name)
		m.Role, m.ID, m.Leader, m.Recorded = cluster.Unlisted, 0, false, false
	case plan.Quarantine:
		w.at(s.Name).Volume = cluster.NoVolume
		if w.impatient {
			w.view.Expired = append(w.view.Expired, cluster.Object{Kind: "PersistentVolumeClaim", Name: s.Name, UID: "volume"})
		}
	case plan.Discard:
		w.view.Expired = slices.DeleteFunc(slices.Clone(w.view.Expired), func(o cluster.Object) bool { return o.Name == s.Name })
	case plan.AllowDowngrade:
		w.downgrade, w.minor = s.To, s.To
	case plan.CancelDowngrade:
		w.downgrade = ""
	case plan.RollBack:
		w.view.Record.RolledBack, w.view.Want.Version = s.Because, s.Version
	case plan.Recover:
		w.view.Record.Recovering = s.Loss.Survivor
	case plan.Conclude:
		w.view.Record.Recovering = ""
	case plan.Wait, plan.Refuse, plan.Done:
	}
	w.settle()
}

func (w *world) record(token string, members []string, adopted bool) {
	w.view.Record.Token, w.view.Record.First, w.view.Record.Adopted = token, members, adopted
	for _, name := range members {
		w.at(name).Recorded = true
		w.view.Record.NextSerial = max(w.view.Record.NextSerial, cluster.Serial(w.view.Name, name)+1)
	}
}

func (w *world) start(name string) {
	m := w.at(name)
	if m.Pod.Exists {
		return
	}
	w.pods++
	m.Pod = cluster.Pod{Exists: true, UID: fmt.Sprint("pod-", w.pods), Image: w.view.Target.Version, Lingers: true}
	*w.staleOf(name) = false
	if !w.view.Want.Ephemeral && m.Volume == cluster.NoVolume {
		m.Volume = cluster.Kept
	}
}

// stop ends a Pod, unless its node is silent: then it is only told to end.
func (w *world) stop(s plan.Stop) {
	m := w.at(s.Name)
	switch {
	case m.Pod.UID != s.UID:
	case w.silent[s.Name]:
		m.Pod.Terminating, m.Pod.Overdue = true, true
	default:
		m.Pod = cluster.Pod{}
		*w.dataOf(s.Name) = *w.dataOf(s.Name) && !w.view.Want.Ephemeral
	}
}

// settle lets the world come to rest: containers run, the cluster forms, a leader
// is elected, learners catch up, what is gone is forgotten.
func (w *world) settle() {
	v := &w.view
	w.form()
	for i := range v.Members {
		w.run(&v.Members[i])
	}
	w.strike()
	w.version()
	up := len(v.Select(cluster.IsVoter, func(m cluster.Member) bool { return m.Answers }))
	led := quorum.Holds(up, len(v.Select(cluster.IsVoter)))
	for i := range v.Members {
		m := &v.Members[i]
		m.Healthy = m.Answers && led
		m.Leader = m.Leader && m.Healthy && m.Role == cluster.Voter
		m.Synced = m.Role == cluster.Learner && m.Healthy
		m.Recorded = m.Recorded || m.Role != cluster.Unlisted && w.formed
		if m.Role != cluster.Unlisted && m.Name == v.Record.Joining {
			v.Record.Joining = ""
		}
	}
	if _, has := v.Leader(); led && !has {
		w.elect()
	}
	v.Unread = ""
	if !led {
		v.Unread = "no member answers a linearizable read"
	}
	w.aim()
	v.Members = slices.DeleteFunc(v.Members, func(m cluster.Member) bool {
		return !m.Recorded && !m.Pod.Exists && m.Volume == cluster.NoVolume && m.Role == cluster.Unlisted && m.Name != v.Record.Joining
	})
}

// form lists the first members in etcd once a quorum of them runs.
func (w *world) form() {
	if w.formed || !w.view.Planned() || w.view.Record.Adopted {
		return
	}
	running := w.view.Select(cluster.IsRecorded, func(m cluster.Member) bool { return m.Pod.Exists && w.runs(m) })
	if !quorum.Holds(len(running), len(w.view.Record.First)) {
		return
	}
	w.formed = true
	for i, name := range w.view.Record.First {
		m := w.at(name)
		m.Role, m.ID, m.Started = cluster.Voter, uint64(100+i), true
	}
}

func (w *world) runs(m cluster.Member) bool {
	if w.damaged[m.Name] || w.silent[m.Name] || w.bad != "" && m.Pod.Image == w.bad {
		return false
	}
	return !m.Pod.Finished && (!w.broken[m.Name] || w.cured[m.Name] && !*w.staleOf(m.Name))
}

func (w *world) run(m *cluster.Member) {
	alive := m.Pod.Exists && w.runs(*m) && m.Volume != cluster.Going
	m.Pod.Running, m.Pod.Ready, m.Pod.Settling = alive, alive && w.formed, false
	m.Pod.Quiet = m.Pod.Withdrawn
	m.Pod.Failing = m.Pod.Exists && !alive
	m.Answers = alive && w.formed && m.Role != cluster.Unlisted
	m.ClusterID, m.Damage, m.Stranded, m.Index = "", "", "", 0
	if m.Pod.Exists && w.damaged[m.Name] {
		m.Damage = "its data is damaged"
	}
	if m.Pod.Exists && w.silent[m.Name] {
		m.Stranded = "its node is silent"
	}
	if w.view.Want.Ephemeral {
		m.Volume = cluster.NoVolume
		if cluster.HasPod(*m) {
			m.Volume = cluster.Kept
		}
	}
	if m.Answers {
		m.ClusterID, m.Started = clusterID, true
		m.Revision, m.Index = 7, uint64(100+cluster.Serial(w.view.Name, m.Name)) //nolint:gosec // a small number
		*w.dataOf(m.Name) = true
		w.judgeVersion(*m)
		m.Version = m.Pod.Image
	}
}

// strike takes everybody but a survivor that forms the cluster anew off the list.
func (w *world) strike() {
	for _, survivor := range w.view.Members {
		if !survivor.Pod.Forced || !survivor.Answers {
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
	n, _ := strconv.Atoi(strings.Split(text, ".")[1])
	return n
}

// version lets etcd's version of the cluster follow the oldest member, and ends a
// downgrade when all members run its target.
func (w *world) version() {
	low, high := 99, 0
	for _, m := range w.view.Select(cluster.IsListed) {
		if m.Version != "" {
			low, high = min(low, minorOf(m.Version)), max(high, minorOf(m.Version))
		}
	}
	if low > high {
		return
	}
	if w.downgrade != "" && high == minorOf(w.downgrade) {
		w.downgrade = ""
	}
	if w.downgrade == "" {
		w.minor = fmt.Sprintf("3.%d", low)
	}
}

// aim does what the observer does: it says what members are to run now, and what it
// takes to bring each Pod there.
func (w *world) aim() {
	v := &w.view
	var running []string
	for _, m := range v.Select(cluster.IsListed) {
		if m.Version != "" {
			running = append(running, m.Version)
		}
	}
	hop := version.Next(v.Want.Version, running, w.downgrade, false)
	v.Target = cluster.Target{Version: hop.To, Downgrade: hop.Downgrade, Cancel: hop.Cancel, Barred: hop.Barred}
	if hop.Downgrade != "" {
		v.Target.Version = version.Highest(running)
	}
	for i := range v.Members {
		v.Members[i].Pod.Change = w.change(v.Members[i])
	}
}

func (w *world) change(m cluster.Member) cluster.Change {
	target := w.view.Target.Version
	switch {
	case !m.Pod.Exists:
		return cluster.Same
	case m.Pod.Forced || *w.staleOf(m.Name):
		return cluster.Rebuild
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
