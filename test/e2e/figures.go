// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
)

// byTheWay begins the name of each entry of the report that the end of the run repeats.
const byTheWay = "measured by the way: "

// took measures until now.
func took(what string, begun time.Time) { measured(what, time.Since(begun)) }

// measured adds a figure to the report.
func measured(what string, lasted time.Duration) {
	AddReportEntry(byTheWay+what, lasted.Round(10*time.Millisecond).String())
}

// The report has the specs of all processes.
var _ = ReportAfterSuite("figures", func(report Report) {
	for _, spec := range report.SpecReports {
		for _, entry := range spec.ReportEntries {
			if what, is := strings.CutPrefix(entry.Name, byTheWay); is {
				fmt.Printf("%8s  %s (%s)\n", entry.StringRepresentation(), what, spec.LeafNodeText)
			}
		}
	}
})
