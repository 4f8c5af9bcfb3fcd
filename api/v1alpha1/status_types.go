package v1alpha1

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
	// authentication was asked for, or found; AddressAssigned with clientService.type LoadBalancer; and Imported with bootstrap.import.
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

	// volumeSize is what the smallest volume of a member asks for: less than
	// storage.size while volumes have yet to grow, or cannot.
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

	// largestPrefixes say whose keys fill the database. They are measured when a member's data takes three quarters of its quota or etcd
	// refuses writes, and every hour from then on; they go once all members are below half of their quota.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Largest Prefixes",order=69
	LargestPrefixes *LargestPrefixes `json:"largestPrefixes,omitempty"`

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

	// tuned are recommendations that tuning: Apply has put into effect. Each counts until its field in the spec is changed, and while
	// tuning is Apply.
	// +optional
	// +listType=map
	// +listMapKey=setting
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Tuned Settings",order=130
	Tuned []Recommendation `json:"tuned,omitempty"`

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
}

// Bootstrap is the plan that is written before the first Pod exists and used
// until the cluster has formed, whatever the spec says meanwhile.
type Bootstrap struct {
	// token is etcd's initial-cluster-token: the UID of the EtcdCluster that the
	// plan was made for.
	Token string `json:"token"`

	// members are the names of the first members.
	// +listType=atomic
	Members []string `json:"members"`

	// adopted is true when the members' volumes were there before this
	// EtcdCluster: the members come back with their data, and never form a new cluster.
	// +optional
	Adopted bool `json:"adopted,omitempty"`

	// restore is the restore in place that has brought these members, by the UID of its EtcdRestore; empty if none has.
	// +optional
	Restore string `json:"restore,omitempty"`

	// networkPolicy is true if a NetworkPolicy is made where spec.networkPolicy.mode says nothing. It is missing where an earlier
	// release has chosen the first members.
	// +optional
	NetworkPolicy bool `json:"networkPolicy,omitempty"`
}

// Rollback is a version that was tried and rolled back.
type Rollback struct {
	// refused is the version, in full, that is not tried again before spec.version means
	// another one.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Refused Version",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=19
	Refused string `json:"refused"`

	// refusedImage is the spec.image that came with it.
	// +optional
	RefusedImage string `json:"refusedImage,omitempty"`

	// version is what members run instead.
	Version string `json:"version"`

	// image is what their containers run, if it was the user's choice.
	// +optional
	Image string `json:"image,omitempty"`

	// because says what went wrong.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Refused because",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=20
	Because string `json:"because,omitempty"`
}

// QuorumLoss is what is left after quorum was lost for good, or with nodes that are gone.
type QuorumLoss struct {
	// lost are the voters whose data is gone or cannot be used.
	// +listType=atomic
	Lost []string `json:"lost"`

	// missing are the voters whose volumes are on nodes that no longer exist in Kubernetes.
	// Their machines may still run etcd and hold newer data than any survivor, so that they
	// count as lost only when a person accepts it.
	// +optional
	// +listType=atomic
	Missing []string `json:"missing,omitempty"`

	// survivors are the voters whose data is left.
	// +optional
	// +listType=map
	// +listMapKey=name
	Survivors []Survivor `json:"survivors,omitempty"`

	// accept is the value that spec.recovery.acceptDataLoss must have for the cluster
	// to go on from the best survivor: its name and the revision of its data. Writes
	// after that revision are lost. Empty until every survivor has answered.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Value to Accept the Loss with",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=16
	Accept string `json:"accept,omitempty"`

	// backup is the newest verified EtcdBackup of the cluster, and what going back to it would cost. It is
	// missing if there is none of the data that the cluster has now.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Newest Verified Backup",order=39
	Backup *QuorumLossBackup `json:"backup,omitempty"`
}

// QuorumLossBackup is a backup that a cluster can be brought back to whose quorum is lost for good.
type QuorumLossBackup struct {
	// name of the EtcdBackup.
	Name string `json:"name"`

	// revision of etcd's data in it.
	Revision int64 `json:"revision"`

	// time of the backup: what was written later would be lost.
	Time metav1.Time `json:"time"`

	// lost is how many revisions the cluster is known to have had after that of the backup: they would be
	// lost. It is missing if no later one is known, which proves nothing.
	// +optional
	Lost *int64 `json:"lost,omitempty"`

	// accept is the value that spec.recovery.acceptDataLoss must have for the cluster to be brought back to
	// the backup in place: its name and its revision. Empty while a person has to do something else first,
	// such as to restore a backup that is encrypted; Degraded says what.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Value to Go Back to the Backup with",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=40
	Accept string `json:"accept,omitempty"`
}

// Survivor is a voter whose data is left.
type Survivor struct {
	// name of the member.
	Name string `json:"name"`

	// revision of its data; 0 while it does not answer.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// raftIndex is the last entry of the log that it knows to be committed.
	// +optional
	RaftIndex int64 `json:"raftIndex,omitempty"`
}

// UnknownMember is a member that etcd lists and that the operator has not added.
type UnknownMember struct {
	// id is etcd's ID of the member, in hexadecimal.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="ID of the Unknown Member",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=32
	ID string `json:"id"`

	// name that it has given itself; empty until it has started.
	// +optional
	Name string `json:"name,omitempty"`

	// peerURLs are where other members find it.
	// +optional
	// +listType=atomic
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Peer URLs",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=33
	PeerURLs []string `json:"peerURLs,omitempty"`

	// role is Voter or Learner.
	Role string `json:"role"`
}

// MemberStatus is one member.
type MemberStatus struct {
	// name of the member, its Pod and its volume.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Member",xDescriptors={"urn:alm:descriptor:io.kubernetes:Pod"},order=8
	Name string `json:"name"`

	// id is etcd's ID of the member, in hexadecimal.
	// +optional
	ID string `json:"id,omitempty"`

	// role is Leader, Voter, Learner or Unlisted (not a member of the cluster yet,
	// or no longer).
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Role",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=9
	Role string `json:"role,omitempty"`

	// version of etcd that the member runs.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="etcd Version of the Member",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=11
	Version string `json:"version,omitempty"`

	// healthy is true when the member answers linearizable reads.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Healthy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=10
	Healthy bool `json:"healthy"`

	// dbSize is the size of the member's database file, rounded up to a power of
	// two so that a busy cluster does not cause a write a second.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Database Size",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=12
	DBSize *resource.Quantity `json:"dbSize,omitempty"`

	// lastDefragmentation is when the member's database was defragmented, and what that has given back.
	// +optional
	LastDefragmentation *MemberDefragmentation `json:"lastDefragmentation,omitempty"`

	// message says what is wrong with the member, if anything is.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="What Is Wrong",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=13
	Message string `json:"message,omitempty"`
}
