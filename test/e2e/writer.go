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
)

// writer writes all the time and counts what was acknowledged.
type writer struct {
	cluster *v1beta1.EtcdCluster
	etcd    *clientv3.Client
	prefix  string
	stop    chan struct{}
	repeats bool // a write that fails is tried again while there is time, as a client does that may write twice
	done    sync.WaitGroup
	acked   int
	failed  []error
	longest time.Duration
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
		limited, cancel := context.WithTimeout(ctx, 10*time.Second)
		begun := time.Now()
		key := fmt.Sprintf("%s%08d", w.prefix, i)
		_, err := w.etcd.Put(limited, key, "x")
		for w.repeats && err != nil && limited.Err() == nil {
			time.Sleep(10 * time.Millisecond)
			_, err = w.etcd.Put(limited, key, "x")
		}
		cancel()
		w.longest = max(w.longest, time.Since(begun))
		if err == nil {
			w.acked++
		} else {
			w.failed = append(w.failed, err)
		}
	}
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
	AddReportEntry("writes", fmt.Sprintf("%d acknowledged, %d failed, longest %s", w.acked, len(w.failed), w.longest))
	return w
}
