// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Reasons of ConditionComplete of an EtcdDrill; ReasonJobDifferent if a backup was restored with another number of keys than it had, and
// ReasonNameTaken if another object has the name of one that the drill needs. While a drill waits it is one of those from ReasonClusterBusy
// on, ReasonClusterMissing, or ReasonStepFailed.
const (
	// ReasonRecovered: the cluster has recovered within the timeout.
	ReasonRecovered = "Recovered"
	// ReasonNotRecovered: the cluster has not recovered within the timeout. The operator goes on repairing it.
	ReasonNotRecovered = "NotRecovered"
	// ReasonActionUnknown: an earlier version has stored an action that this one does not have.
	ReasonActionUnknown = "ActionUnknown"
	// ReasonNotAsExpected: a backup was restored, and its data is not what spec.expect says; the message names what is not.
	ReasonNotAsExpected = "NotAsExpected"
	// ReasonDrillsForbidden: spec.drills of the cluster is not Allowed.
	ReasonDrillsForbidden = "DrillsForbidden"
	// ReasonNoQuorumToSpare: the cluster has too few members to lose one.
	ReasonNoQuorumToSpare = "NoQuorumToSpare"
	// ReasonNoVolumes: storage.ephemeral has no volumes, so that the action loses nothing more than KillMember, or all data; or of which no
	// VolumeSnapshot can be taken.
	ReasonNoVolumes = "NoVolumes"
	// ReasonWriterFailed: nothing could write to the cluster before the failure, so that it was not begun; the message says why.
	ReasonWriterFailed = "WriterFailed"
	// ReasonClusterGone: the EtcdCluster was deleted, or replaced by another one of its name, during the drill.
	ReasonClusterGone = "ClusterGone"
	// ReasonMeasuring: the first writes are awaited, before the failure; or the duration of Measure is not over.
	ReasonMeasuring = "Measuring"
	// ReasonRecoveryAwaited: the failure was simulated, and the cluster has not recovered yet.
	ReasonRecoveryAwaited = "RecoveryAwaited"
	// ReasonNotWhole: the cluster is not Available, or not all of its voters are healthy.
	ReasonNotWhole = "NotWhole"
	// ReasonClusterBusy: something else is in progress on the cluster, or it is paused.
	ReasonClusterBusy = "ClusterBusy"
	// ReasonScheduled: the time of the schedule has not come.
	ReasonScheduled = "Scheduled"
	// ReasonScheduleUnreadable: the schedule or its time zone cannot be read.
	ReasonScheduleUnreadable = "ScheduleUnreadable"
	// ReasonAnotherDrill: an earlier EtcdDrill of the cluster has not ended.
	ReasonAnotherDrill = "AnotherDrill"
	// ReasonNoRecentBackup: the action puts data at risk, and no verified backup is younger than 24 hours.
	ReasonNoRecentBackup = "NoRecentBackup"
)
