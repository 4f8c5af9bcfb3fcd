// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

const (
	// near is how many revisions may be left to copy when writes are stopped.
	near = 1000
	// patience is how long an automatic switch waits after one that was given up.
	patience = 5 * time.Minute
)

func keepStopped(v View) Step {
	if !v.Cluster.HasSwitched() || v.Source.Err != "" || v.isStopped() {
		return nil
	}
	return StopWrites{}
}

// bindLeases is left out where the source has gone: clients must not wait for it.
func bindLeases(v View) Step {
	if !v.Cluster.HasSwitched() {
		return nil
	}
	if v.Target.Err != "" {
		return retry(v1beta1.ReasonWritesStopped, "clients are sent to the cluster when it answers: %s", v.Target.Err)
	}
	if v.Source.Err != "" || v.Target.Mark == nil || v.Target.Mark.Leased {
		return nil
	}
	return BindLeases{}
}

func routeServices(v View) Step {
	if !v.Cluster.HasSwitched() {
		return nil
	}
	for _, service := range v.Services {
		if !service.Switched && !service.Missing && service.Refused == "" {
			return RouteService{service.Name}
		}
	}
	return nil
}

func removeMark(v View) Step {
	if !v.Cluster.HasSwitched() || v.Target.Mark == nil {
		return nil
	}
	return RemoveMark{}
}

func complete(v View) Step {
	if !v.Cluster.HasSwitched() {
		return nil
	}
	return RecordDone{}
}

// giveUp releases the source if its writes are stopped and the switch is not decided; nil otherwise.
func giveUp(v View, because string) Step {
	if !v.stopping() {
		return nil
	}
	return Release{because}
}

func releasePaused(v View) Step {
	if v.Paused == "" {
		return nil
	}
	return giveUp(v, "the EtcdCluster is paused: "+v.Paused)
}

func releaseWithdrawn(v View) Step {
	if v.requested() == v.status().Request {
		return nil
	}
	return giveUp(v, "the annotation "+v1beta1.AnnotationSwitch+" does not ask for the switch any more")
}

func releaseInTime(v View) Step {
	if until := v.StopsUntil(); until.IsZero() || v.Now.Before(until) {
		return nil
	}
	return giveUp(v, fmt.Sprintf("the switch was not made within %s, as spec.bootstrap.copy.stopLimit says", v.spec().Limit()))
}

func releaseFailing(v View) Step {
	if v.Target.Err != "" {
		return giveUp(v, "the cluster does not answer: "+v.Target.Err)
	}
	if cause := v.unready(); cause != "" {
		return giveUp(v, "the cluster is not ready: the switch is made after "+cause)
	}
	return nil
}

func releaseForeign(v View) Step {
	if !v.isForeign() {
		return nil
	}
	return giveUp(v, foreign)
}

func releaseDifferent(v View) Step {
	if !v.stopping() || v.Target.Mark == nil || !v.isCompared() || v.status().Comparison.Equal {
		return nil
	}
	return giveUp(v, "the clusters do not have the same keys and values")
}

func releaseAlarm(v View) Step {
	if v.Source.Err != "" || v.otherAlarm() == "" {
		return nil
	}
	return giveUp(v, "the source has raised the alarm "+v.otherAlarm())
}

func stopWrites(v View) Step {
	if !v.stopping() || v.isStopped() {
		return nil
	}
	return StopWrites{}
}

func drain(v View) Step {
	if !v.stopping() || v.lag() <= 0 {
		return nil
	}
	return Drain{v.Source.Revision}
}

// isCompared says whether both clusters were compared as they are now.
func (v View) isCompared() bool {
	done := v.status().Comparison
	return done != nil && v.Target.Mark != nil && done.SourceRevision == v.Source.Revision && done.SourceRevision == v.Target.Mark.Revision &&
		done.TargetRevision == v.Target.Revision
}

func compareAtEnd(v View) Step {
	if !v.stopping() || v.isCompared() {
		return nil
	}
	return Compare{}
}

func decide(v View) Step {
	if !v.stopping() {
		return nil
	}
	return RecordSwitch{}
}

func disarmLeft(v View) Step {
	if !v.isStopped() {
		return nil
	}
	return Release{"no switch is on its way"}
}

func catchUp(v View) Step {
	if v.lag() <= near {
		return nil
	}
	return Follow{condition(v1beta1.ReasonFollowing, "what is written to the source is copied; it is compared when little is left")}
}

// compareFirst finds a difference, and how long the comparison takes, while clients go on.
func compareFirst(v View) Step {
	if done := v.status().Comparison; done != nil && done.SourceRevision >= v.Target.Mark.Read {
		return nil
	}
	return Compare{}
}

func refuseDifferent(v View) Step {
	done := v.status().Comparison
	if done.Equal {
		return nil
	}
	return retry(v1beta1.ReasonDataDiffers, "the clusters do not have the same keys and values at revision %d of the source: there is no "+
		"switch: create the copy as an EtcdCluster of another name", done.SourceRevision)
}

// requested is the request for the switch; empty if there is none.
func (v View) requested() string {
	if asked := v.Cluster.Annotations[v1beta1.AnnotationSwitch]; asked != "" || v.spec().Switch != v1beta1.SwitchAutomatic {
		return asked
	}
	return string(v1beta1.SwitchAutomatic)
}

func awaitRequest(v View) Step {
	asked, status := v.requested(), v.status()
	automatic := asked == string(v1beta1.SwitchAutomatic)
	switch {
	case asked == "" && status.Failure == "":
		return Follow{condition(v1beta1.ReasonReadyToSwitch, "%s; what is written to the source is copied until kubectl etcd switch %s asks "+
			"for the switch", v.found(), v.Cluster.Name)}
	case automatic && status.ReleasedAt != nil && v.Now.Before(status.ReleasedAt.Add(patience)):
		return Follow{condition(v1beta1.ReasonSwitchFailed, "%s; writes to the source go on, and the switch is tried again in %s",
			status.Failure, patience)}
	case asked == "" || asked == status.Request && !automatic:
		return Follow{condition(v1beta1.ReasonSwitchFailed, "%s; writes to the source go on; kubectl etcd switch %s asks for the switch again",
			status.Failure, v.Cluster.Name)}
	}
	return nil
}

// found is what the first comparison has found.
func (v View) found() string {
	done := v.status().Comparison
	return fmt.Sprintf("all %d keys are the same in both clusters at revision %d of the source%s", done.Keys, done.SourceRevision, v.left())
}

func needQuick(v View) Step {
	took, limit := v.status().Comparison.Duration.Duration, v.spec().Limit()
	if 2*took <= limit {
		return nil
	}
	return Follow{condition(v1beta1.ReasonSwitchFailed, "no writes are stopped: the comparison has taken %s, and is to take at most half of "+
		"spec.bootstrap.copy.stopLimit, which is %s; create the EtcdCluster again with a larger one", took.Round(time.Second), limit)}
}

func stop(v View) Step { return RecordStop{v.requested()} }
