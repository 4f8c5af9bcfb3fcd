// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import "slices"

// Role is a member's standing in etcd's own member list.
type Role int

const (
	// Unlisted: Kubernetes or the record knows it, etcd does not list it.
	Unlisted Role = iota
	// Learner receives the log and does not vote.
	Learner
	// Voter counts for quorum.
	Voter
)

// Member joins what the record, Kubernetes and etcd each know of one member. Its Name is never used again,
// also after the member was removed.
type Member struct {
	Name     string
	Recorded bool // the record counts it as a member

	// Chosen: it is one of those that replace the other members, because the cluster is restored in place.
	Chosen bool

	// What Kubernetes knows.
	Pod    Pod
	Volume VolumeState
	// DataDirectory is the directory of etcd's data on a volume that was a source's; empty if it is the usual one.
	DataDirectory string
	Unused        bool // its volume provably never held data
	SetAside      bool // of one that is Chosen: its volume is quarantined

	// What etcd's list says.
	ID      uint64 // 0 while unlisted
	Role    Role
	Started bool // it has joined under its own name at least once
	// OldPeerURLs: it is listed by other schemes than those by which it is to be found.
	OldPeerURLs bool

	// What the member itself says.
	Answers   bool   // it answered with its status
	Slow      bool   // it has taken the connection, and did not answer in time
	Healthy   bool   // it answered a linearizable read
	Leader    bool   // the answering members follow it
	Synced    bool   // a learner that has caught up with the leader
	ClusterID string // of the cluster that it says it is in, in hexadecimal
	Version   string // etcd version that it runs; empty if unknown
	DBSize    int64  // bytes of its database file
	InUse     int64  // bytes of it that hold data
	// HourlyGrowth is by how many bytes that has grown in the last hour; 0 if it was not watched for long enough.
	HourlyGrowth int64
	Revision     int64  // of its data, as far as it has applied it
	Confirmed    int64  // revision of the cluster as of that read; 0 if etcd does not report it
	Index        uint64 // of the last raft entry that it knows to be committed; 0 if it is not known
	Unsigned     bool   // Revision, Index and Lists come from its metrics, which no certificate vouches for
	Lists        int    // members that its data lists, learners too; 0 if that is not known
	Behind       uint64 // committed entries that it has yet to apply, against the leader
	Complaint    string // alarms that it reports

	Room         Room
	Defragmented Defragmented
	HeldUp       bool // it was chosen to be defragmented ten minutes ago, and its Pod is the one that it had then

	HashMismatch bool   // its data is not that of a majority of the voters: while CORRUPT is raised, or by two comparisons in a row
	Differs      bool   // its etcd does not start because its data is not that of all others, which does not say whose data is good
	Foreign      string // which other data it has instead of its own; empty if none is known

	// Why it cannot come back. Only Damage proves that its data cannot be used: a machine that
	// Kubernetes cannot reach, or no longer knows, may still run etcd.
	Damage          string // its data cannot be used, in etcd's words; empty if nothing says so
	NodeUnreachable string // its node has been silent for too long; empty if it has not
	NodeGone        string // its volume is on a node whose object was deleted; empty if it is not

	// Denied: its Pod may not be labelled at present, or its volume not be quarantined.
	Denied Denial

	// Sluggish: it is slower than its peers, and than it was.
	Sluggish bool
	// Exchange is why another member is to take its place although it is well: its volume has another storage class than wanted, or a
	// person asks for it; empty if none is.
	Exchange string
	// Asked: of that, a person asks for it.
	Asked bool

	// RefusesReconfig: as leader it has refused to let members join or leave for longer than etcd
	// needs, although all voters were healthy.
	RefusesReconfig bool

	// Restarting: the operator itself has stopped it less than a minute ago, to start it again or because
	// it is removed.
	Restarting bool

	// ProposalSent: an entry was written to the raft log a moment ago because it does not answer.
	ProposalSent bool
}

