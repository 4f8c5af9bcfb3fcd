// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Labels and annotations, which the operator sets unless it says otherwise.
const (
	// LabelCluster holds the name of the EtcdCluster an object belongs to.
	LabelCluster = "etcd-operator.dev/cluster"
	// FieldCluster is by what the operator's cache finds the backups, drills and restores of an EtcdCluster.
	FieldCluster = "spec.cluster"
	// LabelMember holds the name of the member an object belongs to.
	LabelMember = "etcd-operator.dev/member"
	// LabelQuarantined marks the volume of a member that was removed. It is kept
	// and never mounted again.
	LabelQuarantined = "etcd-operator.dev/quarantined"
	// AnnotationTemplate holds a fingerprint of the Pod as it was built, without what
	// restarts no member: arguments that only matter when a member first joins, the pause
	// before it ends, its own name's address, and an image of the operator's choice.
	AnnotationTemplate = "etcd-operator.dev/template"
	// AnnotationQuarantinedAt holds, on a quarantined volume, when it was set aside
	// (RFC 3339).
	AnnotationQuarantinedAt = "etcd-operator.dev/quarantined-at"
	// AnnotationKeepFor holds, on a volume that a restore has set aside, how long it is kept. Without it
	// storage.quarantine says so.
	AnnotationKeepFor = "etcd-operator.dev/keep-for"
	// AnnotationGrowthRefused holds, on a volume that Kubernetes did not let grow, the
	// size that was asked for, when (RFC 3339), and what it said.
	AnnotationGrowthRefused = "etcd-operator.dev/growth-refused"
	// AnnotationGrowthAsked holds, on a volume, when it was last asked to grow (RFC 3339).
	AnnotationGrowthAsked = "etcd-operator.dev/growth-asked-at"
	// AnnotationReplaced holds, on a Pod whose image is exchanged in place, the ID of
	// the container that ran the old one.
	AnnotationReplaced = "etcd-operator.dev/replaced-container"
	// AnnotationDetachedAt holds, on a Pod that is about to be disturbed, since when
	// the client Service no longer sends clients to it (RFC 3339, with nanoseconds).
	AnnotationDetachedAt = "etcd-operator.dev/detached-at"
	// AnnotationWithdrawnAt is the name that it had up to 0.6. It is still read.
	AnnotationWithdrawnAt = "etcd-operator.dev/withdrawn-at"
	// AnnotationForced marks the Pod that starts with --force-new-cluster.
	AnnotationForced = "etcd-operator.dev/forced"
	// AnnotationToken holds, on a volume of a first member, the token of the
	// bootstrap plan that it was made for.
	AnnotationToken = "etcd-operator.dev/bootstrap-token"
	// AnnotationPlan holds, on a volume of a first member, the names of all first
	// members, joined by commas.
	AnnotationPlan = "etcd-operator.dev/bootstrap-members"
	// AnnotationUnused is on a volume of a first member for as long as no Pod was made
	// for any of them. It proves to a later EtcdCluster that the volume holds nothing.
	AnnotationUnused = "etcd-operator.dev/unused"
	// AnnotationInitialCluster and AnnotationInitialClusterState hold, on a Pod, what its
	// container gives etcd as initial-cluster and initial-cluster-state when it starts. They
	// name the member alone, and "existing", as soon as it has data: a container that starts
	// without them, or without that data, forms and joins nothing.
	AnnotationInitialCluster      = "etcd-operator.dev/initial-cluster"
	AnnotationInitialClusterState = "etcd-operator.dev/initial-cluster-state"
	// AnnotationInitialCorruptCheck holds, on a Pod, what its container gives etcd to have it compare its data with that of
	// its peers when it starts. Without it etcd starts on the data that it has.
	AnnotationInitialCorruptCheck = "etcd-operator.dev/initial-corrupt-check"
	// AnnotationPaused does on an EtcdCluster what spec.paused does. Users set it.
	AnnotationPaused = "etcd-operator.dev/paused"
	// AnnotationDefragment asks on an EtcdCluster for every member to be defragmented, once for each value. Users set it, to the time
	// for example.
	AnnotationDefragment = "etcd-operator.dev/defragment"
	// AnnotationReplaceMembers asks on an EtcdCluster for members to be replaced, one at a time: their names, with commas between them. A
	// name is used only once, so that each is replaced once. Users set it.
	AnnotationReplaceMembers = "etcd-operator.dev/replace-members"
	// AnnotationCheckHashes asks on an EtcdCluster for the data of all voters to be compared, once for each value. Users set it, to the time
	// for example.
	AnnotationCheckHashes = "etcd-operator.dev/check-hashes"
	// AnnotationDefragments marks a Pod that was made to defragment its database as it starts. Its container reads the value at each start, in
	// MiB that are free at least: 1 for the start that is meant, and 0, which is never, for those after it. Pods of releases up to 0.9 have
	// "true", and defragment at each start.
	AnnotationDefragments = "etcd-operator.dev/defragments"
	// AnnotationImage holds, on a Pod whose image the operator is configured with for its
	// version, that image. Without it the image is the user's, or etcd's own.
	AnnotationImage = "etcd-operator.dev/image"
	// AnnotationClusterID holds, on one volume, the ID of the cluster that has
	// formed. It proves to a later EtcdCluster that there is data to keep.
	AnnotationClusterID = "etcd-operator.dev/cluster-id"
	// AnnotationDataDirectory holds, on a volume that was that of a member of a cluster that was adopted, the directory in which etcd's data
	// is on it; a dot is the volume's root. Without it that is the directory data.
	AnnotationDataDirectory = "etcd-operator.dev/data-directory"
	// AnnotationNamespace holds, on a volume, the namespace in which its member runs. etcd
	// keeps its members' addresses, which name it, in the data.
	AnnotationNamespace = "etcd-operator.dev/namespace"
	// AnnotationTLSMode holds, on a volume, the tls.mode by which its member is found. etcd
	// keeps its members' addresses, which say http or https, in the data.
	AnnotationTLSMode = "etcd-operator.dev/tls-mode"
	// AnnotationVersion holds, on a volume, the version of etcd that its member ran
	// last. A later EtcdCluster starts with what wrote the data.
	AnnotationVersion = "etcd-operator.dev/etcd-version"
	// AnnotationChosenImage holds, beside that version, the image of it that the user has
	// chosen. Without it the choice was left to an operator.
	AnnotationChosenImage = "etcd-operator.dev/etcd-image"
	// AnnotationRotate asks, on an EtcdCluster, for other authorities: each new value once. A value that
	// begins with "client:" or "peer:" asks for that one alone. Users set it. On the Secret of an authority it
	// holds the value that was acted on last.
	AnnotationRotate = "etcd-operator.dev/rotate"
	// AnnotationRotatedAt holds, on the Secret of an authority that was ever rotated, when the last pass of that
	// was taken (RFC 3339), and AnnotationRotatedBecause why: Age, Request, Lost or Ended.
	AnnotationRotatedAt      = "etcd-operator.dev/rotated-at"
	AnnotationRotatedBecause = "etcd-operator.dev/rotated-because"
	// AnnotationTrust holds, on the Secret that members mount, a fingerprint of the authorities in it once one of
	// them was rotated; and on a Pod the one that it was made with. etcd reads them only when it starts.
	AnnotationTrust = "etcd-operator.dev/trust"
	// AnnotationWrittenAt holds when the operator wrote other authorities into a Secret that is mounted (RFC 3339): of
	// peers into that of members, of clients into the other one.
	AnnotationWrittenAt = "etcd-operator.dev/written-at"
	// AnnotationRevokedAt holds, on the Secret that members mount, when a certificate was revoked last (RFC 3339, with
	// nanoseconds); and on a Pod the one that it was made with. A connection may be older than that only if its member is.
	AnnotationRevokedAt = "etcd-operator.dev/revoked-at"
	// AnnotationSettings holds, on the client Service, a fingerprint of spec.clientService as it was applied. What the spec no longer has
	// is removed when it differs.
	AnnotationSettings = "etcd-operator.dev/settings"
)

