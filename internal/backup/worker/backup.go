// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
)

// backup writes one. If it is there already, because the answer of an earlier Job was lost, that is success.
func backup(ctx context.Context, j job) (jobspec.Done, error) {
	folder := archive.Folder{Namespace: j.Backup.Namespace, Cluster: j.Backup.Cluster, ID: j.Backup.ID}
	there, err := archive.ReadManifest(ctx, j.where, folder)
	if err == nil {
		return j.written(there, ""), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return jobspec.Done{}, err
	}
	if err := j.awaitRescued(ctx); err != nil {
		return jobspec.Done{}, err
	}
	source, err := j.begin(ctx)
	if err != nil {
		return jobspec.Done{}, err
	}
	defer source.end()
	m, err := j.stream(ctx, source)
	if errors.Is(err, objectstore.Exists) { // an earlier Job still lived, and was faster
		if there, readErr := archive.ReadManifest(ctx, j.where, folder); readErr == nil {
			return j.written(there, ""), nil
		}
	}
	if err != nil {
		return jobspec.Done{}, err
	}
	j.discard(ctx, folder, func(name string) bool { return name != folder.Manifest() && !isPartOf(m, name) })
	return j.written(m, source.member.Name), nil
}

func (j job) written(m archive.Manifest, source string) jobspec.Done {
	facts := factsOf(m)
	return jobspec.Done{Backup: &facts, Source: source, Log: j.log(), Locked: j.Backup.LockedUntil}
}

// stream sends the snapshot to the store, in parts whose names no other process uses: one that is not known to run may
// write the same backup. Only what wrote the manifest is the backup. What an upload that failed has sent is deleted, unless its
// manifest could be there.
func (j job) stream(ctx context.Context, s source) (archive.Manifest, error) {
	m := j.manifest(s)
	sealing := false
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	reading, read := context.WithCancel(ctx)
	defer read()
	go j.watchGrowth(reading, s, stop)
	sent, err := archive.Write(ctx, j.where, s.snapshot, archive.Job{
		Manifest: m, Total: s.snapshot.Size, Recipients: j.Backup.Recipients, Now: j.Now,
		Complete: func(ctx context.Context, m *archive.Manifest) error {
			read() // the member has sent all of it
			if m.Revision < s.proven {
				return fmt.Errorf("its snapshot has revision %d, and it had confirmed revision %d before", m.Revision, s.proven)
			}
			j.count(ctx, s, m)
			sealing = true
			return nil
		},
		Progress: func(p archive.Progress) {
			j.say.progress(p.Read, p.Total, fmt.Sprintf("uploading the snapshot of %s; the manifest comes next", s.member.Name))
		},
	})
	if grown := (*growthError)(nil); err != nil && errors.As(context.Cause(ctx), &grown) {
		err = grown // whatever else failed because of that
	}
	if err != nil {
		s.end() // the member need not wait for what is deleted
	}
	if err != nil && !sealing {
		j.discard(ctx, m.Folder(), func(name string) bool { return strings.HasPrefix(name, m.Folder().Object(m.Upload+".")) })
	}
	return sent, s.blame(err)
}

// discardsFor is how long a Job deletes what is not needed: less than the grace period of a Pod.
const discardsFor = 15 * time.Second

// discard deletes objects of a folder that no manifest names. What cannot be deleted costs space, and no more: it is deleted
// with the folder.
func (j job) discard(ctx context.Context, folder archive.Folder, unneeded func(name string) bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardsFor)
	defer cancel()
	for object, err := range j.where.List(ctx, folder.String()+"/") {
		if err != nil {
			return
		}
		_, name, _ := archive.ParseName(object.Name)
		if archive.IsPart(name) && unneeded(object.Name) && j.where.Delete(ctx, object.Name) != nil {
			return
		}
	}
}

func isPartOf(m archive.Manifest, name string) bool {
	for _, part := range m.Parts {
		if name == m.Folder().Object(part.Name) {
			return true
		}
	}
	return false
}

func (j job) manifest(s source) archive.Manifest {
	o := j.Backup
	members := make([]archive.Member, 0, len(o.Members))
	for _, m := range o.Members {
		members = append(members, archive.Member{Name: m.Name, ID: m.ID, Learner: m.Learner})
	}
	return archive.Manifest{
		ID: o.ID, Name: o.Name, Namespace: o.Namespace, Upload: strings.ToLower(rand.Text()), Reason: o.Reason, Spec: o.Spec, Members: members,
		Recoveries: o.Recoveries,
		Cluster:    archive.Cluster{Name: o.Cluster, UID: o.ClusterUID, ClusterID: hexID(s.status.ClusterID)},
		Etcd:       archive.Etcd{Version: s.status.Version}, StartedAt: s.began, OperatorVersion: j.Operator,
	}
}

// count asks the member how many keys there are at the revision of the snapshot, and for their hash if it is not held up for
// long by that. A revision that was compacted meanwhile can be asked no more, which is no fault of the backup: the trial counts.
func (j job) count(ctx context.Context, s source, m *archive.Manifest) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if keys, err := s.client.Count(ctx, m.Revision); err == nil {
		m.Keys = &keys
	}
	if m.Database.Size > j.Backup.HashBelow {
		return
	}
	if hash, err := s.client.HashKV(ctx, m.Revision); err == nil {
		m.HashKV = &archive.HashKV{Hash: hash.Sum, Revision: m.Revision, CompactRevision: hash.Compacted}
	}
}

func factsOf(m archive.Manifest) jobspec.Facts {
	return jobspec.Facts{
		ID: m.ID, Name: m.Name, Namespace: m.Namespace, Cluster: m.Cluster.Name, ClusterUID: m.Cluster.UID, ClusterID: m.Cluster.ClusterID,
		Reason: m.Reason, Revision: m.Revision, Recoveries: m.Recoveries, CompactRevision: m.CompactRevision, Keys: m.Keys,
		Database: m.Database.Size, Stored: m.StoredBytes, EtcdVersion: m.Etcd.Version, StorageVersion: m.Etcd.StorageVersion,
		Encrypted: m.Encryption != nil, StartedAt: m.StartedAt, FinishedAt: m.FinishedAt, ManifestSHA256: m.SHA256,
	}
}
