// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// Step is the one next thing to do to a cluster. The set is closed, and String is the sentence
// that people read in logs, events and tests.
//
//sumtype:decl
type Step interface {
	fmt.Stringer
	// meta says what is common to all steps of a kind.
	meta() Meta
}

// Meta is what the operator needs to know of a step apart from how it is carried out. A step that rests has
// no Event.
type Meta struct {
	Event   string  // reason of the event that reports its success; empty if it changes nothing
	Requeue Requeue // when to observe the cluster again
	// Rests: it changes nothing, so that the plan has nothing to do now.
	Rests bool
	// Disturbs: members or clients feel it, or data is deleted. It rests on what members answered a moment ago, and is not done if that
	// is older.
	Disturbs bool
}

type (
	// Record writes a fact into the status that only the operator can remember, such as the names of
	// the first members. The API server refuses it if the status has changed since it was read.
	Record struct {
		Fact   cluster.Record // the whole record as it is to be
		What   string         // what is new in it, as a sentence
		Event  string         // reason of the event
		On     string         // volume on which the cluster ID is written first; empty if on none
		Last   bool           // nothing is left to do after it
		Failed string         // why what it ends has failed; empty if it has not
	}
	// Apply brings supporting objects and parts of volumes to what is wanted: Secrets, Services, the
	// disruption budget, the NetworkPolicy, sizes and owners of volumes. An object with a UID is not wanted: it is
	// deleted. Objects is never empty.
	Apply struct{ Objects []cluster.Object }
	// CreatePods creates the Pods of members, and the volumes of those that are new. Names is never
	// empty, and has one name if Forced.
	CreatePods struct {
		Names  []string
		Forced bool // with --force-new-cluster: it goes on from its data as the only member
		Beside bool // detached, and beside the members that they are to replace; they have their volumes
	}
	// DeletePods deletes Pods, all at the same time. Only the Pods with these UIDs are deleted.
	DeletePods struct {
		Pods    []PodRef
		How     Deletion
		Because string
	}
	// MarkPods sets labels and annotations of Pods, which the client Service and containers follow.
	// No container restarts for it.
	MarkPods struct {
		Pods []PodRef
		As   Mark
	}
	// UpdateImage changes the image of a running Pod in place, to that of a full version. The
	// kubelet restarts the container; the Pod stays.
	UpdateImage struct{ Name, UID, Version string }
	// ResizePod changes the compute resources of a running Pod in place.
	ResizePod struct{ Name, UID string }
	// AddLearner adds a learner to etcd's member list, under a name that was never used.
	AddLearner struct{ Name string }
	// UpdatePeerURLs has etcd list a member by the URLs by which it is to be found. Of is the source that becomes the member; empty if
	// it is the member already.
	UpdatePeerURLs struct{ Name, Of string }
	// AdoptVolume marks the volume of a source as that of a member, or, with Back, takes the marks off. Directory is that of etcd's data.
	AdoptVolume struct {
		Name, Directory string
		Back            bool
	}
	// Promote makes a learner that has caught up a voter.
	Promote struct{ Name string }
	// MoveLeader moves leadership from one member to another voter.
	MoveLeader struct{ From, To string }
	// RemoveMember removes a member from etcd's member list.
	RemoveMember struct{ Name, Because string }
	// RouteService has a Service of another owner select the members of the cluster, or again what it selected before.
	RouteService struct {
		Name string
		Back bool
	}
	// ScaleStatefulSet scales a StatefulSet of another owner.
	ScaleStatefulSet struct {
		Name     string
		Replicas int
		Because  string
	}
	// Downgrade enables etcd's downgrade to a minor version (as 3.5), or cancels it if To is empty.
	// While it is enabled no member may join.
	Downgrade struct{ To, Because string }
	// Compact drops the history of all keys up to a revision, which etcd does on every member.
	Compact struct {
		Revision int64
		Because  string
	}
	// DisarmAlarm disarms an alarm of etcd whose cause is gone.
	DisarmAlarm struct {
		Kind    string
		ID      uint64
		Because string
	}
	// Quarantine marks the volume of a removed member: it is never mounted again, and deleted when
	// storage.quarantine is over, or KeepFor if that is given.
	Quarantine struct {
		Name    string
		KeepFor time.Duration
	}
	// LiftQuarantine takes that mark off: the volume is a member's again.
	LiftQuarantine struct{ Name string }
	// DeleteVolume deletes a volume whose quarantine is over, or that never held data.
	DeleteVolume struct {
		Name, UID string
		Unused    bool // it never held data, which is checked again before it is deleted
	}
	// CreateBackup creates the EtcdBackup that the record names. LetGo: a namespace that is being deleted takes every backup with it, so that
	// our finalizer is removed from the EtcdCluster there instead.
	CreateBackup struct {
		Name, Before string
		LetGo        bool
	}
	// CreateRestore creates the EtcdRestore that brings the cluster back to a backup in place. The loss was accepted by the name of the
	// backup, as Accepted says.
	CreateRestore struct{ Name, Backup, Accepted string }
	// Expire deletes the EtcdCluster, and with it all that it owns, unless its spec has changed since it was read.
	Expire struct{}
	// Hold adds the finalizer that keeps the EtcdCluster when it is deleted, or removes it: that of its last backup, or of its adoption.
	// Held for an adoption, Kubernetes deletes what it owns after the EtcdCluster, and not before it.
	Hold struct {
		Held, Adoption bool
		Because        string // why the finalizer is removed
	}
	// Wait changes nothing until something outside changes. For completes the sentence "waiting for".
	Wait struct {
		For  string
		Look Requeue
	}
	// Refuse changes nothing because no safe step exists. Because says what a person must do.
	Refuse struct {
		Because string
		Denied  bool // Kubernetes has refused a write, and is asked again without a person
	}
	// Done means the cluster is as wanted.
	Done struct{}
)

