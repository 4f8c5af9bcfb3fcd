package plan

import (
	"fmt"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// Confirmed are the lowest and the highest revision that healthy members have just confirmed
// by a linearizable read; 0 if none has.
func Confirmed(v cluster.View) (lowest, highest int64) {
	for _, m := range v.Select(cluster.IsHealthy) {
		if m.Confirmed > 0 && (lowest == 0 || m.Confirmed < lowest) {
			lowest = m.Confirmed
		}
		highest = max(highest, m.Confirmed)
	}
	return lowest, highest
}

// Missing is the revision up to which a quorum has data now, if that is less than it is known
// to have had and nobody has accepted the loss. One member that is ahead of the others has
// the writes: which of them is right is another question.
func Missing(v cluster.View) (highest int64, missing bool) {
	_, highest = Confirmed(v)
	known := v.Unread == "" && highest > 0 && v.Record.Recovering == ""
	return highest, known && highest < v.Record.Revision && v.Want.Accepted != missingWrites(v).String()
}

// missingWrites is what a user writes to go on without them. What the cluster has now may
// grow with every write, what it had does not: that names the loss, and no member does.
func missingWrites(v cluster.View) cluster.Loss {
	return cluster.Loss{Survivor: v.Name, Revision: v.Record.Revision}
}

// missNoWrites changes nothing while acknowledged writes are missing: whoever still has them
// could be overwritten, set aside or deleted by what follows. Members that are down are not
// even started, because a leader without the writes would replace the data that has them.
func missNoWrites(v cluster.View) Step {
	highest, missing := Missing(v)
	if !missing {
		return nil
	}
	return refuse(fmt.Sprintf("acknowledged writes are missing: a quorum answers with revision %d and had %d before, "+
		"so that the writes from revision %d to %d are lost, or others stand in their place; nothing is changed; "+
		"keep clients away and look for a volume or a backup that has them; "+
		"to go on without them set spec.recovery.acceptDataLoss to %q",
		highest, v.Record.Revision, highest+1, v.Record.Revision, missingWrites(v)))
}
