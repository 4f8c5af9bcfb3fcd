// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package slow_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster/slow"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// noise is the deviation of the logarithm of what members show: a quarter up or down is common, and twice as much or half is not rare.
const noise = 0.25

// A world is three members whose disks differ: one is always slower. Values have noise, a pattern of the day that all share, short spikes,
// a slow hour of all, and a backup by another program every night from one member.
type world struct {
	chance *rand.Rand
	watch  slow.Watch
	usual  [3]slow.Values
	factor [3]float64 // of a fault
	spikes [3]int     // looks that a spike still lasts
	found  []string
	known  map[string]bool
	own    bool // the backup is made by the operator, which looks at nobody meanwhile
}

func newWorld(seed uint64) *world {
	w := &world{factor: [3]float64{1, 1, 1}, known: map[string]bool{}, own: true}
	w.chance = rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // not a secret
	for m := range w.usual {
		w.usual[m] = slow.Values{0.002, 0.006, 0.02}
		if m == 2 {
			w.usual[m] = slow.Values{0.005, 0.012, 0.05} // an older machine
		}
	}
	return w
}

// look is one look; it returns whether an anomaly is new.
func (w *world) look(at time.Time) bool {
	hour := float64(at.Hour()) + float64(at.Minute())/60
	shared := 1 + 0.8*math.Max(0, math.Sin((hour-6)/24*2*math.Pi))
	if at.YearDay()%9 == 0 && at.Hour() == 15 {
		shared *= 4 // the storage of all is slow
	}
	var samples []slow.Sample
	for m := range w.usual {
		factor := shared * w.factor[m]
		backsUp := at.Hour() == 2 && at.Minute() >= 10 && at.Minute() < 25
		if m == 1 && backsUp {
			factor *= 3
		}
		if w.spikes[m]--; w.spikes[m] > 0 {
			factor *= 6
		} else if w.chance.Float64() < 1.0/1440 {
			w.spikes[m] = 3
		}
		values := w.usual[m]
		for i := range values {
			values[i] *= factor * math.Exp(noise*w.chance.NormFloat64())
		}
		if w.own && backsUp {
			values = slow.Unknown()
		}
		samples = append(samples, slow.Sample{Member: fmt.Sprintf("a-%d", m), Values: values, Usual: w.usual[m]})
	}
	w.watch.Look(at, samples)
	return w.note(at)
}

func (w *world) note(at time.Time) bool {
	now, news := map[string]bool{}, false
	for _, a := range w.watch.Anomalies() {
		isNew := !w.known[a.Member] && !now[a.Member]
		now[a.Member] = true
		if isNew {
			news = true
			w.found = append(w.found, fmt.Sprintf("%s: %s %s %.4f, usual %.4f", at.Format("Jan 2 15:04"), a.Member, a.Signal, a.Value, a.Usual))
		}
	}
	w.known = now
	return news
}

// TestQuiet: thirty days without a fault have one false alarm at most. A backup by another program every night has three.
func TestQuiet(t *testing.T) {
	for own, most := range map[bool]int{true: 1, false: 3} {
		for seed := range uint64(3) {
			w := newWorld(seed)
			w.own = own
			for minute := range 30 * 24 * 60 {
				w.look(start.Add(time.Duration(minute) * time.Minute))
			}
			if len(w.found) > most {
				t.Errorf("seed %d: %d false alarms, own backups %t: %q", seed, len(w.found), own, w.found)
			}
		}
	}
}

// TestFault32Slowdown: whenever it begins, a member that becomes ten times slower is found within forty seconds of looks as the operator
// makes them, one that becomes six times slower within ten minutes; both are well again ten minutes after their disk is.
func TestFault32Slowdown(t *testing.T) {
	for _, test := range []struct {
		factor float64
		every  time.Duration // between two looks
		within time.Duration
	}{
		{10, 20 * time.Second, 60 * time.Second},
		{10, time.Minute, 3 * time.Minute},
		{6, time.Minute, 15 * time.Minute},
		{6, 20 * time.Second, 10 * time.Minute},
	} {
		for seed := range uint64(8) {
			w := newWorld(seed)
			at := start
			for range 2*24*60 + int(seed)*97 {
				at = at.Add(time.Minute)
				w.look(at)
			}
			slowed := int(seed) % 2 //nolint:gosec // small
			w.factor[slowed], w.found = test.factor, nil
			name, begun := fmt.Sprintf("a-%d", slowed), at
			for at.Sub(begun) < test.within && !w.known[name] {
				if w.watch.Suspects() && test.every < time.Minute {
					at = at.Add(5 * time.Second)
				} else {
					at = at.Add(test.every)
				}
				w.look(at)
			}
			if !w.known[name] {
				t.Errorf("seed %d: %v times slower is not found within %s: %q", seed, test.factor, test.within, w.found)
			}
			w.factor[slowed] = 1
			for range 30 {
				at = at.Add(time.Minute)
				w.look(at)
			}
			if w.known[name] {
				t.Errorf("seed %d: still slow half an hour after it is well", seed)
			}
		}
	}
}

// TestStaysSlow: what is slow for days does not become usual.
func TestStaysSlow(t *testing.T) {
	for seed := range uint64(3) {
		w := newWorld(seed)
		at := start
		for minute := range 6 * 24 * 60 {
			if minute == 2*24*60 {
				w.factor[0] = 6
			}
			at = at.Add(time.Minute)
			w.look(at)
		}
		if !w.known["a-0"] {
			t.Errorf("seed %d: it counts as well: %q", seed, w.found)
		}
	}
}

// TestFromTheStart: what was so from the start is no change: neither a member whose disk was always ten times slower than the others', nor
// a process of the operator that has just begun to look. A member that became slow before that is found by what it had counted.
func TestFromTheStart(t *testing.T) {
	for name, test := range map[string]struct {
		usual, value float64
		want         bool
	}{
		"always slow":        {0.04, 0.04, false},
		"slower than before": {0.004, 0.04, true},
		"a bit slower":       {0.004, 0.01, false},
		"nothing is known":   {math.NaN(), 0.04, false},
	} {
		var w slow.Watch
		for i := range 400 {
			samples := []slow.Sample{}
			for m := range 3 {
				sample := slow.Sample{Member: fmt.Sprintf("a-%d", m), Values: slow.Unknown(), Usual: slow.Unknown()}
				sample.Values[0], sample.Usual[0] = 0.004, 0.004
				if m == 0 {
					sample.Values[0], sample.Usual[0] = test.value, test.usual
				}
				samples = append(samples, sample)
			}
			w.Look(start.Add(time.Duration(i)*time.Minute), samples)
		}
		if got := len(w.Anomalies()) > 0; got != test.want {
			t.Errorf("%s: found %t", name, got)
		}
	}
}

// TestWhoIsSlow: of two nobody knows, and what is below the floor slows nobody down.
func TestWhoIsSlow(t *testing.T) {
	for what, values := range map[string][]float64{"two": {0.1, 0.001}, "fast disks": {0.003, 0.0001, 0.0001}} {
		var w slow.Watch
		for i := range 40 {
			var samples []slow.Sample
			for m, value := range values {
				s := slow.Sample{Member: fmt.Sprintf("a-%d", m), Values: slow.Unknown(), Usual: slow.Unknown()}
				s.Values[0], s.Usual[0] = value, 0.0001
				samples = append(samples, s)
			}
			w.Look(start.Add(time.Duration(i)*time.Minute), samples)
		}
		if all := w.Anomalies(); len(all) > 0 {
			t.Errorf("%s: %+v", what, all)
		}
	}
}