// Formats of a status, as status.format says. A new one is needed when an older operator would do harm because it
// loses or misreads what a newer one has written. Without unknownMembers it does no more than before there were any.
const (
	// FormatPlain is the format of a status that every operator understands.
	FormatPlain = 1
	// FormatRestoring is that of a cluster whose volumes are being filled with the data of a backup: an operator
	// that knows no restores would form an empty cluster on them, or set them aside, or start members that are being replaced.
	FormatRestoring = 2
	// FormatRevoking is that of a cluster in which a certificate was ever revoked: an operator that knows no revocations would
	// take the list out of the Secret that members mount, and start members without it.
	FormatRevoking = 3
	// FormatSwitchingTLS is that of a cluster whose tls.mode is being changed: an operator that goes by the spec alone would restart members
	// that the others do not find.
	FormatSwitchingTLS = 4
	// FormatReplaying is that of a cluster whose volumes are being filled with a backup and the log after it: an operator that knows no
	// log would restore the backup alone.
	FormatReplaying = 5
	// FormatAdopting is that of a cluster that adopts a running one: an operator that knows no adoptions would forget whose members the
	// others are, and one that does not undo them would stop members on which their quorum depends.
	FormatAdopting = 6
	// StatusFormat is the newest format that this operator understands.
	StatusFormat = FormatAdopting
)

