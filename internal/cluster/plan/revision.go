// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// Confirmed are the lowest and the highest revision of etcd's data that healthy members have just
// confirmed by a linearizable read. Both are 0 if no member has.
func Confirmed(v cluster.View) (lowest, highest int64) {
	for _, m := range v.Select(cluster.IsHealthy) {
		if m.Confirmed > 0 && (lowest == 0 || m.Confirmed < lowest) {
			lowest = m.Confirmed
		}
		highest = max(highest, m.Confirmed)
	}
	return lowest, highest
}

// Missing is the highest revision that a member confirms now, and whether acknowledged writes are missing:
// the record has a higher revision, and no person has accepted the loss. They are not missing if one member
// confirms them, even if it is ahead of the others.
func Missing(v cluster.View) (highest int64, missing bool) {
	_, highest = Confirmed(v)
	known := v.Unread == "" && highest > 0 && v.Record.Recovering == ""
	return highest, known && highest < v.Record.Revision && v.Want.Accepted != missingWrites(v).String()
}

// missingWrites is what a user writes into the spec to go on without them. It names the cluster and the
// revision that it had: the revision that it has now may grow with every write.
func missingWrites(v cluster.View) cluster.Loss {
	return cluster.Loss{Survivor: v.Name, Revision: v.Record.Revision}
}

// protectWrites changes nothing while acknowledged writes are missing: later rules could overwrite, quarantine
// or delete data that still has them. Members that are down are not even started, because a leader
// without the writes would replace their data.
func protectWrites(v cluster.View) Step {
	highest, missing := Missing(v)
	if !missing {
		return nil
	}
	return refuse(fmt.Sprintf("acknowledged writes are missing: a quorum answers with revision %d and had %d before, "+
		"so that the writes from revision %d to %d are lost or replaced by others; nothing is changed; "+
		"keep clients away and look for a volume or a backup that has them; "+
		"to go on without them set spec.recovery.acceptDataLoss to %q",
		highest, v.Record.Revision, highest+1, v.Record.Revision, missingWrites(v)))
}
