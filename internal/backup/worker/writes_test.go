// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// TestMeasure: nothing counts before the first acknowledged write, and a gap that lasts counts, too.
func TestMeasure(t *testing.T) {
	begin := time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	var m measure
	m.add(at(0), false)
	if got := m.at(at(5000)); got != (jobspec.Writes{}) {
		t.Errorf("before the first acknowledged write there is %+v", got)
	}
	for _, w := range []struct {
		ms           int
		acknowledged bool
	}{{5000, true}, {5050, true}, {6050, false}, {6100, false}, {7050, true}, {7100, true}} {
		m.add(at(w.ms), w.acknowledged)
	}
	if got, want := m.at(at(7150)), (jobspec.Writes{Acknowledged: 4, Failed: 2, LongestGap: 2 * time.Second}); got != want {
		t.Errorf("measured %+v, not %+v", got, want)
	}
	if got := m.at(at(10100)).LongestGap; got != 3*time.Second {
		t.Errorf("a gap that lasts is %s", got)
	}
}
