// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/cluster/limits"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// hashBelow is the size in bytes up to which the hash of the database is asked of the member that sent it. Computing it
// holds up writes there, for about 0.2 s at this size (test/bench/backup-notes.md).
const hashBelow = 256 << 20

// maxSpec is how many bytes of a cluster's spec go into an order, which is one argument of a process: Linux allows
// 128 KiB. A spec that is larger is left out of the manifest.
const maxSpec = 64 << 10

// A JobBuilder makes the Jobs of one operator.
type JobBuilder struct {
	Image   jobs.Image
	Images  specs.Images // of etcd, that the operator is configured with
	Limits  limits.Limits
	Version string // of the operator
}

// Job is what a step creates.
func (m JobBuilder) Job(seen Seen, v View, step CreateJob) (*batchv1.Job, error) {
	m.Image = m.Image.Of(seen.Cluster)
	if v.isSnapshot() {
		return m.trySnapshot(seen, v, step)
	}
	order := jobspec.Order{Store: seen.Store.Spec, Operator: m.Version}
	switch step.Task {
	case Backup:
		order.Verb = jobspec.Backup
		backup, err := backupOrder(seen.Cluster, v)
		if err != nil {
			return nil, err
		}
		backup.LockedUntil = lockedUntil(seen.Store.Spec, seen.Now)
		order.Backup = backup
		if v.Volume.Name != "" {
			return m.rescue(seen, v, step, order), nil
		}
		return jobs.Backup(seen.Backup, seen.Store, seen.Cluster, step.Name, order, m.Image), nil
	case Verify:
		order.Trial = trialOrder(v)
		unpack, ask := order, order
		unpack.Verb, ask.Verb = jobspec.Unpack, jobspec.Verify
		image, room := m.etcdImage(v, seen.Cluster), scratch(v.Status)
		return jobs.Verify(named(seen.Backup, v), seen.Store, step.Name, unpack, ask, image, room, m.Image), nil
	case Delete:
		order.Verb = jobspec.Delete
		order.Delete = &jobspec.DeleteOrder{Path: v.path(), ManifestSHA256: v.Status.ManifestSHA256, Log: retained(seen, v.path())}
		return jobs.Delete(seen.Backup, seen.Store, step.Name, order, m.Image), nil
	default:
		return nil, fmt.Errorf("no job for task %q", step.Task)
	}
}

// trySnapshot is the Job that starts an etcd on a volume made of a VolumeSnapshot.
func (m JobBuilder) trySnapshot(seen Seen, v View, step CreateJob) (*batchv1.Job, error) {
	if step.Task != Verify {
		return nil, fmt.Errorf("no job for task %q of a VolumeSnapshot", step.Task)
	}
	rescue := jobspec.Order{
		Verb: jobspec.Rescue, Operator: m.Version, Rescue: &jobspec.RescueOrder{DataDirectory: specs.DataDirectory, InPlace: true},
	}
	ask := jobspec.Order{Verb: jobspec.Verify, Operator: m.Version, Trial: &jobspec.TrialOrder{
		Path: v.path(), Minor: trialMinor(v.Status), Stopped: true, Least: v.Status.Revision,
	}}
	from := jobs.CopyOf(v.Status.VolumeSnapshot, v.Status.DatabaseSize)
	return jobs.VerifySnapshot(seen.Backup, seen.Cluster, step.Name, rescue, ask, m.etcdImage(v, seen.Cluster), from, m.Image), nil
}

// named is the EtcdBackup with the Secret that decrypts it, which the cluster may have named.
func named(b *v1beta1.EtcdBackup, v View) *v1beta1.EtcdBackup {
	if v.Decryption == "" || b.Spec.Decryption != nil {
		return b
	}
	b = b.DeepCopy()
	b.Spec.Decryption = &v1beta1.SecretReference{Secret: v.Decryption}
	return b
}

