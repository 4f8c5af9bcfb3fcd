package e2e

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
)

// figures are what was measured by the way, one line each, for the end of the run.
var figures []string

// took measures until now.
func took(what string, begun time.Time) { measured(what, time.Since(begun)) }

func measured(what string, lasted time.Duration) {
	lasted = lasted.Round(10 * time.Millisecond)
	AddReportEntry(what, lasted.String())
	figures = append(figures, fmt.Sprintf("%8s  %s (%s)", lasted, what, CurrentSpecReport().LeafNodeText))
}

var _ = ReportAfterSuite("figures", func(Report) {
	if len(figures) > 0 {
		fmt.Println("\nMeasured by the way:")
	}
	for _, figure := range figures {
		fmt.Println(figure)
	}
})
