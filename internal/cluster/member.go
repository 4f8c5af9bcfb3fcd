package cluster

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

// Member joins what the record, Kubernetes and etcd each know of one member.
type Member struct {
	Name     string
	Recorded bool // the record counts it as a member

	// What Kubernetes knows.
	Pod    Pod
	Volume VolumeState

	// What etcd's list says.
	ID      uint64 // 0 while unlisted
	Role    Role
	Started bool // it has joined under its own name at least once

	// What the member itself says.
	Answers   bool   // it told its status
	Healthy   bool   // it answered a linearizable read
	Leader    bool   // the answering members follow it
	Synced    bool   // a learner that has caught up with the leader
	ClusterID string // of the cluster that it says it is in, in hexadecimal
	Version   string // etcd version that it runs; empty if unknown
	DBSize    int64  // bytes
	Complaint string // alarms that it reports
}

// Pod is what the API server says of a member's Pod.
type Pod struct {
	Exists      bool
	UID         string // precondition of every deletion
	Address     string // IP; empty until the network is up
	Terminating bool
	Overdue     bool   // terminating for longer than its grace period
	Finished    bool   // Failed or Succeeded: it never runs again
	Running     bool   // its container runs now
	Ready       bool   // the kubelet's readiness probe passes
	Outdated    bool   // built from an older spec
	Trouble     string // why its container does not run, in Kubernetes' words
}

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

// IsVoter says whether etcd counts the member for quorum.
func IsVoter(m Member) bool { return m.Role == Voter }

// IsLearner says whether the member is a learner.
func IsLearner(m Member) bool { return m.Role == Learner }

// IsListed says whether etcd lists the member.
func IsListed(m Member) bool { return m.Role != Unlisted }

// IsHealthy says whether the member answered a linearizable read.
func IsHealthy(m Member) bool { return m.Healthy }

// IsServing says whether clients reach a healthy member: its Service lists it as
// soon as the kubelet finds it ready.
func IsServing(m Member) bool { return m.Healthy && m.Pod.Ready && !m.Pod.Terminating }

// IsRecorded says whether the record counts it as a member.
func IsRecorded(m Member) bool { return m.Recorded }

// IsOutdated says whether the member's Pod was built from an older spec.
func IsOutdated(m Member) bool { return m.Pod.Exists && m.Pod.Outdated }

// HasPod says whether the member has a Pod that may still run.
func HasPod(m Member) bool { return m.Pod.Exists && !m.Pod.Finished }

// IsLost says whether the member's data is gone for good: it has started, and
// neither a Pod that may run nor a volume that stays is left of it.
func IsLost(m Member) bool {
	return m.Started && !HasPod(m) && m.Volume != Kept
}

// Not inverts a test.
func Not(test func(Member) bool) func(Member) bool {
	return func(m Member) bool { return !test(m) }
}
