// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster/memory"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// looks has a cluster look at the same again and again, for so long, and counts the looks of the
// first second and of the last minute.
func looks(t *testing.T, lasts time.Duration, ends func(look int) (plan.Step, error)) (first, last int) {
	t.Helper()
	var known memory.Cluster
	for at, look := time.Duration(0), 0; at < lasts; look++ {
		if at < time.Second {
			first++
		}
		if lasts-at <= time.Minute {
			last++
		}
		step, err := ends(look)
		ending := classifyError(step, err)
		got, err := resultOf(step, ending, known.Row(step, ending, noon.Add(at)))
		if err != nil || got.RequeueAfter <= 0 {
			t.Fatalf("look %d: %s, %v", look, got.RequeueAfter, err)
		}
		at += got.RequeueAfter
	}
	return first, last
}

// TestWhatDoesNotGetOnIsLookedAtLessAndLess: a few times a second at first where it may be over at
// any moment, and twice a minute in the end.
func TestWhatDoesNotGetOnIsLookedAtLessAndLess(t *testing.T) {
	for name, test := range map[string]struct {
		ends  func(look int) (plan.Step, error)
		first int // looks within the first second, at most
	}{
		"conflicts": {func(int) (plan.Step, error) {
			return plan.ReserveName(cluster.View{Name: "a", UID: "u1"}, "a-3"), act.ErrChanged
		}, 5},
		"conflicts of one step and another": {func(look int) (plan.Step, error) {
			return plan.ReserveName(cluster.View{Name: "a", UID: "u1"}, fmt.Sprint("a-", look)), fmt.Errorf("reserve: %w", act.ErrChanged)
		}, 5},
		"etcd is about to":   {func(int) (plan.Step, error) { return plan.Wait{For: "x", Look: plan.Soon}, nil }, 20},
		"now this, now that": {func(look int) (plan.Step, error) { return plan.Wait{For: fmt.Sprint(look % 2), Look: plan.Soon}, nil }, 20},
		"an endless wait":    {func(int) (plan.Step, error) { return plan.Wait{For: "x"}, nil }, 1},
		"a refusal":          {func(int) (plan.Step, error) { return plan.Refuse{Because: "x"}, nil }, 1},
		"etcd forgets":       {func(int) (plan.Step, error) { return plan.Promote{Name: "a-3"}, nil }, 6},
		"Kubernetes forgets": {func(int) (plan.Step, error) { return plan.UpdateImage{Name: "a-3"}, nil }, 1},
	} {
		if first, last := looks(t, time.Hour, test.ends); first > test.first || last > 2 {
			t.Errorf("%s: %d looks in the first second, %d in the last minute of an hour", name, first, last)
		}
	}
}

// TestWaitsAreOverSoon: what takes etcd some seconds is seen within a twentieth of a second, and
// what takes it half a minute within three.
func TestWaitsAreOverSoon(t *testing.T) {
	wait := plan.Wait{For: "x", Look: plan.Soon}
	for lasts, most := range map[time.Duration]time.Duration{5 * time.Second: memory.Soon, 30 * time.Second: 3 * time.Second} {
		var known memory.Cluster
		known.Row(wait, memory.Ending{}, noon)
		got, _ := resultOf(wait, memory.Ending{}, known.Row(wait, memory.Ending{}, noon.Add(lasts)))
		if got.RequeueAfter > most {
			t.Errorf("after %s: %s", lasts, got.RequeueAfter)
		}
	}
}
