// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// at makes an operation of client 1 on key k that lasts from call to end, in
// milliseconds.
func at(call, end int, o Operation) Operation {
	o.Client, o.Key = 1, "k"
	o.Call, o.Return = time.Duration(call)*time.Millisecond, time.Duration(end)*time.Millisecond
	return o
}

func wrote(value, over string) Operation {
	return Operation{Write: true, Value: value, Saw: over, Outcome: OK}
}

func tried(value string, outcome Outcome) Operation {
	return Operation{Write: true, Value: value, Outcome: outcome, Err: errors.New("no answer")}
}

func found(value string) Operation { return Operation{Saw: value, Outcome: OK} }

func TestHistories(t *testing.T) {
	for name, c := range map[string]struct {
		history []Operation
		wrong   string // part of the verdict; empty when the history is linearizable
	}{
		"one after the other": {[]Operation{
			at(0, 1, found("")), at(2, 3, wrote("a", "")), at(4, 5, found("a")), at(6, 7, wrote("b", "a")), at(8, 9, found("b")),
		}, ""},
		"at the same time, in either order": {[]Operation{
			at(0, 9, wrote("a", "b")), at(0, 9, wrote("b", "")), at(1, 2, found("")), at(3, 4, found("b")), at(5, 6, found("a")),
		}, ""},
		"a stale read": {[]Operation{
			at(0, 1, wrote("a", "")), at(2, 3, wrote("b", "a")), at(4, 5, found("a")),
		}, `nothing explains read of "a" (client 1, 4ms to 5ms)`},
		"a read that goes back": {[]Operation{
			at(0, 1, wrote("a", "")), at(2, 9, wrote("b", "a")), at(3, 4, found("b")), at(5, 6, found("a")),
		}, "not linearizable"},
		"a write that was lost and is missed by a reader": {[]Operation{
			at(0, 1, wrote("a", "")), at(2, 3, wrote("b", "a")), at(4, 5, found("a")), at(6, 7, found("a")),
		}, "not linearizable"},
		"a write that was lost and is missed by the next writer": {[]Operation{
			at(0, 1, wrote("a", "")), at(2, 3, wrote("b", "a")), at(4, 5, wrote("c", "a")), at(6, 7, found("c")),
		}, `nothing explains write of "c" over "a"`},
		"a write without an answer that never happened": {[]Operation{
			at(0, 1, wrote("a", "")), at(2, 3, tried("b", Unknown)), at(4, 5, wrote("c", "a")),
		}, ""},
		"a write without an answer that happened late": {[]Operation{
			at(0, 1, wrote("a", "")), at(2, 3, tried("b", Unknown)), at(4, 5, found("a")), at(6, 7, found("b")), at(8, 9, wrote("c", "b")),
		}, ""},
		"a write without an answer that was found before it was tried": {[]Operation{
			at(0, 1, wrote("a", "")), at(2, 3, found("b")), at(4, 5, tried("b", Unknown)),
		}, "not linearizable"},
		"a write without an answer that happened twice": {[]Operation{
			at(0, 1, tried("a", Unknown)), at(2, 3, wrote("b", "a")), at(4, 5, found("a")),
		}, "not linearizable"},
		"a refused write that was found all the same": {[]Operation{
			at(0, 1, wrote("a", "")), at(2, 3, tried("b", Failed)), at(4, 5, found("b")),
		}, "not linearizable"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check(c.history)
			if c.wrong == "" && err != nil {
				t.Errorf("found fault: %v", err)
			}
			if c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
				t.Errorf("got %v, want %q", err, c.wrong)
			}
		})
	}
}

func TestKeysAreJudgedApart(t *testing.T) {
	other := at(4, 5, found(""))
	other.Key = "other"
	if err := Check([]Operation{at(0, 1, wrote("a", "")), other}); err != nil {
		t.Error(err)
	}
}

func TestCountFindsWhatWasLost(t *testing.T) {
	history := []Operation{
		at(0, 1, wrote("a", "")), at(2, 3, tried("b", Unknown)), at(4, 5, tried("c", Failed)), at(6, 7, wrote("d", "a")), at(8, 9, found("d")),
	}
	for version, right := range map[int64]bool{1: false, 2: true, 3: true, 4: false} {
		if err := counted("k", version, history); (err == nil) != right {
			t.Errorf("written %d times: %v", version, err)
		}
	}
}

func TestLongestGap(t *testing.T) {
	second := func(seconds ...int) (all []time.Duration) {
		for _, s := range seconds {
			all = append(all, time.Duration(s)*time.Second)
		}
		return all
	}
	for want, successes := range map[int][]time.Duration{
		10: second(), 7: second(7, 1, 9, 8), 6: second(6, 7, 8), 8: second(1, 2),
	} {
		if want == 7 {
			successes = second(2, 1, 9) // in any order
		}
		if got := longestGap(successes, 10*time.Second); got != time.Duration(want)*time.Second {
			t.Errorf("%v: got %s, want %d s", successes, got, want)
		}
	}
}
