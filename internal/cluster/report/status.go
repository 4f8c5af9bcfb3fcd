// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report turns a view and the step that was taken into what people read:
// status, conditions and events.
//
// It is pure. It must never write anything, nor say what a step will do before the
// plan has chosen it.
package report

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/limits"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// Status is the status after the step, given the error that it ended with. It contains what
// the step records, and never what a step will do that the plan has not chosen.
//
// A status that a newer operator has written keeps what only that one understands.
func Status(c *v1beta1.EtcdCluster, v cluster.View, step plan.Step, err error) v1beta1.EtcdClusterStatus {
	status := *c.Status.DeepCopy()
	if v.Newer != "" {
		return status
	}
	if err == nil {
		remember(&status, v, step)
		status.Tuned = c.Tuned() // what of it is still in effect
		v, step = afterFormation(v, step)
		v = chosenOnly(v, step)
	}
	if !v.Deleting {
		facts(&status, c, v)
	}
	status.ObservedGeneration, status.Format = c.Generation, format(c, status, v)
	if v.Want.Forbidden == "" {
		status.LastAllowed = limits.Sum(c)
	}
	status.Conditions = conditions(c, v, step, err)
	return status
}

// format is the oldest one that an operator must understand to do no harm.
func format(c *v1beta1.EtcdCluster, status v1beta1.EtcdClusterStatus, v cluster.View) int32 {
	if (&v1beta1.EtcdCluster{Status: status}).IsAdopting() {
		return v1beta1.FormatAdopting
	}
	begins := v.Restore.Wanted && status.Bootstrap == nil && status.ClusterID == ""
	restores := (&v1beta1.EtcdCluster{Status: status}).IsRestoring()
	if begins && hasTarget(c) || restores && status.Restore.Log != nil {
		return v1beta1.FormatReplaying
	}
	if t := status.TLS; t != nil && t.Phase != v1beta1.TLSStable {
		return v1beta1.FormatSwitchingTLS
	}
	if status.Revocations != nil {
		return v1beta1.FormatRevoking
	}
	if begins || restores {
		return v1beta1.FormatRestoring
	}
	return v1beta1.FormatPlain
}

// hasTarget says whether the cluster is to begin with a backup and the log after it.
func hasTarget(c *v1beta1.EtcdCluster) bool {
	return c.Spec.Bootstrap != nil && c.Spec.Bootstrap.Restore != nil && c.Spec.Bootstrap.Restore.Target != nil
}

// afterFormation is the view once the cluster ID is recorded, and the end of the bootstrap if the plan says that nothing is left to do.
func afterFormation(v cluster.View, step plan.Step) (cluster.View, plan.Step) {
	s, records := step.(plan.Record)
	if !records || s.Fact.ClusterID == v.Record.ClusterID || s.Fact.ClusterID == "" {
		return v, step
	}
	v.Record.ClusterID = s.Fact.ClusterID
	if s.Last {
		return v, plan.Done{}
	}
	return v, step
}

// chosenOnly is the view without the members that were replaced, once that is recorded: nothing that is known of them is true of
// the restored ones.
func chosenOnly(v cluster.View, step plan.Step) cluster.View {
	if s, records := step.(plan.Record); records && s.Fact.Restore != v.Record.Restore {
		v.Members, v.Unknown = nil, nil
	}
	return v
}

// remember writes into the status what only the status can remember.
func remember(status *v1beta1.EtcdClusterStatus, v cluster.View, step plan.Step) {
	if v.Record.RolledBack.Version == "" {
		status.Rollback = nil // what failed is no longer wanted
	}
	if s, records := step.(plan.Record); records {
		write(status, v.Record, s.Fact)
		defragmented(status, v, s)
	}
	if m, _ := v.Member(status.Joining); m.Role != cluster.Unlisted && v.Unread == "" {
		status.Joining = ""
	}
}

func countRecovery(status *v1beta1.EtcdClusterStatus, from string) {
	if from != "" && from != status.Recovering {
		status.Recoveries++ // what only others have had is given up
	}
}

