// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

const (
	// slowAtLeast is the least time for which a member is slow before it is replaced, whatever the spec says.
	slowAtLeast = time.Minute
	// replacedWithin is for how long the member that is to take the place of a slow one may take to join.
	replacedWithin = time.Hour
	// replacedAgain is the least time between two of them: what makes members slow again and again is no member.
	replacedAgain = 24 * time.Hour
)

// whenOutworn is what the page of rules says of these figures.
var whenOutworn = fmt.Sprintf("once in %g hours, if it is the only one and has been slow for recovery.slowMemberTimeout: another one "+
	"joins first, within %g hour", replacedAgain.Hours(), replacedWithin.Hours())

// replaceSlow is asked while all is well. The one that takes its place joins before the slow one leaves. Where several are slow it is not
// the members.
func replaceSlow(v cluster.View) Step {
	if !v.Want.ReplacesSlow || v.Count(cluster.IsSluggish) != 1 || isRecent(v, v.Record.Replacing.Since, replacedAgain) ||
		v.DowngradeTarget != "" || v.Want.Ephemeral || isBusy(v) {
		return nil
	}
	for _, a := range v.Anomalies {
		if lasts := time.Unix(v.At, 0).Sub(a.Since); lasts >= max(v.Want.SlowTimeout, slowAtLeast) {
			return RecordReplacing(v, a.Member, fmt.Sprintf("it has been slower than the others for %s: %s %s, usually %s",
				lasts.Round(time.Minute), a.Signal, a.Figure(a.Value), a.Figure(a.Usual)))
		}
	}
	return nil
}

// isOutworn says whether the member is being replaced because it stays slow.
func isOutworn(v cluster.View) func(cluster.Member) bool {
	last := v.Record.Replacing
	goesOn := v.Want.ReplacesSlow && isRecent(v, last.Since, replacedWithin)
	return func(m cluster.Member) bool { return goesOn && m.Name == last.Member }
}
