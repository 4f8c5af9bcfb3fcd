// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/test/load"
)

// writeTakes is how long a write may take before it has failed, however busy the machine is.
const writeTakes = 30 * time.Second

// writer writes all the time and counts what was acknowledged.
type writer struct {
	cluster  *v1beta1.EtcdCluster
	etcd     *clientv3.Client
	prefix   string
	stop     chan struct{}
	repeats  bool // a write that fails is tried again while there is time, as a client does that may write twice
	done     sync.WaitGroup
	acked    int
	repeated int
	failed   []error
	longest  time.Duration
}

// startWriter writes through the named members, or through all.
func startWriter(c *v1beta1.EtcdCluster, members ...string) *writer {
	GinkgoHelper()
	w := &writer{cluster: c, etcd: dial(c, members...), prefix: fmt.Sprintf("writer/%d/", time.Now().UnixNano()), stop: make(chan struct{})}
	w.done.Go(w.write)
	return w
}

func (w *writer) write() {
	for i := 0; ; i++ {
		select {
		case <-w.stop:
			return
		case <-time.After(10 * time.Millisecond):
		}
		begun := time.Now()
		err := w.put(fmt.Sprintf("%s%08d", w.prefix, i))
		w.longest = max(w.longest, time.Since(begun))
		if err == nil {
			w.acked++
		} else {
			w.failed = append(w.failed, err)
		}
	}
}

// put makes a write. etcd gives one up after seven seconds, or when another member leads: then it is made once more.
func (w *writer) put(key string) error {
	limited, cancel := context.WithTimeout(ctx, writeTakes)
	defer cancel()
	_, err := w.etcd.Put(limited, key, "x")
	for once := load.IsUnanswered(err); err != nil && limited.Err() == nil && (once || w.repeats); once = false {
		w.repeated++
		time.Sleep(10 * time.Millisecond)
		_, err = w.etcd.Put(limited, key, "x")
	}
	return err
}

// end stops writing and checks that every acknowledged write is there.
func (w *writer) end() *writer {
	GinkgoHelper()
	close(w.stop)
	w.done.Wait()
	defer w.etcd.Close()
	ask(w.cluster, func(ctx context.Context, etcd *clientv3.Client) error {
		response, err := etcd.Get(ctx, w.prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err == nil {
			Expect(response.Count).To(And(BeNumerically(">=", w.acked), BeNumerically("<=", w.acked+len(w.failed))),
				"acknowledged writes survive")
		}
		return err
	})
	AddReportEntry("writes", fmt.Sprintf("%d acknowledged, %d failed, %d tries repeated, longest %s",
		w.acked, len(w.failed), w.repeated, w.longest))
	return w
}