func backupOrder(c *v1beta1.EtcdCluster, v View) (*jobspec.BackupOrder, error) {
	spec, err := json.Marshal(c.Spec)
	if err != nil {
		return nil, fmt.Errorf("encode spec of EtcdCluster %s: %w", c.Name, err)
	}
	if len(spec) > maxSpec {
		spec = nil
	}
	recoveries := c.Status.Recoveries
	if v.Volume.Name != "" {
		recoveries = 0 // a volume that does not run may be of any earlier history
	}
	return &jobspec.BackupOrder{
		ID: path.Base(v.path()), Name: v.Name, Namespace: v.Namespace,
		Cluster: c.Name, ClusterUID: string(c.UID), ClusterID: c.Status.ClusterID, Recoveries: recoveries, Reason: v.Status.Reason,
		Members: jobs.Members(c), Secure: c.IsSecure(), Recipients: v.Recipients, Spec: spec, HashBelow: hashBelow,
		Quota: c.QuotaBytes(),
	}, nil
}

// lockedUntil is until when what is written for a backup is locked, if it is begun now; zero where the store locks nothing.
func lockedUntil(store v1beta1.EtcdBackupStoreSpec, now time.Time) time.Time {
	if store.S3 == nil || store.S3.Lock == nil {
		return time.Time{}
	}
	return now.UTC().AddDate(0, 0, int(store.S3.Lock.Days))
}

func trialOrder(v View) *jobspec.TrialOrder {
	isForeign := v.Status.Program != ""
	return &jobspec.TrialOrder{
		Path: v.path(), ManifestSHA256: v.Status.ManifestSHA256, Minor: trialMinor(v.Status), Identities: v.Decryption != "",
		Foreign: isForeign, WithoutHash: isForeign,
	}
}

// newestMinor reads the data of every minor version that is known, and is taken where nothing says which version the
// data is of.
const newestMinor = "3.7"

// trialMinor is the minor version of the etcd of a trial.
func trialMinor(s v1beta1.EtcdBackupStatus) string {
	if s.EtcdVersion == "" {
		return newestMinor
	}
	return version.MinorOf(s.EtcdVersion)
}

// etcdImage is the image of the etcd of a trial: the one that the cluster's user has chosen for this very version and may choose, else
// one that the operator is configured with, even for another patch, because that is where images can be pulled from.
func (m JobBuilder) etcdImage(v View, c *v1beta1.EtcdCluster) string {
	return m.EtcdImage(v.Status.EtcdVersion, c)
}

// EtcdImage is the same for a version of etcd.
func (m JobBuilder) EtcdImage(full string, c *v1beta1.EtcdCluster) string {
	if full == "" {
		full = version.Full(newestMinor)
	}
	if c != nil && c.Spec.Image != "" && m.Limits.AllowsImage(c.Spec.Image) && full == c.Spec.Version && full == c.Status.Version {
		return c.Spec.Image
	}
	if image := m.Images[full]; image != "" {
		return image
	}
	same := slices.DeleteFunc(slices.Sorted(maps.Keys(m.Images)), func(known string) bool {
		return version.MinorOf(known) != version.MinorOf(full)
	})
	if len(same) > 0 {
		return m.Images[version.Highest(same)]
	}
	return specs.DefaultImage(full)
}

// Beside the database a trial needs room for etcd's log, twice, and for the steps in which a database grows
// (test/bench/backup-notes.md); and of a volume its file system keeps a part for itself: ext4 a twentieth for root and a sixtieth for
// inodes, xfs about a thirtieth.
const (
	beside = 256 << 20
	kept   = 10 // the tenth part is more than any of them keeps
)

// scratch is the room that a trial needs. Of a backup of another program only the size in the store is known, where it may
// be compressed.
func scratch(s v1beta1.EtcdBackupStatus) resource.Quantity {
	const compressed = 6
	var database int64
	switch {
	case s.DatabaseSize != nil:
		database = s.DatabaseSize.Value()
	case s.StoredSize != nil:
		database = compressed * s.StoredSize.Value()
	}
	const mebibyte = 1 << 20
	return *resource.NewQuantity((database+database/kept+beside+mebibyte-1)/mebibyte*mebibyte, resource.BinarySI)
}
