// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Condition types of an EtcdCluster
// (https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties).
const (
	// ConditionAvailable is True while a quorum of voters answers linearizable
	// reads and etcd takes writes, False while none does or etcd refuses them by
	// an alarm, and Unknown while the operator does not know.
	ConditionAvailable = "Available"
	// ConditionProgressing is True while the operator changes something or waits
	// for a change to finish.
	ConditionProgressing = "Progressing"
	// ConditionDegraded is True while something is wrong that costs safety or
	// needs a person; the message says what happens next.
	ConditionDegraded = "Degraded"
	// ConditionPerformanceDegraded is True while a member is slower than its peers, and than it was: every write waits for a slow leader,
	// so that leadership is moved away from one. It is also True while disks are slower than etcd needs. It is there once the cluster has
	// formed.
	ConditionPerformanceDegraded = "PerformanceDegraded"
)

// Reasons of ConditionPerformanceDegraded, beside AsExpected.
const (
	// ReasonSlowMember: the message says which member is slow, by what, and what to do.
	ReasonSlowMember = "SlowMember"
	// ReasonSlowDisk: no member is slower than the others, and disks are slower than etcd needs; the message says whose, and what to do.
	ReasonSlowDisk = "SlowDisk"
)

// Reasons of ConditionAvailable. They are the Status column of kubectl get.
const (
	// ReasonHealthy: every member wanted is a healthy voter.
	ReasonHealthy = "Healthy"
	// ReasonQuorumHealthy: a quorum is healthy, but not every member wanted, or there are
	// more than wanted.
	ReasonQuorumHealthy = "QuorumHealthy"
	// ReasonCorrupt: etcd refuses every write, because it has raised the alarm CORRUPT:
	// members do not have the same data.
	ReasonCorrupt = "Corrupt"
	// ReasonNoSpace: etcd refuses every write that needs room, because it has raised the
	// alarm NOSPACE: a database has reached its quota.
	ReasonNoSpace = "NoSpace"
	// ReasonBootstrapping: the cluster has not formed yet.
	ReasonBootstrapping = "Bootstrapping"
	// ReasonRestoring: the volumes of the first members have yet to get the data of the backup that
	// the cluster begins with. It is a reason of ConditionProgressing, too.
	ReasonRestoring = "Restoring"
	// ReasonQuorumLost: fewer voters than a quorum answer.
	ReasonQuorumLost = "QuorumLost"
	// ReasonMembersPending: no member runs, because Kubernetes finds no node for any of their Pods. Nothing is known to be lost.
	ReasonMembersPending = "MembersPending"
	// ReasonRestarting: fewer voters than a quorum answer, only because the operator
	// restarts some for a change that was asked for.
	ReasonRestarting = "Restarting"
	// ReasonUnreachable: whether members serve is not known, because the operator reaches
	// none whose Pod is ready, something is in a member's place, or members that answer reads follow
	// different leaders.
	ReasonUnreachable = "Unreachable"
	// ReasonAuthenticationRequired: whether members serve is not known, because etcd answers its users only and the operator is none of them.
	ReasonAuthenticationRequired = "AuthenticationRequired"
	// ReasonHibernated: spec.size is 0; no member runs and every volume is kept.
	ReasonHibernated = "Hibernated"
	// ReasonDeleting: the EtcdCluster is being deleted.
	ReasonDeleting = "Deleting"
)

// Reasons of ConditionProgressing.
const (
	// ReasonUpToDate: nothing is left to do.
	ReasonUpToDate = "UpToDate"
	// ReasonActing: the operator takes a step.
	ReasonActing = "Acting"
	// ReasonWaiting: the operator waits for something outside of it.
	ReasonWaiting = "Waiting"
	// ReasonRefused: no safe step exists; the Degraded condition says why.
	ReasonRefused = "Refused"
	// ReasonPaused: spec.paused or the annotation etcd-operator.dev/paused is true;
	// nothing is changed or healed.
	ReasonPaused = "Paused"
	// ReasonStepFailed: a step failed and is tried again.
	ReasonStepFailed = "StepFailed"
)

// Reasons of ConditionDegraded.
const (
	// ReasonAsExpected: nothing is wrong.
	ReasonAsExpected = "AsExpected"
	// ReasonMemberDown: a member does not answer, other than for a minute in which the
	// operator restarts it; quorum may still hold.
	ReasonMemberDown = "MemberDown"
	// ReasonMemberBlocked: a member's Pod cannot start (image, scheduling,
	// volume, admission); the message quotes Kubernetes.
	ReasonMemberBlocked = "MemberBlocked"
	// ReasonAlarm: etcd has raised an alarm; the message says for which member, and what to do.
	ReasonAlarm = "Alarm"
	// ReasonDataDamaged: etcd cannot use the data of a member, or it is not that of a majority; it is replaced if the
	// others hold a quorum.
	ReasonDataDamaged = "DataDamaged"
	// ReasonForeignData: a member runs on data that is not its own, such as another
	// cluster's; it is detached from clients, and replaced if the others hold a quorum.
	ReasonForeignData = "ForeignData"
	// ReasonVolumeGrowthRefused: Kubernetes does not let volumes grow to storage.size, or disks have not grown ten minutes after it has;
	// the message quotes it, or the claim, and says what to do. Everything else goes on.
	ReasonVolumeGrowthRefused = "VolumeGrowthRefused"
	// ReasonAuthorityEnds: an authority ends within 30 days, and with it every certificate that
	// it has signed; the message says which and what to do. A year before, the message of
	// AsExpected says so, and an event of this reason.
	ReasonAuthorityEnds = "AuthorityEnds"
	// ReasonRecovering: quorum was lost for good and the cluster is being recovered
	// from a survivor.
	ReasonRecovering = "Recovering"
	// ReasonRestoreFailing: a Job that restores the data of a member has failed, or a restore in
	// place does not go on; the message says why, and whether it is tried again or what to do.
	ReasonRestoreFailing = "RestoreFailing"
	// ReasonActionRequired: no safe step exists; a person must act.
	ReasonActionRequired = "ActionRequired"
	// ReasonStepRejected: Kubernetes or etcd rejected a step; the message quotes it.
	ReasonStepRejected = "StepRejected"
)

// Reasons of the condition Upgradeable, which the operator gives Operator Lifecycle
// Manager of itself. They have no hyphens, which that does not allow.
const (
	// ReasonIdle: an update of the operator may come.
	ReasonIdle = "Idle"
	// ReasonQuorumRecoveryInProgress: a cluster is being recovered from a survivor.
	ReasonQuorumRecoveryInProgress = "QuorumRecoveryInProgress"
	// ReasonMemberReplacementInProgress: a member is being added or removed, for another
	// size or in place of one that was lost.
	ReasonMemberReplacementInProgress = "MemberReplacementInProgress"
	// ReasonRollInProgress: members are brought to another version, or to other settings,
	// one at a time.
	ReasonRollInProgress = "RollInProgress"
)

// Roles of a member in status.members.
const (
	// RoleLeader: a voter that leads.
	RoleLeader = "Leader"
	// RoleVoter: counts for quorum.
	RoleVoter = "Voter"
	// RoleLearner: receives the log and does not vote.
	RoleLearner = "Learner"
	// RoleUnlisted: etcd does not list it: not yet, or no longer.
	RoleUnlisted = "Unlisted"
)
