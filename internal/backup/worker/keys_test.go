// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	"github.com/etcd-operator/etcd-operator/internal/backup/log/state"
)

func stateOfKeys(t *testing.T, keys pairs) *state.State {
	t.Helper()
	s := state.New([]byte("k"))
	revision := int64(0)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		revision++
		must(t, s.Apply(log.Event{Revision: revision, Key: []byte(key), Value: []byte(keys[key]), CreateRevision: revision, Version: 1}))
	}
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var belowK = []byte("k")

// applies compares, has others change keys, and applies.
func applies(t *testing.T, m *memoryMember, at pairs, meanwhile func()) (jobspec.Changes, error) {
	t.Helper()
	was := stateOfKeys(t, at)
	found, err := m.cluster().compare(t.Context(), was, belowK, m.revisionNow(), "")
	must(t, err)
	meanwhile()
	return m.cluster().apply(t.Context(), was, jobspec.ApplyOrder{Prefix: belowK, Revision: found.Revision, Digest: found.Digest})
}

// TestChangedMeanwhile: a key that was changed since it was compared stays, and if that cannot be seen, nothing is written.
func TestChangedMeanwhile(t *testing.T) {
	before, at := parsed("j=x k1=new k2=added k4=new"), parsed("k1=old k3=old k4=old")
	for name, c := range map[string]struct {
		meanwhile, want string
		skipped         int64
		words           string
	}{
		"nothing":              {"", "k1=old k3=old k4=old", 0, ""},
		"a key":                {"k1=mine", "k1=mine k3=old k4=old", 1, ""},
		"a key to delete":      {"k2=mine", "k1=old k2=mine k3=old k4=old", 1, ""},
		"a key to create":      {"k3=mine", "k1=old k3=mine k4=old", 1, ""},
		"a key to what it was": {"k1=old", "k1=old k3=old k4=old", 0, ""},
		"put again as it was":  {"k1=new", "k1=new k3=old k4=old", 1, ""},
		"one is deleted":       {"k1", "k3=old k4=old", 1, ""},
		"one is gone already":  {"k2", "k1=old k3=old k4=old", 0, ""},
		"another key":          {"k5=mine", "k1=old k3=old k4=old k5=mine", 0, ""},
		"compacted":            {"j=y compact", "k1=old k3=old k4=old", 0, ""},
		"a key, and compacted": {"k1=mine compact", "", 0, "nothing was written; the keys are compared"},
		"the same, compacted":  {"k1=new compact", "", 0, "nothing was written"},
		"the cluster is older": {"back", "", 0, "is at revision 3, and 5 was compared"},
	} {
		m, now := newMember(before), pairs{}
		done, err := applies(t, m, at, func() { m.does(c.meanwhile); now = m.now("") })
		if c.words != "" {
			f := failure(cmp.Or(err, io.EOF))
			if f.Reason != jobspec.Outdated || !f.Final || !strings.Contains(f.Message, c.words) || !maps.Equal(m.now(""), now) {
				t.Errorf("%s: %+v; %v", name, f, m.now(""))
			}
			continue
		}
		must(t, err)
		if !maps.Equal(m.now("k"), parsed(c.want)) || done.Skipped != c.skipped || done.Create+done.Update+done.Delete != 4-c.skipped ||
			int64(len(done.Examples)) != c.skipped || done.Revision != m.revisionNow() {
			t.Errorf("%s: %v, %+v", name, m.now("k"), done)
		}
		if m.now("j")["j"] != now["j"] {
			t.Errorf("%s: a key outside of the prefix is written", name)
		}
	}
}

// TestCompactedWhileWriting: what is not written yet is not known any more, and is compared again.
func TestCompactedWhileWriting(t *testing.T) {
	before, at := pairs{}, pairs{}
	for n := range 500 {
		before[fmt.Sprintf("k%03d", n)], at[fmt.Sprintf("k%03d", n)] = "new", "old"
	}
	m := newMember(before)
	was := stateOfKeys(t, at)
	found, err := m.cluster().compare(t.Context(), was, belowK, m.revisionNow(), "")
	must(t, err)
	m.fails = func() bool {
		if m.revisionNow() > found.Revision {
			m.compacted = m.revisionNow()
		}
		return false
	}
	_, err = m.cluster().apply(t.Context(), was, jobspec.ApplyOrder{Prefix: belowK, Revision: found.Revision, Digest: found.Digest})
	if f := failure(cmp.Or(err, io.EOF)); f.Reason != jobspec.Outdated || !strings.Contains(f.Message, "while keys were written") {
		t.Errorf("%+v", f)
	}
}

