// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"fmt"
	"strings"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Served is what was read of the throw-away cluster.
type Served struct {
	Keys    int64
	Found   []Found // for each entry of spec.expect, in their order
	IsLater bool    // the revision at which the cluster began was compacted: it is what there is now
}

// Found is what there is for one entry of spec.expect.
type Found struct {
	Keys  int64  // that begin with its prefix; of a key 1, or 0 if it does not exist
	Value string // of its key: it may be secret, and goes into no message
}

// unmet says of each entry of spec.expect that is not met what there is instead.
func unmet(expect []v1beta1.DrillExpectation, found []Found) []string {
	var all []string
	for i, e := range expect {
		if text := mismatch(e, found[i]); text != "" {
			all = append(all, text)
		}
	}
	return all
}

func mismatch(e v1beta1.DrillExpectation, f Found) string {
	switch {
	case e.Key != "" && f.Keys == 0:
		return fmt.Sprintf("key %s does not exist", short(e.Key))
	case e.Value != nil && f.Value != *e.Value:
		return fmt.Sprintf("key %s has another value", short(e.Key))
	case e.Min != nil && f.Keys < *e.Min:
		return fmt.Sprintf("prefix %s has %d keys, and at least %d are expected", short(e.Prefix), f.Keys, *e.Min)
	case e.Max != nil && f.Keys > *e.Max:
		return fmt.Sprintf("prefix %s has %d keys, and at most %d are expected", short(e.Prefix), f.Keys, *e.Max)
	}
	return ""
}

// short leaves room for the rest of a message.
func short(key string) string {
	const longest = 100
	if runes := []rune(key); len(runes) > longest {
		key = string(runes[:longest]) + "…"
	}
	return key
}

// firstOf names the first of all that is not met.
func firstOf(unmet []string) string {
	const most = 3
	text := strings.Join(unmet[:min(len(unmet), most)], "; ")
	if more := len(unmet) - most; more > 0 {
		text += fmt.Sprintf("; and %d more are not met", more)
	}
	return text
}

// expectationsMet is for the report of a drill all of whose expectations are met.
func expectationsMet(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "; 1 expectation is met"
	}
	return fmt.Sprintf("; %d expectations are met", n)
}
