// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package copying decides the one next step for a running cluster of etcd, the source, whose keys are copied into an EtcdCluster: when they
// are read, followed and compared, when writes to the source are stopped, and when clients are sent to this cluster. The same View always
// gives the same Step.
//
// It must never hold a client, nor put a key or a value into a message.
package copying

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
	"github.com/etcd-operator/etcd-operator/internal/rules"
)

var rule = rules.New[View, Step]

// The rules are asked in order: finish what is decided, let writes go on when a switch cannot be made, know both clusters before anything
// is written, copy before anything is stopped, and compare before anything is decided.
var policy = rules.List[View, Step]{
	rules.Under("is anything to be copied?",
		rule("copy once", copyOnce, "does nothing once the copy is complete"),
		rule("need a copy", needCopy, "removes the condition Copied when spec.bootstrap names nothing any more"),
		rule("ask both", askBoth, "asks the source and the cluster, and reads the EtcdCluster as it is now"),
	),
	rules.Under("after the switch is decided",
		rule("keep writes stopped", keepStopped, "raises the alarm of the source again if something has disarmed it"),
		rule("bind leases", bindLeases, "grants the leases of the source with their IDs, and binds keys that nothing has written since"),
		rule("route Services", routeServices, "changes the selectors of the Services of the source"),
		rule("remove the mark", removeMark, "deletes the key by which the copy has known how far it is"),
		rule("complete", complete, "writes down that nothing is left to do"),
	),
	rules.Under("while writes are stopped: let them go on",
		rule("release after a pause", releasePaused, "gives the switch up when the EtcdCluster is paused"),
		rule("release what was withdrawn", releaseWithdrawn, "gives the switch up when its annotation is removed or changed"),
		rule("release in time", releaseInTime, "gives the switch up after spec.bootstrap.copy.stopLimit"),
		rule("release when the cluster fails", releaseFailing, "gives the switch up when the cluster does not answer or is not available"),
		rule("release when something else writes", releaseForeign, "gives the switch up when something else has written here"),
		rule("release different data", releaseDifferent, "gives the switch up when the comparison has found a difference"),
		rule("release another alarm", releaseAlarm, "gives the switch up when the source has raised an alarm by itself"),
	),
	rules.Under("may anything be copied?",
		rule("wait for the cluster", awaitCluster, "waits for the end of a pause or a restore, and until the cluster is formed and available"),
		rule("leave data alone", leaveData, "copies nothing into a cluster that began with data that was there before"),
		rule("reach the source", reachSource, "waits for a source that does not answer, or not with a quorum"),
		rule("refuse the source", refuseSource, "copies nothing from a source that is too old, too large, another one, or has an alarm"),
		rule("refuse Services", refuseServices, "copies nothing while a Service does not exist, or has not agreed by its annotation"),
		rule("reach the cluster", reachCluster, "waits for a member that answers with a quorum"),
		rule("need an empty cluster", needEmpty, "writes nothing over keys that the copy has not written"),
		rule("refuse foreign writes", refuseForeign, "goes no further when something else has written to the cluster"),
	),
	rules.Under("copy",
		rule("begin", begin, "writes the mark into the empty cluster, with the revision at which keys are read"),
		rule("read again", readAgain, "reads all keys again when the source no longer has the history that is to be copied"),
		rule("read all keys", readKeys, "copies all keys as they were at one revision, page by page"),
	),
	rules.Under("switch",
		rule("stop writes", stopWrites, "raises an alarm on the source by which etcd refuses writes"),
		rule("drain", drain, "copies what is left"),
		rule("compare at the end", compareAtEnd, "compares all keys and values of both clusters while neither changes"),
		rule("decide", decide, "writes down that clients are sent to this cluster"),
	),
	rules.Under("follow",
		rule("disarm what is left", disarmLeft, "disarms the alarm of a switch that was given up"),
		rule("catch up", catchUp, "copies what is written to the source until little is left"),
		rule("compare first", compareFirst, "compares both clusters once before any write is stopped"),
		rule("refuse different data", refuseDifferent, "goes no further when that has found a difference"),
		rule("wait for a request", awaitRequest, "follows the source until the switch is asked for, or five minutes after one that was given up"),
		rule("need a quick comparison", needQuick, "stops no writes where the comparison has taken more than half of stopLimit"),
		rule("stop", stop, "writes down that writes are stopped from now on"),
	),
}

// Next is the one step to take now, and the name of the rule that chose it.
func Next(v View) (Step, string) { return policy.Next(v) }

func copyOnce(v View) Step {
	if v.status().CompletedAt != nil || v.Cluster.DeletionTimestamp != nil {
		return Done{}
	}
	return nil
}

func needCopy(v View) Step {
	switch {
	case v.Cluster.WantsCopy():
		return nil
	case meta.FindStatusCondition(v.Cluster.Status.Conditions, v1beta1.ConditionCopied) != nil:
		return RemoveCondition{}
	}
	return Done{}
}

func askBoth(v View) Step {
	if v.Source == nil || v.Target == nil {
		return Look{}
	}
	return nil
}

