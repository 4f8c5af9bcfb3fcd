// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"slices"
	"strconv"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/quorum"
)

const clusterID = "c1"

// A world is a toy Kubernetes with a toy etcd in it: the truth that a view is an
// observation of. Its members are views' members; health, leadership and
// formation follow from them.
//
// A Pod's image is the version of etcd in it.
type world struct {
	view cluster.View
	truth
	pods  int   // Pods ever made, for their UIDs
	asked asked // what was asked of it before; a clone knows nothing of it
}

// truth is what no view shows. It is comparable, so that two worlds can be found to be
// the same.
type truth struct {
	formed    bool     // etcd has formed, whether or not the record says so
	bad       string   // a version that does not run
	minor     string   // etcd's version of the whole cluster
	downgrade string   // what members may go down to, as enabled in etcd
	aimed     string   // version that the record says members were being brought to
	budget    int      // Pods that must stay, as the disruption budget has it
	corrupt   uint64   // ID of the member that the alarm CORRUPT was raised for; 0: it is not raised
	impatient bool     // volumes are to be deleted as soon as they are set aside
	spoilt    spoilt   // what cannot be written
	fault     string   // what etcd would have refused
	unseen    bool     // etcd had formed before the start, and its data is on volumes
	restoring int      // first members whose volumes are to get the data of a backup; 0: it begins without
	restored  bool     // the status says that all of them have it
	giving    giving   // what replaces the members
	missing   bool     // writes that were acknowledged: a quorum has formed again without them
	fates     [32]fate // by serial
	backup    made     // the EtcdBackup that was made last
	rotating  rotating // of the authority that signs for members
	full      bool     // etcd has raised NOSPACE
	history   bool     // a compaction would make room
}

// A fate is the truth about one member. It is forgotten with the member.
type fate struct {
	broken      bool   // its container cannot run, whatever is done
	cured       bool   // its container runs once it has the new spec
	damaged     bool   // its etcd cannot use its data
	foreign     bool   // it runs on data of another cluster
	silent      bool   // its node is silent for too long
	unreachable bool   // its node is silent, but not for too long
	odd         bool   // its data is not that of the others
	nodeGone    bool   // the node that its volume is on is gone from Kubernetes; its machine may run on
	data        bool   // there is data on its volume or in its Pod
	stale       bool   // its Pod was made from an older spec
	cramped     bool   // its Pod has less than the compute resources that are wanted
	bare        bool   // its Pod was made when what it mounts was gone
	unfit       bool   // no disk is found for the volume that it has been given
	deaf        bool   // as leader it takes the oldest other voter that is there for away
	initial     uint32 // members of the initial cluster of its Pod, a bit for each; 0: it is to form a new cluster
	trust       int8   // authorities that its Pod was made to trust
	reopened    bool   // it has restarted: connections from before are gone
	away        int8   // looks until its container runs again by itself
	free        int16  // MiB of its database that a defragmentation gives back
	used        int16  // MiB of its data; 0: toyUsed
	volume      int16  // MiB of its volume; 0: toyVolume
	inVain      bool   // its etcd was started to defragment, and did not
	armed       bool   // each start of its container defragments
	outworn     bool   // it is being replaced because it stays slow
	tried       bool   // it could not be defragmented, which is not tried again for a while
	serves      way    // as its Pod was made
	listed      way    // as etcd lists it
}

// clone lets a hostile walk look at an older truth.
func (w *world) clone() *world {
	c := *w
	c.view.Members, c.view.Beside, c.asked = slices.Clone(w.view.Members), slices.Clone(w.view.Beside), asked{}
	return &c
}

func (w *world) fate(name string) *fate { return &w.fates[cluster.Serial(w.view.Name, name)] }

// member is a copy of what the view says of a member, and empty if that is nothing.
func (w *world) member(name string) cluster.Member {
	m, _ := w.view.Member(name)
	return m
}

