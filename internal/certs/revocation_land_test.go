// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certs_test

import (
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// A gate is a member whose kubelet is slow, with the connections that are open to it.
type gate struct {
	name    string
	reads   bool     // a list
	list    []string // as its Pod has it
	refresh time.Time
	open    map[string]bool // by serial number
}

func (g *gate) takes(serial string) bool { return !g.reads || !slices.Contains(g.list, serial) }

// A chase is a cluster whose leaked certificates try every member again and again, and an operator that revokes them.
type chase struct {
	*ward
	at      time.Time
	chance  *mathrand.Rand
	gates   []*gate
	leaked  []string
	history []string
}

func (h *chase) note(format string, values ...any) {
	h.history = append(h.history, h.at.Sub(now).String()+" "+fmt.Sprintf(format, values...))
}

// pass lets time go by: kubelets bring what there is, and a client with a leaked key connects to a member that accepts it.
func (h *chase) pass(seconds int) {
	h.at = h.at.Add(time.Duration(seconds) * time.Second)
	for _, g := range h.gates {
		if g.reads && h.at.After(g.refresh) {
			g.list, g.refresh = h.listed(), h.at.Add(time.Duration(60+h.chance.IntN(30))*time.Second)
		}
		for _, serial := range h.leaked {
			if g.takes(serial) {
				g.open[serial] = true
			}
		}
	}
}

// facts are what the operator sees now.
func (h *chase) facts() cluster.Revocation {
	_, shown, err := h.held().Witnesses(rand.Reader, h.at)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, g := range h.gates {
		h.refuse[g.name] = certs.Refusal{Is: !g.takes(shown.Serial())}
	}
	return h.look(h.at)
}

// restart has one member start again: its connections end, and its kubelet reads what there is.
func (h *chase) restart(g *gate) {
	h.note("restart %s", g.name)
	h.made[g.name] = h.ward.at()
	refresh := h.at.Add(time.Duration(h.chance.IntN(90)) * time.Second)
	*g = gate{name: g.name, reads: true, list: h.listed(), refresh: refresh, open: map[string]bool{}}
}

// step is what the operator does: one restart at a time, of those that are older, once that is due.
func (h *chase) step() (done bool) {
	r := h.facts()
	h.recordStatus(r)
	if r.Await != "" {
		return false
	}
	for _, g := range h.gates {
		if h.made[g.name] != r.At {
			h.restart(g)
			h.pass(10) // until it is healthy again
			return false
		}
	}
	return r.Phase == cluster.Revoked
}

// TestFault82NoConnectionIsLeft: with slow kubelets, and leaked keys that try every member all the time, no connection by a certificate is
// left when it counts as revoked, and no member accepts it any more; also if more are revoked meanwhile.
func TestFault82NoConnectionIsLeft(t *testing.T) {
	t.Parallel() // signatures take a processor for seconds
	for seed := range uint64(200) {
		h := &chase{ward: newWard(t), at: now, chance: mathrand.New(mathrand.NewPCG(seed, seed))}
		for _, name := range h.members() {
			h.gates = append(h.gates, &gate{name: name, open: map[string]bool{}})
		}
		var revoked []string
		for n := range 3 {
			h.leaked = append(h.leaked, fmt.Sprintf("a%d", n))
			h.pass(h.chance.IntN(200))
			revoked = append(revoked, h.leaked[n])
			h.revoke(h.at, revoked...)
			h.note("revoke %v", revoked)
			meanwhile := h.chance.IntN(20)
			for looks := 0; !h.step(); looks++ {
				if looks > 100 {
					t.Fatalf("seed %d: never over: %+v\n%v", seed, h.facts(), h.history)
				}
				if looks == meanwhile && n < 2 {
					break // the next one leaks before this one is over
				}
				h.pass(1 + h.chance.IntN(15))
			}
			if h.c.Status.Revocations.Phase == v1beta1.RevocationDone {
				h.mustBeShutOut(seed, revoked)
			}
		}
		if restarts := len(h.history) - 3; restarts > 9 {
			t.Errorf("seed %d: three revocations take %d restarts", seed, restarts)
		}
		if h.c.Status.Revocations.Phase != v1beta1.RevocationDone {
			t.Errorf("seed %d: at last %s", seed, h.c.Status.Revocations.Phase)
		}
	}
}

func (h *chase) mustBeShutOut(seed uint64, revoked []string) {
	h.t.Helper()
	for _, g := range h.gates {
		for _, serial := range revoked {
			if g.open[serial] || g.takes(serial) {
				h.t.Errorf("seed %d: %s is let in at %s: %v\n%v", seed, serial, g.name, g.open[serial], h.history)
			}
		}
	}
}

// TestFault82SaysSinceWhen: the Secret of an application says since when it has another certificate than the one that was revoked.
func TestFault82SaysSinceWhen(t *testing.T) {
	w := newWard(t)
	before := w.secrets["example-client"]
	w.revoke(now.Add(later), certs.Serial(before))
	after := w.secrets["example-client"]
	if got := after.Annotations[v1beta1.AnnotationWrittenAt]; got != now.Add(later).Format(time.RFC3339) {
		t.Errorf("written at %q", got)
	}
}
