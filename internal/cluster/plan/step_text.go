// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// What events, logs and scripts say of each step.

func (s Record) String() string { return s.What }

func (s Apply) String() string {
	if pass := s.pass(); pass != "" {
		return string(pass) + " " + ofPass[pass] + list(cluster.Texts(s.Objects)) + ": " + s.Objects[0].Why
	}
	var said []string
	for _, unwanted := range []bool{false, true} {
		objects := slices.DeleteFunc(slices.Clone(s.Objects), func(o cluster.Object) bool { return (o.UID != "") != unwanted })
		if len(objects) > 0 {
			said = append(said, choose(unwanted, "delete ", "apply ")+list(cluster.Texts(objects)))
		}
	}
	for _, o := range s.Objects {
		if o.Why == cluster.OtherType {
			said = append(said, o.String()+": "+o.Why)
		}
	}
	return strings.Join(said, "; ")
}

func (s CreatePods) String() string {
	return "start " + list(s.Names) + choose(s.Forced, " with --force-new-cluster", "") +
		choose(s.Beside, " beside the members that they replace", "")
}

func (s DeletePods) String() string {
	switch s.How {
	case Detached:
		return "detach and delete pods " + list(Names(s.Pods)) + ": " + s.Because
	case AtOnce:
		return "delete ended pods at once: " + list(Names(s.Pods))
	case Plainly, DryRun:
	}
	return "delete pod " + list(Names(s.Pods)) + ": " + s.Because
}

func (s MarkPods) String() string {
	switch s.As {
	case Attach:
		return "attach " + list(Names(s.Pods)) + " to the client service"
	case Existing:
		return "set initial-cluster-state of " + list(Names(s.Pods)) + " to existing"
	case Comparing:
		return "enable InitialCorruptCheck of " + list(Names(s.Pods))
	case Plain:
		return "have " + list(Names(s.Pods)) + " not defragment when its container starts again"
	case Detach:
	}
	return "detach " + list(Names(s.Pods)) + " from the client service"
}

func (s UpdateImage) String() string { return "update image of " + s.Name + " to " + s.Version }
func (s ResizePod) String() string   { return "resize pod " + s.Name }
func (s AddLearner) String() string  { return "add learner " + s.Name }
func (s UpdatePeerURLs) String() string {
	if s.Of != "" {
		return "update the peer URLs of " + s.Of + " to those of " + s.Name
	}
	return "update the peer URLs of " + s.Name
}

func (s AdoptVolume) String() string  { return choose(s.Back, "release", "adopt") + " volume " + s.Name }
func (s Promote) String() string      { return "promote " + s.Name }
func (s MoveLeader) String() string   { return "move leader " + s.From + " -> " + s.To }
func (s RemoveMember) String() string { return "remove member " + s.Name + ": " + s.Because }
func (s RouteService) String() string {
	return "route Service " + s.Name + choose(s.Back, " back to the members of the cluster that was to be "+
		"adopted", " to the members of the operator")
}

func (s ScaleStatefulSet) String() string {
	return fmt.Sprintf("scale StatefulSet %s to %d: %s", s.Name, s.Replicas, s.Because)
}

func (s Downgrade) String() string {
	return choose(s.To == "", "cancel downgrade: "+s.Because, "enable downgrade to "+s.To)
}

func (s DisarmAlarm) String() string {
	return fmt.Sprintf("disarm %s of member %x: %s", s.Kind, s.ID, s.Because)
}

func (s Compact) String() string {
	return fmt.Sprintf("compact up to revision %d: %s", s.Revision, s.Because)
}
func (s Quarantine) String() string { return "quarantine volume " + s.Name }

func (s LiftQuarantine) String() string { return "lift the quarantine of volume " + s.Name }

func (s DeleteVolume) String() string {
	return "delete volume " + s.Name + choose(s.Unused, ", which never held data", "")
}

func (s CreateBackup) String() string {
	return "create EtcdBackup " + s.Name + " before " + waits(s.Before)
}

func (s CreateRestore) String() string {
	return "create EtcdRestore " + s.Name + " to backup " + s.Backup + ", whose loss was accepted"
}

func (s Expire) String() string {
	return "delete the EtcdCluster with its volumes, because spec.expiresAfter is over"
}

func (s Hold) String() string {
	before := choose(s.Adoption, "its members have left the running cluster that it adopts", "its last backup is verified")
	return choose(s.Held, "add the finalizer: the EtcdCluster is deleted only after "+before,
		"remove the finalizer: "+s.Because)
}
func (s Wait) String() string   { return "wait for " + s.For }
func (s Refuse) String() string { return "refuse: " + s.Because }
func (s Done) String() string   { return "done" }
