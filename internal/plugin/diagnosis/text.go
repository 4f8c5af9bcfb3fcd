// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"fmt"
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/plugin/screen"
)

// headings are above findings of a severity.
var headings = map[Severity]string{
	ServiceDown: "THE SERVICE IS DOWN", DataAtRisk: "DATA IS AT RISK", RedundancyLost: "REDUNDANCY IS LOST",
	WillBeAProblem: "WILL BE A PROBLEM", Hint: "HINTS",
}

// deeper is before lines that belong to a finding.
const deeper = "   "

// Text is a diagnosis for people, whose lines have at most width characters where they are sentences.
func Text(d Diagnosis, width int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s/%s: %s\n", d.Namespace, d.Name, d.State)
	last := Fine
	for i, f := range d.Findings {
		if f.Severity != last {
			fmt.Fprintf(&out, "\n%s\n", headings[f.Severity])
			last = f.Severity
		}
		screen.Sentences(&out, []string{fmt.Sprintf("%d. %s", i+1, f.What)}, width)
		var lines strings.Builder
		screen.Sentences(&lines, []string{"To do: " + f.Do}, width-len(deeper))
		fmt.Fprintf(&lines, "  Run: %s\n  See: %s\n", f.Run, f.Page) // whole lines: to be copied
		for line := range strings.Lines(lines.String()) {
			out.WriteString(deeper + line)
		}
	}
	if len(d.Findings) == 0 {
		fmt.Fprint(&out, "\nNothing is wrong.\n")
	} else if d.Healthy {
		fmt.Fprint(&out, "\nNothing is wrong beside these hints.\n")
	}
	fmt.Fprint(&out, "\nLOOKED AT\n")
	screen.Sentences(&out, []string{strings.Join(d.Read, ", ")}, width)
	if len(d.Unread) > 0 {
		fmt.Fprint(&out, "\nCOULD NOT BE READ\n")
		screen.Sentences(&out, d.Unread, width)
	}
	return out.String()
}

// read is what was looked at, with how many there were.
func read(f Facts) []string {
	all := []string{"the EtcdCluster"}
	for _, part := range f.Read {
		count := map[Part]int{
			Backups: len(f.backups()), Stores: len(f.Stores), Restores: len(f.Restores), Events: len(f.Events),
		}
		if part == Lease {
			all = append(all, string(part))
			continue
		}
		all = append(all, fmt.Sprintf("%d %s", count[part], part))
	}
	return all
}
