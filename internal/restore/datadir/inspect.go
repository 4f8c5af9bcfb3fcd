// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Info is what a database says, before any etcd has run on it.
type Info struct {
	HashKV
	Keys int64 // that a client finds
	// ScheduledCompaction is the revision of a compaction that etcd will finish when it starts; 0 if there is none.
	ScheduledCompaction int64
	ClusterVersion      string // such as 3.6.0; empty until etcd has agreed on it
	StorageVersion      string // such as 3.6.0; empty before etcd 3.6
	Members             []Member
	Alarms              []Alarm
	AuthEnabled         bool
	Leases              int64
}

// Member is one that the cluster had.
type Member struct {
	ID         uint64
	Name       string // empty if it never started
	PeerURLs   []string
	ClientURLs []string
	Learner    bool
}

// Alarm is one that etcd had raised.
type Alarm struct {
	MemberID uint64
	Kind     string // NOSPACE or CORRUPT
	name     []byte // in the database
}

// Progress is how far Inspect is. Entries are read several times over.
type Progress struct {
	Read int64 // bytes of entries, in this pass
	Size int64 // bytes of the file, which Read does not reach
}

const (
	// keysInMemory limits what Inspect keeps of keys that changed after the last compaction, or of
	// all keys if that has not finished: about 40 MiB.
	keysInMemory = 1 << 20
	// lockTimeout is how long it waits for a database that another process has open, such as an etcd.
	lockTimeout = time.Second
)

// Inspect reads a database without changing it. It needs memory for a bit of each page and of each
// entry that a compaction left, and for a million keys at most; the file is mapped besides, which
// the kernel gives up at will. A damaged database is a *DamagedError; see Check for more.
func Inspect(ctx context.Context, path string, progress func(Progress)) (Info, error) {
	var info Info
	err := view(ctx, path, func(tx *bolt.Tx) error {
		size := tx.Size()
		read := func(bytes int64) { progress(Progress{Read: bytes, Size: size}) }
		found, err := inspect(ctx, tx, keysInMemory, read)
		info = found
		return err
	})
	if err != nil {
		return Info{}, fmt.Errorf("inspect database: %w", err)
	}
	return info, nil
}

// view opens a database for reading, once it is known that bbolt will not fall over it.
func view(ctx context.Context, path string, read func(*bolt.Tx) error) error {
	if err := verifyPages(ctx, path); err != nil {
		return err
	}
	db, err := bolt.Open(path, 0, &bolt.Options{ReadOnly: true, Timeout: lockTimeout})
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	return errors.Join(db.View(read), db.Close())
}

func inspect(ctx context.Context, tx *bolt.Tx, limit int, read func(int64)) (Info, error) {
	found, err := readRevisions(tx)
	if err != nil {
		return Info{}, err
	}
	info := Info{
		ClusterVersion: text(tx, bucketCluster, keyClusterVersion),
		StorageVersion: text(tx, bucketMeta, keyStorageVersion),
		AuthEnabled:    text(tx, bucketAuth, keyAuthEnabled) == "\x01",
	}
	if found.scheduled > found.finished {
		info.ScheduledCompaction = found.scheduled
	}
	if info.Members, err = readMembers(tx); err != nil {
		return Info{}, err
	}
	if info.Alarms, err = readAlarms(tx); err != nil {
		return Info{}, err
	}
	if leases := tx.Bucket(bucketLease); leases != nil {
		info.Leases = int64(leases.Stats().KeyN)
	}
	keys := keyspace{scan: scan{ctx: ctx, bucket: tx.Bucket(bucketKey), read: read}, revisions: found, limit: limit}
	info.HashKV, info.Keys, err = keys.sum()
	return info, err
}

// readMembers reads what etcd wrote as JSON, by ID.
func readMembers(tx *bolt.Tx) ([]Member, error) {
	bucket := tx.Bucket(bucketMembers)
	if bucket == nil {
		return nil, nil
	}
	var members []Member
	err := bucket.ForEach(func(name, value []byte) error {
		var m struct {
			Member
			IsLearner bool `json:"isLearner"`
		}
		if err := json.Unmarshal(value, &m); err != nil {
			return &DamagedError{Why: fmt.Sprintf("member %s: %v", name, err)}
		}
		m.Learner = m.IsLearner
		members = append(members, m.Member)
		return nil
	})
	slices.SortFunc(members, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	return members, err
}
