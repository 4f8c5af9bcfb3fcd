// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Anomaly is that a member is slower than its peers at the same time, and than it was. What it has shown is compared every
// twenty seconds, in clusters of three members and more.
type Anomaly struct {
	// member that is slow.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Slow Member",xDescriptors={"urn:alm:descriptor:io.kubernetes:Pod"},order=120
	Member string `json:"member"`

	// signal is the mean time to sync the write-ahead log (fsync), to commit to the database (commit) or to apply a request (apply).
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Signal",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=121
	Signal string `json:"signal"`

	// value of the signal when it was found.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Value",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=122
	Value string `json:"value"`

	// usual is what it was while the member was well; at first the mean since its etcd has started.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Usual Value",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=123
	Usual string `json:"usual"`

	// since is when it was found.
	Since metav1.Time `json:"since"`
}

// SlowMemberPolicy says what happens to a member that stays slow.
// +kubebuilder:validation:Enum=Keep;Replace
type SlowMemberPolicy string

const (
	// SlowKeep leaves it as a follower.
	SlowKeep SlowMemberPolicy = "Keep"
	// SlowReplace replaces it.
	SlowReplace SlowMemberPolicy = "Replace"
)

// SlowReplacement is the last replacement of a member that stayed slow.
type SlowReplacement struct {
	// member that is replaced, or was.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Replaced Member",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=136
	Member string `json:"member"`

	// since is when that was decided. It is given up after an hour.
	Since metav1.Time `json:"since"`

	// why says what was slow.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Why",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=137
	Why string `json:"why"`
}

// TuningPolicy says whether the operator looks for better settings of etcd. Apply is of earlier versions, and refused.
// +kubebuilder:validation:Enum=Off;Advise;Apply
// +kubebuilder:validation:XValidation:rule="self != 'Apply'",message="the operator no longer changes settings of etcd by itself: use Advise, and write what status.recommendations says into spec.etcd"
type TuningPolicy string

const (
	// TuningOff looks for none.
	TuningOff TuningPolicy = "Off"
	// TuningAdvise writes them into the status.
	TuningAdvise TuningPolicy = "Advise"
	// TuningApply is that of clusters of earlier versions, which put recommendations into effect: those of status.tuned stay so. Otherwise
	// it is Advise.
	TuningApply TuningPolicy = "Apply"
)

// Recommendation is a better value of a setting.
type Recommendation struct {
	// setting is its field in the spec, such as etcd.heartbeatInterval.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Setting",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=126
	Setting string `json:"setting"`

	// now is the value that it has.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Value Now",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=127
	Now string `json:"now"`

	// wanted is the value that is recommended.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Recommended Value",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=128
	Wanted string `json:"wanted"`

	// why says what was measured, and by which rule of etcd.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Why",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=129
	Why string `json:"why"`

	// since is when it was first recommended.
	// +optional
	Since metav1.Time `json:"since,omitzero"`
}

// Fields that recommendations name: those of etcd, and SettingRequests.
const (
	SettingRequests      = "resources.requests"
	SettingHeartbeat     = "etcd.heartbeatInterval"
	SettingElection      = "etcd.electionTimeout"
	SettingSnapshotCount = "etcd.snapshotCount"
)

// EtcdSettings are those that members run with: spec.etcd, and what an earlier version has put in the place of fields that still have the
// value that it was recommended for.
func (c *EtcdCluster) EtcdSettings() EtcdSettings {
	settings := c.Spec.Etcd
	for _, r := range c.Tuned() {
		r.put(&settings)
	}
	return settings
}

// Tuned are the recommendations in the status that are in effect: not those for a field that was changed since, nor what cannot be read,
// nor intervals with which etcd would refuse to start, because one of them was changed.
func (c *EtcdCluster) Tuned() []Recommendation {
	var all []Recommendation
	settings := c.Spec.Etcd
	for _, r := range c.Status.Tuned {
		if c.Spec.Tuning == TuningApply && c.Spec.Etcd.Text(r.Setting) == r.Now && r.isReadable() {
			all = append(all, r)
			r.put(&settings)
		}
	}
	if settings.ElectionTimeout.Duration < 5*settings.HeartbeatInterval.Duration {
		all = slices.DeleteFunc(all, func(r Recommendation) bool { return r.Setting != SettingSnapshotCount })
	}
	return all
}

// Text is the value of a setting as recommendations have it.
func (s EtcdSettings) Text(setting string) string {
	switch setting {
	case SettingHeartbeat:
		return s.HeartbeatInterval.Duration.String()
	case SettingElection:
		return s.ElectionTimeout.Duration.String()
	case SettingSnapshotCount:
		return strconv.FormatInt(s.SnapshotCount, 10)
	default:
		return ""
	}
}

// put writes the recommended value, which can be read.
func (r Recommendation) put(into *EtcdSettings) {
	switch r.Setting {
	case SettingHeartbeat:
		into.HeartbeatInterval.Duration, _ = time.ParseDuration(r.Wanted)
	case SettingElection:
		into.ElectionTimeout.Duration, _ = time.ParseDuration(r.Wanted)
	case SettingSnapshotCount:
		into.SnapshotCount, _ = strconv.ParseInt(r.Wanted, 10, 64)
	}
}

func (r Recommendation) isReadable() bool {
	if r.Setting == SettingSnapshotCount {
		count, err := strconv.ParseInt(r.Wanted, 10, 64)
		return err == nil && count > 0
	}
	d, err := time.ParseDuration(r.Wanted)
	return err == nil && d > 0
}