// FieldOwner is the field manager of everything that the operator writes.
const FieldOwner = "etcd-operator"

// Ports of a member.
const (
	// ClientPort serves clients.
	ClientPort = 2379
	// PeerPort serves the other members.
	PeerPort = 2380
	// MetricsPort serves metrics, /livez and /readyz in plain HTTP.
	MetricsPort = 2381
)

// DefaultVolumeSize is storage.size when it is not given.
var DefaultVolumeSize = resource.MustParse("8Gi")

// MaxQuota is the largest default quota: the size up to which etcd is tested
// (https://etcd.io/docs/v3.6/dev-guide/limit/#storage-size-limit).
var MaxQuota = resource.MustParse("8Gi")

// DefaultSize is spec.size when it is not given.
const DefaultSize = 3

// Size is the number of voting members that is wanted; 0 hibernates. While a running cluster is adopted 0 does not count: members that have
// joined stay.
func (c *EtcdCluster) Size() int {
	size := int(ptr.Deref(c.Spec.Size, DefaultSize))
	if size == 0 && c.IsAdopting() {
		return max(len(c.Status.Members), 1)
	}
	return size
}

// VolumeSize is the size that the spec gives to each member's volume or emptyDir.
func (s Storage) VolumeSize() resource.Quantity {
	if s.Ephemeral != nil {
		return s.Ephemeral.SizeLimit
	}
	return ptr.Deref(s.Size, DefaultVolumeSize)
}

// VolumeSize is the size of each member's volume or emptyDir: storage.size, or what storage.autoGrow has made of it.
func (c *EtcdCluster) VolumeSize() resource.Quantity {
	size, grown := c.Spec.Storage.VolumeSize(), c.Status.GrownSize
	if c.Spec.Storage.Ephemeral == nil && grown != nil && grown.Cmp(size) > 0 {
		return *grown
	}
	return size
}

// DefaultQuarantine is storage.quarantine when it is not given: a week.
const DefaultQuarantine = 7 * 24 * time.Hour

// KeepFor is how long the volume of a removed member is kept.
func (s Storage) KeepFor() time.Duration {
	return ptr.Deref(s.Quarantine, metav1.Duration{Duration: DefaultQuarantine}).Duration
}

// LogRoom is the room, in bytes, that etcd's log is given on a volume of that size: five segments of 64 MiB, which is etcd's --max-wals,
// and the one that is made next. On a volume of less than 1536Mi it is a quarter, and the log of values that are large may take more.
func LogRoom(volume int64) int64 { return min(6*64<<20, volume/4) }

// UsableRoom is what a file system leaves for files on a volume of that size: 95 % of it. ext4 takes up to 3 % for its tables and journal.
func UsableRoom(volume int64) int64 { return volume / 20 * 19 }

// DefaultQuota is the quota, in bytes, for members with volumes of that size: half of what the log leaves. A database that is full can be
// defragmented then, which writes its data a second time beside it. It is 358Mi of 1Gi, and 45 % of 8Gi.
func DefaultQuota(volume int64) int64 {
	return min((UsableRoom(volume)-LogRoom(volume))/2>>20<<20, MaxQuota.Value())
}

// QuotaBytes is the quota of each member's database, in bytes. By default it leaves
// room on the smallest volume, which may not have grown to its size yet.
func (c *EtcdCluster) QuotaBytes() int64 {
	if c.Spec.Etcd.Quota != nil {
		return c.Spec.Etcd.Quota.Value()
	}
	volume := c.VolumeSize()
	if given := c.Status.VolumeSize; given != nil && given.Cmp(volume) < 0 {
		volume = *given
	}
	if c.hasDefragRoom() {
		return DefaultQuota(volume.Value())
	}
	return min(volume.Value()/4*3, MaxQuota.Value())
}

// hasDefragRoom says whether the default quota is half of what the log leaves, and not three quarters of the volume: not of a database
// that may be larger already. Where data goes with the Pod there is nothing to leave room for.
func (c *EtcdCluster) hasDefragRoom() bool {
	if c.Spec.Storage.Ephemeral != nil {
		return false
	}
	if plan := c.Status.Bootstrap; plan != nil {
		return plan.DefragRoom
	}
	return c.Spec.Bootstrap == nil || c.Spec.Bootstrap.Restore == nil
}

// MemberImage is the container image of the members, under the name that it has where
// the operator is configured with no other. The version must be in full.
func (s EtcdClusterSpec) MemberImage() string {
	if s.Image != "" {
		return s.Image
	}
	return "gcr.io/etcd-development/etcd:v" + s.Version
}

