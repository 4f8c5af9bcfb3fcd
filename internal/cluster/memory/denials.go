// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"slices"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// askAgain is how long something is left alone after Kubernetes, or a webhook in it, has
// refused it.
const askAgain = 30 * time.Second

// startAgain is the same for a member's Pod, and for a Secret that members mount: nothing else
// can bring that member back. It is twice as long each time, up to askAgain.
const startAgain = 5 * time.Second

const (
	// applyAgain is how long an object is left alone that was written, and has changed back although
	// Kubernetes accepted it; twice as long each time.
	applyAgain = 10 * time.Second
	// applyRarely is the longest such pause.
	applyRarely = 5 * time.Minute
	// applyOver is how long after a pause the next time counts as another in a row.
	applyOver = 2 * time.Minute
	// applyEasily is how often in a row something is applied again at once that was seen to hold in
	// between: people edit more than once, and only a controller goes on without end.
	applyEasily = 10
)

// denials are the writes that Kubernetes has just refused to this process, or has accepted and
// another client has reverted, by the names of objects, so that nothing else waits for them. Another
// process tries for itself.
type denials map[string]denial

type denial struct {
	at    time.Time
	again time.Duration // after which it is asked for again
	of    specVersion   // a change of it is tried at once
	words string        // of Kubernetes that refused it; empty if it was accepted, and may have been reverted
	tries int           // in a row
	times int           // in a row, those included after which it was seen to hold
	held  bool          // it was seen to be as it was written
	why   string        // the object was written; it says what was wanted
	mark  marking       // that was written on a Pod
}

// A marking is what was written on a Pod; empty of what was written on a volume.
type marking struct {
	uid string
	as  plan.Mark
}

// A specVersion is the spec of one EtcdCluster: another one of its name may follow it.
type specVersion struct {
	uid        string
	generation int64
}

func specVersionOf(v cluster.View) specVersion { return specVersion{v.UID, v.Generation} }

// note remembers what the step asked for if Kubernetes refuses it, and that it was done if not.
// The ending is returned as it is if it is no denial, or if nothing new is known by it.
func (d *denials) note(v cluster.View, step plan.Step, e Ending, now time.Time) Ending {
	if e.Err != nil && e.Denied == "" {
		return e
	}
	if *d == nil {
		*d = denials{}
	}
	if e.Err == nil {
		d.noteDone(v, step, now)
		return e
	}
	for _, object := range asked(v, step) {
		was := (*d)[object.String()]
		if !was.isUndone() && was.stands(now) {
			continue
		}
		is := denial{at: now, of: specVersionOf(v), words: e.Denied}.after(was)
		is.again = pauseOf(step, object, is.tries)
		(*d)[object.String()] = is
		e.Outdated = true
	}
	return e
}

func pauseOf(step plan.Step, object cluster.Object, tries int) time.Duration {
	if _, starts := step.(plan.CreatePods); starts || object.Kind == "Secret" {
		return min(startAgain<<min(tries-1, 8), askAgain)
	}
	return askAgain
}

// after is the denial as the next one in a row, if both are of the same.
func (r denial) after(was denial) denial {
	if was.of != r.of || was.why != r.why || was.mark != r.mark || was.isUndone() != r.isUndone() {
		was = denial{}
	}
	r.times = was.times + 1
	if was.holds() {
		was.tries = 0
	}
	r.tries = was.tries + 1
	return r
}

// holds says whether what was written is taken to have been undone only since.
func (r denial) holds() bool { return r.held && r.times < applyEasily }

// noteDone remembers what was written: if the same is to be written again soon, it had no effect.
func (d *denials) noteDone(v cluster.View, step plan.Step, now time.Time) {
	for _, member := range stopped(step) {
		delete(*d, changeOf(member).String()) // it is detached by that, or gone
	}
	for i, object := range written(step) {
		is := denial{at: now, of: specVersionOf(v), why: object.Why}
		if s, marks := step.(plan.MarkPods); marks {
			is.mark = marking{s.Pods[i].UID, s.As}
		}
		is = is.after((*d)[object.String()])
		is.again = min(applyAgain<<min(is.tries-1, 8), applyRarely)
		(*d)[object.String()] = is
	}
}

// written are the objects that the step has written and that the next look shows.
func written(step plan.Step) []cluster.Object {
	if s, is := step.(plan.Apply); is {
		return s.Objects
	}
	if s, is := step.(plan.Quarantine); is {
		return []cluster.Object{changeOf(s.Name)}
	}
	if s, is := step.(plan.MarkPods); is && s.As != plan.Existing {
		return each(plan.Names(s.Pods), changeOf)
	}
	return nil
}

