// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// rotating is how far the rotation of an authority is, in truth.
type rotating struct {
	of      string
	due     bool // it is to be rotated
	other   bool // the other authority is Introduced already
	phase   cluster.RotationPhase
	trust   int8 // is another one whenever others are trusted; each Pod trusts those of its creation
	ended   bool // nothing is valid of what it has signed
	asked   bool // a person has asked for another one
	renewed bool // it was replaced because it had ended

	replaced bool // what has ended is external, and its replacement is there
	open     bool // connections from before go on, of members that have not restarted
}

// distrusts says whether the member's Pod was made with others than are trusted now.
func (w *world) distrusts(m cluster.Member) bool {
	return m.Pod.Exists() && w.fate(m.Name).trust != w.rotating.trust
}

// accepts says whether the member accepts the members that connect to it.
func (w *world) accepts(m cluster.Member) bool {
	r := w.rotating
	return r.open && !w.fate(m.Name).reopened || !r.ended && !(r.renewed && w.distrusts(m))
}

// trusted says whether all members that etcd lists run with the authorities that are trusted now.
func (w *world) trusted() bool {
	return len(w.view.Select(cluster.IsListed, func(m cluster.Member) bool { return !m.Pod.Exists() || w.distrusts(m) })) == 0
}

// turns does what the observer does: it says which pass of the rotation is due.
func (w *world) turns() {
	r, v := &w.rotating, &w.view
	v.Rotation = cluster.Rotation{Together: r.renewed}
	if r.other {
		v.Rotation.Authorities = []cluster.Authority{{Name: "client", Phase: cluster.Introduced}}
	}
	turn := cluster.RotationStep{Stage: cluster.Introduce}
	v.Ending = nil
	switch {
	case r.ended:
		turn = cluster.RotationStep{Stage: cluster.Renew, Asked: r.asked, Replaced: r.replaced}
		v.Ending = []cluster.Ending{{Secret: r.of, On: "2036-01-31", Near: true, Over: true, Expired: r.replaced}}
	case r.due:
	case r.phase == cluster.Introduced:
		turn.Stage = cluster.Switch
	case r.phase == cluster.Switched:
		turn.Stage = cluster.Drop
	default:
		return
	}
	if turn.Stage == cluster.Switch && !w.trusted() {
		v.Rotation.Await = "members to trust the next authority"
		return
	}
	v.Rotation.Turns = []cluster.Object{{Kind: "Secret", Name: r.of, Why: "it is due", CanWait: true, RotationStep: turn}}
}

// take takes a pass, unless it was taken before.
func (w *world) take(objects []cluster.Object) {
	r := &w.rotating
	for _, o := range objects {
		switch pass := o.RotationStep.Stage; {
		case pass == cluster.Introduce && r.due:
			r.due, r.phase, r.trust = false, cluster.Introduced, r.trust+1
			w.view.Objects = slices.DeleteFunc(slices.Clone(w.view.Objects), func(other cluster.Object) bool { return other.String() == o.String() })
		case pass == cluster.Renew && r.ended:
			r.ended, r.renewed, r.trust = false, true, r.trust+1
			w.view.Certificates.Lacking = false
		case pass == cluster.Switch && r.phase == cluster.Introduced:
			if !w.trusted() {
				w.fault = "the next authority signs, and a member does not trust it"
			}
			r.phase = cluster.Switched
		case pass == cluster.Drop && r.phase == cluster.Switched:
			r.phase, r.trust = cluster.Stable, r.trust+1
		}
	}
}

// restartsTogether says whether the step stops members that reach each other only by connections from before: the authority was replaced
// when no quorum answered, or on request, and one that restarts alone would not be accepted again.
func restartsTogether(before *world, step plan.Step) bool {
	s, is := step.(plan.DeletePods)
	accepts := func(pod plan.PodRef) bool { return !before.distrusts(before.member(pod.Name)) }
	return is && before.rotating.renewed && before.rotating.open && !slices.ContainsFunc(s.Pods, accepts)
}

// keepsRotating says whether a rotation stands still although all members are well.
func keepsRotating(w *world) bool {
	v := &w.view
	_, all := w.voters(healthy)
	well := all == v.Want.Size && all > 0 && len(v.Select(cluster.Not(cluster.IsListed))) == 0 &&
		v.Count(cluster.IsVoter, cluster.IsServing) == all && v.Count(cluster.IsOutdated) == 0
	step, _ := plan.Next(*v)
	return well && (w.rotating.due || w.rotating.phase != "" && w.rotating.phase != cluster.Stable) && step == plan.Step(plan.Done{})
}