// write brings the status to the record as it is to be.
func write(status *v1beta1.EtcdClusterStatus, was, is cluster.Record) {
	if is.Token != "" && (is.ClusterID == "" || was.Token == "") {
		status.Bootstrap = &v1beta1.Bootstrap{
			Token: is.Token, Members: is.First, Adopted: is.Adopted, Restore: is.Restore, NetworkPolicy: is.HasNetworkPolicy,
			Requests: is.HasRequests, Maintenance: is.HasMaintenance, DefragRoom: is.DefragRoom,
		}
	}
	status.LegacyEntries = status.LegacyEntries || is.Adopted && !was.Adopted && status.Restore == nil // a restore makes new logs
	if is.Restore != was.Restore {
		status.LegacyEntries = status.Restore != nil && status.Restore.Undo // only an undo brings old logs back
	}
	countRecovery(status, is.Recovering)
	status.ClusterID, status.Joining, status.Recovering = is.ClusterID, is.Joining, is.Recovering
	status.NextSerial = max(status.NextSerial, int64(is.NextSerial))
	if is.Revision == 0 {
		status.Revision, status.RevisionTime = 0, nil // the loss of what came after was accepted
	}
	if is.Awaited != was.Awaited {
		status.AwaitedBackup = awaited(is.Awaited)
	}
	if status.Defragmenting = nil; is.Defragmenting.Member != "" {
		status.Defragmenting = &v1beta1.DefragmentingStatus{
			Member: is.Defragmenting.Member, PodUID: is.Defragmenting.Pod, Size: *resource.NewQuantity(is.Defragmenting.Size, resource.BinarySI),
		}
	}
	if is.Grown > was.Grown {
		status.GrownSize = resource.NewQuantity(is.Grown, resource.BinarySI)
	}
	adopting(status, was.Adopting, is.Adopting)
	if is.Replacing != was.Replacing {
		status.SlowReplacement = &v1beta1.SlowReplacement{
			Member: is.Replacing.Member, Why: is.Replacing.Why, Since: metav1.Unix(is.Replacing.Since, 0),
		}
	}
	if is.Scaled != was.Scaled {
		status.Autoscale = autoscaled(is.Scaled)
	}
	if is.TLS != was.TLS {
		status.TLS = tlsStatus(is.TLS)
	}
	if is.RolledBack != was.RolledBack {
		status.Rollback = new(v1beta1.Rollback(is.RolledBack))
	}
}

func awaited(a cluster.Awaited) *v1beta1.AwaitedBackup {
	if a == (cluster.Awaited{}) {
		return nil
	}
	return new(v1beta1.AwaitedBackup(a))
}

// facts are what is seen of the members, once they are a cluster.
func facts(status *v1beta1.EtcdClusterStatus, c *v1beta1.EtcdCluster, v cluster.View) {
	status.Selector = specs.SelectorText(c)
	status.Endpoint = specs.Endpoint(c)
	status.Profile = specs.Profile(c)
	if v.Outside.Read {
		status.ExternalEndpoints = externalEndpoints(v.Outside)
	}
	status.QuorumLoss = quorumLoss(v)
	status.UnknownMembers = unknownMembers(v.Unknown)
	if !v.Formed() {
		return // while the first members start, their conditions say enough
	}
	if status.TLS == nil {
		status.TLS = &v1beta1.TLSStatus{Mode: v1beta1.TLSMode(c.TLSMode()), Phase: v1beta1.TLSStable}
	}
	if len(v.Rotation.Authorities) > 0 {
		status.Authorities = authorities(v.Rotation.Authorities)
	}
	if v.Revocation.At != "" {
		status.Revocations = revocations(v.Revocation)
	}
	status.Anomalies = anomalies(v.Anomalies)
	status.LastHashCheck = compared(status.LastHashCheck, v.Hashes)
	status.TargetVersion = v.Target.Version
	status.VolumeSize = volumeSize(status, v)
	status.LegacyEntries = legacyEntries(status, v)
	status.Replicas = count(v.Select(cluster.IsVoter))
	if v.Want.Size == 0 {
		status.Replicas = count(v.Select(cluster.HasPod))
	}
	status.ReadyMembers = count(v.Select(cluster.IsVoter, cluster.IsHealthy))
	status.UpdatedMembers = count(v.Select(cluster.IsVoter, cluster.IsUpdated))
	listMembers(status, v)
	status.Recommendations = recommendations(v.Advice)
}

// listMembers lists the members in the status, with the lowest version that one of them runs.
func listMembers(status *v1beta1.EtcdClusterStatus, v cluster.View) {
	old := map[string]v1beta1.MemberStatus{}
	for _, m := range status.Members {
		old[m.Name] = m
	}
	status.Members = nil
	lowest := ""
	for _, m := range v.Members {
		if m.Role == cluster.Unlisted && !m.Pod.Exists() {
			continue
		}
		status.Members = append(status.Members, member(m, old[m.Name]))
		if m.Version != "" && (lowest == "" || version.Order(m.Version, lowest) < 0) {
			lowest = m.Version
		}
	}
	if lowest != "" {
		status.Version = lowest
	}
}

// authorities are the certificate authorities in the status.
func authorities(all []cluster.Authority) []v1beta1.AuthorityStatus {
	statuses := make([]v1beta1.AuthorityStatus, 0, len(all))
	for _, a := range all {
		status := v1beta1.AuthorityStatus{Name: a.Name, Secret: a.Secret, Phase: v1beta1.RotationPhase(a.Phase), Request: a.Request}
		if a.End > 0 {
			status.NotAfter = new(metav1.NewTime(time.Unix(a.End, 0).UTC()))
		}
		statuses = append(statuses, status)
	}
	return statuses
}

// revocations are the revoked certificates in the status.
func revocations(r cluster.Revocation) *v1beta1.RevocationStatus {
	return &v1beta1.RevocationStatus{Phase: v1beta1.RevocationPhase(r.Phase), RevokedAt: r.At, Serials: r.Serials}
}

