// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// Nothing may be created again while Kubernetes collects what the EtcdCluster owns.
func leaveDeleted(v cluster.View) Step {
	if !v.Deleting {
		return nil
	}
	return Wait{For: "Kubernetes to collect the objects of the deleted cluster"}
}

// This operator would lose the fields of the status that it does not know.
func leaveNewer(v cluster.View) Step {
	if v.Newer == "" {
		return nil
	}
	return refuse("a newer version of the operator has taken this cluster over: " + v.Newer + "; run that version again")
}

func pause(v cluster.View) Step {
	if v.Want.Paused == "" {
		return nil
	}
	return Wait{For: "the end of the pause: " + v.Want.Paused}
}

// An object that is being deleted is waited for: most often it is of a cluster of the same name, just deleted.
func leaveForeignObjects(v cluster.View) Step { return refuseForeign(halting(v)) }

// halting are the objects of other owners that stop every change. One that has the name of a
// Service, of the disruption budget, of the NetworkPolicy, of a Certificate or of the Secret of one, or of a monitor, of a cluster that has
// formed, stops only changes of that.
func halting(v cluster.View) []cluster.Object {
	return slices.DeleteFunc(slices.Clone(v.Foreign), func(o cluster.Object) bool {
		if o.Kind == "PodMonitor" || o.Kind == "PrometheusRule" { // no cluster needs them to form
			return true
		}
		return v.Formed() && (o.CanWait || slices.Contains(supporting, o.Kind))
	})
}

// supporting are the kinds of objects without which a cluster that has formed goes on.
var supporting = []string{"Service", "PodDisruptionBudget", "NetworkPolicy", "Certificate", "PodMonitor", "PrometheusRule"}

func refuseForeign(foreign []cluster.Object) Step {
	switch message := inTheWay(foreign); {
	case message != "":
		return refuse(message)
	case len(foreign) > 0:
		return Wait{For: foreign[0].String() + " of an earlier cluster to be gone"}
	default:
		return nil
	}
}

// InTheWay says which object of another owner has a name that the cluster needs, and what
// to do about it. It is empty if there is none, or if all are being deleted.
func InTheWay(v cluster.View) string { return inTheWay(v.Foreign) }

func inTheWay(foreign []cluster.Object) string {
	for _, o := range foreign {
		if !o.Gone {
			return o.String() + " is in the way: " + o.Why +
				choose(o.Kind == "PersistentVolumeClaim", "; it may have data: ", "; rename or delete it, or ") + "choose another cluster name"
		}
	}
	return ""
}

// keepLimits stops every change: each may create a Pod by the spec sooner or later. Supporting objects are applied all the same,
// because certificates end. A cluster that hibernates has no Pods. If the limits were narrowed and the spec is what it was, members
// that have ended are started first, as they were: else clusters would lose quorum by a flag, one node after the other.
func keepLimits(v cluster.View) Step {
	if v.Want.Allowed && v.Formed() && v.Restore.InPlace == "" {
		return nil
	}
	return keepWithin(v)
}

func keepWithin(v cluster.View) Step {
	if v.Want.Forbidden == "" || v.Want.Size == 0 {
		return nil
	}
	return refuse(v.Want.Forbidden)
}
