// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// checkTimeout ends the search for an order, which can take for ever.
const checkTimeout = time.Minute

// Check says why the history is not linearizable: that no order of the operations,
// each at one moment between its call and its return, explains what clients saw.
// It is nil if there is one.
func Check(history []Operation) error {
	byKey := map[string][]porcupine.Operation{}
	for _, o := range happened(history) {
		byKey[o.Key] = append(byKey[o.Key], event(o))
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		switch porcupine.CheckOperationsTimeout(register, byKey[key], checkTimeout) {
		case porcupine.Ok:
		case porcupine.Illegal:
			return fmt.Errorf("key %s is not linearizable: %s", key, contradiction(byKey[key]))
		case porcupine.Unknown:
			return fmt.Errorf("key %s: no verdict on %d operations after %s", key, len(byKey[key]), checkTimeout)
		}
	}
	return nil
}

// happened leaves out what had no effect that anybody saw. A write without an
// answer is one of those unless its value was found: whoever wrote after it would
// have found it.
func happened(history []Operation) []Operation {
	found := map[string]bool{}
	for _, o := range history {
		found[o.Key+"/"+o.Saw] = found[o.Key+"/"+o.Saw] || o.Outcome == OK
	}
	return slices.DeleteFunc(slices.Clone(history), func(o Operation) bool {
		return o.Outcome == Failed || o.Outcome == Unknown && !(o.Write && found[o.Key+"/"+o.Value])
	})
}

// event is an operation as the checker wants it. One that had no answer ends after
// all others, because it may happen that late.
func event(o Operation) porcupine.Operation {
	o.Err = nil // so that operations can be compared
	end := o.Return
	if o.Outcome == Unknown {
		end = 1<<63 - 1
	}
	return porcupine.Operation{ClientId: o.Client, Input: o, Output: o.Saw, Call: int64(o.Call), Return: int64(end)}
}

// register is one key. A write says what it replaced, so that a lost one is missed
// by the next, and not only by a reader who comes in time.
var register = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		o := input.(Operation) //nolint:forcetypeassert // event makes all of them
		switch {
		case !o.Write:
			return output == state, state
		case o.Outcome == OK:
			return output == state, o.Value
		}
		return true, o.Value
	},
}

// contradiction tells how far an order of one key's operations was found, and the
// operations that ended first of those which do not fit after it.
func contradiction(events []porcupine.Operation) string {
	_, info := porcupine.CheckOperationsVerbose(register, events, checkTimeout)
	var best []porcupine.Operation
	for _, partial := range info.PartialLinearizationsOperations()[0] {
		if len(partial) > len(best) {
			best = partial
		}
	}
	placed := map[Operation]bool{}
	last := "the beginning"
	for _, p := range best {
		o := p.Input.(Operation) //nolint:forcetypeassert // event makes all of them
		placed[o] = true
		last = o.String()
	}
	rest := slices.DeleteFunc(slices.Clone(events), func(e porcupine.Operation) bool { return placed[e.Input.(Operation)] })
	slices.SortFunc(rest, func(a, b porcupine.Operation) int { return int(a.Return - b.Return) })
	return fmt.Sprintf("%d of %d operations have an order; after %s nothing explains %s", len(best), len(events), last, rest[0].Input)
}
