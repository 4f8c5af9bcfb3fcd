package plan

import (
	"fmt"
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// Step is the one next thing to do to a cluster. The set is closed, and String is the sentence
// that people read in logs, events and tests.
//
//sumtype:decl
type Step interface {
	fmt.Stringer
	// about says what is common to all steps of a kind.
	about() Kind
}

// Kind is what the operator needs to know of a step apart from how it is carried out.
type Kind struct {
	Event string // reason of the event that tells of its success; empty if it changes nothing
	Look  Look   // when to observe the cluster again
	// Rests: it changes nothing, so that the plan has nothing to do now.
	Rests bool
}

type (
	// Record writes down in the status what only the operator can remember, such as who the first
	// members are.
	Record struct {
		Fact  cluster.Record // the whole record as it is to be
		What  string         // what is new in it, as a sentence
		Event string         // reason of the event
		On    string         // volume on which the ID of the cluster is written before; empty if on none
	}
	// Apply brings supporting objects and parts of volumes to what is wanted: Secrets, Services, the
	// disruption budget, sizes and owners of volumes.
	Apply struct{ Objects []cluster.Object }
	// CreatePods makes the Pods of members, and the volumes of those that are new.
	CreatePods struct {
		Names  []string
		Forced bool // the only one forms the cluster anew from its data
	}
	// DeletePods tells Pods to end, all at once.
	DeletePods struct {
		Pods    []PodRef
		How     Deletion
		Because string
	}
	// MarkPods writes on Pods how clients and containers are to treat them.
	MarkPods struct {
		Pods []PodRef
		As   Mark
	}
	// UpdateImage exchanges the image of a running Pod in place.
	UpdateImage struct{ Name, UID, Version string }
	// ResizePod changes the compute resources of a running Pod.
	ResizePod struct{ Name, UID string }
	// AddLearner lists a new non-voting member in etcd.
	AddLearner struct{ Name string }
	// Promote makes a learner that has caught up a voter.
	Promote struct{ Name string }
	// MoveLeader hands leadership over before its holder is disturbed.
	MoveLeader struct{ From, To string }
	// RemoveMember takes a member off etcd's list.
	RemoveMember struct{ Name, Because string }
	// Downgrade tells etcd that its members go down to a minor version, or, if To is empty, that no more
	// of them need to be let down: etcd lets nobody join meanwhile.
	Downgrade struct{ To, Because string }
	// DisarmAlarm ends an alarm of etcd that was raised for a member which etcd no longer lists.
	DisarmAlarm struct {
		Kind    string
		ID      uint64
		Because string
	}
	// Quarantine sets the volume of a removed member aside for good.
	Quarantine struct{ Name string }
	// DeleteVolume deletes a volume that was set aside long enough ago, or that never held data.
	DeleteVolume struct {
		Name, UID string
		Unused    bool // not if it may hold data by now
	}
	// Wait does nothing until something outside changes.
	Wait struct {
		For  string
		Look Look
	}
	// Refuse does nothing because no safe step exists; a person must act.
	Refuse struct {
		Because string
		Denied  bool // Kubernetes does not let the operator do it, which is tried again by itself
	}
	// Done means the cluster is as wanted.
	Done struct{}
)

// A PodRef is one Pod, and no other that has its name.
type PodRef struct{ Name, UID string }

// Deletion says how Pods are deleted.
type Deletion int

const (
	// Plainly: told to end, in their grace period.
	Plainly Deletion = iota
	// Rehearsed: as Plainly, but not before the API server has found the Pods right that take their place.
	Rehearsed
	// Detached: taken out of the client Service before they are told to end.
	Detached
	// AtOnce: all containers have ended, and what the kubelet still has to clean up is nobody's to wait for.
	AtOnce
)

// Mark is what is written on a Pod.
type Mark int

const (
	// Detach: the client Service sends no clients to it.
	Detach Mark = iota
	// Attach: the client Service sends clients to it, and it has all labels that it was made with.
	Attach
	// Seal: its container forms nothing when it starts on an empty data directory, and joins nobody once
	// its member has had data.
	Seal
)

// Look says when another observation is worth it.
type Look int

const (
	// Later: a watch will tell; look by yourself only now and then.
	Later Look = iota
	// Soon: etcd is about to change, which no watch tells.
	Soon
	// Now: etcd has changed.
	Now
	// Rarely: nothing is to be expected.
	Rarely
)

func (s Record) about() Kind { return Kind{Event: s.Event} }
func (s Apply) about() Kind  { return Kind{Event: "ObjectsApplied"} }
func (s CreatePods) about() Kind {
	return Kind{Event: choose(s.Forced, "MemberForced", "MembersStarted")}
}

func (s DeletePods) about() Kind {
	switch s.How {
	case Detached:
		return Kind{Event: "MembersDismissed"}
	case AtOnce:
		return Kind{Event: "PodsCleared"}
	case Plainly, Rehearsed:
	}
	return Kind{Event: "PodStopped"}
}

func (s MarkPods) about() Kind {
	switch s.As {
	case Attach:
		return Kind{Event: "MemberReadmitted"}
	case Seal:
		return Kind{Event: "BootstrapSealed"}
	case Detach:
	}
	return Kind{Event: "MemberWithdrawn"}
}

func (s UpdateImage) about() Kind  { return Kind{Event: "ImageExchanged"} }
func (s ResizePod) about() Kind    { return Kind{Event: "PodResized"} }
func (s AddLearner) about() Kind   { return Kind{Event: "LearnerAdded", Look: Now} }
func (s Promote) about() Kind      { return Kind{Event: "LearnerPromoted", Look: Now} }
func (s MoveLeader) about() Kind   { return Kind{Event: "LeaderMoved", Look: Now} }
func (s RemoveMember) about() Kind { return Kind{Event: "MemberRemoved", Look: Now} }
func (s Downgrade) about() Kind {
	return Kind{Event: choose(s.To == "", "DowngradeCancelled", "DowngradeAllowed"), Look: Now}
}
func (s DisarmAlarm) about() Kind  { return Kind{Event: "AlarmDisarmed", Look: Now} }
func (s Quarantine) about() Kind   { return Kind{Event: "VolumeQuarantined"} }
func (s DeleteVolume) about() Kind { return Kind{Event: "VolumeDiscarded"} }
func (s Wait) about() Kind         { return Kind{Look: s.Look, Rests: true} }
func (s Refuse) about() Kind       { return Kind{Rests: true} }
func (s Done) about() Kind         { return Kind{Look: Rarely, Rests: true} }

func (s Record) String() string { return s.What }

func (s Apply) String() string {
	parts := make([]string, 0, len(s.Objects))
	for _, o := range s.Objects {
		parts = append(parts, o.String())
	}
	return "apply " + list(parts)
}

func (s CreatePods) String() string {
	return "start " + list(s.Names) + choose(s.Forced, " as a cluster of its own", "")
}

func (s DeletePods) String() string {
	switch s.How {
	case Detached:
		return "dismiss " + list(Names(s.Pods)) + ": " + s.Because
	case AtOnce:
		return "clear pods that have ended: " + list(Names(s.Pods))
	case Plainly, Rehearsed:
	}
	return "stop pod " + list(Names(s.Pods)) + ": " + s.Because
}

func (s MarkPods) String() string {
	switch s.As {
	case Attach:
		return "readmit " + list(Names(s.Pods)) + " to clients"
	case Seal:
		return "seal the bootstrap of " + list(Names(s.Pods))
	case Detach:
	}
	return "withdraw " + list(Names(s.Pods)) + " from clients"
}

func (s UpdateImage) String() string  { return "exchange image of " + s.Name + " for " + s.Version }
func (s ResizePod) String() string    { return "resize " + s.Name }
func (s AddLearner) String() string   { return "add learner " + s.Name }
func (s Promote) String() string      { return "promote " + s.Name }
func (s MoveLeader) String() string   { return "move leader " + s.From + " -> " + s.To }
func (s RemoveMember) String() string { return "remove member " + s.Name + ": " + s.Because }
func (s Downgrade) String() string {
	return choose(s.To == "", "cancel downgrade: "+s.Because, "allow downgrade to "+s.To)
}

func (s DisarmAlarm) String() string {
	return fmt.Sprintf("disarm %s of member %x: %s", s.Kind, s.ID, s.Because)
}
func (s Quarantine) String() string { return "quarantine volume " + s.Name }

func (s DeleteVolume) String() string {
	return "discard volume " + s.Name + choose(s.Unused, ", which never held data", "")
}

func (s Wait) String() string   { return "wait for " + s.For }
func (s Refuse) String() string { return "refuse: " + s.Because }
func (s Done) String() string   { return "done" }

// KindOf says what is common to all steps of that kind.
func KindOf(step Step) Kind { return step.about() }

// Rests says whether the step changes nothing.
func Rests(step Step) bool { return step.about().Rests }

// Names are the names of Pods, in order.
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
