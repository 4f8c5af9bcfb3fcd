// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restoring

import (
	"fmt"
	"strings"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// TargetProblem says what is wrong with a target on a command line; empty if nothing is, or there is none.
func TargetProblem(t v1beta1.RestoreTarget) string {
	given := 0
	for _, is := range []bool{t.Time != "", t.Revision != 0, t.BeforeDelete != ""} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		return "--to-time, --to-revision and --before-delete exclude each other: give one of them"
	case t.Revision < 0:
		return "--to-revision must be 1 or more"
	case t.Exclusive && t.Time == "" && t.Revision == 0:
		return "--exclusive goes with --to-time or --to-revision"
	}
	return ""
}

// flags are those of a command line for a target, after a space.
func flags(t *v1beta1.RestoreTarget) string {
	if t == nil {
		return ""
	}
	text := ""
	switch {
	case t.Time != "":
		text = " --to-time " + t.Time
	case t.Revision > 0:
		text = fmt.Sprintf(" --to-revision %d", t.Revision)
	default:
		text = " --before-delete " + quote(t.BeforeDelete)
	}
	if t.Exclusive {
		text += " --exclusive"
	}
	return text
}

// quote is an argument for a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// replayed says how much of a revision comes from the log.
func replayed(l *v1beta1.RestoreLog) string {
	if l == nil || l.Lineage == "" {
		return ""
	}
	return fmt.Sprintf(": the backup's %d, and %s of changes from the log", l.BackupRevision, l.Size)
}