// volumeSize is that of the smallest volume; what was known before while there is none to look at.
func volumeSize(status *v1beta1.EtcdClusterStatus, v cluster.View) *resource.Quantity {
	if len(v.Volumes) == 0 {
		return status.VolumeSize
	}
	smallest := slices.MinFunc(v.Volumes, func(a, b cluster.Volume) int { return cmp.Compare(a.Size, b.Size) })
	return resource.NewQuantity(smallest.Size, resource.BinarySI)
}

func count(members []cluster.Member) int32 { return int32(len(members)) } //nolint:gosec // at most a few

// legacyEntries says whether members' logs may hold requests of etcd 3.5: once one of
// that version was seen, or when it is not known where the data comes from, until all
// members run a version that has none.
func legacyEntries(status *v1beta1.EtcdClusterStatus, v cluster.View) bool {
	listed := v.Select(cluster.IsListed)
	if len(listed) == 0 {
		return status.LegacyEntries
	}
	may, old := status.LegacyEntries || status.Format == 0, false
	for _, m := range listed {
		may = may || strings.HasPrefix(m.Version, "3.5.")
		old = old || m.Version == "" || version.Order(m.Version, "3.7.0") < 0
	}
	return may && old
}

// quorumLoss is what a person must know to decide what becomes of the data that is
// left.
func quorumLoss(v cluster.View) *v1beta1.QuorumLoss {
	loss, lasting := plan.Lasting(v)
	if !lasting || !v.Formed() {
		return nil
	}
	status := &v1beta1.QuorumLoss{Lost: cluster.Names(loss.Lost), Missing: cluster.Names(loss.Missing)}
	for _, m := range loss.Survivors {
		survivor := v1beta1.Survivor{Name: m.Name}
		if m.Index > 0 {
			survivor.Revision, survivor.RaftIndex = m.Revision, int64(m.Index) //nolint:gosec // counts entries
		}
		status.Survivors = append(status.Survivors, survivor)
	}
	if proposal, known := loss.Proposal(); known {
		status.Accept = proposal.String()
	}
	status.Backup = offered(v, loss)
	return status
}

// offered is the backup that the cluster can be brought back to instead.
func offered(v cluster.View, loss plan.QuorumLoss) *v1beta1.QuorumLossBackup {
	o := v.Candidate
	if o.Backup == "" {
		return nil
	}
	b := &v1beta1.QuorumLossBackup{
		Name: o.Backup, Revision: o.Revision, Time: metav1.NewTime(time.Unix(o.Begun, 0).UTC()), Accept: plan.Offered(v, loss),
	}
	if lost, known := plan.Behind(v, loss); known {
		b.Lost = &lost
	}
	return b
}

// unknownMembers are those that the operator has not added. The view keeps those of the status until
// a list that was read with quorum no longer has them.
func unknownMembers(unknown []cluster.UnknownMember) []v1beta1.UnknownMember {
	var all []v1beta1.UnknownMember
	for _, s := range unknown {
		m := v1beta1.UnknownMember{ID: strconv.FormatUint(s.ID, 16), Name: s.Name, Role: v1beta1.RoleLearner}
		if s.Voter {
			m.Role = v1beta1.RoleVoter
		}
		if s.PeerURL != "" {
			m.PeerURLs = strings.Split(s.PeerURL, ",")
		}
		all = append(all, m)
	}
	return all
}

func member(m cluster.Member, old v1beta1.MemberStatus) v1beta1.MemberStatus {
	status := v1beta1.MemberStatus{
		Name: m.Name, Role: role(m), Version: m.Version, Healthy: m.Healthy, DBSize: old.DBSize, LastDefragmentation: old.LastDefragmentation,
		Message: problem(m),
	}
	if m.ID != 0 {
		status.ID = strconv.FormatUint(m.ID, 16)
	}
	if m.DBSize > 0 {
		status.DBSize = rounded(m.DBSize)
	}
	return status
}

func role(m cluster.Member) string {
	switch {
	case m.Role == cluster.Learner:
		return v1beta1.RoleLearner
	case m.Role == cluster.Voter && m.Leader:
		return v1beta1.RoleLeader
	case m.Role == cluster.Voter:
		return v1beta1.RoleVoter
	default:
		return v1beta1.RoleUnlisted
	}
}

func problem(m cluster.Member) string {
	var problems []string
	if m.Foreign != "" {
		problems = append(problems, m.Foreign)
	}
	for _, lasting := range []string{m.Damage, cmp.Or(m.NodeUnreachable, m.NodeGone, m.Silence())} {
		if lasting != "" && !m.Answers {
			problems = append(problems, lasting)
		}
	}
	if m.Pod.Trouble != "" {
		problems = append(problems, m.Pod.Trouble)
	}
	if m.Complaint != "" {
		problems = append(problems, m.Complaint)
	}
	return shortened(strings.Join(problems, "; "))
}

// rounded is the size rounded up to a power of two: a size that grows with every
// write must not write the status with every write.
func rounded(size int64) *resource.Quantity {
	return resource.NewQuantity(1<<bits.Len64(uint64(size-1)), resource.BinarySI) //nolint:gosec // size is positive
}
