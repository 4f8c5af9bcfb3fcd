package v1beta1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// EtcdDrill simulates one failure of an EtcdCluster of its namespace and measures how the cluster recovers. It needs spec.drills: Allowed
// of that cluster. A drill is carried out once; the object stays as the record of it. Create another one for another drill. With a schedule
// it is carried out again and again, and status.history is the record.
//
// While the cluster is not whole, or something else is in progress on it, the drill waits, for an hour at most. Deleting the object
// ends the drill, and an isolation; what the failure has damaged is still repaired by the operator.
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
// +kubebuilder:validation:XValidation:rule="!has(self.duration) || self.action in ['IsolateMember', 'FillDisk', 'SlowDisk']",message="duration goes with the actions IsolateMember, FillDisk and SlowDisk"
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

	// action is the failure: KillMember deletes the Pod of a follower with a grace of one second, KillLeader that of the leader, KillAll
	// those of all members at once. LoseVolume deletes the Pod and the volume of a follower, which the operator then replaces.
	// IsolateMember keeps all traffic from and to the Pod of a follower by a NetworkPolicy, for duration. FillDisk
	// leaves no room on the volume of a follower for as long, SlowDisk keeps its disk busy: with a file that has no name, and is gone with the
	// process that has it. RestoreBackup touches no
	// member: it restores the newest verified backup into an EtcdCluster of one member, counts the keys, and deletes that EtcdCluster with
	// its volume. LoseQuorum restores it into one of three members, deletes two of them with their volumes, and waits until the operator has
	// recovered the quorum from the third.
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Action",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=2
	Action DrillAction `json:"action"`

	// duration is how long the failure lasts that IsolateMember, FillDisk and SlowDisk cause: 10s to 1h. Default 1m.
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

// Lasts is how long the failure lasts that the action causes; 0 if it is over at once.
func (s EtcdDrillSpec) Lasts() time.Duration {
	if s.Action != IsolateMember && s.Action != FillDisk && s.Action != SlowDisk {
		return 0
	}
	return ptr.Deref(s.Duration, metav1.Duration{Duration: DefaultDrillDuration}).Duration
}

// DrillAction is a failure that a drill simulates.
// +kubebuilder:validation:Enum=KillMember;KillLeader;KillAll;LoseVolume;IsolateMember;FillDisk;SlowDisk;RestoreBackup;LoseQuorum
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
	// IsolateMember keeps all traffic from and to the Pod of a follower for some time.
	IsolateMember DrillAction = "IsolateMember"
	// FillDisk leaves no room on the volume of a follower for some time.
	FillDisk DrillAction = "FillDisk"
	// SlowDisk keeps the disk of a follower busy for some time.
	SlowDisk DrillAction = "SlowDisk"
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

	// targets are the members whose Pods, and with LoseVolume whose volumes, are deleted; with IsolateMember the one that is isolated.
	// +optional
	// +listType=map
	// +listMapKey=member
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Targets",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=6
	Targets []DrillTarget `json:"targets,omitempty"`

	// startedAt is when the failure began.
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

	// releasedAt is when a failure with a duration ended.
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

	// podUID is the UID of the Pod that is deleted or isolated. A later Pod of the member is left alone.
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

// DefaultDrillHistory is spec.historyLimit when it is not given.
const DefaultDrillHistory = 12

// HasEnded says whether nothing of the drill is left to do but to delete its Job.
func (d *EtcdDrill) HasEnded() bool { return d.Status.EndedAt != nil }

// AllowsDrills says whether EtcdDrills may disturb the cluster.
func (c *EtcdCluster) AllowsDrills() bool { return c.Spec.Drills == DrillsAllowed }
