// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// warm is how long a member has to run before its speed says anything: it loads its data, and catches up.
const warm = 2 * time.Minute

// leastCompared is how many voters make a comparison: of two it is not known which is slow.
const leastCompared = 3

// Timed are the members to ask how fast they are, what they use and how large entries of their log are; none if there are too few to
// compare, none is scaled and no setting is advised. What they count they serve on their port for metrics, even while they are too slow to
// answer clients.
func Timed(s Snapshot) []cluster.Member {
	asked := ByKubernetes(s).Asked
	if spec := s.Cluster.Spec; len(asked) < leastCompared && spec.Autoscale == nil && spec.Tuning == v1beta1.TuningOff {
		return nil
	}
	return asked
}

// speeds are how fast voters are that run, if they were asked for it. One that is slow may not have answered in time.
func (j *builder) speeds() {
	j.v.Busy = j.BackingUp != "" || j.v.Record.Defragmenting.Member != ""
	for _, m := range j.v.Members {
		for _, a := range j.Answers {
			if a.Member == m.Name && a.Timings != nil && m.Role == cluster.Voter && j.isWarm(j.pods[m.Name]) {
				j.v.Speeds = append(j.v.Speeds, speedOf(m, a))
			}
		}
	}
}

func speedOf(m cluster.Member, a *Answer) cluster.Speed {
	speed := cluster.Speed{
		Member: m.Name, Fsync: totalOf(a.Timings.Fsync), Commit: totalOf(a.Timings.Commit), Apply: totalOf(a.Timings.Apply),
		Log: cluster.Log(a.Timings.Log),
	}
	for _, r := range a.Timings.RoundTrips {
		speed.RoundTrips = append(speed.RoundTrips, cluster.RoundTrip{To: r.To, Total: totalOf(r.Total)})
	}
	return speed
}

func totalOf(t etcd.Total) cluster.Total { return cluster.Total(t) }

func (j *builder) isWarm(pod *corev1.Pod) bool {
	if pod == nil {
		return false
	}
	run := specs.EtcdStatus(pod).State.Running
	return run != nil && !j.isRecent(run.StartedAt.Time, warm)
}
