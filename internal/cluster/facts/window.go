// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// isOpen says whether the window is open; one that is not given always is, and one that cannot be read never.
func isOpen(w *v1beta1.MaintenanceWindow, now time.Time) bool {
	if w == nil {
		return true
	}
	opens, err := cron.ParseStandard("TZ=UTC " + w.Opens)
	if err != nil {
		return false
	}
	opened := opens.Next(now.Add(-w.Duration.Duration))
	return !opened.IsZero() && !opened.After(now)
}

// neverOpens says why a window is none, and what to do; empty if it opens again and again.
func neverOpens(w *v1beta1.MaintenanceWindow, now time.Time) string {
	if w == nil {
		return ""
	}
	const field = "spec.maintenance.defragmentation.window.opens"
	opens, err := cron.ParseStandard("TZ=UTC " + w.Opens)
	switch {
	case err != nil:
		return fmt.Sprintf("%s %q cannot be read (%v): write it as cron does, such as 0 2 * * *; nothing is defragmented until then",
			field, w.Opens, err)
	case opens.Next(now).IsZero():
		return fmt.Sprintf("%s %q is no day of any year: nothing is defragmented until it is corrected", field, w.Opens)
	default:
		return ""
	}
}
