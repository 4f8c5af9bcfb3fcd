package plan

import (
	"fmt"
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// Step is the one next thing to do to a cluster. The set is closed, and String
// is the sentence that people read in logs, events and tests.
//
//sumtype:decl
type Step interface {
	fmt.Stringer
	step()
}

type (
	// Freeze writes down who the first members are, before the first Pod exists.
	Freeze struct{ Members []string }
	// Adopt writes down that kept volumes are this cluster's members.
	Adopt struct {
		Token   string
		Members []string
		Formed  bool // they hold data: join it, never form anew
	}
	// Furnish applies supporting objects: Secrets, Services, the disruption
	// budget, sizes and owners of volumes.
	Furnish struct{ Objects []cluster.Object }
	// Remember writes down the ID of the cluster that has formed, on a volume
	// (unless On is empty) and in the status.
	Remember struct{ ClusterID, On string }
	// Seal has the containers of Pods form nothing when they start on an empty data directory,
	// and join nobody once their members have had data.
	Seal struct{ Pods []PodRef }
	// Start makes the Pods of members, and the volumes of those that are new.
	Start struct{ Names []string }
	// Swap exchanges the image of a running Pod in place.
	Swap struct{ Name, UID, Version string }
	// Resize changes the compute resources of a running Pod.
	Resize struct{ Name, UID string }
	// Withdraw takes a member out of the client Service before it is disturbed.
	Withdraw struct{ Name, UID string }
	// Readmit puts a member back into the client Service.
	Readmit struct{ Name, UID string }
	// Stop deletes a Pod.
	Stop struct {
		Name, UID, Because string
		Rehearse           bool // it runs well: not before the one that takes its place is found right
	}
	// Dismiss takes members that are too many out of the client Service, and tells their
	// Pods to end, all at once.
	Dismiss struct {
		Pods    []PodRef
		Because string
	}
	// Clear deletes Pods for good that were told to end and whose containers all have: what
	// the kubelet still has to clean up is nobody's to wait for.
	Clear struct{ Pods []PodRef }
	// Reserve writes down the name of a member that is about to join.
	Reserve struct{ Name string }
	// AddLearner lists a new non-voting member in etcd.
	AddLearner struct{ Name string }
	// Promote makes a caught-up learner a voter.
	Promote struct{ Name string }
	// MoveLeader hands leadership over before its holder is disturbed.
	MoveLeader struct{ From, To string }
	// Remove strikes a member from etcd's list.
	Remove struct{ Name, Because string }
	// Quarantine sets the volume of a removed member aside for good.
	Quarantine struct{ Name string }
	// Discard deletes a volume that was set aside long enough ago, or that never held data.
	Discard struct {
		Name, UID string
		Unused    bool // not if it may hold data by now
	}
	// AllowDowngrade tells etcd that its members go down to a minor version.
	AllowDowngrade struct{ To string }
	// CancelDowngrade tells etcd that no more of them need to be let down: etcd lets nobody
	// join meanwhile.
	CancelDowngrade struct{ Because string }
	// Disarm ends an alarm of etcd that was raised for a member which etcd lists no more.
	Disarm struct {
		Kind    string
		ID      uint64
		Because string
	}
	// RollBack writes down that a version is not to be tried again, and what runs
	// instead.
	RollBack struct{ Version, Image, Because string }
	// Recover writes down that quorum is lost for good and that the cluster goes on
	// from one survivor.
	Recover struct{ Loss cluster.Loss }
	// Force starts the survivor as the only member of the cluster.
	Force struct{ Name string }
	// Conclude writes down that quorum is recovered.
	Conclude struct{ Survivor string }
	// Wait does nothing until something outside changes.
	Wait struct {
		For  string
		Look Look
	}
	// Refuse does nothing because no safe step exists; a person must act.
	Refuse struct{ Because string }
	// Done means the cluster is as wanted.
	Done struct{}
)

// A PodRef is one Pod, and no other that has its name.
type PodRef struct{ Name, UID string }

// Look says when a Wait is worth another observation.
type Look int

const (
	// Later: a watch will tell; look by yourself only now and then.
	Later Look = iota
	// Soon: etcd is about to change, which no watch tells.
	Soon
)

func (Freeze) step()          {}
func (Adopt) step()           {}
func (Furnish) step()         {}
func (Remember) step()        {}
func (Seal) step()            {}
func (Start) step()           {}
func (Withdraw) step()        {}
func (Readmit) step()         {}
func (Swap) step()            {}
func (Resize) step()          {}
func (Stop) step()            {}
func (Dismiss) step()         {}
func (Clear) step()           {}
func (Reserve) step()         {}
func (AddLearner) step()      {}
func (Promote) step()         {}
func (MoveLeader) step()      {}
func (Remove) step()          {}
func (Quarantine) step()      {}
func (Discard) step()         {}
func (AllowDowngrade) step()  {}
func (CancelDowngrade) step() {}
func (Disarm) step()          {}
func (RollBack) step()        {}
func (Recover) step()         {}
func (Force) step()           {}
func (Conclude) step()        {}
func (Wait) step()            {}
func (Refuse) step()          {}
func (Done) step()            {}

func (s Freeze) String() string { return "freeze first members " + list(s.Members) }

func (s Adopt) String() string {
	if s.Formed {
		return "adopt members " + list(s.Members) + " with their data"
	}
	return "adopt unfinished bootstrap of " + list(s.Members)
}

func (s Furnish) String() string {
	parts := make([]string, 0, len(s.Objects))
	for _, o := range s.Objects {
		parts = append(parts, o.String())
	}
	return "apply " + list(parts)
}

func (s Remember) String() string { return "remember cluster " + s.ClusterID }
func (s Seal) String() string     { return "seal the bootstrap of " + list(names(s.Pods)) }
func (s Start) String() string    { return "start " + list(s.Names) }
func (s Withdraw) String() string { return "withdraw " + s.Name + " from clients" }
func (s Readmit) String() string  { return "readmit " + s.Name + " to clients" }
func (s Swap) String() string     { return "exchange image of " + s.Name + " for " + s.Version }
func (s Resize) String() string   { return "resize " + s.Name }
func (s Stop) String() string     { return "stop pod " + s.Name + ": " + s.Because }
func (s Dismiss) String() string  { return "dismiss " + list(names(s.Pods)) + ": " + s.Because }

func (s Clear) String() string           { return "clear pods that have ended: " + list(names(s.Pods)) }
func (s Reserve) String() string         { return "reserve name " + s.Name }
func (s AddLearner) String() string      { return "add learner " + s.Name }
func (s Promote) String() string         { return "promote " + s.Name }
func (s MoveLeader) String() string      { return "move leader " + s.From + " -> " + s.To }
func (s Remove) String() string          { return "remove member " + s.Name + ": " + s.Because }
func (s Quarantine) String() string      { return "quarantine volume " + s.Name }
func (s AllowDowngrade) String() string  { return "allow downgrade to " + s.To }
func (s CancelDowngrade) String() string { return "cancel downgrade: " + s.Because }
func (s Disarm) String() string {
	return fmt.Sprintf("disarm %s of member %x: %s", s.Kind, s.ID, s.Because)
}
func (s RollBack) String() string { return "roll back to " + s.Version + ": " + s.Because }
func (s Recover) String() string  { return "recover quorum from " + s.Loss.Survivor }
func (s Force) String() string    { return "start " + s.Name + " as a cluster of its own" }
func (s Conclude) String() string { return "quorum is recovered from " + s.Survivor }
func (s Wait) String() string     { return "wait for " + s.For }
func (s Refuse) String() string   { return "refuse: " + s.Because }
func (s Done) String() string     { return "done" }

func (s Discard) String() string {
	if s.Unused {
		return "discard volume " + s.Name + ", which never held data"
	}
	return "discard volume " + s.Name
}

// Rests says whether the step changes nothing.
func Rests(step Step) bool {
	switch step.(type) {
	case Wait, Refuse, Done:
		return true
	case Freeze, Adopt, Furnish, Remember, Seal, Start, Withdraw, Readmit, Swap, Resize, Stop, Dismiss, Clear, Reserve, AddLearner, Promote,
		MoveLeader, Remove, Quarantine, Discard, AllowDowngrade, CancelDowngrade, Disarm, RollBack, Recover, Force, Conclude:
	}
	return false
}

func names(pods []PodRef) []string {
	all := make([]string, 0, len(pods))
	for _, pod := range pods {
		all = append(all, pod.Name)
	}
	return all
}

func list(names []string) string { return strings.Join(names, ", ") }