// at is the member of that name, which is made if there is none, and can be changed.
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
	case plan.Record:
		if was := w.view.Record.Defragmenting.Member; was != "" && s.Fact.Defragmenting.Member == "" {
			w.fate(was).tried, w.at(was).HeldUp = s.Failed != "", false
		}
		w.remember(s.Fact)
	case plan.Apply:
		if slices.Contains(s.Objects, budget) {
			w.budget = w.view.MustStay()
		}
		w.undo(s.Objects)
		w.take(s.Objects)
		done := func(o cluster.Object) bool { return slices.Contains(s.Objects, o) }
		w.view.Objects = slices.DeleteFunc(slices.Clone(w.view.Objects), done)
		w.view.Misfits = slices.DeleteFunc(slices.Clone(w.view.Misfits), done)
		w.view.Lost = slices.DeleteFunc(slices.Clone(w.view.Lost), func(lost cluster.Object) bool {
			return slices.ContainsFunc(s.Objects, func(o cluster.Object) bool { return o.String() == lost.String() })
		})
	case plan.CreatePods:
		if s.Beside {
			w.startBeside(s.Names)
			break
		}
		for _, name := range s.Names {
			if s.Forced && w.view.Record.Recovering != name {
				continue
			}
			if missing := !w.at(name).Pod.Exists(); missing {
				w.start(name)
				pod := &w.at(name).Pod
				pod.Forced, pod.Unchecked = s.Forced, pod.Unchecked && !s.Forced
			}
		}
	case plan.DeletePods:
		for _, pod := range s.Pods {
			w.end(pod, s.How)
		}
	case plan.MarkPods:
		for _, pod := range s.Pods {
			w.mark(pod, s.As)
		}
	case plan.ResizePod:
		w.fate(s.Name).cramped, w.at(s.Name).Pod.Change = false, cluster.Same
	case plan.UpdateImage:
		w.settle()
		m := w.at(s.Name)
		w.fate(s.Name).away, w.fate(s.Name).deaf = 0, false
		m.Pod.Image, m.Pod.Settling, m.Pod.Change = s.Version, m.Pod.Phase == cluster.Running, cluster.Same
		if w.view.Count(cluster.IsVoter) > 1 {
			detach(&m.Pod)
		}
		return // the kubelet takes a moment
	case plan.AddLearner:
		if m := w.at(s.Name); m.Role == cluster.Unlisted && !w.refuses("") {
			leader, led := w.view.Leader()
			w.fate(s.Name).listed = w.lists()
			if led {
				w.fate(s.Name).free = w.fate(leader.Name).free // it gets the whole file
			}
			m.Role, m.ID = cluster.Learner, uint64(100+cluster.Serial(w.view.Name, s.Name))
		}
	case plan.UpdatePeerURLs:
		w.become(s)
		w.fate(s.Name).listed = w.lists()
	case plan.AdoptVolume:
		w.adoptVolume(s)
	case plan.Promote:
		if m := w.at(s.Name); m.Role == cluster.Learner && m.Synced {
			m.Role = cluster.Voter
		}
	case plan.RouteService:
		w.route(s)
	case plan.ScaleStatefulSet:
		w.stopSources(s.Replicas)
	case plan.MoveLeader:
		if w.moveBeyond(s) {
			break
		}
		if to := w.at(s.To); to.Role == cluster.Voter && to.Healthy {
			w.at(s.From).Leader, to.Leader = false, true
		}
	case plan.RemoveMember:
		if i := w.source(s.Name); i >= 0 {
			w.view.Unknown = slices.Delete(slices.Clone(w.view.Unknown), i, i+1)
			break
		}
		m := w.at(s.Name)
		if w.refuses(s.Name) {
			return
		}
		m.Role, m.ID, m.Leader, m.Recorded = cluster.Unlisted, 0, false, false
	case plan.Quarantine:
		w.at(s.Name).Volume = cluster.NoVolume
		if w.impatient {
			w.view.Expired = append(slices.Clip(w.view.Expired), cluster.Object{Kind: "PersistentVolumeClaim", Name: s.Name, UID: "volume"})
		}
	case plan.LiftQuarantine:
		w.at(s.Name).SetAside = false
	case plan.DeleteVolume:
		w.discard(s)
	case plan.CreateBackup:
		if w.backup.name != s.Name {
			w.backup = made{name: s.Name, fails: w.backup.fails}
		}
	case plan.CreateRestore:
		w.bringBack()
	case plan.Expire:
		w.view.Deleting = true
	case plan.Hold:
		if s.Adoption {
			w.view.Adoption.Held, w.view.Backup.Cascades = s.Held, w.view.Backup.Cascades && !s.Held
		} else {
			w.view.Backup.Held = s.Held
		}
		w.view.Deleting = w.view.Backup.Leaving && !w.view.Backup.Held && !w.view.Adoption.Held
	case plan.Downgrade:
		if w.downgrade = s.To; s.To != "" {
			w.minor = s.To
		}
	case plan.DisarmAlarm:
		if w.corrupt == s.ID {
			w.corrupt = 0
		}
		w.full = w.full && s.Kind != cluster.NoSpace
	case plan.Compact:
		w.view.Compacted, w.history = s.Revision, false
	case plan.Wait, plan.Refuse, plan.Done:
	}
	w.settle()
}

