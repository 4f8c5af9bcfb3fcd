// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// A way is how a member is run, or listed by etcd.
type way int8

const (
	plain  way = iota // http alone, without certificates
	both              // run: http for peers, with certificates; listed: by http and https
	secure            // https alone
)

// turning is how far TLS is turned on or off at the start.
type turning struct {
	on   bool // is wanted
	from cluster.TLSState
}

// wayOf is how members are to be run.
func wayOf(s cluster.TLSState) way {
	switch {
	case s.Phase == cluster.BothSchemes:
		return both
	case s.Secure:
		return secure
	default:
		return plain
	}
}

// way is how a member runs at the start: as the pass wants it, or as the one before did, if it has yet to restart.
func (t turning) way(stale bool) way {
	switch {
	case !stale || t.from.Phase == cluster.OneScheme:
		return wayOf(t.from)
	case t.from.Phase == cluster.Advertised:
		return both
	default:
		return wayOf(cluster.TLSState{Secure: t.from.Secure})
	}
}

func (t turning) listed() way {
	if t.from.Phase != cluster.OneScheme {
		return both
	}
	return wayOf(t.from)
}

// turningStates are those of members of which some have yet to restart for a pass.
var turningStates = []state{
	func(*fate, *cluster.Member) {},
	func(f *fate, _ *cluster.Member) { f.stale = true },
	func(f *fate, _ *cluster.Member) { f.broken = true },
	func(f *fate, _ *cluster.Member) { f.stale, f.broken, f.cured = true, true, true },
	func(_ *fate, m *cluster.Member) { m.Pod = cluster.Pod{} },
	func(f *fate, m *cluster.Member) { m.Pod, m.Volume, f.data = cluster.Pod{}, cluster.NoVolume, false },
	func(_ *fate, m *cluster.Member) { m.Pod.Cordoned = true },
}

func (w *world) wantedWay() way { return wayOf(w.view.Record.TLS) }

// lists is how members are to be listed.
func (w *world) lists() way { return turning{from: w.view.Record.TLS}.listed() }

// schemes does what the observer does, and sees whether all members that run find each other.
func (w *world) schemes() {
	var running []cluster.Member
	for i := range w.view.Members {
		m := &w.view.Members[i]
		m.OldPeerURLs = cluster.IsListed(*m) && w.fate(m.Name).listed != w.lists()
		if cluster.IsListed(*m) && m.Answers {
			running = append(running, *m)
		}
	}
	for _, from := range running {
		for _, to := range running {
			if !w.fate(from.Name).finds(*w.fate(to.Name)) {
				w.fault = fmt.Sprintf("%s does not find %s", from.Name, to.Name)
			}
		}
	}
}

// finds says whether a member finds another one: etcd tries every URL that the other is listed with.
func (f *fate) finds(other fate) bool {
	if other.serves == secure {
		return f.serves != plain && other.listed != plain
	}
	return other.listed != secure
}

// keepsSwitching says whether the way to TLS, or to none, stands still although all members are well.
func keepsSwitching(w *world) bool {
	v := &w.view
	_, all := w.voters(healthy)
	well := all == v.Want.Size && all > 0 && len(v.Select(cluster.Not(cluster.IsListed))) == 0 &&
		v.Count(cluster.IsVoter, cluster.IsServing) == all && v.Count(cluster.IsOutdated) == 0
	step, _ := plan.Next(*v)
	return well && v.Record.TLS != (cluster.TLSState{Secure: v.TLS.Wanted}) && step == plan.Step(plan.Done{})
}

// parseTurning says how far TLS is turned on or off, as in tls=(off,both,on): from which mode and phase, and to which.
func parseTurning(t *testing.T, d *datadriven.TestData, w *world) {
	var mode, phase, wanted string
	v := &w.view
	if d.MaybeScanArgs(t, "tls", &mode, &phase, &wanted) {
		turn := turning{on: wanted == "on", from: cluster.TLSState{Secure: mode == "on"}}
		turn.from.Phase = cluster.TLSPhase(slices.Index([]string{"one", "advertised", "both"}, strings.TrimSuffix(phase, "-switched")))
		if strings.HasSuffix(phase, "-switched") {
			turn.from.SwitchedAt = 5
		}
		v.Record.TLS, v.TLS = turn.from, cluster.TLSChange{Wanted: turn.on, At: 9}
		for _, m := range v.Members {
			f := w.fate(m.Name)
			f.serves, f.listed = max(f.serves, turn.way(m.Pod.Change != cluster.Same)), turn.listed()
		}
	}
	for arg, fact := range map[string]*string{"tls-held": &v.TLS.Held, "tls-window": &v.TLS.Window} {
		for _, given := range d.CmdArgs {
			if given.Key == arg {
				*fact = strings.Join(given.Vals, " ")
			}
		}
	}
}
