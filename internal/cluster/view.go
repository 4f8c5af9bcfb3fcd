// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster describes one etcd cluster as plain data: what is wanted, what
// Kubernetes runs and what etcd reports, all from one observation.
//
// It must never hold a client, a context, a clock or a pointer into a cache.
package cluster

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// View is one observation of a cluster, taken at one moment. It holds facts only, all lists are sorted
// as said beside them, and a rule never changes it.
type View struct {
	Name       string
	UID        string // of the EtcdCluster
	Generation int64  // of its spec
	At         int64  // when this was observed, in seconds since 1970
	Deleting   bool   // the EtcdCluster itself is being deleted
	Newer      string // what in the record only a newer operator understands
	Want       Want
	Target     Target
	Record     Record
	Members    []Member        // by serial number
	Beside     []Member        // that are to replace them, serve beside them before that, and are in no other list; by serial number
	Unknown    []UnknownMember // members that etcd lists, or listed last, and the operator has not added, by ID
	Volumes    []Volume        // every kept volume, by serial number
	Expired    []Object        // volumes set aside for longer than the user wants, by name
	Objects    []Object        // supporting objects that are not as wanted, by kind and name
	Lost       []Object        // authorities that cannot sign for the members, clients' first
	Ending     []Ending        // authorities that end soon, clients' first
	Rotation   Rotation        // of authorities
	Revocation Revocation      // of certificates
	TLS        TLSChange       // turned on or off
	Misfits    []Object        // parts of volumes that are not as wanted, by part and name
	Refused    []Object        // volumes that Kubernetes does not let grow, or that have not grown in time, by name
	Foreign    []Object        // objects of other owners that have a name which the cluster needs

	// Certificates are about external certificates.
	Certificates Certificates
	// Monitoring is about objects of the Prometheus Operator.
	Monitoring Monitoring
	// Outside is how clients outside of the Kubernetes cluster reach members.
	Outside Outside
	// Route is about the TLSRoute of the Gateway API.
	Route Route

	// Adoption is about the running cluster that becomes this one.
	Adoption Adoption
	// Restore is about the backup that the cluster begins with, or is brought back to.
	Restore Restore
	// Backup is about the backup that something waits for.
	Backup Backup
	// Candidate is about the backup that the cluster can be brought back to if quorum is lost for good.
	Candidate RestoreCandidate

	// Unread says why etcd's member list could not be read with quorum; empty when
	// it was. Roles then come from one member's memory and may be old.
	Unread string
	// Alarms are those that etcd has raised, by kind and ID.
	Alarms []Alarm
	// Space is about the room in databases and on volumes.
	Space Space
	// Compacted is the revision up to which history was dropped because of NOSPACE; 0 if it was not, or the operator has forgotten it.
	Compacted int64
	// Freeing is true for a moment after that: etcd is about to report what has become free.
	Freeing bool
	// Undecided says why it is not known which member's data differs; empty if it is known, or if nothing
	// says that any does.
	Undecided string
	// Speeds are how fast voters are, if they were asked for that at this look, by serial number.
	Speeds []Speed
	// Advice is which settings of etcd would be better otherwise.
	Advice []Advice
	// Usages are what members have used, if they were asked for that at this look.
	Usages []Usage
	// Autoscale is about compute resources by use.
	Autoscale Autoscale
	// Busy: a backup or a defragmentation slows members down.
	Busy bool
	// Anomalies are by which members are slower than they were, by member and signal.
	Anomalies []Anomaly
	// SlowDisks are disks of members that are slower than etcd needs, whatever those of the others do, by member and signal; Usual is what
	// it needs.
	SlowDisks []Anomaly
	// Relieved: leadership was moved away from a slow member not long ago.
	Relieved bool
	// Hashes are those of all voters, if they were compared at this look.
	Hashes Comparison
	// Split says which members follow which leader, if members that answer linearizable reads
	// follow different leaders: each side has a quorum of its own, and writes that the other
	// lacks. Unread says the same then.
	Split string
	// Locked says that etcd answers only authenticated users, and the operator is not one.
	Locked bool
	// NotRoot says that authentication is enabled and etcd does not accept the operator as root, and how that ends; empty if it does.
	NotRoot string
	// DowngradeTarget is the minor version of the downgrade that etcd has enabled, while it lets
	// no member join; empty if none. If all run etcd 3.5 it is only looked for before members
	// are added.
	DowngradeTarget string
	// Fresh is true while a Pod started so recently that etcd is about to answer.
	Fresh bool
}