// IsRestoring says whether the cluster is being restored in place, or that is being undone: its members have yet to be replaced by
// those of status.restore. Once they are, the plan of its bootstrap has the ID of the restore.
func (c *EtcdCluster) IsRestoring() bool {
	s := c.Status.Restore
	return s != nil && s.Request != "" && !s.IsCancelled() && (c.Status.Bootstrap == nil || c.Status.Bootstrap.Restore != s.ID())
}

// IsCancelled says whether a restore in place was undone before it had stopped any member.
func (s *RestoreStatus) IsCancelled() bool { return s.Undo && s.RestoredAt == nil }

// Failing says why the data of a member cannot be restored, and what happens next or what to do; empty while nothing has failed.
func (s *RestoreStatus) Failing() string {
	if s.Failure == nil {
		return ""
	}
	text := fmt.Sprintf("the data of %s cannot be restored: %s; ", s.Failure.Member, s.Failure.Message)
	if !s.Failure.Final {
		return text + "it is tried again"
	}
	text += "each try after a pause fails in the same way until that is put right"
	if s.Request != "" && s.RestoredAt == nil && !s.Undo {
		text += fmt.Sprintf("; to give up, delete EtcdRestore %s: no member has been replaced yet", s.Request)
	}
	return text
}

// ID distinguishes a restore in place, and its undo, from all others.
func (s *RestoreStatus) ID() string {
	switch {
	case s.Undoes:
		return s.RequestUID + "/undone"
	case s.Undo:
		return s.RequestUID + "/undo"
	}
	return s.RequestUID
}

// Lifetimes of certificates where spec.tls.lifetimes does not give them.
const (
	// DefaultAuthorityLifetime is how long an authority is valid: ten years.
	DefaultAuthorityLifetime = 10 * 365 * 24 * time.Hour
	// DefaultCertificateLifetime is how long a certificate of members or clients is valid: a year.
	DefaultCertificateLifetime = 365 * 24 * time.Hour
)

// AuthorityLifetime is how long an authority is valid that is made now.
func (t TLS) AuthorityLifetime() time.Duration {
	return cmp.Or(t.Lifetimes.Authority.Duration, DefaultAuthorityLifetime)
}

// CertificateLifetime is how long a certificate is valid that an authority signs now.
func (t TLS) CertificateLifetime() time.Duration {
	return cmp.Or(t.Lifetimes.Certificate.Duration, DefaultCertificateLifetime)
}

// Serials are the serial numbers of the certificates that members are to refuse, sorted.
func (t TLS) Serials() []string {
	var all []string
	for _, r := range t.Revocations {
		all = append(all, r.Serial)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TLSMode is the mode by which members are found: tls.mode, unless that is being changed.
func (c *EtcdCluster) TLSMode() string {
	if c.IsSecure() {
		return string(TLSEnabled)
	}
	return string(TLSDisabled)
}

// HeadlessService is the name of the Service that gives members their host names.
func (c *EtcdCluster) HeadlessService() string { return c.Name }

// ClientService is the name of the Service that clients use.
func (c *EtcdCluster) ClientService() string { return c.Name + "-client" }

// MemberPolicy is the name of the NetworkPolicy for the members.
func (c *EtcdCluster) MemberPolicy() string { return c.Name + "-members" }

// ClientSecret is the name of the Secret that applications mount.
func (c *EtcdCluster) ClientSecret() string { return c.Name + "-client" }

// ClientCA is the name of the Secret with the authority for clients and servers.
func (c *EtcdCluster) ClientCA() string { return c.Name + "-client-ca" }

// PeerCA is the name of the Secret with the authority for members among themselves.
func (c *EtcdCluster) PeerCA() string { return c.Name + "-peer-ca" }

// IsHeld says whether the EtcdCluster stays, if it is deleted, until its last backup is verified, or its adoption is undone.
func (c *EtcdCluster) IsHeld() bool {
	return slices.Contains(c.Finalizers, FinalizerLastBackup) || slices.Contains(c.Finalizers, FinalizerAdoption)
}

// IsGoing says whether the EtcdCluster is being deleted, and nothing is to be done before it is gone.
func (c *EtcdCluster) IsGoing() bool { return c.DeletionTimestamp != nil && !c.IsHeld() }

// GoesWithVolumes says whether the volumes go with the EtcdCluster: with deletionPolicy Backup once its last backup is verified.
func (c *EtcdCluster) GoesWithVolumes() bool {
	awaited := c.Status.AwaitedBackup
	backedUp := awaited != nil && awaited.Before == BeforeDeletion && awaited.Done
	return c.Spec.DeletionPolicy == Delete || c.Spec.DeletionPolicy == BackupFirst && c.DeletionTimestamp != nil && backedUp
}