// asked are the objects that a step asks Kubernetes for and that the plan can do without. It
// needs every first member, and cannot force a new cluster beside volumes that are not quarantined.
func asked(v cluster.View, step plan.Step) []cluster.Object {
	switch s := step.(type) {
	case plan.CreatePods:
		if v.Record.ClusterID != "" && !s.Forced {
			return each(s.Names, startOf)
		}
	case plan.Apply:
		return s.Objects
	case plan.DeleteVolume:
		return []cluster.Object{{Kind: "PersistentVolumeClaim", Name: s.Name}}
	case plan.Quarantine:
		if v.Record.Recovering == "" {
			return []cluster.Object{changeOf(s.Name)}
		}
	case plan.MarkPods:
		return each(plan.Names(s.Pods), changeOf)
	case plan.DeletePods:
		if s.How == plan.AtOnce {
			return each(plan.Names(s.Pods), podOf)
		}
	case plan.Record, plan.UpdateImage, plan.ResizePod, plan.AddLearner,
		plan.UpdatePeerURLs, plan.AdoptVolume, plan.Promote, plan.MoveLeader, plan.RemoveMember,
		plan.Downgrade, plan.Compact, plan.DisarmAlarm, plan.RouteService, plan.ScaleStatefulSet, plan.LiftQuarantine,
		plan.CreateBackup, plan.CreateRestore, plan.Expire, plan.Hold, plan.Wait,
		plan.Refuse,
		plan.Done:
	}
	return nil
}

func each(members []string, object func(string) cluster.Object) []cluster.Object {
	all := make([]cluster.Object, 0, len(members))
	for _, name := range members {
		all = append(all, object(name))
	}
	return all
}

func podOf(member string) cluster.Object { return cluster.Object{Kind: "Pod", Name: member} }

func startOf(member string) cluster.Object {
	return cluster.Object{Kind: "Pod", Name: member, Part: "start"}
}

// change is what the operator writes on a member's Pod or volume.
const change cluster.Part = "change"

func changeOf(member string) cluster.Object {
	return cluster.Object{Kind: "Pod", Name: member, Part: change}
}

// mark says of objects in the view that they were just refused, or changed back. What was
// refused too long ago, or when something else was wanted, is forgotten. A Pod that may not be
// deleted at once counts as one that has yet to end: its kubelet will clean it up.
func (d denials) mark(v cluster.View, now time.Time) {
	for object, is := range d {
		if is.of != specVersionOf(v) || now.Sub(is.at) >= is.again+applyOver {
			delete(d, object)
		}
	}
	d.noteHeld(slices.Concat(v.Misfits, v.Objects, v.Expired, v.Rotation.Turns))
	for _, all := range [][]cluster.Object{v.Misfits, v.Objects, v.Expired, v.Rotation.Turns} {
		for i := range all {
			if is := d[all[i].String()]; !is.isUndone() || is.why == all[i].Why && !is.holds() {
				all[i].Denied = is.said(now)
			}
		}
	}
	for _, all := range [][]cluster.Member{v.Members, v.Beside} {
		for i := range all {
			d.markMember(&all[i], now)
		}
	}
}

// noteHeld remembers of what is not among the misfits that it was seen to be as it was written.
func (d denials) noteHeld(misfits []cluster.Object) {
	left := map[string]bool{}
	for _, o := range misfits {
		left[o.String()] = true
	}
	for object, is := range d {
		is.held = is.held || is.isUndone() && !left[object]
		d[object] = is
	}
}

func (d denials) markMember(m *cluster.Member, now time.Time) {
	if d[podOf(m.Name).String()].stands(now) {
		m.Pod.Deletion = cluster.Terminating
	}
	if is := d[changeOf(m.Name).String()]; !is.isUndone() || isUndone(*m, is.mark) {
		m.Denied = is.said(now)
	}
	if start := d[startOf(m.Name).String()]; !m.Pod.Exists() {
		m.Pod.Denied = start.said(now)
	}
}

// stands says whether it is too early to try again.
func (r denial) stands(now time.Time) bool { return now.Sub(r.at) < r.again }

// said are the current denials, as messages.
func (r denial) said(now time.Time) cluster.Denial {
	if !r.stands(now) {
		return cluster.Denial{}
	}
	return cluster.Denial{Because: r.words, Undone: r.isUndone()}
}

// isUndone says whether Kubernetes took what was written.
func (r denial) isUndone() bool { return r.words == "" }

// isUndone says whether a member's Pod is not as it was marked, or its volume is not set aside.
func isUndone(m cluster.Member, mark marking) bool {
	switch {
	case mark == marking{}:
		return m.Volume == cluster.Kept
	case mark.uid != m.Pod.UID:
		return false
	case mark.as == plan.Attach:
		return m.Pod.IsDetached() || m.Pod.LabelsMissing
	case mark.as == plan.Comparing:
		return m.Pod.Unchecked
	case mark.as == plan.Plain:
		return m.Pod.DefragmentsAgain
	default:
		return !m.Pod.IsDetached()
	}
}
