// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package continuous

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// A JobBuilder makes the Jobs of one operator.
type JobBuilder struct {
	Image   jobs.Image
	Version string // of the operator
}

// hashEvery is how often a member is asked for the hash of all keys, by which a restore proves that the log is whole. It holds up
// writes for some 0.2 s where the database has 256 MiB (test/bench/backup-notes.md). Of a larger one none is asked for.
const (
	hashEvery = time.Hour
	hashBelow = 256 << 20
)

// Job is what keeps the log.
func (b JobBuilder) Job(seen Seen, v View) *batchv1.Job {
	order := b.order(seen)
	order.Follow.Base = v.Status.Base.Revision
	order.Follow.Hash, order.Follow.HashBelow = hashEvery, hashBelow
	return jobs.MadeFor(jobs.Follow(seen.Cluster, seen.Store, order, b.Image), v.For)
}

// order is what does not change while one process keeps the log.
func (b JobBuilder) order(seen Seen) jobspec.Order {
	c := seen.Cluster
	asked := c.Spec.Backup.Continuous
	var recipients []string
	if to := c.Spec.Backup.Encryption; to != nil {
		recipients = to.Recipients
	}
	return jobspec.Order{
		Verb: jobspec.Follow, Operator: b.Version, Store: seen.Store.Spec,
		Follow: &jobspec.FollowOrder{
			Namespace: c.Namespace, Cluster: c.Name, Lineage: Lineage(c), ClusterID: c.Status.ClusterID,
			Members: jobs.Voters(c), Secure: c.IsSecure(), Flush: flush(c), SegmentSize: cmp.Or(int(asked.SegmentSize.Value()), defaultSize),
			Recipients: recipients,
		},
	}
}

// digest differs where a process that runs would have to be started again: its order, the Secrets that it reads when it starts, or its
// image. Of members only who they are counts: which of them leads does not.
func (b JobBuilder) digest(seen Seen) string {
	order := b.order(seen)
	slices.SortFunc(order.Follow.Members, func(a, b jobspec.Member) int { return cmp.Compare(a.Name, b.Name) })
	root := ""
	if seen.Cluster.HasRootSecret() {
		root = seen.Cluster.RootSecret()
	}
	sources := seen.Store.Status.Sources
	text := fmt.Sprintf("%s|%s|%s|%s|%s", order.Encode(), sources, root, seen.Client, b.Image.Operator)
	if pulls, err := json.Marshal(b.Image.Of(seen.Cluster).PullSecrets); err == nil {
		text += string(pulls)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}

// NewFull is the EtcdBackup after which the log begins. It has no owner: it outlives the cluster. Retention is about it, too.
func NewFull(c *v1beta1.EtcdCluster, name string) *v1beta1.EtcdBackup {
	b := &v1beta1.EtcdBackup{}
	b.Namespace, b.Name = c.Namespace, name
	b.Labels = map[string]string{v1beta1.LabelScheduled: "true", v1beta1.LabelCluster: c.Name}
	b.Annotations = map[string]string{v1beta1.AnnotationClusterUID: string(c.UID), v1beta1.AnnotationReason: "continuous"}
	b.Spec = v1beta1.EtcdBackupSpec{Cluster: c.Name, Store: c.Spec.Backup.Store, DeletionPolicy: v1beta1.RetainBackup}
	return b
}
