// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"encoding/json"
	"slices"
	"strings"
)

// log is the end of what etcd printed.
type log struct {
	lines    []line
	plain    []string // lines that etcd's logger did not write, as the text of a panic
	trace    string   // of a panic; without its head if that is cut off
	panicked bool     // plain ends with the text of a panic
}

// line is one of etcd's logger. Its fields that a client of etcd may fill, such
// as the key of a slow request, are left out: they must not look like a crash.
type line struct {
	Level   string `json:"level"`
	Message string `json:"msg"`
	Error   string `json:"error"`
}

func (l line) String() string { return l.Message + ": " + l.Error }

func (l line) isLast() bool { return l.Level == "fatal" || l.Level == "panic" }

func read(message string) log {
	var l log
	text := message
	if before, trace, found := strings.Cut(message, "\n\ngoroutine "); found {
		text, l.trace, l.panicked = before, "\ngoroutine "+trace, true
	} else {
		l.trace = message
	}
	for i, s := range strings.Split(text, "\n") {
		var parsed line
		switch {
		case json.Unmarshal([]byte(s), &parsed) == nil:
			l.lines = append(l.lines, parsed)
		case i == 0 && strings.HasSuffix(s, "}"): // what is left of one of the logger's
		case !strings.HasPrefix(s, "{"):
			l.plain = append(l.plain, s)
		}
	}
	return l
}

// mentions looks at all lines.
func (l log) mentions(words string) bool {
	return slices.ContainsFunc(l.plain, func(text string) bool { return strings.Contains(text, words) }) ||
		slices.ContainsFunc(l.lines, func(l line) bool { return strings.Contains(l.String(), words) })
}

// endsWith looks at the lines with which etcd ended.
func (l log) endsWith(words string) bool {
	last := log{lines: slices.DeleteFunc(slices.Clone(l.lines), func(l line) bool { return !l.isLast() })}
	if l.panicked {
		last.plain = l.plain
	}
	return last.mentions(words)
}

// panickedIn says whether a function is in the trace of the panic.
func (l log) panickedIn(function string) bool {
	return isTrace(l.trace) && strings.Contains(l.trace, "\n"+function)
}
