// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"slices"
	"time"
)

// A sample is what was measured, in the order in which it was measured.
type sample []float64

func (s *sample) add(value float64) { *s = append(*s, math.Round(value*1000)/1000) }

func (s *sample) seconds(d time.Duration) { s.add(d.Seconds()) }

func (s *sample) milliseconds(d time.Duration) { s.add(float64(d.Microseconds()) / 1000) }

// median is the middle, or the mean of the two in the middle; 0 of nothing.
func (s sample) median() float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// mean is the sum of all shared equally; 0 of nothing.
func (s sample) mean() float64 {
	var sum float64
	for _, value := range s {
		sum += value
	}
	return sum / float64(max(len(s), 1))
}

// percentile is the smallest value that p percent of all do not exceed: of few
// values a high percentile is the largest.
func (s sample) percentile(p float64) float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}
