// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"hash/maphash"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// A moment of a walk is all that the rest of it follows from. Its worlds are never
// changed, only replaced.
type moment struct {
	now, seen *world // the truth, and what the plan is shown
	phase     int    // of the temper
	resting   int    // times in a row that the plan had nothing to do
}

var seed = maphash.MakeSeed()

// key is the same for moments that go on alike. That different ones share a key is
// possible and not to be feared: among a million moments of one goal the odds are one
// to forty million.
func (m *moment) key() uint64 {
	k := struct {
		now, seen, samePods uint64
		phase, resting      int
	}{now: m.now.hash(), phase: m.phase, resting: m.resting}
	if m.seen != m.now {
		k.seen, k.samePods = m.seen.hash(), m.samePods()
	}
	return maphash.Comparable(seed, k)
}

// samePods says of which members the plan is shown the very Pod that they have.
func (m *moment) samePods() uint64 {
	var same uint64
	for i, now := range m.now.view.Members {
		if now.Pod.UID == m.seen.member(now.Name).Pod.UID {
			same |= 1 << i
		}
	}
	return same
}

// asked is what was asked of a world before: walks in several tempers share worlds.
type asked struct {
	hash    uint64
	step    plan.Step
	because string
	after   *world // that step
	broken  string
}

// next is the plan's step for the world as it is.
func (w *world) next() (step plan.Step, because string) {
	if w.asked.step == nil {
		w.asked.step, w.asked.because = plan.Next(w.view)
	}
	return w.asked.step, w.asked.because
}

// after is the world after the step that the plan takes for what it is shown, and the
// invariant that the step has broken, if any. A world at rest only settles once more.
func (m *moment) after() (after *world, broken string) {
	now := m.now
	if m.seen == now && now.asked.after != nil {
		return now.asked.after, now.asked.broken
	}
	step, _ := m.seen.next()
	after = now.clone()
	if _, records := step.(plan.Record); records && !m.seen.hasRecordOf(now) {
		after.settle() // the API server refuses to write a status over a newer one
		return after, ""
	}
	after.obey(step)
	if !plan.Rests(step) {
		broken = violation(now, after, step)
	}
	if m.seen == now {
		now.asked.after, now.asked.broken = after, broken
	}
	return after, broken
}

func (w *world) hasRecordOf(other *world) bool {
	return reflect.DeepEqual(w.view.Record, other.view.Record)
}

// hash covers all of a world but UIDs of Pods, which only distinguish Pods.
func (w *world) hash() uint64 {
	if w.asked.hash != 0 {
		return w.asked.hash
	}
	var h maphash.Hash
	h.SetSeed(seed)
	v := &w.view
	maphash.WriteComparable(&h, w.truth)
	maphash.WriteComparable(&h, view{
		v.Name, v.UID, v.Newer, v.Unread, v.Split, v.NotRoot, v.Undecided, v.DowngradeTarget, v.Deleting, v.Fresh, v.Locked, v.Relieved,
		v.Want, v.Restore,
		v.Target, v.Backup, v.Candidate, v.Record.Awaited, v.Rotation.Await, v.Rotation.Together,
		v.Record.Token, v.Record.ClusterID, v.Record.Joining, v.Record.Recovering, v.Record.RolledBack, v.Record.Restore, v.Record.Adopted,
		v.Record.HasNetworkPolicy, v.Record.HasRequests, v.Record.HasMaintenance, v.Record.DefragRoom,
		v.Record.NextSerial, v.Record.Revision, v.Generation,
		[3]string{v.Revocation.At, string(v.Revocation.Phase), v.Revocation.Await},
		v.Certificates, v.Record.Defragmenting, v.Compacted, v.Freeing, v.At, v.Space, v.Record.Grown, v.Record.Scaled, v.Autoscale,
		v.Record.Replacing, v.Monitoring, v.TLS, v.Record.TLS,
	})
	for _, m := range v.Members {
		m.Pod.UID = ""
		maphash.WriteComparable(&h, m)
	}
	maphash.WriteComparable(&h, len(v.Members))
	for _, m := range v.Beside {
		m.Pod.UID = ""
		maphash.WriteComparable(&h, m)
	}
	maphash.WriteComparable(&h, len(v.Beside))
	writeAll(&h, v.Record.First)
	writeAll(&h, v.Unknown)
	writeAll(&h, v.Alarms)
	writeAll(&h, v.Expired)
	writeAll(&h, v.Objects)
	writeAll(&h, v.Lost)
	writeAll(&h, v.Ending)
	writeAll(&h, v.Revocation.Serials)
	writeAll(&h, v.Rotation.Turns)
	writeAll(&h, v.Rotation.Authorities)
	writeAll(&h, v.Misfits)
	writeAll(&h, v.Refused)
	writeAll(&h, v.Foreign)
	writeAll(&h, v.Anomalies)
	if a, r := &v.Adoption, &v.Record.Adopting; a.Wanted || a.Undo || a.Held || a.Sleepy || a.Keeps ||
		a.Unreachable+a.Unfit+a.ClusterID != "" || a.At != 0 || len(a.Volumes) > 0 ||
		len(a.Sources)+len(a.Services)+len(r.Sources) > 0 || a.Workload != (cluster.Workload{}) || r.Begun+r.Ended != 0 {
		_, _ = fmt.Fprint(&h, *a, *r)
	}
	if len(v.Volumes) > 0 {
		_, _ = fmt.Fprint(&h, v.Volumes)
	}
	w.asked.hash = h.Sum64()
	return w.asked.hash
}

