// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// shownBackups is how many backups fit on the screen of a cluster.
const shownBackups = 5

// Text is a Status for people: one screen, whose lines have at most width characters where they are sentences.
func Text(s Status, now time.Time, width int) string {
	var out strings.Builder
	heading(&out, s, now)
	conditions(&out, s.Conditions, now, width)
	if len(s.Members) > 0 {
		fmt.Fprintln(&out)
		out.WriteString(Table(memberRows(s.Members)))
	}
	Sentences(&out, memberMessages(s.Members), width)
	for _, v := range s.SetAside {
		fmt.Fprintf(&out, "volume %s is set aside%s\n", v.Name, since(now, v.SetAsideAt))
	}
	if len(s.Backups) > 0 {
		fmt.Fprintln(&out)
		out.WriteString(Backups(s.Backups[:min(len(s.Backups), shownBackups)], now))
		if more := len(s.Backups) - shownBackups; more > 0 {
			fmt.Fprintf(&out, "and %d more: kubectl etcd backups %s\n", more, s.Name)
		}
	}
	fmt.Fprint(&out, "\nNEXT\n")
	Sentences(&out, s.Next, width)
	Sentences(&out, s.Unread, width)
	return out.String()
}

// Overview is one line for each cluster.
func Overview(all []Status) string {
	rows := [][]string{{"NAME", "STATUS", "READY", "VERSION", "DEGRADED", "NEWEST VERIFIED BACKUP"}}
	for _, s := range all {
		degraded, newest := "-", "-"
		for _, c := range s.Conditions {
			if c.Type == "Degraded" && c.Status == "True" {
				degraded = c.Reason
			}
		}
		if len(s.Backups) > 0 && s.Backups[0].Verified == "True" {
			newest = s.Backups[0].Name
		}
		rows = append(rows, []string{s.Name, s.State, fmt.Sprintf("%d/%d", s.ReadyMembers, s.Size), dash(s.Version), degraded, newest})
	}
	return Table(rows)
}

// Backups is the list of backups.
func Backups(all []Backup, now time.Time) string {
	rows := [][]string{{"NAME", "CLUSTER", "REVISION", "SIZE", "VERIFIED", "AGE", "STORE"}}
	for _, b := range all {
		revision := "-"
		if b.Revision > 0 {
			revision = strconv.FormatInt(b.Revision, 10)
		}
		verified := b.Verified
		if b.Phase != "" && b.Phase != "Complete" {
			verified = b.Phase
		}
		rows = append(rows, []string{b.Name, dash(b.Cluster), revision, dash(b.Size), verified, age(now, b.Time), dash(b.Store)})
	}
	return Table(rows)
}

func heading(out *strings.Builder, s Status, now time.Time) {
	version := s.Version
	if s.TargetVersion != "" && s.TargetVersion != s.Version {
		version += ", on the way to " + s.TargetVersion
	}
	fmt.Fprintf(out, "%s/%s: %s, %d of %d members ready, etcd %s\n", s.Namespace, s.Name, s.State, s.ReadyMembers, s.Size, dash(version))
	var facts []string
	if s.Revision > 0 && s.RevisionTime != nil {
		facts = append(facts, fmt.Sprintf("revision %d was known %s ago", s.Revision, age(now, *s.RevisionTime)))
	}
	if s.Endpoint != "" {
		facts = append(facts, "clients use "+s.Endpoint)
	}
	if len(facts) > 0 {
		fmt.Fprintln(out, strings.Join(facts, "; "))
	}
	if s.Profile != nil {
		fmt.Fprintln(out, profile(s.Profile))
	}
}

func profile(p *Profile) string {
	text := "profile " + p.Name
	if len(p.Settings) > 0 {
		text += " sets " + strings.Join(p.Settings, ", ")
	}
	if len(p.Overridden) > 0 {
		text += "; the spec sets " + strings.Join(p.Overridden, ", ") + " itself"
	}
	return text
}

func conditions(out *strings.Builder, all []Condition, now time.Time, width int) {
	if len(all) > 0 {
		fmt.Fprintln(out)
	}
	for _, c := range all {
		fmt.Fprintf(out, "%-12s %-8s %s, for %s\n", c.Type, c.Status, c.Reason, age(now, c.Since))
		if c.Message != "" {
			Sentences(out, []string{c.Message}, width)
		}
	}
}

func memberRows(all []Member) [][]string {
	rows := [][]string{{"MEMBER", "ROLE", "VERSION", "HEALTHY", "DATABASE", "POD", "NODE", "VOLUME"}}
	for _, m := range all {
		volume, pod := "-", dash(m.Pod)
		if m.Volume != nil {
			volume = strings.TrimSpace(m.Volume.Phase + " " + m.Volume.Capacity)
		}
		if m.Restarts > 0 {
			pod += fmt.Sprintf(", %d restarts", m.Restarts)
		}
		healthy := "no"
		if m.Healthy {
			healthy = "yes"
		}
		rows = append(rows, []string{m.Name, dash(m.Role), dash(m.Version), healthy, dash(m.Database), pod, dash(m.Node), dash(volume)})
	}
	return rows
}

func memberMessages(all []Member) []string {
	var messages []string
	for _, m := range all {
		if m.Message != "" {
			messages = append(messages, m.Name+": "+m.Message)
		}
	}
	return messages
}

// indent is before each line of a sentence.
const indent = "  "

// Sentences are each broken where they are longer than width.
func Sentences(out *strings.Builder, all []string, width int) {
	for _, sentence := range all {
		line := indent
		for word := range strings.FieldsSeq(sentence) {
			if line != indent && len([]rune(line))+1+len([]rune(word)) > width {
				fmt.Fprintln(out, line)
				line = indent
			}
			if strings.TrimSpace(line) != "" {
				line += " "
			}
			line += word
		}
		fmt.Fprintln(out, line)
	}
}

// Table has columns as wide as what is in them, with a header in the first row.
func Table(rows [][]string) string {
	var out strings.Builder
	writer := tabwriter.NewWriter(&out, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(writer, strings.Join(row, "\t"))
	}
	_ = writer.Flush() // a strings.Builder takes everything
	lines := slices.Collect(strings.SplitSeq(out.String(), "\n"))
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func age(now, then time.Time) string {
	if then.IsZero() {
		return "-"
	}
	return duration.HumanDuration(now.Sub(then))
}

func since(now time.Time, then *time.Time) string {
	if then == nil {
		return ""
	}
	return ", since " + age(now, *then)
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
