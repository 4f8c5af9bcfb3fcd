// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Maintenance says how the operator keeps room in the members' databases. The defaults need no thought.
type Maintenance struct {
	// defragmentation gives the space back that deleted and compacted keys have left in the database files: etcd keeps it, and its quota
	// counts it.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Defragmentation",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=101
	Defragmentation Defragmentation `json:"defragmentation,omitzero"`

	// noSpace says what happens when a database has reached its quota, so that etcd refuses every write (alarm NOSPACE). Heal compacts
	// the history if that is needed to make room, defragments, and disarms the alarm once every member is below nine tenths of the quota.
	// Off leaves it to a person. Default: Heal for an EtcdCluster that this release of the operator or a later one has formed, Off for one
	// that an earlier release has formed.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="When the Quota Is Reached",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Heal","urn:alm:descriptor:com.tectonic.ui:select:Off","urn:alm:descriptor:com.tectonic.ui:advanced"},order=108
	NoSpace NoSpacePolicy `json:"noSpace,omitempty"`

	// corruptionCheck says whether members' data is compared. On: etcd does not start on data that is not that of its peers, and compares
	// the hashes that compactions leave, once a minute; the operator compares the data of all voters every six hours, and after a
	// restore or a replacement of a member. It asks one member after another, which holds up that member's clients, about a second for
	// each GiB: it does so only while defragmentation.window is open, if one is set; without a window only up to 100 MiB, or more where
	// members were measured to be faster, and else when asked. A member whose data differs from that of a majority is replaced. Off:
	// only the annotation etcd-operator.dev/check-hashes has members compared. What etcd does counts for new Pods: no member restarts
	// for a change. Default On.
	// +optional
	// +kubebuilder:default=On
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Corruption Check",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:On","urn:alm:descriptor:com.tectonic.ui:select:Off","urn:alm:descriptor:com.tectonic.ui:advanced"},order=113
	CorruptionCheck CorruptionCheckPolicy `json:"corruptionCheck,omitempty"`
}

// Defragmentation says when members are defragmented. One member at a time restarts for it, as for a change of the spec, followers first,
// and clients do not notice; never while a member is unhealthy, during a backup or an update, or without room for a copy of the data on
// the volume.
type Defragmentation struct {
	// mode is Automatic or Off. Off leaves only the annotation etcd-operator.dev/defragment, and noSpace. Default: Automatic for an
	// EtcdCluster that this release of the operator or a later one has formed, Off for one that an earlier release has formed.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Defragmentation Mode",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Automatic","urn:alm:descriptor:com.tectonic.ui:select:Off","urn:alm:descriptor:com.tectonic.ui:advanced"},order=102
	Mode DefragmentationMode `json:"mode,omitempty"`

	// minFree is how much of a database file must be free, so that small ones are left alone. Near the quota it does not count. Default
	// 100Mi; at least 1Mi.
	// +optional
	// +kubebuilder:default="100Mi"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('1Mi')) >= 0",message="maintenance.defragmentation.minFree must be at least 1Mi: etcd gives nothing back of less"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Least Free Space",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"},order=103
	MinFree *resource.Quantity `json:"minFree,omitempty"`

	// freePercent is the share of a database file that must be free. Default 45, from 10 to 90.
	// +optional
	// +kubebuilder:default=45
	// +kubebuilder:validation:XValidation:rule="self >= 10 && self <= 90",message="maintenance.defragmentation.freePercent must be between 10 and 90"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Free Share (Percent)",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"},order=104
	FreePercent int32 `json:"freePercent,omitempty"`

	// quotaPercent is how much of etcd's quota a database file may take before a member is defragmented even if a smaller share is free:
	// a tenth is enough then. Default 75, from 50 to 95.
	// +optional
	// +kubebuilder:default=75
	// +kubebuilder:validation:XValidation:rule="self >= 50 && self <= 95",message="maintenance.defragmentation.quotaPercent must be between 50 and 95"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Share of the Quota (Percent)",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"},order=105
	QuotaPercent int32 `json:"quotaPercent,omitempty"`

	// window is when defragmentation may begin, and when members' data is compared without a request. Default: at any time.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Maintenance Window",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=106
	Window *MaintenanceWindow `json:"window,omitempty"`
}

// MaintenanceWindow opens again and again.
type MaintenanceWindow struct {
	// opens is when, in the five fields of cron, in UTC: "0 2 * * 6" is Saturday at two.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9A-Za-z*/,?-]+( +[0-9A-Za-z*/,?-]+){4}$')",message="maintenance.defragmentation.window.opens must have five fields, such as 0 2 * * 6 (minute, hour, day of the month, month, day of the week), and is in UTC"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Opens",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"},order=107
	Opens string `json:"opens"`

	// duration is for how long it stays open. Default 4h; from 10m to 168h.
	// +optional
	// +kubebuilder:default="4h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10m') && duration(self) <= duration('168h')",message="maintenance.defragmentation.window.duration must be between 10m and 168h"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Stays Open for",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"},order=109
	Duration metav1.Duration `json:"duration,omitzero"`
}

// AutoGrow lets volumes grow by themselves.
type AutoGrow struct {
	// maxSize is the size above which volumes do not grow by themselves. The storage class must allow volumes to grow.
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Largest Size",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"},order=111
	MaxSize resource.Quantity `json:"maxSize"`
}

