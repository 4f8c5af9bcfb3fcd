// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import "hash/crc32"

// HashKV is the sum of all keys at a revision, as etcd's call HashKV answers. Two databases have
// the same keys if all three are equal. If one of the revisions differs, the sums say nothing.
type HashKV struct {
	Hash            uint32
	Revision        int64
	CompactRevision int64 // up to which there is no history; -1 if there is all of it
}

// keyspace computes the sum and the number of keys as etcd does once it runs and has done the
// compaction that is scheduled (go.etcd.io/etcd/server/v3/storage/mvcc: hash.go, key_index.go).
//
// An entry is old if it is not newer than the compaction. etcd sums up an old entry only if no
// later one of the same key replaced it, and keeps all keys in memory for that. This keeps a bit
// for each old entry, and a limited number of keys at a time.
type keyspace struct {
	scan      scan
	revisions revisions
	limit     int // keys in memory at a time; there is another pass for more

	old      int64  // number of old entries
	replaced bitmap // of old entries, oldest first
}

// tally is what one pass over all entries counts.
type tally struct {
	puts             int64 // old entries that are no tombstones
	created, deleted int64 // keys, by entries that are not old
	bumped           bool  // the empty key is there
}

// sum returns the hash, and the number of keys that a client finds.
func (k *keyspace) sum() (found HashKV, keys int64, err error) {
	all, err := k.tally()
	if err != nil {
		return HashKV{}, 0, err
	}
	kept := all.puts // by the compaction
	if k.revisions.scheduled > k.revisions.finished {
		replaced, err := k.markReplaced(k.revisions.compacted(), k.isOld)
		if err != nil {
			return HashKV{}, 0, err
		}
		kept -= replaced
	}
	keys = kept + all.created - all.deleted
	// Where no key is left, etcd sums up all that the compaction kept.
	if keys > 0 && kept > 0 {
		if _, err := k.markReplaced(k.revisions.highest, func(e entry) bool { return !k.isOld(e) }); err != nil {
			return HashKV{}, 0, err
		}
	}
	hash, err := k.hash()
	if all.bumped {
		keys-- // no client can read it
	}
	return HashKV{Hash: hash, Revision: k.revisions.highest, CompactRevision: k.revisions.compacted()}, keys, err
}

func (k *keyspace) isOld(e entry) bool { return e.main <= k.revisions.compacted() }

func (k *keyspace) tally() (t tally, err error) {
	err = k.scan.forward(func(e entry) error {
		switch {
		case k.isOld(e):
			k.old++
			if !e.tombstone {
				t.puts++
				t.bumped = t.bumped || e.raisesRevision()
			}
		case e.tombstone:
			t.deleted++
		case e.version == 1:
			t.created++
		}
		return nil
	})
	return t, err
}

// markReplaced goes back from the newest revision and marks the old entries that a later one of the
// same key replaced, if it is one of those that replace. It returns how many were no tombstones.
func (k *keyspace) markReplaced(newest int64, replaces func(entry) bool) (puts int64, err error) {
	seen := newKeySet(k.limit)
	for seen.next() {
		index := uint64(k.old) //nolint:gosec // it counts entries
		err := k.scan.backward(newest, func(e entry) error {
			if k.isOld(e) {
				index--
				if seen.has(e.key) && !k.replaced.has(index) {
					k.replaced.set(index)
					puts += count(!e.tombstone)
				}
			}
			if replaces(e) {
				seen.add(e.key)
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return puts, nil
}

// hash sums up what etcd does: names and values of entries, after the name of the bucket.
func (k *keyspace) hash() (uint32, error) {
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	_, _ = sum.Write(bucketKey) // never fails
	var index uint64
	err := k.scan.forward(func(e entry) error {
		if k.isOld(e) {
			index++
			if e.tombstone || k.replaced.has(index-1) {
				return nil
			}
		}
		_, _ = sum.Write(e.name)  // never fails
		_, _ = sum.Write(e.value) // never fails
		return nil
	})
	return sum.Sum32(), err
}

func count(is bool) int64 {
	if is {
		return 1
	}
	return 0
}
