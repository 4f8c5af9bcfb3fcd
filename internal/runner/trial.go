package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/archive"
	"github.com/etcd-operator/etcd-operator/internal/datadir"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/task"
)

// expected is what Unpack leaves for Verify: what the etcd that runs must answer.
type expected struct {
	Began    time.Time `json:"began"`
	Revision int64     `json:"revision"`
	Compact  int64     `json:"compact"`
	Keys     int64     `json:"keys"`
	Hash     uint32    `json:"hash"`
	Database int64     `json:"database"`
}

// unpack makes a data directory of a backup for one member, which is thrown away, and compares what is in the database with
// the manifest.
func unpack(ctx context.Context, j job) (task.Done, error) {
	began := j.Now()
	m, err := j.read(ctx, j.Trial.Path, j.Trial.ManifestSHA256, j.Trial.Foreign)
	if err != nil {
		return task.Done{}, err
	}
	err = j.make(ctx, m, j.Trial.Identities, datadir.Options{
		Folder: j.Folders.Scratch, Name: task.ScratchData, Member: task.TrialMember, Token: "trial", Minor: j.Trial.Minor,
		InitialCluster: map[string]string{task.TrialMember: task.TrialPeerURL}, DropNoSpaceAlarm: true, DisableAuth: true,
	}, "restoring on trial; etcd is started on it next")
	if err != nil {
		return task.Done{}, err
	}
	path := filepath.Join(j.Folders.Scratch, task.ScratchData, "member", "snap", "db")
	if err := checkPages(ctx, path); err != nil {
		return task.Done{}, err
	}
	info, err := datadir.Inspect(ctx, path, func(datadir.Progress) { j.say.progress(m.Database.Size, m.Database.Size, "hashing all keys") })
	if err != nil {
		return task.Done{}, err
	}
	if err := compare(m, info); err != nil {
		return task.Done{}, err
	}
	text, err := json.Marshal(expected{
		Began: began, Revision: info.Revision, Compact: info.CompactRevision, Keys: info.Keys, Hash: info.Hash, Database: m.Database.Size,
	})
	if err != nil {
		return task.Done{}, fmt.Errorf("encode facts: %w", err)
	}
	if err := os.WriteFile(filepath.Join(j.Folders.Scratch, task.ScratchFacts), text, 0o600); err != nil {
		return task.Done{}, fmt.Errorf("write facts: %w", err)
	}
	return task.Done{}, nil
}

// checkPages is bbolt's own check: the first fault is enough.
func checkPages(ctx context.Context, path string) error {
	var fault error
	if err := datadir.Check(ctx, path, func(found error) { fault = errors.Join(fault, found) }); err != nil {
		return err
	}
	if fault != nil {
		return &datadir.DamagedError{Why: fault.Error()}
	}
	return nil
}

// compare compares a database with its manifest. Hashes mean something only if both revisions are equal.
func compare(m archive.Manifest, info datadir.Info) error {
	hash := m.HashKV
	switch {
	case info.Revision != m.Revision:
		return different("revision", m.Revision, info.Revision)
	case m.Keys != nil && info.Keys != *m.Keys:
		return different("number of keys", *m.Keys, info.Keys)
	case hash != nil && hash.Revision == info.Revision && hash.CompactRevision == info.CompactRevision && hash.Hash != info.Hash:
		return different("hash", hash.Hash, info.Hash)
	}
	return nil
}

func different[N int64 | uint32](what string, want, got N) error {
	return &differentError{what, fmt.Sprint(want), fmt.Sprint(got)}
}

// verify asks the etcd that runs on the data, which is a moment from starting, and compares.
func verify(ctx context.Context, j job) (task.Done, error) {
	text, err := os.ReadFile(filepath.Join(j.Folders.Scratch, task.ScratchFacts))
	if err != nil {
		return task.Done{}, fmt.Errorf("read facts: %w", err)
	}
	var want expected
	if err := json.Unmarshal(text, &want); err != nil {
		return task.Done{}, fmt.Errorf("read facts: %w", err)
	}
	client, err := etcd.NewPool().Client("trial", etcd.Target{Address: j.trialAddress()})
	if err != nil {
		return task.Done{}, err
	}
	if err := j.await(ctx, client); err != nil {
		return task.Done{}, err
	}
	keys, err := client.Count(ctx, want.Revision)
	if err != nil {
		return task.Done{}, err
	}
	hash, err := client.HashKV(ctx, want.Revision)
	if err != nil {
		return task.Done{}, err
	}
	switch {
	case keys != want.Keys:
		return task.Done{}, different("number of keys", want.Keys, keys)
	case hash.Compacted == want.Compact && hash.Sum != want.Hash:
		return task.Done{}, different("hash", want.Hash, hash.Sum)
	}
	return task.Done{Trial: &task.Trial{Revision: want.Revision, Keys: keys, Database: want.Database, Took: j.Now().Sub(want.Began)}}, nil
}

// startsWithin is how long etcd may take to load a database of 8 GiB from a slow disk.
const startsWithin = 15 * time.Minute

// await waits until etcd answers.
func (j job) await(ctx context.Context, client etcd.Client) error {
	ctx, cancel := context.WithTimeout(ctx, startsWithin)
	defer cancel()
	for {
		limited, cancel := context.WithTimeout(ctx, patience)
		err := client.Read(limited)
		cancel()
		if err == nil {
			return nil
		}
		j.say.progress(0, 0, "waiting for etcd to start on the restored data")
		select {
		case <-ctx.Done():
			return fmt.Errorf("etcd does not answer on the restored data: %w", err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// trialAddress is another one in tests.
func (j job) trialAddress() string {
	if j.Folders.Trial != "" {
		return j.Folders.Trial
	}
	return task.TrialAddress
}
