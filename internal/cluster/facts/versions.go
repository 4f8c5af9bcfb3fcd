// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// firstMinor is the oldest minor version of etcd that is known. Its data carries no version, and
// its status does not report a downgrade.
const firstMinor = "3.5"

// noteVersions notes what stands between two minor versions: a downgrade that etcd
// allows, and members whose data is not of the version that the next hop begins at.
func (j *builder) noteVersions(answers []*Answer) {
	for _, a := range answers {
		j.v.DowngradeTarget = cmp.Or(j.v.DowngradeTarget, a.Status.Downgrade)
	}
	for _, a := range answers {
		runs, stores := version.MinorOf(a.Status.Version), cmp.Or(version.MinorOf(a.Status.StorageVersion), firstMinor)
		next := cmp.Or(j.v.DowngradeTarget, runs)
		if a.Err == nil && runs != firstMinor && runs != j.v.DowngradeTarget && stores != next {
			j.unmigrated = fmt.Sprintf("%s runs %s, and its data is of %s, not of %s yet", a.Member, runs, stores, next)
		}
	}
}

// mayDescend says whether a downgrade may be enabled that no status reports, because all members
// run etcd 3.5, and one may be added next.
func (j *builder) mayDescend() bool {
	versions, _ := j.running()
	most := j.v.Want.Size
	if j.v.Want.Ephemeral {
		most++ // while they are recreated
	}
	voters := slices.DeleteFunc(j.sorted(), cluster.Not(cluster.IsVoter))
	return len(voters) < most && version.MinorOf(version.Highest(versions)) == firstMinor
}

// noteDescent records whether such a downgrade goes on.
func (j *builder) noteDescent() {
	for _, a := range j.Answers {
		if a.GoesDownErr != nil {
			j.v.Unread = a.Member + " does not say whether it goes down: " + a.GoesDownErr.Error()
		}
		if a.GoesDown {
			j.v.DowngradeTarget = firstMinor
		}
	}
}
