// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EtcdDrillStatus is how far a drill is, and what was measured.
type EtcdDrillStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed Generation",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Complete and Ready: True once the cluster has recovered.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"},order=2
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// phase is how far the drill is, for people.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Phase",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=3
	Phase DrillPhase `json:"phase,omitempty"`

	// report is the result in one sentence.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Report",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=4
	Report string `json:"report,omitempty"`

	// clusterUID is the UID of the EtcdCluster that was disturbed.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Cluster UID",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=5
	ClusterUID string `json:"clusterUID,omitempty"`

	// targets are the members whose Pods, and with LoseVolume whose volumes, are deleted.
	// +optional
	// +listType=map
	// +listMapKey=member
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Targets",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=6
	Targets []DrillTarget `json:"targets,omitempty"`

	// startedAt is when the failure began, or Measure.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Started At",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=7
	StartedAt *metav1.MicroTime `json:"startedAt,omitempty"`

	// detectedAt is when the status of the EtcdCluster first showed the failure. It is missing if the cluster recovered sooner.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Detected At",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=7
	DetectedAt *metav1.MicroTime `json:"detectedAt,omitempty"`

	// quorumLostAt is when LoseQuorum deleted members of the cluster that the backup was restored into.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Quorum Lost At",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=8
	QuorumLostAt *metav1.MicroTime `json:"quorumLostAt,omitempty"`

	// releasedAt is when the duration of Measure was over.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Released At",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=17
	ReleasedAt *metav1.MicroTime `json:"releasedAt,omitempty"`

	// recoveredAt is when all voters were healthy again.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Recovered At",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=9
	RecoveredAt *metav1.MicroTime `json:"recoveredAt,omitempty"`

	// recoveredIn is the time from startedAt, releasedAt or quorumLostAt to recoveredAt, to a tenth of a second.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Recovered In",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=10
	RecoveredIn *metav1.Duration `json:"recoveredIn,omitempty"`

	// endedAt is when the drill ended.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ended At",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=11
	EndedAt *metav1.MicroTime `json:"endedAt,omitempty"`

	// writes is how many writes were acknowledged, of one every 50ms.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Writes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=12
	Writes *int64 `json:"writes,omitempty"`

	// failedWrites is how many writes failed, or were not acknowledged within a second.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Failed Writes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=13
	FailedWrites *int64 `json:"failedWrites,omitempty"`

	// longestGap is the longest time without an acknowledged write.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Longest Gap",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=14
	LongestGap *metav1.Duration `json:"longestGap,omitempty"`

	// backup is what RestoreBackup and LoseQuorum restore.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Backup",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=18
	Backup *DrillBackup `json:"backup,omitempty"`

	// restored is the name of the EtcdCluster that the backup is restored into. It is deleted when the drill has ended.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Restored",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=19
	Restored string `json:"restored,omitempty"`

	// keys is how many keys that EtcdCluster has served.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Keys",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=20
	Keys *int64 `json:"keys,omitempty"`

	// job is the Job that writes. It is deleted when the drill has ended.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Job",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=15
	Job *JobReference `json:"job,omitempty"`

	// scheduledFor is the time of the schedule that this run is for.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Scheduled for",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=21
	ScheduledFor *metav1.Time `json:"scheduledFor,omitempty"`

	// nextAt is when the drill is carried out next by its schedule.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Next at",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=22
	NextAt *metav1.Time `json:"nextAt,omitempty"`

	// history are the results of earlier runs, the newest first.
	// +optional
	// +listType=atomic
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="History",order=23
	History []DrillResult `json:"history,omitempty"`

	// jobs is how many Jobs were made for this drill: a drill that has to wait again begins with another one.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Jobs",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=16
	Jobs int64 `json:"jobs,omitempty"`
}

// DrillResult is how a run of a drill has ended.
type DrillResult struct {
	// endedAt is when it ended.
	EndedAt metav1.MicroTime `json:"endedAt"`

	// phase that it ended in.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Result",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=24
	Phase DrillPhase `json:"phase"`

	// report is the result in one sentence.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Earlier Report",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=25
	Report string `json:"report"`

	// recoveredIn is how long the cluster took to recover.
	// +optional
	RecoveredIn *metav1.Duration `json:"recoveredIn,omitempty"`

	// longestGap is the longest time without an acknowledged write.
	// +optional
	LongestGap *metav1.Duration `json:"longestGap,omitempty"`

	// failedWrites is how many writes failed.
	// +optional
	FailedWrites *int64 `json:"failedWrites,omitempty"`
}

// DrillTarget is a member that a drill disturbs.
type DrillTarget struct {
	// member is its name.
	Member string `json:"member"`

	// podUID is the UID of the Pod that is deleted. A later Pod of the member is left alone.
	PodUID string `json:"podUID"`

	// volumeUID is the UID of the PersistentVolumeClaim that is deleted; empty if none is.
	// +optional
	VolumeUID string `json:"volumeUID,omitempty"`
}

// DrillBackup is the backup that a drill restores.
type DrillBackup struct {
	// name of the EtcdBackup.
	Name string `json:"name"`

	// version of etcd that the cluster had, in full.
	Version string `json:"version"`

	// revision of etcd's data in it.
	Revision int64 `json:"revision"`

	// keys is how many keys it had when it was made; missing if that is not known.
	// +optional
	Keys *int64 `json:"keys,omitempty"`
}
