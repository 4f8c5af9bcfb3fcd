// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// The names that etcd has in its database. They are those of go.etcd.io/etcd/server/v3/storage/schema,
// as a test proves; that package itself would bring half of etcd's server into the binary.
var (
	bucketKey            = []byte("key")
	bucketMeta           = []byte("meta")
	bucketLease          = []byte("lease")
	bucketAlarm          = []byte("alarm")
	bucketCluster        = []byte("cluster")
	bucketMembers        = []byte("members")
	bucketMembersRemoved = []byte("members_removed")
	bucketAuth           = []byte("auth")

	keyScheduledCompact = []byte("scheduledCompactRev")
	keyFinishedCompact  = []byte("finishedCompactRev")
	keyConsistentIndex  = []byte("consistent_index")
	keyTerm             = []byte("term")
	keyStorageVersion   = []byte("storageVersion")
	keyClusterVersion   = []byte("clusterVersion")
	keyAuthEnabled      = []byte("authEnabled")
)

// An entry of bucket key is named after its revision: main, '_', sub, and a 't' if it is a tombstone.
const (
	revisionSize  = 8 + 1 + 8
	tombstoneSize = revisionSize + 1
)

// never is the compacted revision of a database that never was compacted, as etcd says it.
const never int64 = -1

// revisionName is the name of the first entry of a revision.
func revisionName(main int64) []byte {
	name := make([]byte, revisionSize)
	binary.BigEndian.PutUint64(name, uint64(main)) //nolint:gosec // revisions are positive
	name[8] = '_'
	return name
}

// mainRevision reads it from the name of an entry, and from what bucket meta says of compaction.
func mainRevision(name []byte) (int64, error) {
	if len(name) != revisionSize && len(name) != tombstoneSize {
		return 0, &DamagedError{Why: fmt.Sprintf("%x is no revision", name)}
	}
	main := int64(binary.BigEndian.Uint64(name)) //nolint:gosec // a negative one is refused
	if main < 0 {
		return 0, &DamagedError{Why: fmt.Sprintf("%x is no revision", name)}
	}
	return main, nil
}

// revisions are what a database says of its own history.
type revisions struct {
	highest             int64
	scheduled, finished int64 // compactions; never if there was none
}

// compacted is the revision up to which etcd has no history once it has started.
func (r revisions) compacted() int64 { return max(r.scheduled, r.finished) }

// readRevisions takes the highest revision that etcd takes when it starts: that of the newest
// entry, of a compaction if it is higher, and 1 if there are none.
func readRevisions(tx *bolt.Tx) (revisions, error) {
	keys, meta := tx.Bucket(bucketKey), tx.Bucket(bucketMeta)
	if keys == nil || meta == nil {
		return revisions{}, &DamagedError{Why: "it has no bucket key or no bucket meta"}
	}
	found := revisions{highest: 1, scheduled: never, finished: never}
	newest, _ := keys.Cursor().Last()
	for _, r := range []struct {
		name []byte
		into *int64
	}{
		{newest, &found.highest},
		{meta.Get(keyScheduledCompact), &found.scheduled},
		{meta.Get(keyFinishedCompact), &found.finished},
	} {
		if r.name == nil {
			continue
		}
		main, err := mainRevision(r.name)
		if err != nil {
			return revisions{}, err
		}
		*r.into = main
	}
	found.highest = max(found.highest, found.compacted())
	return found, nil
}

// text is a value of a bucket that may lack; empty if the value lacks, too.
func text(tx *bolt.Tx, bucket, key []byte) string {
	b := tx.Bucket(bucket)
	if b == nil {
		return ""
	}
	return string(b.Get(key))
}

// minorOf reads a version such as 3.6 or 3.6.0. What is none is older than all.
func minorOf(version string) (minor [2]int, ok bool) {
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return minor, false
	}
	for i := range minor {
		n, err := strconv.Atoi(parts[i])
		if err != nil || n < 0 {
			return [2]int{}, false
		}
		minor[i] = n
	}
	return minor, true
}

// subRevision is the place in a transaction, by the name of an entry that mainRevision has found sound.
func subRevision(name []byte) int64 {
	return int64(binary.BigEndian.Uint64(name[9:])) //nolint:gosec // it is only compared
}
