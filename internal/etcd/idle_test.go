// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// TestALearnerOfAnIdleClusterNeedsAnEntry: one that got more than 5000 entries as a
// snapshot serves no client before another entry follows, and reading the alarms writes
// one. In etcd 3.5 a new member gets that many entries one by one.
func TestALearnerOfAnIdleClusterNeedsAnEntry(t *testing.T) {
	ofVersions(t, process.Versions[1:], func(t *testing.T, version string) {
		w := processWorld{process.New(t, 9), version}
		w.start(t, "m1")
		w.Serves("m1")
		one := w.Client("m1")
		var writers sync.WaitGroup
		for range 20 {
			writers.Go(func() {
				for range 300 {
					if err := one.WriteEntry(t.Context()); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		writers.Wait()
		// What etcd itself writes some seconds after its start must not come later.
		eventually(t, "the data to be of its own version", func() error { return isOfItsVersion(t, one) })
		name, learner := w.silentLearner(t, one)
		if err := one.WriteEntry(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.Until("the learner to serve", func(ctx context.Context) error {
			status, err := w.Client(name).Status(ctx)
			if err == nil && !status.Learner {
				err = errors.New("it is no learner")
			}
			return err
		})
		eventuallyReady(t, "the learner to be promoted", func() error { return one.Promote(t.Context(), learner.ID) })
	})
}

// silentLearner adds learners until one serves no client for four seconds. Most do not; on a
// busy machine an entry now and then follows the snapshot by itself.
func (w processWorld) silentLearner(t *testing.T, one etcd.Client) (string, etcd.Member) {
	t.Helper()
	for _, name := range []string{"m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9"} {
		learner := must(one.AddLearner(t.Context(), w.PeerURL(name)))(t)
		w.start(t, name)
		alone, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		err := alone.Err()
		for err == nil {
			if _, silent := w.Client(name).Status(alone); silent == nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
			err = alone.Err()
		}
		cancel()
		if err != nil {
			return name, learner
		}
		w.stop(t, name)
		if err := one.Remove(t.Context(), learner.ID); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("each served without an entry: etcd is fixed, and so this can go")
	return "", etcd.Member{}
}
