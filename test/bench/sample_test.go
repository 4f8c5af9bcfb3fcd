// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		of   sample
		want float64
	}{
		{nil, 0},
		{sample{7}, 7},
		{sample{9, 1, 5}, 5},
		{sample{4, 1, 3, 2}, 2.5},
	} {
		if got := c.of.median(); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.of, got, c.want)
		}
	}
}

func TestMedianKeepsTheOrder(t *testing.T) {
	s := sample{3, 1, 2}
	s.median()
	if s[0] != 3 {
		t.Errorf("the sample was sorted in place: %v", s)
	}
}

func TestMean(t *testing.T) {
	for _, c := range []struct {
		of   sample
		want float64
	}{
		{nil, 0},
		{sample{7}, 7},
		{sample{2, 9, 2, 9}, 5.5},
	} {
		if got := c.of.mean(); got != c.want {
			t.Errorf("mean of %v is %v, want %v", c.of, got, c.want)
		}
	}
}

func TestPercentile(t *testing.T) {
	var twenty sample
	for i := range 20 {
		twenty.add(float64(20 - i))
	}
	for p, want := range map[float64]float64{0: 1, 5: 1, 50: 10, 95: 19, 99: 20, 100: 20} {
		if got := twenty.percentile(p); got != want {
			t.Errorf("percentile %v is %v, want %v", p, got, want)
		}
	}
	if got := (sample{}).percentile(99); got != 0 {
		t.Errorf("percentile of nothing is %v", got)
	}
}

func TestUnits(t *testing.T) {
	var s sample
	s.seconds(1234567 * time.Microsecond)
	s.milliseconds(1234 * time.Microsecond)
	if s[0] != 1.235 || s[1] != 1.234 {
		t.Errorf("got %v", s)
	}
}
