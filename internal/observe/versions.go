package observe

import (
	"cmp"
	"context"
	"fmt"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/version"
)

// noteVersions notes what stands between two minor versions: a downgrade that etcd
// allows, and members whose data is not of the version that the next hop begins at.
// Data of 3.5 carries no version of its own.
func noteVersions(answers []*answer, v *cluster.View, members *join) {
	for _, a := range answers {
		v.DowngradeTarget = cmp.Or(v.DowngradeTarget, a.status.Downgrade)
	}
	for _, a := range answers {
		runs, stores := minorOf(a.status.Version), cmp.Or(minorOf(a.status.StorageVersion), "3.5")
		next := cmp.Or(v.DowngradeTarget, runs)
		if a.err == nil && runs != "3.5" && runs != v.DowngradeTarget && stores != next {
			members.unmigrated = fmt.Sprintf("%s runs %s, and its data is of %s, not of %s yet", a.name, runs, stores, next)
		}
	}
}

// noteDescent asks whether a downgrade goes on where no status tells, because all members
// run etcd 3.5, and one may be added next.
func noteDescent(ctx context.Context, answers []*answer, v *cluster.View, members *join) {
	versions, _ := members.running()
	most := v.Want.Size
	if v.Want.Ephemeral {
		most++ // while they are made anew
	}
	if members.voters() >= most || minorOf(version.Highest(versions)) != "3.5" {
		return
	}
	for _, a := range answers {
		if a.err != nil || a.read != nil || a.status.Learner {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		goes, err := a.client.DowngradeEnabled(ctx)
		if err != nil {
			v.Unread = a.name + " does not say whether it goes down: " + err.Error()
		}
		if goes {
			v.DowngradeTarget = "3.5"
		}
		return
	}
}
