// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdClusterStatus is what the operator last saw, and the few facts that it
// must remember between two looks.
type EtcdClusterStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed Generation",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=25
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// lastAllowed is a sum of the fields that flags of the operator limit (spec.image, priority class, tolerations, labels and
	// annotations of Pods), as they were when all of them were allowed last. While they are, members that have ended
	// are started again although flags were narrowed since.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Last Allowed",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=51
	LastAllowed string `json:"lastAllowed,omitempty"`

	// conditions are Available, Progressing and Degraded; PerformanceDegraded once the cluster has formed; AuthEnabled where
	// authentication was asked for, or found; AddressAssigned with clientService.type LoadBalancer; Imported with bootstrap.import; and
	// Copied with bootstrap.copy.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"},order=1
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// replicas is the number of voting members, with size 0 of Pods that are left; the
	// scale subresource reads it.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Voting Members",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=22
	Replicas int32 `json:"replicas,omitempty"`

	// selector selects the members' Pods; the scale subresource reads it.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Selector of Pods",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=26
	Selector string `json:"selector,omitempty"`

	// readyMembers is the number of voters that answer linearizable reads.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ready Members",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=2
	ReadyMembers int32 `json:"readyMembers"`

	// version is the lowest etcd version that a member runs.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="etcd Version",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=3
	Version string `json:"version,omitempty"`

	// targetVersion is the version that members are brought to: spec.version, or a
	// step on the way to it.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Target Version",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=4
	TargetVersion string `json:"targetVersion,omitempty"`

	// updatedMembers is the number of voting members whose Pods are as the spec wants
	// them, with targetVersion.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Updated Members",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=5
	UpdatedMembers int32 `json:"updatedMembers,omitempty"`

	// volumeSize is how large the smallest volume of a member is, by the capacity of its claim, or what it asks for while it has none: less
	// than storage.size while volumes have yet to grow, or cannot.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Volume Size",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=14
	VolumeSize *resource.Quantity `json:"volumeSize,omitempty"`

	// grownSize is the size that storage.autoGrow has given to volumes, beyond storage.size.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Grown Size",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=112
	GrownSize *resource.Quantity `json:"grownSize,omitempty"`

	// endpoint is the URL that clients use.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Endpoint for Clients",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=6
	Endpoint string `json:"endpoint,omitempty"`

	// externalEndpoints are where clients outside of the Kubernetes cluster connect to, by the client Service: the addresses of its load
	// balancer and its external IPs; with type NodePort those of the nodes that members run on.
	// +optional
	// +listType=map
	// +listMapKey=address
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Endpoints for Clients outside",order=136
	ExternalEndpoints []ExternalEndpoint `json:"externalEndpoints,omitempty"`

	// tls is by which mode members are found and serve clients, and how far a change of tls.mode is.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="TLS",order=192
	TLS *TLSStatus `json:"tls,omitempty"`

	// clusterID is etcd's own ID of the cluster, in hexadecimal. Once it is set,
	// no member is ever started as part of a new cluster again.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Cluster ID",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=23
	ClusterID string `json:"clusterID,omitempty"`

	// bootstrap is the plan by which the first members form the cluster. It is fixed once
	// one of them may have run.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="First Members",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=27
	Bootstrap *Bootstrap `json:"bootstrap,omitempty"`

	// nextSerial is the number that the next new member gets in its name. It only
	// grows, so that no name is used by two members.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Next Serial",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=28
	NextSerial int64 `json:"nextSerial,omitempty"`

	// joining is the name reserved for a member that is about to join.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Joining Member",xDescriptors={"urn:alm:descriptor:io.kubernetes:Pod"},order=21
	Joining string `json:"joining,omitempty"`

	// rollback is set while spec.version or spec.image was tried and rolled back.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Rollback",order=18
	Rollback *Rollback `json:"rollback,omitempty"`

	// quorumLoss is set while quorum is lost for good: what is left, which backup there
	// is, and what going on from either would cost.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Lost Quorum",order=15
	QuorumLoss *QuorumLoss `json:"quorumLoss,omitempty"`

	// recovering is the member whose data the cluster is being recovered from.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Recovering from",xDescriptors={"urn:alm:descriptor:io.kubernetes:Pod"},order=17
	Recovering string `json:"recovering,omitempty"`

	// recoveries is how often the cluster went on without writes that were acknowledged, or that may have been: recovered from a survivor,
	// or with a loss that was accepted. etcd's cluster ID is the same as before, its history is not.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Recoveries",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=194
	Recoveries int64 `json:"recoveries,omitempty"`

	// legacyEntries is true while members' logs may hold requests in the form of etcd
	// 3.5, which etcd 3.7 cannot read. On the way to 3.7 members then drop old entries
	// first.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Legacy Log Entries",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=29
	LegacyEntries bool `json:"legacyEntries,omitempty"`

	// format numbers what this status may hold. An operator that knows only smaller
	// numbers leaves the cluster alone.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Format of the Status",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=30
	Format int32 `json:"format,omitempty"`

	// operator is the installation of the operator that manages the cluster: the
	// namespace and name of the Lease that its replicas share. That installation writes
	// it. Another one changes nothing while this Lease is held, and takes the cluster
	// over when it is not. It is empty when an operator without a Lease, as in make run,
	// manages the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Managed by",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=24
	Operator string `json:"operator,omitempty"`

	// revision is a revision of the data that a quorum is known to have had, 0 before one is
	// known. No acknowledged write up to it may ever be missing. A quorum that answers with a
	// lower one has lost writes: nothing is changed then, Degraded says from which revision to
	// which, and spec.recovery.acceptDataLoss lets the cluster go on. It is raised whenever
	// the status is written for another reason, and else once it is ten minutes old and no
	// longer true, so that what clients write causes no more writes than that. It is forgotten
	// when quorum is recovered from a survivor.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Known Revision",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=34
	Revision int64 `json:"revision,omitempty"`

	// revisionTime is when revision was last raised.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Known Revision since",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=35
	RevisionTime *metav1.Time `json:"revisionTime,omitempty"`

	// restore is the backup that the cluster began with, or the last one that it was restored to in place.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Restore",order=36
	Restore *RestoreStatus `json:"restore,omitempty"`

	// backup is what there is of backups, and when the next one is made.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Backups",order=37
	Backup *ClusterBackups `json:"backup,omitempty"`

	// log is how far the log of backup.continuous is, and what the cluster can be restored to.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Continuous Log",order=193
	Log *LogStatus `json:"log,omitempty"`

	// auth is what the operator remembers of etcd's authentication.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Authentication",order=42
	Auth *AuthStatus `json:"auth,omitempty"`

	// import is what was imported into the new cluster.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Import",order=43
	Import *ImportStatus `json:"import,omitempty"`

	// awaitedBackup is the backup that a change of etcd's minor version, hibernation or deletion waits for.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Awaited Backup",order=38
	AwaitedBackup *AwaitedBackup `json:"awaitedBackup,omitempty"`

	// defragmenting is the defragmentation that goes on.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Defragmenting",order=66
	Defragmenting *DefragmentingStatus `json:"defragmenting,omitempty"`

	// lastHashCheck is the last comparison of the members' data.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Last Hash Check",order=114
	LastHashCheck *HashCheck `json:"lastHashCheck,omitempty"`

	// anomalies are by which members are slower than their peers, and than they were.
	// +optional
	// +listType=atomic
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Slow Members",order=119
	Anomalies []Anomaly `json:"anomalies,omitempty"`

	// recommendations are settings of etcd for which another value would be better.
	// +optional
	// +listType=map
	// +listMapKey=setting
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Recommendations",order=125
	Recommendations []Recommendation `json:"recommendations,omitempty"`

	// slowReplacement is the last replacement of a member that stayed slow.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Replacement of a Slow Member",order=135
	SlowReplacement *SlowReplacement `json:"slowReplacement,omitempty"`

	// autoscale is what autoscale has made of spec.resources.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Autoscale",order=131
	Autoscale *AutoscaleStatus `json:"autoscale,omitempty"`

	// tuned are recommendations that an earlier version has put into effect. Each counts until its field in the spec is changed, and while
	// tuning is Apply.
	// +optional
	// +listType=map
	// +listMapKey=setting
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Tuned Settings",order=130
	Tuned []Recommendation `json:"tuned,omitempty"`

	// profile is what spec.profile sets.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Profile",order=138
	Profile *ProfileStatus `json:"profile,omitempty"`

	// authorities are the certificate authorities, and how far their rotation is.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Authorities",order=60
	Authorities []AuthorityStatus `json:"authorities,omitempty"`

	// revocations are the certificates that members refuse, and how far that is. There are none before the first one was
	// revoked.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Revocations",order=65
	Revocations *RevocationStatus `json:"revocations,omitempty"`

	// members are the members, in the order of their serial numbers.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Members",order=7
	Members []MemberStatus `json:"members,omitempty"`

	// unknownMembers are the members that etcd lists and that the operator has not
	// added. Voters among them count for the quorum, also while no member answers:
	// they are remembered until etcd lists them no longer.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Unknown Members",order=31
	UnknownMembers []UnknownMember `json:"unknownMembers,omitempty"`

	// adoption is how far the adoption of a running cluster is, if spec.bootstrap.adopt asks for one.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Adoption",order=60
	Adoption *AdoptionStatus `json:"adoption,omitempty"`

	// copy is how far the copy of a running cluster is.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Copy",order=61
	Copy *CopyStatus `json:"copy,omitempty"`
}
