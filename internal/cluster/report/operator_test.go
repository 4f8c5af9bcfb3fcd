// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// TestWordsAboutTheOperator: of two installations they name both, and they say what lets
// this one act.
func TestWordsAboutTheOperator(t *testing.T) {
	longest := strings.Repeat("n", 63) + "/" + strings.Repeat("l", 253)
	newer := cluster.View{Newer: "its status has format 2, and this one knows 1"}
	unclear := cluster.View{Want: cluster.Want{Paused: `the annotation is "yes"`, Unclear: true}}
	for _, test := range []struct {
		event report.Event
		words []string
	}{
		{
			report.OtherOperator("one/lease", "two/lease", false),
			[]string{"Warning", "OtherOperator", "lease one/lease manages", "lease two/lease does nothing", "until the lease one/lease"},
		},
		{report.OtherOperator("one/lease", "two/lease", true), []string{"may not read the lease one/lease", "allow that"}},
		{report.OtherOperator("one/lease", "", false), []string{"an operator without a lease does nothing"}},
		{report.OtherOperator(longest, longest, true), []string{longest}},
		{
			report.TookOver("one/lease", "two/lease"),
			[]string{"Normal", "OperatorChanged", "two/lease manages", "the lease one/lease of the one before is no longer held"},
		},
		{report.TookOver("one/lease", ""), []string{"an operator without a lease manages"}},
		{report.UnclearPause(unclear), []string{"Warning", "UnclearPause", `is "yes"`, "nothing is changed or healed", `"true" or "false"`}},
		{report.NewerStatus(newer), []string{"Warning", "NewerStatus", "format 2", "nothing is changed"}},
	} {
		said := strings.Join([]string{test.event.Type, test.event.Reason, test.event.Action, test.event.Note}, " ")
		for _, words := range test.words {
			if !strings.Contains(said, words) {
				t.Errorf("%q is not in %q", words, said)
			}
		}
		if len(test.event.Note) > 1024 {
			t.Errorf("%d bytes: %s", len(test.event.Note), test.event.Note)
		}
	}
}
