// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func noticeOther(v View) Step {
	if v.Status.StartedAt == nil || v.Cluster.Exists && v.Cluster.UID == v.Status.ClusterUID {
		return nil
	}
	return v.end(v1beta1.DrillFailed, v1beta1.ReasonClusterGone, fmt.Sprintf("EtcdCluster %s was deleted during the drill", v.Spec.Cluster))
}

func finish(v View) Step {
	s := v.Status
	switch {
	case s.RecoveredAt == nil:
		return nil
	case v.Now.Before(s.RecoveredAt.Add(settles)):
		return Wait{Reason: v1beta1.ReasonRecoveryAwaited, For: "the last figures of job " + s.Job.Name, Until: s.RecoveredAt.Add(settles)}
	}
	return v.end(v1beta1.DrillRecovered, v1beta1.ReasonRecovered, v.sentence())
}

// recordRecovery needs, of each member that was disturbed, another Pod that is ready, or that it was replaced: the status of the cluster
// may be of a moment before the failure.
func recordRecovery(v View) Step {
	if v.Status.StartedAt == nil || v.Cluster.NotWhole != "" || slices.ContainsFunc(v.Status.Targets, v.isDown) {
		return nil
	}
	if v.Now.After(v.limit()) || v.measures() && v.Status.ReleasedAt == nil {
		return nil
	}
	s := v.status()
	s.RecoveredAt = new(metav1.NewMicroTime(v.Now))
	began := s.StartedAt
	if s.ReleasedAt != nil {
		began = s.ReleasedAt
	}
	took := v.Now.Sub(began.Time).Round(100 * time.Millisecond)
	s.RecoveredIn = &metav1.Duration{Duration: took}
	return Record{Status: s, What: fmt.Sprintf("all members of EtcdCluster %s are healthy again after %s", v.Spec.Cluster, took)}
}

// isDown says whether a member is as the drill has left it, or not back yet.
func (v View) isDown(t v1beta1.DrillTarget) bool {
	m, listed := v.member(t.Member)
	switch {
	case !listed:
		return false // it was replaced
	case !m.Healthy || !m.PodReady || m.PodLeaves:
		return true
	case m.PodUID == t.PodUID:
		return true
	}
	return t.VolumeUID != "" && m.VolumeUID == t.VolumeUID
}

func (v View) member(name string) (Member, bool) {
	for _, m := range v.Cluster.Members {
		if m.Name == name {
			return m, true
		}
	}
	return Member{}, false
}

func (v View) limit() time.Time { return v.Status.StartedAt.Add(v.Spec.Lasts() + v.Spec.Limit()) }

func giveUp(v View) Step {
	if v.Status.StartedAt == nil || !v.Now.After(v.limit()) {
		return nil
	}
	return v.end(v1beta1.DrillFailed, v1beta1.ReasonNotRecovered, v.sentence())
}

// recordDetection: a member that the status no longer lists was replaced, which is how the operator shows that it has seen the failure.
// What another tool breaks, any member may show.
func recordDetection(v View) Step {
	if v.Status.StartedAt == nil || v.Status.DetectedAt != nil {
		return nil
	}
	shows := func(t v1beta1.DrillTarget) bool {
		m, listed := v.member(t.Member)
		return !listed || !m.Healthy
	}
	if !slices.ContainsFunc(v.Status.Targets, shows) && (!v.measures() || v.Cluster.NotWhole == "") {
		return nil
	}
	s := v.status()
	s.DetectedAt = new(metav1.NewMicroTime(v.Now))
	return Record{Status: s, What: fmt.Sprintf("the status of EtcdCluster %s shows the failure", v.Spec.Cluster)}
}

func cause(v View) Step {
	left := present(v.Status.Targets, v.Cluster.Members)
	if v.Status.StartedAt == nil || left == nil {
		return nil
	}
	return Disrupt{Targets: left}
}

func (v View) measures() bool { return v.Spec.Action == v1beta1.Measure }

// measure goes on until the duration is over: the failure of another tool may still come, or come again.
func measure(v View) Step {
	s := v.status()
	switch {
	case s.StartedAt == nil || !v.measures() || s.ReleasedAt != nil:
		return nil
	case v.Now.Before(s.StartedAt.Add(v.Spec.Lasts())):
		return Wait{Reason: v1beta1.ReasonMeasuring, For: "the end of the " + v.Spec.Lasts().String() + " of spec.duration"}
	}
	s.ReleasedAt = new(metav1.NewMicroTime(v.Now))
	return Record{Status: s, What: fmt.Sprintf("the %s of spec.duration are over", v.Spec.Lasts())}
}

func awaitRecovery(v View) Step {
	if v.Status.StartedAt == nil {
		return nil
	}
	why := v.Cluster.NotWhole
	if why == "" {
		why = "the status does not show yet that it has lost anything"
	}
	return Wait{Reason: v1beta1.ReasonRecoveryAwaited, For: fmt.Sprintf("EtcdCluster %s to recover: %s", v.Spec.Cluster, why)}
}

// end ends the drill, with what was measured so far.
func (v View) end(phase v1beta1.DrillPhase, reason, message string) Step {
	s := v.status()
	s.EndedAt = new(metav1.NewMicroTime(v.Now))
	s.Report = message
	if w := v.writes(); w != nil && s.StartedAt != nil {
		s.Writes, s.FailedWrites = &w.Acknowledged, &w.Failed
		s.LongestGap = &metav1.Duration{Duration: w.LongestGap.Round(10 * time.Millisecond)}
	}
	return Finish{Status: s, Phase: phase, Reason: reason, Message: message}
}

// sentence is the report of a drill that has disturbed the cluster.
func (v View) sentence() string {
	s := v.Status
	text := fmt.Sprintf("%s of %s: ", v.Spec.Action, namesOf(s.Targets))
	if v.measures() {
		text = fmt.Sprintf("%s for %s: ", v.Spec.Action, v.Spec.Lasts())
	}
	since := func(at *metav1.MicroTime) time.Duration {
		return at.Sub(s.StartedAt.Time).Round(100 * time.Millisecond)
	}
	switch {
	case s.DetectedAt != nil:
		text += fmt.Sprintf("the status showed the failure after %s, ", since(s.DetectedAt))
	case s.RecoveredAt != nil && s.ReleasedAt == nil:
		text += "the cluster recovered before its status showed the failure, "
	default:
		text += "the status did not show the failure, "
	}
	switch {
	case s.RecoveredAt != nil && s.ReleasedAt != nil:
		text += fmt.Sprintf("all members were healthy %s after the end of spec.duration; ", s.RecoveredIn.Duration)
	case s.RecoveredAt != nil:
		text += fmt.Sprintf("all members were healthy after %s; ", since(s.RecoveredAt))
	default:
		why := cmp.Or(v.Cluster.NotWhole, "the operator did not see that they were")
		text += fmt.Sprintf("and not all members were healthy within %s: %s; ", v.Spec.Limit(), why)
	}
	w := v.writes()
	if w == nil {
		return text + "what became of writes is not known, because the Job that wrote is gone"
	}
	return text + fmt.Sprintf("the longest time without an acknowledged write was %s, %d writes were acknowledged and %d failed",
		w.LongestGap.Round(10*time.Millisecond), w.Acknowledged, w.Failed)
}