// Restore is how far a restore is: volumes are filled before the cluster adopts them. The cluster begins with them, or they replace
// those of its members.
type Restore struct {
	Wanted   bool          // the cluster begins with it
	InPlace  string        // ID of the restore for which the members that are Chosen replace the others; empty if none does now
	Filling  bool          // volumes of a restore in place have yet to get the data; no member was replaced
	Undo     bool          // of InPlace: the members that were replaced come back
	KeepFor  time.Duration // for which the volumes of replaced members are kept
	Done     bool          // the volumes of all first members are there, and have the data
	Progress string        // what it waits for; empty while nothing is known
	Problem  string        // why it does not go on unless a person does something, and what; empty if it does
	Failure  string        // why a try has failed that is made again; empty if none has
}

// Want is what the user asks for, by the spec and by annotations.
type Want struct {
	Size      int    // 0: hibernate
	Version   string // full version, 3.6.16
	Image     string // that the user has chosen for it; empty if none
	Ephemeral bool   // data lives and dies with the Pod
	Paused    string // what says that nothing is to be changed; empty if nothing does
	Unclear   bool   // what says so may have meant the opposite
	Allowed   bool   // what is asked for was allowed before: members that exist may be started by it
	Forbidden string // what is asked for beyond what the operator's administrator allows, and what to do; empty if nothing is
	RollBack  bool   // take an update back whose first member fails
	Automatic bool   // recover quorum without asking
	Guarded   bool   // another minor version of etcd and hibernation wait for a backup
	Last      bool   // so does deletion, and volumes go then
	Expired   bool   // its time is over, and it is deleted
	Accepted  string // loss of data that the user has accepted, as Loss.String puts it
	Heals     bool   // make room when etcd has raised NOSPACE
	// ReplacesSlow: another member takes the place of one that has been slower than the others for as long as SlowTimeout.
	ReplacesSlow bool
	SlowTimeout  time.Duration
	// NoMember is what the annotation names that asks for members to be replaced, and that was never a member; empty if all were.
	NoMember string
	// Defragment is what the annotation that asks for a defragmentation has; empty if none does.
	Defragment string
	NoWindow   string // why the window for defragmentation never opens, and what to do; empty if it does
}

// Loss is the data that the cluster has left if it goes on from one survivor alone.
type Loss struct {
	Survivor string
	Revision int64 // of the survivor's data: later writes are lost
}

// String is what a user writes to accept the loss.
func (l Loss) String() string { return fmt.Sprintf("%s@%d", l.Survivor, l.Revision) }

// Ending is a certificate authority that ends soon: within a year, or a quarter of its life if that is less.
// Its certificates end with it.
type Ending struct {
	Secret string // that holds it
	On     string // the time of its end, as 2036-01-31T12:00:00Z
	Near   bool   // within 30 days, or a twelfth of its life
	Over   bool   // it has ended

	// Expired: not the authority has ended, but what members show that it has signed, and it can sign nothing else.
	Expired bool
}

// UnknownMember is a member that etcd lists and the operator has not added.
type UnknownMember struct {
	ID      uint64
	Name    string // empty until it has started
	PeerURL string
	Voter   bool
	Home    string // the namespace by which its peer URL names it as one of a cluster of this name; empty if it does not

	Source  bool   // it is of the running cluster that is adopted; what follows is known of none else
	URL     string // at which it has answered; empty if it has not
	Healthy bool   // it answered a linearizable read
	Leader  bool
	Version string
	DBSize  int64 // bytes of its database file
}

// Elsewhere says what to do with data in which etcd names its members by another namespace.
func Elsewhere(namespace string) string {
	return fmt.Sprintf("its data is of a cluster in namespace %s, by which etcd's members find each other: "+
		"bring the volumes back to that namespace and create the EtcdCluster there; data cannot be moved to another one yet", namespace)
}