// Pod is what the API server says of a member's Pod. It is empty if there is none.
type Pod struct {
	Phase    Phase
	Deletion Deletion
	Overdue  bool // it is terminating for longer than a Pod may take
	Clients  Clients

	UID                string // precondition of every deletion
	Made               int64  // when, in seconds
	Address            string // IP; empty until the network is up
	Ready              bool   // the kubelet's readiness probe passes
	Proven             bool   // it has passed before: what it runs has worked
	Failing            bool   // its container keeps ending, or never starts
	RecentlyRestarted  bool   // its container has failed, and runs again only for a moment
	Settling           bool   // its container is about to restart with another image
	Trouble            string // why its container does not run, in Kubernetes' words
	Change             Change // what of it is not as the spec wants it
	QuotaBelowDBSize   bool   // it would get a quota that is less than it has, and less than the member's database
	Entry              Entry  // what its container does if it starts on an empty data directory
	Unchecked          bool   // its container would start on data that is not that of its peers, and is not to
	Forced             bool   // it was started with --force-new-cluster
	Defragments        bool   // its etcd has defragmented its database as it started; not of one that is to be made again for it
	DefragmentsAgain   bool   // its container was started to defragment, and would do so again each time that it starts
	Quota              int64  // bytes that its etcd was started with, at which it raises NOSPACE; 0 if that is not known
	OldCABundle        bool   // it was made with other authorities than are trusted now
	PredatesRevocation bool   // it may have connections by certificates that were revoked since it was made
	StalePeerList      bool   // etcd does not let it join by the list of members that it was made with, which is old
	LabelsMissing      bool   // labels of ours were removed from it, so that no watch and no Service sees it, or it has no owner
	Lingers            bool   // it goes on to serve for a moment when it is deleted
	Resizing           string // why it does not have the compute resources yet that it is to have
	Cramped            string // why it cannot have what it is given beyond the spec: it is left as it runs; empty if it can
	MemoryLimit        int64  // bytes of memory that its etcd may have; 0 if that is not limited
	OOMKilled          int64  // when its etcd was killed for want of memory last, in seconds since 1970; 0 if it was not
	Cordoned           bool   // its node takes no new Pods: a drain may follow
	Silent             string // its node, if that is silent: what Kubernetes says of the Pod is old
	Image              string // that its container is to run
	DefaultImage       bool   // some operator chose that image for the version, not the user
	Denied             Denial // that it may not be made at present
}

// Phase is how far a Pod has come.
type Phase int

const (
	// NoPod: there is none.
	NoPod Phase = iota
	// Unplaced: no node has it yet: none of its containers ever ran.
	Unplaced
	// Placed: a node has it, and etcd does not run in it now.
	Placed
	// Running: etcd's container runs now.
	Running
	// Finished: it never runs etcd again.
	Finished
)

// Deletion is how far the deletion of a Pod has come.
type Deletion int

const (
	// NotDeleted: it was not deleted.
	NotDeleted Deletion = iota
	// Terminating: it is being deleted.
	Terminating
	// Ended: it is being deleted, and the kubelet says that none of its containers runs any more.
	Ended
)

// Clients are those that come to a Pod through the client Service.
type Clients int

const (
	// Attached: the Service sends them to it.
	Attached Clients = iota
	// Leaving: the Service sends none to it any more, which not every node may know yet.
	Leaving
	// Gone: none is sent to it any more.
	Gone
)

// Exists says whether there is a Pod.
func (p Pod) Exists() bool { return p.Phase != NoPod }

// IsTerminating says whether the Pod is being deleted.
func (p Pod) IsTerminating() bool { return p.Deletion != NotDeleted }

// IsDetached says whether the client Service sends no clients to the Pod.
func (p Pod) IsDetached() bool { return p.Clients != Attached }

// Change is what it takes to bring a Pod to the spec.
type Change int

const (
	// Same: it is as the spec wants it.
	Same Change = iota
	// Resize: only its compute resources differ, which can change while it runs.
	Resize
	// Swap: only its image differs, which the kubelet changes in place.
	Swap
	// Rebuild: it must be deleted and created again.
	Rebuild
)

// Entry is what a container does if it starts on an empty data directory. The kubelet asks
// for it at each start, so that it can change while the container runs.
type Entry int

const (
	// Unalterable: its arguments say so for good, as in Pods of releases before 0.4.
	Unalterable Entry = iota
	// Ends: it forms no cluster and joins none; etcd exits.
	Ends
	// Joins: it joins the members that its list names.
	Joins
	// Forms: it forms a new cluster, or waits for others that do.
	Forms
)

// VolumeState is where a member's data stands.
type VolumeState int

const (
	// NoVolume: there is none, which for a member that has data means loss.
	NoVolume VolumeState = iota
	// Kept: the volume exists, or the data is in the living Pod.
	Kept
	// Going: the volume is being deleted and lives only as long as its Pod.
	Going
)

// Choice is the image that the user has chosen for what the member runs; empty if that was
// left to an operator. Others may run the same version by another image, which is as good.
func (m Member) Choice() string {
	if m.Pod.DefaultImage {
		return ""
	}
	return m.Pod.Image
}

// IsVoter says whether etcd counts the member for quorum.
func IsVoter(m Member) bool { return m.Role == Voter }

// IsLearner says whether the member is a learner.
func IsLearner(m Member) bool { return m.Role == Learner }

// IsListed says whether etcd lists the member.
func IsListed(m Member) bool { return m.Role != Unlisted }

// IsHealthy says whether the member answered a linearizable read.
func IsHealthy(m Member) bool { return m.Healthy }

// IsSteady says whether a healthy member is about to stay so: its
// Pod is not being deleted, its container is not about to restart, and it did not fail a moment ago.
func IsSteady(m Member) bool {
	return m.Healthy && !m.Pod.IsTerminating() && !m.Pod.Settling && !m.Pod.RecentlyRestarted
}

// IsAwaited says whether a member is away because the operator restarts it, and
// nothing keeps it from coming back.
func IsAwaited(m Member) bool {
	return m.Restarting && !m.Healthy && m.Pod.Trouble == "" && !m.Pod.Denied.Stands() && m.Damage == "" && m.NodeUnreachable == "" &&
		m.NodeGone == ""
}