// Defragments says whether members are defragmented by the rules of the spec. By default that is so only where the first members were
// chosen by a release that does so: an update of the operator restarts no member.
func (c *EtcdCluster) Defragments() bool {
	mode := c.Spec.Maintenance.Defragmentation.Mode
	return mode == DefragmentAutomatic || mode == "" && c.hasMaintenance()
}

// HealsNoSpace says whether the alarm NOSPACE is ended, by default as with Defragments.
func (c *EtcdCluster) HealsNoSpace() bool {
	policy := c.Spec.Maintenance.NoSpace
	return policy == NoSpaceHeal || policy == "" && c.hasMaintenance()
}

func (c *EtcdCluster) hasMaintenance() bool {
	return c.Status.Bootstrap != nil && c.Status.Bootstrap.Maintenance
}

// DefragmentationMode says whether the operator defragments by itself.
// +kubebuilder:validation:Enum=Automatic;Off
type DefragmentationMode string

const (
	// DefragmentAutomatic defragments by the rules of the spec.
	DefragmentAutomatic DefragmentationMode = "Automatic"
	// DefragmentOff defragments only when it is asked for.
	DefragmentOff DefragmentationMode = "Off"
)

// NoSpacePolicy says what happens when a database has reached its quota.
// +kubebuilder:validation:Enum=Heal;Off
type NoSpacePolicy string

const (
	// NoSpaceHeal makes room and disarms the alarm.
	NoSpaceHeal NoSpacePolicy = "Heal"
	// NoSpaceOff leaves it to a person.
	NoSpaceOff NoSpacePolicy = "Off"
)

// CorruptionCheckPolicy says whether members' data is compared.
// +kubebuilder:validation:Enum=On;Off
type CorruptionCheckPolicy string

const (
	// CorruptionCheckOn has etcd and the operator compare the data of members.
	CorruptionCheckOn CorruptionCheckPolicy = "On"
	// CorruptionCheckOff leaves it to a person.
	CorruptionCheckOff CorruptionCheckPolicy = "Off"
)

// HashCheck is the last comparison of the data of all voters, by their hashes at one revision.
type HashCheck struct {
	// time of the comparison.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Members Compared",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=115
	Time metav1.Time `json:"time"`

	// revision of etcd's data up to which members were compared.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// verdict is Equal, Different or Unknown.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Verdict",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=116
	Verdict HashVerdict `json:"verdict"`

	// members that were compared.
	// +optional
	// +listType=atomic
	Members []string `json:"members,omitempty"`

	// message says whose data differs, or why that is not known; empty if all is equal.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="What Differs",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=117
	Message string `json:"message,omitempty"`

	// equalTime is when members were last found equal.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Members Last Found Equal",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=118
	EqualTime *metav1.Time `json:"equalTime,omitempty"`

	// request is the value that the annotation etcd-operator.dev/check-hashes had then.
	// +optional
	Request string `json:"request,omitempty"`

	// failures is how many comparisons in a row have ended as Unknown. The next one follows ten minutes after the first of them, and twice as
	// long after each further one, six hours at most.
	// +optional
	Failures int32 `json:"failures,omitempty"`

	// speed is how many bytes of its data the slowest member has hashed in a second. Empty if members have less than 100 MiB. For a week it
	// decides, with the size of the data, which comparisons are made without a request.
	// +optional
	Speed *resource.Quantity `json:"speed,omitempty"`
}

// HashVerdict says how a comparison of hashes has ended.
// +kubebuilder:validation:Enum=Equal;Different;Unknown
type HashVerdict string

const (
	// HashesEqual: all voters have the same data.
	HashesEqual HashVerdict = "Equal"
	// HashesDifferent: they do not. The comparison is repeated at once: a member is replaced if it is found to differ twice.
	HashesDifferent HashVerdict = "Different"
	// HashesUnknown: the hashes could not be read, or not be compared. It is tried again.
	HashesUnknown HashVerdict = "Unknown"
)

// DefragmentingStatus is the defragmentation that goes on.
type DefragmentingStatus struct {
	// member whose database is defragmented as it starts.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Member That Is Defragmented",xDescriptors={"urn:alm:descriptor:io.kubernetes:Pod"},order=67
	Member string `json:"member"`

	// podUID is the UID of the Pod that the member had then: another one defragments.
	// +optional
	PodUID string `json:"podUID,omitempty"`

	// size of its database file before.
	// +optional
	Size resource.Quantity `json:"size,omitzero"`
}

// MemberDefragmentation is the last defragmentation of a member.
type MemberDefragmentation struct {
	// time at which it ended.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Last Defragmentation",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=68
	Time metav1.Time `json:"time,omitzero"`

	// before and after are the sizes of the database file.
	// +optional
	Before resource.Quantity `json:"before,omitzero"`
	// +optional
	After resource.Quantity `json:"after,omitzero"`

	// request is the value that the annotation etcd-operator.dev/defragment had then.
	// +optional
	Request string `json:"request,omitempty"`

	// failure says why the database was not defragmented; empty if it was.
	// +optional
	Failure string `json:"failure,omitempty"`
}

// LeastFree is minFree in bytes.
func (d Defragmentation) LeastFree() int64 {
	if d.MinFree == nil {
		return 100 << 20
	}
	return d.MinFree.Value()
}
