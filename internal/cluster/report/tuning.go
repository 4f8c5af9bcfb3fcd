package report

import (
	"math"
	"strconv"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// recommendations are settings for which another value would be better. What was measured is not the same for ever: advice that has changed
// by less than a quarter stays as it is.
func recommendations(c *v1alpha1.EtcdCluster, v cluster.View, version string) []v1alpha1.Recommendation {
	if c.Spec.Tuning == v1alpha1.TuningOff {
		return nil
	}
	var all []v1alpha1.Recommendation
	etcd := c.Spec.Etcd
	given := cluster.Settings{
		Heartbeat: etcd.HeartbeatInterval.Duration, Election: etcd.ElectionTimeout.Duration, SnapshotCount: etcd.SnapshotCount,
		Version: version, RoundTrip: v.RoundTrip,
	}
	for _, a := range cluster.Advise(given) {
		is := v1alpha1.Recommendation{Setting: a.Setting, Now: a.Now, Wanted: a.Wanted, Why: a.Why}
		for _, was := range c.Status.Recommendations {
			if was.Setting == is.Setting && was.Now == is.Now && isNearly(was.Wanted, a.Size) {
				is = was
			}
		}
		all = append(all, is)
	}
	if v.RoundTrip == 0 { // it was not measured yet by this process
		all = append(all, kept(c)...)
	}
	return all
}

// isNearly says whether a value that was recommended differs from another one by less than a quarter.
func isNearly(was string, size float64) bool {
	number, err := strconv.ParseFloat(was, 64)
	if d, isDuration := time.ParseDuration(was); isDuration == nil {
		number, err = d.Seconds(), nil
	}
	return err == nil && math.Abs(number-size) < size/4
}

// kept is the advice that rests on what another process has measured, for settings that have not changed since.
func kept(c *v1alpha1.EtcdCluster) []v1alpha1.Recommendation {
	is := map[string]string{
		"etcd.heartbeatInterval": c.Spec.Etcd.HeartbeatInterval.Duration.String(),
		"etcd.electionTimeout":   c.Spec.Etcd.ElectionTimeout.Duration.String(),
	}
	var all []v1alpha1.Recommendation
	for _, was := range c.Status.Recommendations {
		if is[was.Setting] == was.Now {
			all = append(all, was)
		}
	}
	return all
}
