// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// EtcdDrill simulates one failure of an EtcdCluster of its namespace, or lets another tool cause it, and measures how the cluster recovers.
// It needs spec.drills: Allowed of that cluster. A drill is carried out once; the object stays as the record of it. Create another one for
// another drill. With a schedule it is carried out again and again, and status.history is the record.
//
// While the cluster is not whole, or something else is in progress on it, the drill waits, for an hour at most. Deleting the object
// ends the drill; what the failure has damaged is still repaired by the operator.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcddrills,singular=etcddrill,shortName=edr,categories=etcd
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.cluster`
// +kubebuilder:printcolumn:name="Action",type=string,JSONPath=`.spec.action`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Recovered-In",type=string,JSONPath=`.status.recoveredIn`
// +kubebuilder:printcolumn:name="Longest-Gap",type=string,JSONPath=`.status.longestGap`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Report",type=string,JSONPath=`.status.report`,priority=1
// +operator-sdk:csv:customresourcedefinitions:displayName="etcd Drill",resources={{Job,v1},{Pod,v1},{Event,v1}},order=7
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must have at most 63 characters: it is the value of a label"
type EtcdDrill struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which failure is simulated. It cannot be changed.
	// +required
	Spec EtcdDrillSpec `json:"spec"`

	// status is how far the drill is, and what was measured.
	// +optional
	Status EtcdDrillStatus `json:"status,omitzero"`
}

// EtcdDrillList is a list of EtcdDrills.
//
// +kubebuilder:object:root=true
type EtcdDrillList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EtcdDrill `json:"items"`
}

// EtcdDrillSpec says which failure is simulated.
//
// +kubebuilder:validation:XValidation:rule="!has(self.duration) || self.action == 'Measure'",message="duration goes with the action Measure"
// +kubebuilder:validation:XValidation:rule="!has(self.expect) || self.action in ['RestoreBackup', 'LoseQuorum']",message="expect is about data that is restored: it goes with the actions RestoreBackup and LoseQuorum"
// +kubebuilder:validation:XValidation:rule="!has(self.timeZone) || has(self.schedule)",message="timeZone goes with schedule"
// +kubebuilder:validation:XValidation:rule="has(self.schedule) == has(oldSelf.schedule)",message="schedule can be changed, and neither added nor removed: create another EtcdDrill"
// +kubebuilder:validation:XValidation:rule="self.cluster == oldSelf.cluster && self.action == oldSelf.action && has(self.timeout) == has(oldSelf.timeout) && (!has(self.timeout) || duration(self.timeout) == duration(oldSelf.timeout)) && has(self.duration) == has(oldSelf.duration) && (!has(self.duration) || duration(self.duration) == duration(oldSelf.duration))",message="cluster, action, duration and timeout cannot be changed: create another EtcdDrill"
type EtcdDrillSpec struct {
	// cluster is the EtcdCluster of this namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=52
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Cluster",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=1
	Cluster string `json:"cluster"`

	// action is the failure: KillMember deletes the Pod of a follower with a grace of one second, KillLeader that of the leader, KillAll those
	// of all members at once. LoseVolume deletes the Pod and the volume of a follower, which the operator then replaces. Measure causes no
	// failure: it writes and measures for duration, while another tool breaks disks, networks or nodes. RestoreBackup touches no member: it
	// restores the newest verified backup into an EtcdCluster of one member, counts the keys, and deletes that EtcdCluster with its volume.
	// LoseQuorum restores it into one of three members, deletes two of them with their volumes, and waits until the operator has recovered the
	// quorum from the third.
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Action",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=2
	Action DrillAction `json:"action"`

	// duration is how long Measure writes before the cluster has to recover: as long as the failure that another tool causes, 10s to 1h.
	// Default 1m.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('1h')",message="duration must be between 10s and 1h"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Duration",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=4
	Duration *metav1.Duration `json:"duration,omitempty"`

	// timeout is how long the cluster may take to recover before the drill has failed: 1m to 24h. Default 15m.
	// +optional
	// +kubebuilder:default="15m0s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('24h')",message="timeout must be between 1m and 24h"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Timeout",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=3
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// schedule is when the drill is carried out, in the five fields of cron: "0 10 * * 2" is Tuesday at ten. A run that cannot begin within an
	// hour of its time is left out. Default: it is carried out once, as soon as it is created.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|[0-9A-Za-z*/,?-]+( +[0-9A-Za-z*/,?-]+){4})$')",message="schedule must have five fields, such as 0 10 * * 2 (minute, hour, day of the month, month, day of the week), or be one such as @weekly"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Schedule",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=5
	Schedule string `json:"schedule,omitempty"`

	// timeZone is that of the schedule, such as Europe/Berlin. Default UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Time Zone",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"},order=6
	TimeZone string `json:"timeZone,omitempty"`

	// suspend keeps a drill with a schedule from beginning again. One that has begun goes on.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Suspend",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch","urn:alm:descriptor:com.tectonic.ui:advanced"},order=7
	Suspend bool `json:"suspend,omitempty"`

	// historyLimit is how many results of a drill with a schedule are kept. Default 12, from 1 to 100.
	// +optional
	// +kubebuilder:default=12
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="History Limit",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"},order=8
	HistoryLimit *int32 `json:"historyLimit,omitempty"`

	// expect is what the data must have that RestoreBackup and LoseQuorum restore, beside as many keys as the backup had. It is read at the
	// revision that was restored, before keys go with their leases, or as it is if that revision was compacted. If something is not as
	// expected the drill has failed, NotAsExpected. It may be changed: a run goes by what it says when the data is served. At most 16
	// entries. Default: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Expect",order=9
	Expect []DrillExpectation `json:"expect,omitempty"`
}

// DrillExpectation is what is expected of one key, or of the keys that begin with a prefix.
//
// +kubebuilder:validation:XValidation:rule="has(self.key) != has(self.prefix)",message="an entry of expect names either a key or a prefix"
// +kubebuilder:validation:XValidation:rule="!has(self.value) || has(self.key)",message="value goes with key"
// +kubebuilder:validation:XValidation:rule="has(self.prefix) || !has(self.min) && !has(self.max)",message="min and max go with prefix"
// +kubebuilder:validation:XValidation:rule="!has(self.prefix) || has(self.min) || has(self.max)",message="prefix needs min or max: how many keys begin with it"
// +kubebuilder:validation:XValidation:rule="!has(self.min) || !has(self.max) || self.min <= self.max",message="min must not be more than max"
type DrillExpectation struct {
	// key must exist, such as /registry/namespaces/kube-system.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Key string `json:"key,omitempty"`

	// value is what key must have, exactly. No message ever contains it, nor the value that was found. Anyone who may read the EtcdDrill can
	// read it here: give none that is secret. Default: any.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Value *string `json:"value,omitempty"`

	// prefix is what the keys begin with that are counted, such as /registry/namespaces/. It needs min, max or both.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Prefix string `json:"prefix,omitempty"`

	// min is how many keys must begin with prefix at least. Default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Min *int64 `json:"min,omitempty"`

	// max is how many keys may begin with prefix at most; with 0 there must be none. Default: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Max *int64 `json:"max,omitempty"`
}

const (
	// DefaultDrillTimeout is spec.timeout when it is not given.
	DefaultDrillTimeout = 15 * time.Minute
	// DefaultDrillDuration is spec.duration when it is not given.
	DefaultDrillDuration = time.Minute
)

// Limit is how long the cluster may take to recover.
func (s EtcdDrillSpec) Limit() time.Duration {
	return ptr.Deref(s.Timeout, metav1.Duration{Duration: DefaultDrillTimeout}).Duration
}

// Lasts is how long another tool may cause failures; 0 if the action causes one itself, which is over at once.
func (s EtcdDrillSpec) Lasts() time.Duration {
	if s.Action != Measure {
		return 0
	}
	return ptr.Deref(s.Duration, metav1.Duration{Duration: DefaultDrillDuration}).Duration
}

// DrillAction is a failure that a drill simulates. FillDisk, SlowDisk and IsolateMember are those of earlier versions, and refused.
// +kubebuilder:validation:Enum=KillMember;KillLeader;KillAll;LoseVolume;Measure;RestoreBackup;LoseQuorum;FillDisk;SlowDisk;IsolateMember
// +kubebuilder:validation:XValidation:rule="!(self in ['FillDisk', 'SlowDisk', 'IsolateMember'])",message="drills no longer fill or slow disks, or isolate members: use Measure beside a tool that causes the failure"
type DrillAction string

const (
	// KillMember deletes the Pod of a follower, with a grace of one second.
	KillMember DrillAction = "KillMember"
	// KillLeader deletes the Pod of the leader, with a grace of one second.
	KillLeader DrillAction = "KillLeader"
	// KillAll deletes the Pods of all members at once, with a grace of one second.
	KillAll DrillAction = "KillAll"
	// LoseVolume deletes the volume and the Pod of a follower.
	LoseVolume DrillAction = "LoseVolume"
	// Measure causes no failure, and measures those of another tool for some time.
	Measure DrillAction = "Measure"
	// RestoreBackup restores the newest verified backup into a cluster that is thrown away.
	RestoreBackup DrillAction = "RestoreBackup"
	// LoseQuorum loses two of three members of such a cluster, with their volumes.
	LoseQuorum DrillAction = "LoseQuorum"
)

// DrillPolicy says whether drills may disturb a cluster.
// +kubebuilder:validation:Enum=Allowed;Forbidden
type DrillPolicy string

const (
	// DrillsAllowed lets EtcdDrills disturb the cluster.
	DrillsAllowed DrillPolicy = "Allowed"
	// DrillsForbidden has every EtcdDrill refused.
	DrillsForbidden DrillPolicy = "Forbidden"
)

// DrillPhase is how far a drill is, for people.
// +kubebuilder:validation:Enum=Pending;Running;Recovered;Failed;Refused
type DrillPhase string

const (
	// DrillPending waits until the cluster can be disturbed.
	DrillPending DrillPhase = "Pending"
	// DrillRunning measures writes, or waits for the cluster to recover.
	DrillRunning DrillPhase = "Running"
	// DrillRecovered has ended: the cluster has recovered within the timeout.
	DrillRecovered DrillPhase = "Recovered"
	// DrillFailed has ended: the cluster has not recovered within the timeout, or the drill could not be measured.
	DrillFailed DrillPhase = "Failed"
	// DrillRefused has ended without touching the cluster.
	DrillRefused DrillPhase = "Refused"
)

// DefaultDrillHistory is spec.historyLimit when it is not given.
const DefaultDrillHistory = 12

// HasEnded says whether nothing of the drill is left to do but to delete its Job.
func (d *EtcdDrill) HasEnded() bool { return d.Status.EndedAt != nil }

// AllowsDrills says whether EtcdDrills may disturb the cluster.
func (c *EtcdCluster) AllowsDrills() bool { return c.Spec.Drills == DrillsAllowed }