// view is what of a View can be compared.
type view struct {
	name, uid, newer, unread, split string
	notRoot, undecided, goesDown    string
	deleting, fresh, locked         bool
	relieved                        bool
	want                            cluster.Want
	restore                         cluster.Restore
	target                          cluster.Target
	backup                          cluster.Backup
	offer                           cluster.RestoreCandidate
	awaited                         cluster.Awaited
	rotation                        string
	together                        bool
	token, id, joining, recovering  string
	rolledBack                      cluster.Rollback
	restoredBy                      string
	adopted, policed, asks, kept    bool
	roomy                           bool
	nextSerial                      int
	revision, generation            int64
	revocation                      [3]string
	certificates                    cluster.Certificates
	defragmenting                   cluster.Defragmenting
	compacted                       int64
	freeing                         bool
	at                              int64
	space                           cluster.Space
	grown                           int64
	scaled                          cluster.Scaled
	autoscale                       cluster.Autoscale
	replacing                       cluster.Replacing
	monitoring                      cluster.Monitoring
	tls                             cluster.TLSChange
	schemes                         cluster.TLSState
}

// writeAll ends with how many there were: one that moves to the next list counts.
func writeAll[T comparable](h *maphash.Hash, all []T) {
	for _, one := range all {
		maphash.WriteComparable(h, one)
	}
	maphash.WriteComparable(h, len(all))
}

// TestHashIsWhole alters every fact of a view, one at a time: a world that differs in
// any of them is another one, except for what is only reported. Of the truth beside it the compiler knows the same.
func TestHashIsWhole(t *testing.T) {
	w := formedWorld(goals()[0], []int{0}, noLearner)
	before, facts := w.hash(), 0
	eachFact(reflect.ValueOf(&w.view).Elem(), "view", func(path string) {
		facts++
		if same := w.clone().hash() == before; same != (strings.HasSuffix(path, ".Pod.UID") || isReported(path)) {
			t.Errorf("a world with another %s is the same: %t", path, same)
		}
	})
	if facts < 70 {
		t.Errorf("only %d facts were altered", facts)
	}
}

// isReported says whether no rule goes by a fact.
func isReported(path string) bool {
	reported := []string{
		"view.Hashes.", "view.Speeds", "view.SlowDisks", "view.Busy", "view.Advice", "view.Usages",
		"view.Outside", "view.Route",
	}
	return slices.ContainsFunc(reported, func(fact string) bool { return strings.HasPrefix(path, fact) })
}

// eachFact alters a value in every way for as long as visit takes.
func eachFact(v reflect.Value, path string, visit func(path string)) {
	old := reflect.New(v.Type()).Elem()
	old.Set(v)
	defer func() { v.Set(old) }()
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			eachFact(v.Field(i), path+"."+v.Type().Field(i).Name, visit)
		}
		return
	case reflect.Slice:
		for i := range v.Len() {
			eachFact(v.Index(i), fmt.Sprintf("%s[%d]", path, i), visit)
		}
		v.Set(reflect.Append(v.Slice3(0, v.Len(), v.Len()), reflect.Zero(v.Type().Elem())))
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Uint64:
		v.SetUint(v.Uint() + 1)
	default:
		v.SetInt(v.Int() + 1)
	}
	visit(path)
}
