package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Anomaly is that a member is slower than its peers at the same time, and than it was over a day. What it has shown is compared every
// twenty seconds, in clusters of three members and more.
type Anomaly struct {
	// member that is slow.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Slow Member",xDescriptors={"urn:alm:descriptor:io.kubernetes:Pod"},order=120
	Member string `json:"member"`

	// signal is fsync or commit (the mean time to sync the write-ahead log, and to commit to the database), read (the time of a
	// linearizable read by the operator), or behind (entries of the log that are yet to be applied).
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Signal",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=121
	Signal string `json:"signal"`

	// value of the signal when it was found.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Value",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=122
	Value string `json:"value"`

	// usual is what it was over a day; of a member that the operator has watched for less than two hours, what it is for its peers.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Usual Value",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=123
	Usual string `json:"usual"`

	// since is when it was found.
	Since metav1.Time `json:"since"`
}

// TuningPolicy says whether the operator looks for better settings of etcd.
// +kubebuilder:validation:Enum=Off;Advise
type TuningPolicy string

const (
	// TuningOff looks for none.
	TuningOff TuningPolicy = "Off"
	// TuningAdvise writes them into the status.
	TuningAdvise TuningPolicy = "Advise"
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
}