// TestRevertLeaves what was changed since, whatever it was before.
func TestRevertLeaves(t *testing.T) {
	before, at := parsed("k1=new k2=added k4=same"), parsed("k1=old k3=old k4=same")
	for name, c := range map[string]struct {
		since, want string
		skipped     int64
	}{
		"nothing":               {"", "k1=new k2=added k4=same", 0},
		"a key":                 {"k1=mine", "k1=mine k2=added k4=same", 1},
		"one that goes":         {"k3=mine", "k1=new k2=added k3=mine k4=same", 1},
		"one that comes back":   {"k2=mine", "k1=new k2=mine k4=same", 1},
		"one is deleted":        {"k1", "k2=added k4=same", 1},
		"one is gone already":   {"k3", "k1=new k2=added k4=same", 0},
		"one is as before":      {"k1=new", "k1=new k2=added k4=same", 0},
		"put again as it is":    {"k1=old", "k1=new k2=added k4=same", 0},
		"one that is the same":  {"k4=mine", "k1=new k2=added k4=mine", 0},
		"one that never was":    {"k9=mine", "k1=new k2=added k4=same k9=mine", 0},
		"all of it is reverted": {"k1=new k2=added k3", "k1=new k2=added k4=same", 0},
	} {
		m := newMember(before)
		_, err := applies(t, m, at, func() {})
		must(t, err)
		m.does(c.since)
		done, err := m.cluster().revert(t.Context(), stateOfKeys(t, before), stateOfKeys(t, at), belowK)
		must(t, err)
		if !maps.Equal(m.now("k"), parsed(c.want)) || done.Skipped != c.skipped || done.Create+done.Update+done.Delete != 3-c.skipped {
			t.Errorf("%s: %v, %+v", name, m.now("k"), done)
		}
	}
}

// TestChangedWhileReverting: what was changed between the read and the transaction stays.
func TestChangedWhileReverting(t *testing.T) {
	before, at := pairs{"k1": "new"}, pairs{"k1": "old"}
	m := newMember(at)
	asked := 0
	m.fails = func() bool {
		if asked++; asked == 3 { // after the revision and the page
			m.put("k1", "mine")
		}
		return false
	}
	done, err := m.cluster().revert(t.Context(), stateOfKeys(t, before), stateOfKeys(t, at), belowK)
	if must(t, err); done.Skipped != 1 || m.now("k")["k1"] != "mine" {
		t.Errorf("%v, %+v", m.now("k"), done)
	}
}

// TestAnyRestore, and its reversal, of random keys: they become what they were, but for those that others change, whatever answers are
// lost, and wherever an attempt ends.
func TestAnyRestore(t *testing.T) {
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 2))
			before, at := randomKeys(random), randomKeys(random)
			m := newMember(before)
			m.most = random.IntN(2) * 3
			w := &attempts{t, m, random, func() {}}
			m.fails = w.isLost
			was, found := stateOfKeys(t, at), comparison{}
			w.until(func(ctx context.Context) (err error) {
				found, err = m.cluster().compare(ctx, was, belowK, m.revisionNow(), "")
				return err
			})
			order := jobspec.ApplyOrder{Prefix: belowK, Revision: found.Revision, Digest: found.Digest}
			edited := w.edits()
			mine := m.now("k")
			var done jobspec.Changes
			w.until(func(ctx context.Context) (err error) { done, err = m.cluster().apply(ctx, was, order); return err })
			want := changed(mine, at, func(key string) bool {
				_, was := before[key]
				_, is := mine[key]
				return !edited[key] || !was && !is // which is what was compared, whatever came in between
			})
			if !maps.Equal(m.now("k"), want) || done.Create+done.Update+done.Delete+done.Skipped != found.Create+found.Update+found.Delete {
				t.Fatalf("seed %d: %v is applied, not %v; %+v", seed, m.now("k"), want, done)
			}
			w.edits()
			now := m.now("k")
			w.until(func(ctx context.Context) (err error) {
				_, err = m.cluster().revert(ctx, stateOfKeys(t, before), was, belowK)
				return err
			})
			isMade := func(key string) bool { return isEqual(now, at, key) && !isEqual(at, before, key) }
			if want := changed(now, before, isMade); !maps.Equal(m.now("k"), want) {
				t.Fatalf("seed %d: %v is reverted, not %v", seed, m.now("k"), want)
			}
		})
	}
}

func randomKeys(random *rand.Rand) pairs {
	keys := pairs{"j": "x", "l": "x"}
	for n := range 12 {
		if random.IntN(3) > 0 {
			keys[fmt.Sprintf("k%d", n)] = fmt.Sprint(random.IntN(2))
		}
	}
	return keys
}

// changed are keys of which some are as in another set.
func changed(keys, others pairs, is func(key string) bool) pairs {
	all := pairs{}
	for n := range 12 {
		key, from := fmt.Sprintf("k%d", n), keys
		if is(key) {
			from = others
		}
		if value, has := from[key]; has {
			all[key] = value
		}
	}
	return all
}

func isEqual(a, b pairs, key string) bool {
	inA, hasA := a[key]
	inB, hasB := b[key]
	return inA == inB && hasA == hasB
}

// attempts are carried out until one ends.
type attempts struct {
	*testing.T
	member *memoryMember
	random *rand.Rand
	kill   func()
}

func (a *attempts) isLost() bool {
	if a.random.IntN(20) == 0 {
		a.kill()
	}
	return a.random.IntN(8) == 0
}

func (a *attempts) until(attempt func(context.Context) error) {
	a.Helper()
	for range 100 {
		ctx, kill := context.WithCancel(a.Context())
		a.kill = kill
		err := attempt(ctx)
		isKilled := ctx.Err() != nil
		if kill(); err == nil {
			return
		}
		if !isKilled && failure(err).Reason != jobspec.MemberFailed {
			a.Fatal(err)
		}
	}
	a.Fatal("no attempt ends")
}

// edits has others change some keys.
func (a *attempts) edits() (edited map[string]bool) {
	edited = map[string]bool{}
	for range a.random.IntN(4) {
		key := fmt.Sprintf("k%d", a.random.IntN(12))
		if edited[key] = true; a.random.IntN(3) == 0 {
			a.member.remove(key)
		} else {
			a.member.put(key, fmt.Sprint(a.random.IntN(3)))
		}
	}
	return edited
}
