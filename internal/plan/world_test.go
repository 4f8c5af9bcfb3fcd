package plan_test

import (
	"fmt"
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/plan"
	"github.com/etcd-operator/etcd-operator/internal/quorum"
)

const clusterID = "c1"

// A world is a toy Kubernetes with a toy etcd in it: the truth that a view is an
// observation of. Its members are views' members; health, leadership and
// formation follow from them.
type world struct {
	view   cluster.View
	formed bool            // etcd has formed, whether or not the record says so
	broken map[string]bool // members whose container cannot run, whatever is done
	cured  map[string]bool // members whose container runs once it has the new spec
	data   [32]bool        // by serial: members that have data on their volume or in their Pod
	pods   int             // Pods ever made, for their UIDs
}

// clone lets a hostile walk look at an older truth.
func (w *world) clone() *world {
	c := *w
	c.view.Members = slices.Clone(w.view.Members)
	return &c
}

// dataOf says whether a member has data, and can be set.
func (w *world) dataOf(name string) *bool { return &w.data[cluster.Serial(w.view.Name, name)] }

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
	case plan.Stop:
		if m := w.at(s.Name); m.Pod.UID == s.UID {
			m.Pod = cluster.Pod{}
			*w.dataOf(s.Name) = *w.dataOf(s.Name) && !w.view.Want.Ephemeral
		}
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
	m.Pod = cluster.Pod{Exists: true, UID: fmt.Sprint("pod-", w.pods)}
	if !w.view.Want.Ephemeral && m.Volume == cluster.NoVolume {
		m.Volume = cluster.Kept
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
	return !m.Pod.Finished && (!w.broken[m.Name] || w.cured[m.Name] && !m.Pod.Outdated)
}

func (w *world) run(m *cluster.Member) {
	alive := m.Pod.Exists && w.runs(*m) && m.Volume != cluster.Going
	m.Pod.Running, m.Pod.Ready = alive, alive && w.formed
	m.Answers = alive && w.formed && m.Role != cluster.Unlisted
	m.ClusterID = ""
	if w.view.Want.Ephemeral {
		m.Volume = cluster.NoVolume
		if cluster.HasPod(*m) {
			m.Volume = cluster.Kept
		}
	}
	if m.Answers {
		m.ClusterID, m.Started = clusterID, true
		*w.dataOf(m.Name) = true
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
