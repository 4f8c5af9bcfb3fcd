// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"fmt"
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// Next returns the next part of the way to the full version wanted. Its version is what all members
// run at the end of that. If the way is barred it is the one that a new member must run beside those
// there are; empty if there are none.
//
// running is what the members' own etcd reports, in any order. It must hold every
// listed member that has started, also one that is down: whether an update has
// finished depends on the slowest. downgrade is the target of the downgrade that
// etcd has enabled, empty if none is. A custom image holds wanted and nothing else.
func Next(wanted string, running []string, downgrade string, customImage bool) cluster.Target {
	target, err := Parse(wanted)
	if _, ok := find(target.Minor()); err != nil || !ok {
		return barred(running, downgrade, fmt.Sprintf("spec.version %q is not known to this operator: "+
			"set a full version of etcd %s, such as %s", wanted, minors(), known[len(known)-1].newest))
	}
	if len(running) == 0 {
		return cluster.Target{Version: wanted}
	}
	now, odd := parseAll(running)
	to, why := way(target, now, odd)
	if why == "" && customImage && to != target {
		why = fmt.Sprintf("the way from %s to %s leads over %s, and spec.image holds only %s: set spec.version to %s "+
			"with an image of that version first, or remove spec.image", now[0], target, to, target, to)
	}
	if why != "" {
		return barred(running, downgrade, why)
	}
	return hop(to, now, downgrade)
}

// hop adds to a version the downgrade that etcd must enable before members go there.
func hop(to Version, now []Version, downgrade string) cluster.Target {
	t := cluster.Target{Version: to.String()}
	switch {
	case downgrade != "" && downgrade != to.Minor():
		t.Cancel = true // only one can be enabled at a time, and it keeps etcd from going up
	case downgrade != "" && now[0].minor == to.minor:
		t.Cancel = true // a member that has gone down keeps the cluster there, and it would keep others from joining
	case downgrade == "" && now[0].minor > to.minor:
		t.Downgrade = to.Minor()
	}
	return t
}

// way returns the version that all members are brought to next, or why there is none.
// While members run two minor versions the cluster is still of the older one, so that
// they may go back to it without further steps
// (https://etcd.io/docs/v3.6/upgrades/upgrade_3_6/, "Mixed versions").
func way(target Version, now []Version, odd []string) (Version, string) {
	if len(odd) > 0 {
		return Version{}, fmt.Sprintf("members run %q, which is not a release of etcd, so no safe way from there to %s is known: "+
			"set spec.version and spec.image back to what they run", odd[0], target)
	}
	low, high := now[0], now[len(now)-1]
	switch {
	case low.major != target.major || high.major != target.major || high.minor-low.minor > 1:
		return Version{}, fmt.Sprintf("members run %s, and etcd supports two neighbouring minor versions in one cluster at most: "+
			"bring the oldest members up by hand, one minor version at a time", enumerate(distinct(now), "and"))
	case low.minor < target.minor:
		return up(target, now)
	case high.minor == target.minor:
		return target, "" // patches differ in nothing that is kept
	case low.minor == target.minor:
		return target, "" // an update is rolled back that has not come to its end
	case low.minor != high.minor:
		return newest(low, now), "" // and so it is on the way further down
	}
	return down(target, high, now)
}

// up goes one minor version at a time, each time from a patch that etcd supports it
// from (https://etcd.io/docs/v3.6/upgrades/upgrading-etcd/, "Upgrade policy").
func up(target Version, now []Version) (Version, string) {
	low := now[0]
	if r, ok := find(low.Minor()); ok && low.Compare(r.ready) < 0 {
		return newest(r.newest, now), ""
	}
	if low.minor+1 == target.minor {
		return target, ""
	}
	next := Version{major: low.major, minor: low.minor + 1}.Minor()
	r, ok := find(next)
	if !ok {
		return Version{}, fmt.Sprintf("the way from %s to %s leads over %s, of which this operator knows no version: "+
			"bring the members to %s by hand first", low, target, next, known[0].newest)
	}
	return newest(r.newest, now), ""
}

// down goes one minor version, by etcd's downgrade
// (https://etcd.io/docs/v3.6/downgrades/downgrade_3_6/, "Step 3").
func down(target, high Version, now []Version) (Version, string) {
	if _, ok := find(high.Minor()); !ok {
		return Version{}, fmt.Sprintf("members run %s, and this operator knows no way down from there: "+
			"set spec.version and spec.image back to what they run, or use a newer operator", high)
	}
	if high.minor-target.minor > 1 {
		r, _ := find(MinorBelow(high.String()))
		return Version{}, fmt.Sprintf("members run %s, and etcd goes down by one minor version at a time: set spec.version to %s first, "+
			"and to %s when all members run that", high, newest(r.newest, now), target)
	}
	return target, ""
}

// newest is that version, or a newer patch of it that a member runs already.
func newest(best Version, now []Version) Version {
	for _, v := range now {
		if v.Minor() == best.Minor() && best.Compare(v) < 0 {
			best = v
		}
	}
	return best
}

// Wake is what members start with that were not seen to run, and whose earlier versions are
// known: the end of the hop if only the patch is another one, else the newest that they
// had. It is not known what etcd has prepared for another minor version. A cluster that
// has gone up lets no older member in; in one that has gone down a newer one is as in the
// middle of that.
func Wake(to string, had []string) string {
	newest := Highest(had)
	if newest == "" || MinorOf(newest) == MinorOf(to) {
		return to
	}
	return newest
}

// barred keeps members where they are. A new one runs the newest version beside them,
// because a cluster that has gone up lets no older one join. During a downgrade it is
// the oldest, because the cluster has gone down.
func barred(running []string, downgrade, why string) cluster.Target {
	t := cluster.Target{NoUpgradePath: why}
	now, odd := parseAll(running)
	switch {
	case len(running) == 0:
	case len(now) == 0:
		t.Version = odd[0]
	case downgrade != "":
		t.Version = now[0].String()
	default:
		t.Version = now[len(now)-1].String()
	}
	return t
}

// parseAll returns the versions, oldest first, and the texts that are no version, in order.
func parseAll(running []string) (now []Version, odd []string) {
	for _, s := range slices.Sorted(slices.Values(running)) {
		v, err := Parse(s)
		if err != nil {
			odd = append(odd, s)
			continue
		}
		now = append(now, v)
	}
	slices.SortFunc(now, Version.Compare)
	return now, odd
}

// distinct lists sorted versions once each.
func distinct(now []Version) []string {
	var names []string
	for _, v := range slices.Compact(slices.Clone(now)) {
		names = append(names, v.String())
	}
	return names
}
