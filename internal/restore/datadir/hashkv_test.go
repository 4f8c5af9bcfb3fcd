// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

// TestHashKVIsEtcds: whatever was written, deleted and compacted, hash and number of keys are
// those that etcd has once it runs, also when all keys do not fit in memory.
func TestHashKVIsEtcds(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			path := database(t, func(s etcdStore) { history(t, s, random) })
			if random.IntN(2) == 0 {
				scheduleCompaction(t, path, random)
			}
			got, keys := hashed(t, path, 1+random.IntN(12))
			want, wantKeys := etcdsHash(t, path)
			if got != want || keys != wantKeys {
				t.Errorf("hash %+v and %d keys; etcd has %+v and %d", got, keys, want, wantKeys)
			}
		})
	}
}

// history does what clients do, to so few keys that most are changed several times.
func history(t *testing.T, s etcdStore, random *rand.Rand) {
	for range random.IntN(60) {
		switch key := fmt.Sprint(random.IntN(8)); random.IntN(12) {
		case 0:
			if at := 1 + random.Int64N(s.Rev()); at > s.FirstRev() {
				s.compactAt(t, at)
			}
		case 1:
			s.DeleteRange([]byte{0}, []byte{0xff}) // one revision of several entries
		case 2, 3, 4:
			s.remove(key)
		default:
			s.put(key, fmt.Sprint(random.Int()))
		}
	}
	if random.IntN(4) == 0 {
		s.DeleteRange([]byte{0}, []byte{0xff})
	}
}

// scheduleCompaction leaves the file as an etcd does that ends before it has compacted.
func scheduleCompaction(t *testing.T, path string, random *rand.Rand) {
	edit(t, path, func(tx *bolt.Tx) error {
		found, err := readRevisions(tx)
		if err != nil {
			return err
		}
		from := max(found.finished, 1)
		at := from + random.Int64N(found.highest-from+1)
		return tx.Bucket(bucketMeta).Put(keyScheduledCompact, revisionName(at))
	})
}

func hashed(t *testing.T, path string, limit int) (hash HashKV, keys int64) {
	t.Helper()
	err := view(t.Context(), path, func(tx *bolt.Tx) error {
		info, err := inspect(t.Context(), tx, limit, func(int64) {})
		hash, keys = info.HashKV, info.Keys
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return hash, keys
}

// etcdsHash starts etcd's store on the file, and waits until it has compacted.
func etcdsHash(t *testing.T, path string) (hash HashKV, keys int64) {
	t.Helper()
	s := openStore(t, path)
	defer s.close()
	for !compacted(s) {
		time.Sleep(time.Millisecond)
	}
	found, _, err := s.HashStorage().HashByRev(0)
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.Range(t.Context(), []byte{0}, []byte{}, mvcc.RangeOptions{CountOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	return HashKV{found.Hash, found.Revision, found.CompactRevision}, int64(result.Count)
}

func compacted(s etcdStore) bool {
	tx := s.backend.ReadTx()
	tx.RLock()
	defer tx.RUnlock()
	scheduled, _ := mvcc.UnsafeReadScheduledCompact(tx)
	finished, _ := mvcc.UnsafeReadFinishedCompact(tx)
	return finished >= scheduled
}

// TestKeySetHoldsAllInParts: whatever the limit, each key is found in exactly one part.
func TestKeySetHoldsAllInParts(t *testing.T) {
	for _, limit := range []int{1, 7, 1000} {
		set, found, parts := newKeySet(limit), map[string]int{}, 0
		for set.next() {
			parts++
			for i := range 500 {
				set.add(fmt.Append(nil, i))
			}
			if len(set.keys) > limit {
				t.Errorf("limit %d: %d keys in memory", limit, len(set.keys))
			}
			for i := range 1000 {
				if key := fmt.Sprint(i); set.has([]byte(key)) {
					found[key]++
				}
			}
		}
		for i := range 1000 {
			want := 0
			if i < 500 {
				want = 1
			}
			if got := found[fmt.Sprint(i)]; got != want {
				t.Errorf("limit %d: key %d was found in %d parts", limit, i, got)
			}
		}
		if limit == 1000 && parts != 1 {
			t.Errorf("%d parts, although all keys fit", parts)
		}
	}
}
