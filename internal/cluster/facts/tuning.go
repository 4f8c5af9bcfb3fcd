// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// advice is which settings of etcd would be better otherwise. What was measured is not the same for ever: advice that has changed by less
// than a quarter stays as it is.
func advice(c *v1beta1.EtcdCluster, roundTrip time.Duration, entry int64, now time.Time) []cluster.Advice {
	if c.Spec.Tuning == v1beta1.TuningOff {
		return nil
	}
	all := kept(c, roundTrip == 0, entry == 0)
	etcd := c.EtcdSettings()
	given := cluster.Settings{
		Heartbeat: etcd.HeartbeatInterval.Duration, Election: etcd.ElectionTimeout.Duration, SnapshotCount: etcd.SnapshotCount,
		Version: c.Status.Version, RoundTrip: roundTrip, EntrySize: entry,
	}
	for _, is := range cluster.Advise(given) {
		if slices.ContainsFunc(all, func(was cluster.Advice) bool { return was.Setting == is.Setting }) {
			continue
		}
		is.Since = now.Unix()
		for _, was := range c.Status.Recommendations {
			if was.Setting == is.Setting && was.Now == is.Now && isNearly(was.Wanted, is.Size) {
				is = adviceOf(was)
			}
		}
		all = append(all, is)
	}
	return all
}

func adviceOf(r v1beta1.Recommendation) cluster.Advice {
	return cluster.Advice{Setting: r.Setting, Now: r.Now, Wanted: r.Wanted, Why: r.Why, Since: r.Since.Unix()}
}

// isNearly says whether a value that was recommended differs from another one by less than a quarter.
func isNearly(was string, size float64) bool {
	number, err := strconv.ParseFloat(was, 64)
	if d, isDuration := time.ParseDuration(was); isDuration == nil {
		number, err = d.Seconds(), nil
	}
	return err == nil && math.Abs(number-size) < size/4
}

// kept is the advice that rests on what another process has measured, and this one has not yet, for settings that have not changed since.
func kept(c *v1beta1.EtcdCluster, trips, entries bool) []cluster.Advice {
	var all []cluster.Advice
	for _, was := range c.Status.Recommendations {
		unmeasured := trips
		if was.Setting == v1beta1.SettingSnapshotCount {
			unmeasured = entries && was.Wanted != strconv.Itoa(cluster.UsualSnapshots) // which follows from the version
		}
		if unmeasured && c.EtcdSettings().Text(was.Setting) == was.Now {
			all = append(all, adviceOf(was))
		}
	}
	return all
}

// asksForNothing is advice for a cluster of three or more that was made by an earlier version, whose members ask for nothing although the
// user has not said so.
func asksForNothing(c *v1beta1.EtcdCluster, now time.Time) []cluster.Advice {
	const least = 3
	asked := c.MemberResources()
	if c.Status.ClusterID == "" || c.Size() < least || c.Spec.Resources.Requests != nil || len(asked.Requests)+len(asked.Limits) > 0 {
		return nil
	}
	since := now
	for _, was := range c.Status.Recommendations {
		if was.Setting == v1beta1.SettingRequests {
			since = was.Since.Time
		}
	}
	return []cluster.Advice{{
		Setting: v1beta1.SettingRequests, Now: "none", Wanted: v1beta1.DefaultRequestsText, Since: since.Unix(),
		Why: "members that ask for nothing are evicted first, and get no processor time on a busy node: set spec.resources, for which they " +
			"restart one at a time, or write resources: {} if that is meant",
	}}
}
