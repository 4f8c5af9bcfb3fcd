package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/archive"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/task"
)

// backup writes one. If it is there already, because the answer of an earlier Job was lost, that is success; what an
// earlier Job has left without a manifest is deleted first.
func backup(ctx context.Context, j job) (task.Done, error) {
	folder := archive.Folder{Namespace: j.Backup.Namespace, Cluster: j.Backup.Cluster, ID: j.Backup.ID}
	there, err := archive.ReadManifest(ctx, j.where, folder)
	switch {
	case err == nil:
		return j.written(there, ""), nil
	case !errors.Is(err, fs.ErrNotExist):
		return task.Done{}, err
	}
	if err := j.clear(ctx, folder.String()+"/"); err != nil {
		return task.Done{}, err
	}
	all, err := j.ask(ctx)
	if err != nil {
		return task.Done{}, err
	}
	source, err := choose(all, j.Backup.ClusterID)
	if err != nil {
		return task.Done{}, err
	}
	manifest, err := j.stream(ctx, source)
	if err != nil {
		return task.Done{}, err
	}
	return j.written(manifest, source.member.Name), nil
}

func (j job) written(m archive.Manifest, source string) task.Done {
	facts := factsOf(m)
	done := task.Done{Backup: &facts, Source: source}
	if s3 := j.Store.S3; s3 != nil && s3.LockUntil != nil {
		done.Locked = *s3.LockUntil
	}
	return done
}

// stream sends the snapshot of a member to the store. The member proves first that it has every write that was acknowledged
// before, by a read that needs a quorum.
func (j job) stream(ctx context.Context, source candidate) (archive.Manifest, error) {
	started := j.Now()
	limited, cancel := context.WithTimeout(ctx, patience)
	err := source.client.Read(limited)
	cancel()
	if err != nil {
		return archive.Manifest{}, j.sourceFailed(source, err)
	}
	snapshot, err := source.client.Snapshot(ctx)
	if err != nil {
		return archive.Manifest{}, j.sourceFailed(source, err)
	}
	defer snapshot.Close() //nolint:errcheck // it ends a call
	manifest := j.manifest(source, started, all(j.Backup.Members))
	manifest.Etcd.StorageVersion = snapshot.StorageVersion
	return archive.Write(ctx, j.where, blamed{snapshot, j, source}, archive.Job{
		Manifest: manifest, Total: snapshot.Size, Recipients: j.Backup.Recipients, Now: j.Now,
		Complete: func(ctx context.Context, m *archive.Manifest) error { return j.count(ctx, source, m) },
		Progress: func(p archive.Progress) {
			j.say.progress(p.Read, p.Total, fmt.Sprintf("uploading the snapshot of %s; the manifest comes next", source.member.Name))
		},
	})
}

func (j job) manifest(source candidate, started time.Time, members []archive.Member) archive.Manifest {
	o := j.Backup
	return archive.Manifest{
		ID: o.ID, Name: o.Name, Namespace: o.Namespace, Reason: o.Reason, Spec: o.Spec, Members: members,
		Cluster: archive.Cluster{Name: o.Cluster, UID: o.ClusterUID, ClusterID: hexID(source.status.ClusterID)},
		Etcd:    archive.Etcd{Version: source.status.Version}, StartedAt: started, OperatorVersion: j.Operator,
	}
}

func all(members []task.Member) []archive.Member {
	listed := make([]archive.Member, 0, len(members))
	for _, m := range members {
		listed = append(listed, archive.Member{Name: m.Name, ID: m.ID, Learner: m.Learner})
	}
	return listed
}

// count asks the member how many keys there are at the revision of the snapshot, and for their hash if it is not held up for
// long by that. A revision that was compacted meanwhile can be asked no more, which is no fault of the backup: the trial counts.
func (j job) count(ctx context.Context, source candidate, m *archive.Manifest) error {
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if keys, err := source.client.Count(limited, m.Revision); err == nil {
		m.Keys = &keys
	}
	if m.Database.Size > j.Backup.HashBelow {
		return nil
	}
	if hash, err := source.client.HashKV(limited, m.Revision); err == nil {
		m.HashKV = &archive.HashKV{Hash: hash.Sum, Revision: m.Revision, CompactRevision: hash.Compacted}
	}
	return nil
}

func (j job) sourceFailed(source candidate, err error) error {
	if etcd.WantsUser(err) {
		return &authError{source.member.Name}
	}
	return &sourceError{fmt.Errorf("%s: %w", source.member.Name, err)}
}

// blamed tells errors of the member from those of the store.
type blamed struct {
	io.Reader
	job    job
	source candidate
}

func (b blamed) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	return n, b.job.sourceFailed(b.source, err)
}

func factsOf(m archive.Manifest) task.Facts {
	return task.Facts{
		ID: m.ID, Name: m.Name, Namespace: m.Namespace, Cluster: m.Cluster.Name, ClusterUID: m.Cluster.UID, ClusterID: m.Cluster.ClusterID,
		Reason: m.Reason, Revision: m.Revision, CompactRevision: m.CompactRevision, Keys: m.Keys,
		Database: m.Database.Size, Stored: m.StoredBytes, EtcdVersion: m.Etcd.Version, StorageVersion: m.Etcd.StorageVersion,
		Encrypted: m.Encryption != nil, StartedAt: m.StartedAt, FinishedAt: m.FinishedAt, ManifestSHA256: m.SHA256,
	}
}