// OfBeside is the view of those that serve beside the members, as it is to be once the cluster has adopted them: their Pods are made by
// it, so that none restarts when it is.
func (v View) OfBeside() View {
	v.Members, v.Beside = v.Beside, nil
	v.Record.Token, v.Record.First, v.Record.Adopted, v.Record.ClusterID = v.UID, Names(v.Members), true, ""
	v.Record.Defragmenting = Defragmenting{}
	v.Target = Target{Version: v.Members[0].Version, Trust: v.Target.Trust, RevokedAt: v.Target.RevokedAt}
	if v.Target.Version == v.Want.Version {
		v.Target.Image = v.Want.Image
	}
	return v
}

// Planned says whether the first members are chosen.
func (v View) Planned() bool { return v.Record.Token != "" }

// Formed says whether the operator remembers that the cluster has formed. From
// then on no member is ever started as part of a new cluster.
func (v View) Formed() bool { return v.Record.ClusterID != "" || v.Record.Adopted }

// Unproven says whether the volumes were adopted and the member list was not read
// since: only the data shows which members the cluster had in the end.
func (v View) Unproven() bool { return v.Record.Adopted && v.Record.ClusterID == "" }

// Select returns the members for which every test holds. It makes room for all that are
// left once, with the first: rules ask this often.
func (v View) Select(tests ...func(Member) bool) []Member {
	var out []Member
	for i, m := range v.Members {
		if !all(m, tests) {
			continue
		}
		if out == nil {
			out = make([]Member, 0, len(v.Members)-i)
		}
		out = append(out, m)
	}
	return out
}

// Count is how many members there are for which every test holds.
func (v View) Count(tests ...func(Member) bool) int {
	n := 0
	for _, m := range v.Members {
		if all(m, tests) {
			n++
		}
	}
	return n
}

func all(m Member, tests []func(Member) bool) bool {
	for _, test := range tests {
		if !test(m) {
			return false
		}
	}
	return true
}

// Member returns the member of that name, and whether there is one.
func (v View) Member(name string) (Member, bool) {
	i := slices.IndexFunc(v.Members, func(m Member) bool { return m.Name == name })
	if i < 0 {
		return Member{Name: name}, false
	}
	return v.Members[i], true
}

// Voters is how many voters the cluster has, or will have when it has formed.
func (v View) Voters() int {
	if n := v.Count(IsVoter); n > 0 {
		return n
	}
	if n := len(v.Record.First); n > 0 {
		return n
	}
	return v.Want.Size
}

// UnknownVoters is how many voters the operator has not added. It is not known what data they have and whether they
// run, only that etcd counts them.
func (v View) UnknownVoters() int {
	n := 0
	for _, s := range v.Unknown {
		if s.Voter {
			n++
		}
	}
	return n
}

// Leader returns the member that leads, and whether one does.
func (v View) Leader() (Member, bool) {
	for _, m := range v.Members {
		if m.Leader {
			return m, true
		}
	}
	return Member{}, false
}

// IsDisplaced says whether a Pod or a volume of another owner has the name of a member.
// No member is asked then: another process may answer in its place.
func (v View) IsDisplaced() bool {
	return slices.ContainsFunc(v.Foreign, func(o Object) bool { return o.Kind == "Pod" || o.Kind == "PersistentVolumeClaim" })
}

// Runs says whether a member that answers runs this full version.
func (v View) Runs(version string) bool {
	return slices.ContainsFunc(v.Members, func(m Member) bool { return m.Answers && m.Version == version })
}

// Names returns the members' names, in the given order.
func Names(members []Member) []string {
	names := make([]string, 0, len(members))
	for _, m := range members {
		names = append(names, m.Name)
	}
	return names
}

// Texts are what people read of each, in the given order.
func Texts[T fmt.Stringer](all []T) []string {
	texts := make([]string, 0, len(all))
	for _, one := range all {
		texts = append(texts, one.String())
	}
	return texts
}

// MemberName is the name of the member with that serial number.
func MemberName(cluster string, serial int) string {
	return cluster + "-" + strconv.Itoa(serial)
}

// Serial is the number at the end of a member's name, or -1 if the name is not
// one that MemberName makes for this cluster.
func Serial(cluster, name string) int {
	digits, ok := strings.CutPrefix(name, cluster+"-")
	if !ok {
		return -1
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || strconv.Itoa(n) != digits {
		return -1
	}
	return n
}

// LockedBecause is why a cluster is not read that answers its users only, wherever it is said.
const LockedBecause = "etcd answers its users only, because authentication is enabled"
