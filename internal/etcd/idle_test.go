package etcd_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// TestALearnerOfAnIdleClusterNeedsAnEntry: one that got more than 5000 entries as a
// snapshot serves no client before another entry follows, and reading the alarms writes
// one. In etcd 3.5 a new member gets that many entries one by one.
func TestALearnerOfAnIdleClusterNeedsAnEntry(t *testing.T) {
	ofVersions(t, process.Versions[1:], func(t *testing.T, version string) {
		w := processWorld{process.New(t, 2), version}
		w.start(t, "m1")
		w.Serves("m1")
		one := w.Client("m1")
		var writers sync.WaitGroup
		for range 20 {
			writers.Go(func() {
				for range 300 {
					if _, err := one.Alarms(t.Context()); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		writers.Wait()
		// What etcd itself writes some seconds after its start must not come later.
		eventually(t, "the data to be of its own version", func() error { return isOfItsVersion(t, one) })
		learner := must(one.AddLearner(t.Context(), w.PeerURL("m2")))(t)
		w.start(t, "m2")
		alone, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		for alone.Err() == nil {
			if _, err := w.Client("m2").Status(alone); err == nil {
				t.Fatal("it serves without an entry: etcd is mended, and so this can go")
			}
			time.Sleep(50 * time.Millisecond)
		}
		must(one.Alarms(t.Context()))(t)
		w.Until("the learner to serve", func(ctx context.Context) error {
			status, err := w.Client("m2").Status(ctx)
			if err == nil && !status.Learner {
				err = errors.New("it is no learner")
			}
			return err
		})
		eventuallyReady(t, "the learner to be promoted", func() error { return one.Promote(t.Context(), learner.ID) })
	})
}