// awaitCluster waits for what has to be true before anything is written.
func awaitCluster(v View) Step {
	if cause := v.unready(); cause != "" {
		return report(v1beta1.ReasonWaitingForCluster, "the source is copied after %s", cause)
	}
	return nil
}

// unready is what the copy waits for; empty if for nothing.
func (v View) unready() string {
	switch c := v.Cluster; {
	case v.Paused != "":
		return "the pause: " + v.Paused
	case c.Status.ClusterID == "":
		return "the cluster has formed"
	case c.IsRestoring():
		return "the restore, if that is cancelled"
	case !meta.IsStatusConditionTrue(c.Status.Conditions, v1beta1.ConditionAvailable):
		return "the cluster is available"
	}
	return ""
}

func leaveData(v View) Step {
	b := v.Cluster.Status.Bootstrap
	if b != nil && !b.Adopted && b.Restore == "" {
		return nil
	}
	return report(v1beta1.ReasonTargetNotEmpty, "nothing is copied: the cluster began with data that was there before, which "+
		"stays as it is: create the copy as an EtcdCluster of another name")
}

func reachSource(v View) Step {
	if v.Source.Err == "" {
		return nil
	}
	return retry(v1beta1.ReasonSourceUnreachable, "the source cannot be read: %s", v.Source.Err)
}

// oldestSource is the oldest etcd that is copied: older ones do not send what is written in parts that an operator has the memory for.
const oldestSource = "3.4.0"

func refuseSource(v View) Step {
	if unfit := v.unfit(); unfit != "" {
		return retry(v1beta1.ReasonSourceUnfit, "the source cannot be copied as it is: %s", unfit)
	}
	return nil
}

func (v View) unfit() string {
	s, quota := v.Source, v.Cluster.QuotaBytes()
	switch mark := v.Target.Mark; {
	case s.ClusterID == v.Cluster.Status.ClusterID:
		return "it is this cluster: name the endpoints of another one"
	case s.HasMark:
		return "it is itself copied into: wait until that is complete"
	case version.Order(s.Version, oldestSource) < 0:
		return fmt.Sprintf("it runs etcd %s: upgrade it to 3.4 or newer first", s.Version)
	case v.otherAlarm() != "":
		return fmt.Sprintf("it has raised the alarm %s: end that first", v.otherAlarm())
	case s.DBSize > quota/4*3:
		return fmt.Sprintf("it has %d MiB of data, and the quota of this EtcdCluster is %d MiB: ask for a larger volume or quota", s.DBSize>>20,
			quota>>20)
	case mark != nil && mark.Cluster == string(v.Cluster.UID) && mark.Source != s.ClusterID:
		return fmt.Sprintf("it is cluster %s, and the copy has begun with %s: let the endpoints be of that one", s.ClusterID, mark.Source)
	}
	return ""
}

func refuseServices(v View) Step {
	for _, service := range v.Services {
		why := service.Refused
		if service.Missing {
			why = fmt.Sprintf("Service %s, which bootstrap.copy.services names, does not exist", service.Name)
		}
		if why != "" {
			return retry(v1beta1.ReasonSourceUnfit, "the source cannot be copied as it is: %s", why)
		}
	}
	return nil
}

func reachCluster(v View) Step {
	if v.Target.Err == "" {
		return nil
	}
	return retry(v1beta1.ReasonWaitingForCluster, "the source is copied after the cluster answers: %s", v.Target.Err)
}

func needEmpty(v View) Step {
	mark := v.Target.Mark
	if mark == nil && v.Target.Keys == 0 && v.Target.Revision <= 1 || mark != nil && mark.Cluster == string(v.Cluster.UID) {
		return nil
	}
	return retry(v1beta1.ReasonTargetNotEmpty, "nothing is copied: the cluster has been written to, with %d keys now; create the copy as "+
		"an EtcdCluster of another name, and keep clients away from it until the switch", v.Target.Keys)
}

func refuseForeign(v View) Step {
	if v.isForeign() {
		return retry(v1beta1.ReasonTargetChanged, "%s; end what writes, and create the copy as an EtcdCluster of another name", foreign)
	}
	return nil
}

// isForeign says whether something else has written to the cluster since the copy began.
func (v View) isForeign() bool {
	return v.Target.Err == "" && (v.Target.Mark != nil && !v.Target.isIntact() || v.Target.Mark == nil && v.status().Revision > 0)
}

// foreign is said of it.
const foreign = "something else has written to the cluster while the source was copied into it"

func begin(v View) Step {
	if v.Target.Mark != nil {
		return nil
	}
	return Begin{Revision: v.Source.Revision}
}

func readAgain(v View) Step {
	if !v.Source.Compacted {
		return nil
	}
	return cmp.Or[Step](giveUp(v, "the source no longer has the history that is to be copied"), Begin{v.Source.Revision, true})
}

func readKeys(v View) Step {
	if v.Target.Mark.Whole {
		return nil
	}
	return ReadKeys{}
}