// undo has Kubernetes refuse what is not to be written, or another client revert it at once. The
// operator knows of either afterwards.
func (w *world) undo(objects []cluster.Object) {
	w.view.Objects = slices.Clone(w.view.Objects)
	for i, o := range w.view.Objects {
		if slices.Contains(objects, o) && o.String() == w.spoilt.object().String() {
			w.view.Objects[i].Denied = w.spoilt.denial()
		}
	}
}

// comeBack has an adopted member come back with what is on its volume. One that was planned
// and never had data has none, and ends because of that.
func (w *world) comeBack(m *cluster.Member, planned bool) {
	if planned {
		w.fate(m.Name).damaged = !w.fate(m.Name).data
		return
	}
	m.Volume = cluster.Kept
	for _, volume := range w.view.Volumes {
		if volume.Name == m.Name {
			m.Version = volume.Version
		}
	}
}

// remember takes the record as it is to be. Members that are adopted with their data are voters.
func (w *world) remember(fact cluster.Record) {
	was := w.view.Record
	w.view.Record = fact
	if fact.Restore != was.Restore {
		w.giveWay()
	}
	w.formed = w.formed || len(fact.Adopting.Sources) > 0
	w.view.Adoption.Wanted = w.view.Adoption.Wanted && fact.Adopting.Ended == 0
	if fact.RolledBack != was.RolledBack {
		w.view.Want.Version = fact.RolledBack.Version
	}
	if fact.Grown != was.Grown {
		w.view.Space.Volume, w.view.Space.Given = fact.Grown, fact.Grown
	}
	if fact.Scaled != was.Scaled {
		a := &w.view.Autoscale
		a.CPU, a.Memory.Now, a.Memory.HighFor = cluster.Load{}, fact.Scaled.Memory, 0
		w.outdate(func(f *fate) { f.cramped = true })
	}
	if fact.Token == was.Token && slices.Equal(fact.First, was.First) && fact.Adopted == was.Adopted {
		return
	}
	for i := range w.view.Members {
		w.view.Members[i].Recorded = slices.Contains(fact.First, w.view.Members[i].Name)
	}
	w.formed = w.formed || fact.Adopted
	for i, name := range fact.First {
		m := w.at(name)
		if m.Recorded = true; fact.Adopted {
			m.Role, m.ID, m.Started = cluster.Voter, uint64(100+i), true
			w.comeBack(m, was.Token != "")
		}
	}
}

// outdate changes what is wanted of all Pods that there are.
func (w *world) outdate(change func(*fate)) {
	for _, m := range w.view.Select(cluster.HasPod) {
		change(w.fate(m.Name))
	}
}

func (w *world) end(pod plan.PodRef, how plan.Deletion) {
	m := w.at(pod.Name)
	if how == plan.AtOnce && m.Pod.UID == pod.UID && m.Pod.Deletion != cluster.Ended {
		w.fault = "the Pod of " + pod.Name + " is deleted at once and may still run"
	}
	if how == plan.Detached {
		detach(&m.Pod)
	}
	w.stop(pod.Name, pod.UID)
}

// detach takes a Pod out of the client Service, which its clients notice a moment later.
func detach(p *cluster.Pod) { p.Clients = max(p.Clients, cluster.Leaving) }

