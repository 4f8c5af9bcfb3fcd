// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/limits"
	"github.com/etcd-operator/etcd-operator/internal/cluster/memory"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// A builder builds a view. It collects what each source knows of a member, by its name
// and never by its place in a list.
type builder struct {
	Snapshot
	c       *v1beta1.EtcdCluster
	v       cluster.View
	members map[string]*cluster.Member
	pods    map[string]*corev1.Pod // as they were read last
	chosen  map[string]string      // image that their volumes say the user had chosen
	emptied map[string]bool        // their etcd found its data directory empty
	// unmigrated is a member whose data etcd has yet to bring to its version, and why.
	unmigrated string
}

// View is what the snapshot means, by what is remembered of earlier ones.
func View(s Snapshot, remembered *memory.Cluster) cluster.View {
	j := begin(s)
	if !IsLeftAlone(s.Cluster) {
		j.all()
	}
	remembered.Mark(j.v, s.Now)
	j.v.Compacted, j.v.Freeing = remembered.Compacted(j.v, s.Now)
	j.v.Anomalies, j.v.Relieved = remembered.Slow(j.v, s.Now)
	for _, disk := range remembered.SlowDisks() {
		if m, known := j.v.Member(disk.Member); known && cluster.HasPod(m) {
			j.v.SlowDisks = append(j.v.SlowDisks, disk)
		}
	}
	j.leaveCramped(remembered)
	j.v.Autoscale = remembered.Load(autoscale(s, j.v), j.v, s.Now)
	j.v.Advice = advice(s.Cluster, remembered.RoundTrip(), remembered.EntrySize(), s.Now)
	j.v.Advice = append(j.v.Advice, asksForNothing(s.Cluster, s.Now)...)
	return j.v
}

// all goes through the whole snapshot, in the order in which it was read.
func (j *builder) all() {
	j.kubernetes()
	j.etcd()
	j.adoption()
	j.confirm()
	j.nodes()
	j.target()
	j.space()
	j.exchanging()
	j.unwritten()
	j.v.Members = j.sorted()
	j.speeds()
	j.usages()
	j.v.Backup.Before = before(j.v)
	if !j.Asleep {
		j.objects()
	}
}

// IsLeftAlone says whether nothing needs to be known of a cluster: it is being deleted, or its
// status is a newer operator's.
func IsLeftAlone(c *v1beta1.EtcdCluster) bool { return c.IsGoing() || newer(c) != "" }

// begin records what the EtcdCluster itself says.
func begin(s Snapshot) *builder {
	c := s.Cluster
	j := &builder{
		Snapshot: s, c: c, v: cluster.View{
			Name: c.Name, UID: string(c.UID), Generation: c.Generation, At: s.Now.Unix(), Deleting: c.IsGoing(),
			Newer: newer(c), Want: want(s), Record: record(c), Unknown: recorded(c), Restore: restoring(c),
			Backup: awaited(s), Candidate: offer(s), Adoption: adopting(s), TLS: tlsChange(s),
		},
		members: map[string]*cluster.Member{}, pods: map[string]*corev1.Pod{},
		chosen: map[string]string{}, emptied: map[string]bool{},
	}
	j.loadStatus()
	j.choose()
	return j
}

// newer is what of the status this operator does not understand. It does not matter to one that
// is being deleted.
func newer(c *v1beta1.EtcdCluster) string {
	if c.IsGoing() || c.Status.Format <= v1beta1.StatusFormat {
		return ""
	}
	return fmt.Sprintf("its status has format %d, and this one knows %d", c.Status.Format, v1beta1.StatusFormat)
}

func want(s Snapshot) cluster.Want {
	c := s.Cluster
	paused, unclear := pause(c)
	return cluster.Want{
		Size:      c.Size(),
		Version:   version.Full(c.Spec.Version),
		Image:     c.Spec.Image,
		Ephemeral: c.Spec.Storage.Ephemeral != nil,
		Paused:    paused,
		Unclear:   unclear,
		Forbidden: s.Limits.Forbidden(c),
		Allowed:   limits.WasAllowed(c),
		RollBack:  c.Spec.Upgrade.OnFailure == v1beta1.RollBack,
		Automatic: c.Spec.Recovery.QuorumLoss == v1beta1.Automatic,
		Accepted:  c.Spec.Recovery.AcceptDataLoss,
		Guarded:   isGuarded(c),
		Last:      c.Spec.DeletionPolicy == v1beta1.BackupFirst,
		Expired:   c.ExpiresAt() != nil && !s.Now.Before(*c.ExpiresAt()),

		Heals:        c.HealsNoSpace(),
		ReplacesSlow: c.Spec.Recovery.SlowMembers == v1beta1.SlowReplace,
		SlowTimeout:  c.Spec.Recovery.SlowMemberTimeout.Duration,
		Defragment:   c.Annotations[v1beta1.AnnotationDefragment],
		NoWindow:     neverOpens(c.Spec.Maintenance.Defragmentation.Window, s.Now),
	}
}

