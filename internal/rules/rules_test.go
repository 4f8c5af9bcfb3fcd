// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"slices"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/rules"
)

// step is an interface, as those of every kind are.
type step interface{ do() string }

type say string

func (s say) do() string { return string(s) }

func above(least int, what say) func(int) step {
	return func(n int) step {
		if n < least {
			return nil
		}
		return what
	}
}

var list = rules.List[int, step]{
	rules.Under("large", rules.New("huge", above(100, "a"), "is asked first"), rules.New("large", above(10, "b"), "is asked next")),
	rules.Under("small", rules.New("any", above(1, "c"), "is asked last")),
}

// TestTheFirstRuleThatDecidesWins: in the order of the list, over its sections; where all pass there is no step.
func TestTheFirstRuleThatDecidesWins(t *testing.T) {
	for view, want := range map[int][2]string{1000: {"a", "huge"}, 50: {"b", "large"}, 5: {"c", "any"}} {
		if got, name := list.Next(view); got == nil || got.do() != want[0] || name != want[1] {
			t.Errorf("of %d: %v by %q, want %v", view, got, name, want)
		}
	}
	if got, name := list.Next(0); got != nil || name != "" {
		t.Errorf("no rule decides of 0, and there is %v by %q", got, name)
	}
	lines := []rules.Line{{"large", "huge", "is asked first"}, {"large", "large", "is asked next"}, {"small", "any", "is asked last"}}
	if got := list.Lines(); !slices.Equal(got, lines) {
		t.Errorf("its page has %v, want %v", got, lines)
	}
}
