// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package drill_test

import (
	"strconv"
	"strings"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/drill"
)

// expects adds an entry to spec.expect.
func (w *world) expects(words string) {
	var e v1beta1.DrillExpectation
	for _, word := range strings.Fields(words) {
		key, value, _ := strings.Cut(word, "=")
		number, _ := strconv.ParseInt(value, 10, 64)
		switch key {
		case "key":
			e.Key = value
		case "value":
			e.Value = &value
		case "prefix":
			e.Prefix = value
		case "min":
			e.Min = &number
		case "max":
			e.Max = &number
		default:
			w.Fatalf("unknown expectation %q", word)
		}
	}
	w.seen.Drill.Spec.Expect = append(w.seen.Drill.Spec.Expect, e)
}

// serve has the throw-away cluster say how many keys it has, and what there is for each expectation.
func (w *world) serve(keys int64) {
	w.seen.Served = &drill.Served{Keys: keys, IsLater: w.later}
	for _, e := range w.seen.Drill.Spec.Expect {
		var found drill.Found
		for key, value := range w.holds {
			switch {
			case e.Key == key:
				found.Keys, found.Value = 1, value
			case e.Prefix != "" && strings.HasPrefix(key, e.Prefix):
				found.Keys++
			}
		}
		w.seen.Served.Found = append(w.seen.Served.Found, found)
	}
}
