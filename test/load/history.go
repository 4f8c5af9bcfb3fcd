// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"slices"
	"time"
)

// Outcome is what a client knows of its operation.
type Outcome int

const (
	// Unknown: no answer came, so that it may have happened, or happen later.
	Unknown Outcome = iota
	// OK: etcd answered that it was done.
	OK
	// Failed: etcd refused, so that it never happens.
	Failed
)

// An Operation is one call of one client, from its beginning to its end.
type Operation struct {
	Client  int
	Key     string
	Write   bool
	Value   string // that a write writes; no two write the same
	Saw     string // what a read found, or what a write replaced; empty if there was nothing
	Call    time.Duration
	Return  time.Duration
	Outcome Outcome
	Err     error
}

func (o Operation) String() string {
	span := fmt.Sprintf("client %d, %s to %s", o.Client, o.Call.Round(time.Microsecond), o.Return.Round(time.Microsecond))
	switch {
	case !o.Write:
		return fmt.Sprintf("read of %q (%s)", o.Saw, span)
	case o.Outcome == OK:
		return fmt.Sprintf("write of %q over %q (%s)", o.Value, o.Saw, span)
	}
	return fmt.Sprintf("write of %q without an answer (%s)", o.Value, span)
}

// longestGap is the longest time in which no write succeeded, also at either end.
func longestGap(successes []time.Duration, end time.Duration) time.Duration {
	sorted := append([]time.Duration{0, end}, successes...)
	slices.Sort(sorted)
	var longest time.Duration
	for i := range sorted[1:] {
		longest = max(longest, sorted[i+1]-sorted[i])
	}
	return longest
}