// A PodRef is one Pod, and no other that has its name. UID is a precondition of every write to it.
type PodRef struct{ Name, UID string }

// Deletion says how Pods are deleted.
type Deletion int

const (
	// Plainly: with their grace period.
	Plainly Deletion = iota
	// DryRun: as Plainly, after the API server has accepted the next Pods in a dry run.
	DryRun
	// Detached: as Plainly, after they were detached from the client Service.
	Detached
	// AtOnce: without a grace period. All containers have ended, and only the kubelet has yet to clean up.
	AtOnce
)

// Mark is what is written on a Pod.
type Mark int

const (
	// Detach: the client Service sends no clients to it.
	Detach Mark = iota
	// Attach: the client Service sends clients to it, and it has all labels that it was made with.
	Attach
	// Existing: its container starts with initial-cluster-state "existing". On an empty data directory it
	// forms no cluster, and joins none if its member has had data. It compares as well.
	Existing
	// Comparing: its container compares the data of its member with that of its peers when it starts.
	Comparing
	// Plain: its container, which was started to defragment, starts plainly from then on.
	Plain
)

// Requeue says when the cluster is to be observed again. The pauses are in internal/cluster/memory.
type Requeue int

const (
	// Later: after some seconds; usually a watch comes first.
	Later Requeue = iota
	// Soon: within a fraction of a second, because etcd is about to change, which no watch reports.
	Soon
	// Now: without a pause, because etcd has changed.
	Now
	// Rarely: after a minute, because no change is expected.
	Rarely
)

func (s Record) meta() Meta { return Meta{Event: s.Event} }

// meta of an Apply: no watch reports Secrets.
func (s Apply) meta() Meta {
	look := Later
	if slices.ContainsFunc(s.Objects, func(o cluster.Object) bool { return o.Kind == "Secret" }) {
		look = Now
	}
	return Meta{Event: applied[s.pass()], Requeue: look}
}

func (s CreatePods) meta() Meta {
	return Meta{Event: choose(s.Forced, "NewClusterForced", "MembersStarted"), Disturbs: s.Forced}
}

func (s DeletePods) meta() Meta {
	switch s.How {
	case Detached:
		return Meta{Event: "SurplusPodsDeleted", Disturbs: true}
	case AtOnce:
		return Meta{Event: "EndedPodsDeleted"}
	case Plainly, DryRun:
	}
	return Meta{Event: "PodDeleted", Disturbs: true}
}

// pass is the pass of a rotation that all of the objects take; empty if they are only brought to what is wanted.
func (s Apply) pass() cluster.RotationStage {
	if len(s.Objects) == 0 {
		return ""
	}
	return s.Objects[0].RotationStep.Stage
}

