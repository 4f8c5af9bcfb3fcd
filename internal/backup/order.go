package backup

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
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
		order.Delete = &jobspec.DeleteOrder{Path: v.path(), ManifestSHA256: v.Status.ManifestSHA256}
		return jobs.Delete(seen.Backup, seen.Store, step.Name, order, m.Image), nil
	default:
		return nil, fmt.Errorf("no job for task %q", step.Task)
	}
}

// named is the EtcdBackup with the Secret that decrypts it, which the cluster may have named.
func named(b *v1alpha1.EtcdBackup, v View) *v1alpha1.EtcdBackup {
	if v.Decryption == "" || b.Spec.Decryption != nil {
		return b
	}
	b = b.DeepCopy()
	b.Spec.Decryption = &v1alpha1.SecretReference{Secret: v.Decryption}
	return b
}

func backupOrder(c *v1alpha1.EtcdCluster, v View) (*jobspec.BackupOrder, error) {
	spec, err := json.Marshal(c.Spec)
	if err != nil {
		return nil, fmt.Errorf("encode spec of EtcdCluster %s: %w", c.Name, err)
	}
	if len(spec) > maxSpec {
		spec = nil
	}
	return &jobspec.BackupOrder{
		ID: path.Base(v.path()), Name: v.Name, Namespace: v.Namespace,
		Cluster: c.Name, ClusterUID: string(c.UID), ClusterID: c.Status.ClusterID, Reason: v.Status.Reason,
		Members: members(c), Secure: c.IsSecure(), Recipients: v.Recipients, Spec: spec, HashBelow: hashBelow,
		Quota: c.QuotaBytes(),
	}, nil
}

// lockedUntil is until when what is written for a backup is locked, if it is begun now; zero where the store locks nothing.
func lockedUntil(store v1alpha1.EtcdBackupStoreSpec, now time.Time) time.Time {
	if store.S3 == nil || store.S3.Lock == nil {
		return time.Time{}
	}
	return now.UTC().AddDate(0, 0, int(store.S3.Lock.Days))
}

// members are those that may be asked for a snapshot, in that order: those that answer first, the
// leader after the other voters, a learner last, because it serves nothing but the snapshot itself.
func members(c *v1alpha1.EtcdCluster) []jobspec.Member {
	listed := slices.DeleteFunc(slices.Clone(c.Status.Members), func(m v1alpha1.MemberStatus) bool { return m.ID == "" })
	slices.SortStableFunc(listed, func(a, b v1alpha1.MemberStatus) int {
		return cmp.Or(cmp.Compare(distance(a), distance(b)), cmp.Compare(a.Name, b.Name))
	})
	var all []jobspec.Member
	for _, m := range listed {
		all = append(all, jobspec.Member{
			Name: m.Name, ID: m.ID, Address: specs.ClientAddress(c, m.Name), Learner: m.Role == v1alpha1.RoleLearner,
		})
	}
	return all
}

// distance is how late a member is asked.
func distance(m v1alpha1.MemberStatus) int {
	switch {
	case m.Role == v1alpha1.RoleLearner:
		return 3
	case !m.Healthy:
		return 2
	case m.Role == v1alpha1.RoleLeader:
		return 1
	default:
		return 0
	}
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
func trialMinor(s v1alpha1.EtcdBackupStatus) string {
	if s.EtcdVersion == "" {
		return newestMinor
	}
	return version.MinorOf(s.EtcdVersion)
}

// etcdImage is the image of the etcd of a trial: the one that the cluster's user has chosen for this very version and may choose, else
// one that the operator is configured with, even for another patch, because that is where images can be pulled from.
func (m JobBuilder) etcdImage(v View, c *v1alpha1.EtcdCluster) string {
	return m.imageOf(v.Status.EtcdVersion, c)
}

func (m JobBuilder) imageOf(full string, c *v1alpha1.EtcdCluster) string {
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
func scratch(s v1alpha1.EtcdBackupStatus) resource.Quantity {
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