// Paused says what pauses the cluster; empty if nothing does.
func Paused(c *v1beta1.EtcdCluster) string {
	paused, _ := pause(c)
	return paused
}

// pause says what pauses the cluster, and whether the opposite may be meant. An annotation
// that is neither true nor false counts as true: a person may be about to work on the members,
// and a pause too many is reported and can be ended.
func pause(c *v1beta1.EtcdCluster) (paused string, unclear bool) {
	var all []string
	if c.Spec.Paused {
		all = append(all, "spec.paused is true")
	}
	switch value, set := c.Annotations[v1beta1.AnnotationPaused]; {
	case !set || value == "false":
	case value == "true":
		all = append(all, "the annotation "+v1beta1.AnnotationPaused+" is true")
	default:
		unclear = true
		all = append(all, fmt.Sprintf("the annotation %s is %.20q, neither true nor false, and counts as true", v1beta1.AnnotationPaused, value))
	}
	return strings.Join(all, " and "), unclear
}

func record(c *v1beta1.EtcdCluster) cluster.Record {
	r := cluster.Record{
		ClusterID: c.Status.ClusterID, NextSerial: int(c.Status.NextSerial), Joining: c.Status.Joining,
		Recovering: c.Status.Recovering, Revision: c.Status.Revision,
	}
	if awaited := c.Status.AwaitedBackup; awaited != nil {
		r.Awaited = cluster.Awaited(*awaited)
	}
	if c.Status.GrownSize != nil {
		r.Grown = c.Status.GrownSize.Value()
	}
	if a := c.Status.Autoscale; a != nil {
		r.Scaled = cluster.Scaled{Computing: beyond(c), Since: a.Since.Unix(), Refused: a.Refused}
	}
	if last := c.Status.SlowReplacement; last != nil {
		r.Replacing = cluster.Replacing{Member: last.Member, Why: last.Why, Since: last.Since.Unix()}
	}
	r.Adopting, r.TLS = recordedSources(c), tlsState(c)
	if d := c.Status.Defragmenting; d != nil {
		r.Defragmenting = cluster.Defragmenting{Member: d.Member, Pod: d.PodUID, Size: d.Size.Value()}
	}
	if isRolledBack(c) {
		r.RolledBack = cluster.Rollback(*c.Status.Rollback)
	}
	if plan := c.Status.Bootstrap; plan != nil {
		r.Restore, r.HasNetworkPolicy, r.HasRequests = plan.Restore, plan.NetworkPolicy, plan.Requests
		r.HasMaintenance, r.DefragRoom = plan.Maintenance, plan.DefragRoom
		r.Token, r.First, r.Adopted = plan.Token, slices.Clone(plan.Members), plan.Adopted
	}
	return r
}

// kubernetes records the Pods and volumes of the lists.
func (j *builder) kubernetes() {
	j.v.Beside = j.beside()
	for i := range j.Pods {
		j.pod(&j.Pods[i])
	}
	for i := range j.Volumes {
		j.volume(&j.Volumes[i])
	}
	slices.SortFunc(j.v.Volumes, func(a, b cluster.Volume) int {
		return cluster.Serial(j.c.Name, a.Name) - cluster.Serial(j.c.Name, b.Name)
	})
	j.v.Restore.Done = j.v.Restore.Done && j.isRestored()
	byName := func(a, b cluster.Object) int { return strings.Compare(a.String(), b.String()) }
	slices.SortFunc(j.v.Misfits, byName)
	slices.SortFunc(j.v.Refused, byName)
	slices.SortFunc(j.v.Foreign, byName)
	slices.SortFunc(j.v.Expired, byName)
}

// come is the earlier time of this machine's clock and the API server's: one wrong clock alone
// must not cause a deletion or a replacement.
func (s *Snapshot) come() time.Time { return s.Now.Add(-s.Ahead) }

// later is the time by whichever clock is ahead, by which certificates are made.
func (s *Snapshot) later() time.Time { return s.Now.Add(s.Behind) }

// isRecent says whether something was less than that long ago, by a time that another clock
// may have written. A clock that is ahead must not make anything wait until then: what lies
// further in the future than that counts as long past. Not for what deletes or replaces,
// which a wrong clock may only delay.
func (s *Snapshot) isRecent(at time.Time, within time.Duration) bool {
	return s.Now.Sub(at).Abs() < within
}