func (w *world) mark(pod plan.PodRef, as plan.Mark) {
	m := w.at(pod.Name)
	switch as {
	case plan.Detach:
		detach(&m.Pod)
	case plan.Attach:
		m.Pod.Clients, m.Pod.LabelsMissing = cluster.Attached, false
	case plan.Existing:
		if m.Pod.UID == pod.UID {
			m.Pod.Entry, m.Pod.Unchecked = w.enters(*m), false
		}
	case plan.Plain:
		w.fate(pod.Name).armed = w.fate(pod.Name).armed && m.Pod.UID != pod.UID
	case plan.Comparing:
		m.Pod.Unchecked = m.Pod.Unchecked && m.Pod.UID != pod.UID
	}
}

func (w *world) start(name string) {
	m := w.at(name)
	if m.Pod.Exists() {
		return
	}
	m.Pod = cluster.Pod{
		Phase: cluster.Placed, UID: w.nextUID(), Image: w.view.Target.For(*m).Version, Lingers: true,
		Defragments: w.view.Record.Defragmenting.Member == name, Unchecked: !w.view.ServesWithout(name),
	}
	if m.Pod.Entry = cluster.Forms; w.view.Formed() {
		m.Pod.Entry = w.enters(*m)
	}
	f := w.fate(name)
	f.armed = m.Pod.Defragments
	f.stale, f.cramped, f.bare, f.initial = false, false, w.cannotMount(), w.listed()
	w.fate(name).trust, w.fate(name).reopened, w.fate(name).serves = w.rotating.trust, w.rotating.open, w.wantedWay()
	if !w.view.Want.Ephemeral && m.Volume == cluster.NoVolume {
		m.Volume, m.Unused, w.fate(name).unfit = cluster.Kept, true, false
	}
}

// discard deletes a volume, and one that never held data only if that is still so.
func (w *world) discard(s plan.DeleteVolume) {
	if !s.Unused {
		w.view.Expired = slices.DeleteFunc(slices.Clone(w.view.Expired), func(o cluster.Object) bool { return o.Name == s.Name })
		return
	}
	if m, known := w.view.Member(s.Name); known && !m.Unused {
		return
	}
	w.view.Volumes = slices.DeleteFunc(slices.Clone(w.view.Volumes), func(volume cluster.Volume) bool { return volume.Name == s.Name })
	for i := range w.view.Members {
		if m := &w.view.Members[i]; m.Name == s.Name {
			m.Volume, m.Unused, w.fate(s.Name).unfit = cluster.NoVolume, false, false
		}
	}
}

// enters says what a member without data does if its cluster exists.
func (w *world) enters(m cluster.Member) cluster.Entry {
	if cluster.HasData(m) {
		return cluster.Ends
	}
	return cluster.Joins
}

func (w *world) nextUID() string {
	w.pods++
	return "pod-" + strconv.Itoa(w.pods)
}

// stop ends a Pod, unless its node is silent: then it is only marked as deleted.
func (w *world) stop(name, uid string) {
	m := w.at(name)
	switch {
	case m.Pod.UID != uid:
	case w.fate(name).silent, w.fate(name).unreachable:
		m.Pod.Deletion, m.Pod.Overdue = max(m.Pod.Deletion, cluster.Terminating), true
	default:
		m.Pod, w.fate(name).away, w.fate(name).deaf = cluster.Pod{}, 0, false
		w.fate(name).data = w.fate(name).data && !w.view.Want.Ephemeral
	}
}

// refuses says whether the leader lets no member join, or does not let that one leave, as
// mayAddMember and mayRemoveMember in etcd's server.go do. The plan knows of it afterwards,
// as it does when that has lasted.
func (w *world) refuses(leaves string) bool {
	leader, led := w.view.Leader()
	present := w.view.Select(cluster.IsVoter, cluster.IsHealthy, cluster.Except(leader.Name))
	if !led || !w.fate(leader.Name).deaf || len(present) == 0 {
		return false
	}
	if leaves != "" {
		active, rest := len(present), len(w.view.Select(cluster.IsVoter))-1
		if leaves == present[0].Name || !w.member(leaves).Answers || active-1 >= quorum.Size(rest) {
			return false
		}
	}
	w.at(leader.Name).RefusesReconfig = true
	return true
}

// listed are the members that etcd lists, a bit for each.
func (w *world) listed() (all uint32) {
	for _, m := range w.view.Select(cluster.IsListed) {
		all |= 1 << cluster.Serial(w.view.Name, m.Name)
	}
	return all
}
