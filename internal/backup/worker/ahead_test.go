// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// listedOf are segments of so many bytes each.
func listedOf(count int, size int64) (all []log.Listed) {
	for n := range count {
		all = append(all, log.Listed{Object: fmt.Sprintf("s-%04d", n), Size: size})
	}
	return all
}

// TestSegmentsComeAhead: a store that answers after 20 ms delays a replay of a thousand segments by a sixteenth of what they take.
func TestSegmentsComeAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		a := newAhead(listedOf(1000, 1000), func(object string) ([]byte, error) {
			time.Sleep(20 * time.Millisecond)
			return []byte(object), nil
		})
		for _, s := range listedOf(1000, 1000) {
			if content, err := a.next(s.Object); err != nil || string(content) != s.Object {
				t.Fatalf("%s: %q, %v", s.Object, content, err)
			}
		}
		if took, most := time.Since(began), 1000*20*time.Millisecond/segmentsAhead+100*time.Millisecond; took > most {
			t.Errorf("%s, more than %s", took, most)
		}
	})
}

// TestAheadHasALimit: of large segments few are in memory, and of a slow store one is on its way.
func TestAheadHasALimit(t *testing.T) {
	for name, c := range map[string]struct {
		size  int64
		takes time.Duration
		most  int
	}{
		"small":               {1000, time.Second, segmentsAhead},
		"large":               {5 << 20, time.Second, 3},
		"larger than allowed": {17 << 20, time.Second, 1},
		"slow":                {1000, promptly + time.Second, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			var lock sync.Mutex
			now, most := 0, 0
			a := newAhead(listedOf(60, c.size), func(string) ([]byte, error) {
				lock.Lock()
				now++
				most = max(most, now)
				lock.Unlock()
				time.Sleep(c.takes)
				lock.Lock()
				now--
				lock.Unlock()
				return nil, nil
			})
			for _, s := range listedOf(60, c.size) {
				_, _ = a.next(s.Object) // there is no error
			}
			if most != c.most {
				t.Errorf("%s: %d at the same time, not %d", name, most, c.most)
			}
		})
	}
}

// TestAheadEnds: a caller that stops early waits for what is on its way, and an error is that of its segment.
func TestAheadEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("it is gone")
		a := newAhead(listedOf(20, 1), func(object string) ([]byte, error) {
			time.Sleep(time.Second)
			if object == "s-0002" {
				return nil, broken
			}
			return nil, nil
		})
		for n, want := range []error{nil, nil, broken} {
			if _, err := a.next(fmt.Sprintf("s-%04d", n)); !errors.Is(err, want) {
				t.Errorf("segment %d: %v", n, err)
			}
		}
		if _, err := a.next("another"); err != nil {
			t.Errorf("another: %v", err)
		}
		a.wait()
	})
}
