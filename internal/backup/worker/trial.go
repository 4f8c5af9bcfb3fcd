// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/restore/datadir"
)

// expected is what Unpack leaves for Verify: what the etcd that runs must answer.
type expected struct {
	Began          time.Time `json:"began"`
	Revision       int64     `json:"revision"`
	Compact        int64     `json:"compact"` // as etcd says it: -1 if nothing was compacted
	Keys           int64     `json:"keys"`
	Hash           uint32    `json:"hash"`
	Database       int64     `json:"database"` // bytes
	ClusterVersion string    `json:"clusterVersion,omitempty"`
	SHA256         string    `json:"sha256"` // of the database
	NoHash         bool      `json:"noHash,omitempty"`
}

// unpack makes a data directory of a backup for one member, which is thrown away, and compares what is in the database with
// the manifest.
func unpack(ctx context.Context, j job) (jobspec.Done, error) {
	began := j.Now()
	c, err := j.find(ctx, wanted{j.Trial.Path, j.Trial.ManifestSHA256, j.Trial.Identities, j.Trial.WithoutHash})
	if err != nil {
		return jobspec.Done{}, err
	}
	err = j.make(ctx, c, datadir.Options{
		Folder: j.Folders.Scratch, Name: jobspec.ScratchData, Member: jobspec.TrialMember, Token: "trial", Minor: j.Trial.Minor,
		InitialCluster: map[string]string{jobspec.TrialMember: jobspec.TrialPeerURL}, DropNoSpaceAlarm: true, DisableAuth: true,
	}, "restoring on trial; all of the database is checked next")
	if err != nil {
		return jobspec.Done{}, err
	}
	info, err := j.inspect(ctx, filepath.Join(j.Folders.Scratch, jobspec.ScratchData, "member", "snap", "db"))
	if err != nil {
		return jobspec.Done{}, err
	}
	if c.manifest != nil {
		if err := compare(*c.manifest, info); err != nil {
			return jobspec.Done{}, err
		}
	}
	return jobspec.Done{}, j.leave(expected{
		Began: began, Revision: info.Revision, Compact: info.CompactRevision, Keys: info.Keys, Hash: info.Hash, Database: c.size,
		ClusterVersion: info.ClusterVersion, SHA256: hex.EncodeToString(c.sum[:]), NoHash: c.noHash,
	})
}

// inspect does bbolt's own check, and then computes what etcd must answer.
func (j job) inspect(ctx context.Context, path string) (datadir.Info, error) {
	j.say.progress(0, 0, "checking the pages of the database; its keys are hashed next")
	var first error
	faults := 0
	err := datadir.Check(ctx, path, func(fault error) {
		if faults++; first == nil {
			first = fault
		}
	})
	if err != nil {
		return datadir.Info{}, err
	}
	if first != nil {
		return datadir.Info{}, &datadir.DamagedError{Why: fmt.Sprintf("%v; %d faults in all", first, faults)}
	}
	return datadir.Inspect(ctx, path, func(p datadir.Progress) {
		j.say.progress(p.Read, p.Size, "hashing the keys of the database; an etcd is started on it next")
	})
}

// compare compares a database with its manifest. Hashes mean something only if both revisions are equal.
func compare(m archive.Manifest, info datadir.Info) error {
	const who = "the restored database"
	hash := m.HashKV
	switch {
	case info.Revision != m.Revision:
		return different(who, "revision", m.Revision, info.Revision)
	case max(info.CompactRevision, 0) != max(m.CompactRevision, 0):
		return different(who, "compacted revision", m.CompactRevision, info.CompactRevision)
	case m.Keys != nil && info.Keys != *m.Keys:
		return different(who, "number of keys", *m.Keys, info.Keys)
	case hash != nil && hash.Revision == info.Revision && hash.CompactRevision == info.CompactRevision && hash.Hash != info.Hash:
		return different(who, "hash", hash.Hash, info.Hash)
	}
	return nil
}

func different[N int64 | uint32](who, what string, want, got N) error {
	return &differentError{who: who, what: what, want: fmt.Sprint(want), got: fmt.Sprint(got)}
}

func (j job) facts() string { return filepath.Join(j.Folders.Scratch, jobspec.ScratchFacts) }

func (j job) leave(facts expected) error {
	text, err := json.Marshal(facts)
	if err == nil {
		err = os.WriteFile(j.facts(), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write facts of the trial: %w", err)
	}
	return nil
}

func (j job) left() (facts expected, err error) {
	text, err := os.ReadFile(j.facts())
	if err == nil {
		err = json.Unmarshal(text, &facts)
	}
	if err != nil {
		return expected{}, fmt.Errorf("read facts of the trial: %w", err)
	}
	return facts, nil
}