// AcceptsReconfig says whether the member is not known to refuse reconfiguration as a leader.
func AcceptsReconfig(m Member) bool { return !m.RefusesReconfig }

// IsServing says whether clients reach a member that stays healthy: its Service
// lists it as soon as the kubelet finds it ready.
func IsServing(m Member) bool { return IsSteady(m) && m.Pod.Ready && !m.Pod.IsDetached() }

// IsRecorded says whether the record counts it as a member.
func IsRecorded(m Member) bool { return m.Recorded }

// IsOutdated says whether the member's Pod is not as the spec wants it.
func IsOutdated(m Member) bool { return m.Pod.Exists() && m.Pod.Change != Same }

// IsUpdated says whether the member's Pod is as the spec wants it, and was made since the last certificate was revoked. Until all
// members refuse that, one that permits it is neither updated nor outdated: it does not restart yet.
func IsUpdated(m Member) bool {
	return m.Pod.Exists() && m.Pod.Change == Same && !m.Pod.PredatesRevocation
}

// IsCramped says whether the member cannot have what it is given beyond the spec.
func IsCramped(m Member) bool { return m.Pod.Cramped != "" }

// IsUnschedulable says whether Kubernetes finds no node for the member's Pod.
func IsUnschedulable(m Member) bool { return m.Pod.Phase == Unplaced && m.Pod.Trouble != "" }

// IsResizing says whether the kubelet has yet to give the member's Pod the compute
// resources that the spec wants.
func IsResizing(m Member) bool { return m.Pod.Resizing != "" && m.Pod.Change == Same }

// IsSuperseded says whether the member's Pod must be deleted and created again.
func IsSuperseded(m Member) bool { return m.Pod.Exists() && m.Pod.Change == Rebuild }

// IsDisturbed says whether something outside is about to end the member's Pod.
func IsDisturbed(m Member) bool { return m.Pod.IsTerminating() || m.Pod.Cordoned }

// IsCordoned says whether the member's node takes no new Pods.
func IsCordoned(m Member) bool { return m.Pod.Cordoned }

// IsUnresponsive says whether etcd lists the member, and it runs and does not answer.
func IsUnresponsive(m Member) bool {
	return IsListed(m) && m.Pod.Phase == Running && m.Pod.Address != "" && !m.Answers && m.Foreign == ""
}

// IsAway says whether the member does not run at the moment, or its node is silent.
func IsAway(m Member) bool { return (m.Pod.Phase != Running || m.Pod.Silent != "") && !m.Answers }

// Silence names the member's node if that is silent and the member does not answer; empty if not.
func (m Member) Silence() string {
	if m.Pod.Silent == "" || m.Answers {
		return ""
	}
	return "its node " + m.Pod.Silent + " is silent"
}

// HasPod says whether the member has a Pod that may still run. One that waits for a node,
// and whose volume is gone meanwhile, finds none; Kubernetes keeps a volume that is being
// deleted only for Pods that a node has
// (https://kubernetes.io/docs/concepts/storage/persistent-volumes/#storage-object-in-use-protection).
func HasPod(m Member) bool {
	return m.Pod.Exists() && m.Pod.Phase != Finished && !(m.Pod.Phase == Unplaced && m.Volume == NoVolume)
}

// MayHoldData says whether the member may have accepted what clients wrote: it has started,
// or it votes, and a first member does before etcd lists it as started.
func MayHoldData(m Member) bool { return m.Started || m.Role == Voter }

// HasData says whether the member is known to have data: it runs on it, or etcd lists its client
// URLs, which only the member itself can have published.
func HasData(m Member) bool { return m.Started || m.Answers }

// IsLost says whether the member's data is gone for good: it may have had some, and
// neither a Pod that may run nor a volume that stays is left of it.
func IsLost(m Member) bool {
	return MayHoldData(m) && !HasPod(m) && m.Volume != Kept
}

// IsBeyondRepair says whether the member's data is gone or cannot be used: nothing
// brings this member back.
func IsBeyondRepair(m Member) bool { return IsLost(m) || m.Damage != "" && !m.Answers }

// IsMissing says whether the member's data is on a machine that Kubernetes no longer knows. The machine
// may come back, or still run etcd: the data does not count as lost.
func IsMissing(m Member) bool { return m.NodeGone != "" && !m.Answers && !IsBeyondRepair(m) }

// IsForeign says whether the member runs on data that is not its own. What else it
// reports of itself is not trusted: it counts as neither answering nor healthy.
func IsForeign(m Member) bool { return m.Foreign != "" }

// HasHashMismatch says whether the member's data is not that of a majority of the voters, by their hashes.
func HasHashMismatch(m Member) bool { return m.HashMismatch }

// IsChosen says whether the member is one of those that replace the others.
func IsChosen(m Member) bool { return m.Chosen }

// Not inverts a test.
func Not(test func(Member) bool) func(Member) bool {
	return func(m Member) bool { return !test(m) }
}

// Except is true of every member but those of these names.
func Except(names ...string) func(Member) bool {
	return func(m Member) bool { return !slices.Contains(names, m.Name) }
}