// applied are the events of an Apply, by the pass of a rotation that it takes.
var applied = map[cluster.RotationStage]string{
	"": "ObjectsApplied", cluster.Introduce: "AuthorityIntroduced", cluster.Switch: "AuthoritySwitched", cluster.Drop: "AuthorityDropped",
	cluster.Renew: "AuthorityRenewed",
}

// ofPass says what a pass is about, before the Secret.
var ofPass = map[cluster.RotationStage]string{
	cluster.Introduce: "the next authority in ", cluster.Switch: "the next authority in ", cluster.Drop: "the authority before in ",
	cluster.Renew: "the authority in ",
}

func (s MarkPods) meta() Meta {
	switch s.As {
	case Attach:
		return Meta{Event: "MemberAttached"}
	case Existing:
		return Meta{Event: "InitialClusterStateSet"}
	case Comparing:
		return Meta{Event: "InitialCorruptCheckEnabled"}
	case Plain:
		return Meta{Event: "DefragmentedOnce"}
	case Detach:
	}
	return Meta{Event: "MemberDetached", Disturbs: true}
}

func (s UpdateImage) meta() Meta { return Meta{Event: "ImageUpdated", Disturbs: true} }
func (s ResizePod) meta() Meta   { return Meta{Event: "PodResized"} }
func (s AddLearner) meta() Meta  { return Meta{Event: "LearnerAdded", Requeue: Now, Disturbs: true} }

func (s UpdatePeerURLs) meta() Meta {
	return Meta{Event: "PeerURLsUpdated", Requeue: Now, Disturbs: true}
}

func (s AdoptVolume) meta() Meta {
	return Meta{Event: choose(s.Back, "VolumeReleased", "VolumeAdopted"), Requeue: Soon}
}

func (s Promote) meta() Meta { return Meta{Event: "LearnerPromoted", Requeue: Now, Disturbs: true} }

func (s MoveLeader) meta() Meta { return Meta{Event: "LeaderMoved", Requeue: Now, Disturbs: true} }

func (s RemoveMember) meta() Meta { return Meta{Event: "MemberRemoved", Requeue: Now, Disturbs: true} }

func (s RouteService) meta() Meta { return Meta{Event: "ServiceRouted", Requeue: Soon, Disturbs: true} }

func (s ScaleStatefulSet) meta() Meta {
	return Meta{Event: "StatefulSetScaled", Requeue: Soon, Disturbs: true}
}

func (s Downgrade) meta() Meta {
	return Meta{Event: choose(s.To == "", "DowngradeCancelled", "DowngradeEnabled"), Requeue: Now}
}
func (s DisarmAlarm) meta() Meta { return Meta{Event: "AlarmDisarmed", Requeue: Now} }
func (s Compact) meta() Meta     { return Meta{Event: "HistoryCompacted", Requeue: Soon, Disturbs: true} }
func (s Quarantine) meta() Meta  { return Meta{Event: "VolumeQuarantined"} }
func (s LiftQuarantine) meta() Meta {
	return Meta{Event: "QuarantineLifted"}
}
func (s DeleteVolume) meta() Meta  { return Meta{Event: "VolumeDeleted", Disturbs: true} }
func (s CreateBackup) meta() Meta  { return Meta{Event: "BackupCreated"} }
func (s CreateRestore) meta() Meta { return Meta{Event: "RestoreCreated"} }
func (s Expire) meta() Meta        { return Meta{Event: "ClusterExpired", Disturbs: true} }
func (s Hold) meta() Meta {
	return Meta{Event: choose(s.Held, "DeletionHeld", "DeletionReleased")}
}
func (s Wait) meta() Meta   { return Meta{Requeue: s.Look, Rests: true} }
func (s Refuse) meta() Meta { return Meta{Rests: true} }
func (s Done) meta() Meta   { return Meta{Requeue: Rarely, Rests: true} }

// KindOf says what is common to all steps of the step's kind.
func KindOf(step Step) Meta { return step.meta() }

// Rests says whether the step changes nothing: it is Wait, Refuse or Done.
func Rests(step Step) bool { return step.meta().Rests }

// Names are the names of the Pods, in the given order.
func Names(pods []PodRef) []string {
	all := make([]string, 0, len(pods))
	for _, pod := range pods {
		all = append(all, pod.Name)
	}
	return all
}

func list(names []string) string { return strings.Join(names, ", ") }

func choose(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}
