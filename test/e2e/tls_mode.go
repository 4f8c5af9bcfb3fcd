// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func withoutTLS(spec *v1beta1.EtcdClusterSpec) { spec.TLS.Mode = v1beta1.TLSDisabled }

// open has clients of the scheme before be served for so long after they were sent to the other one.
func open(window time.Duration) func(*v1beta1.EtcdClusterSpec) {
	return func(spec *v1beta1.EtcdClusterSpec) { spec.TLS.ClientWindow = &metav1.Duration{Duration: window} }
}

// setTLS changes tls.mode.
func setTLS(c *v1beta1.EtcdCluster, mode v1beta1.TLSMode) {
	GinkgoHelper()
	Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.TLS.Mode = mode })).To(Succeed())
}

// isIn waits until a change of TLS is in that phase.
func isIn(c *v1beta1.EtcdCluster, mode v1beta1.TLSMode, phase v1beta1.TLSPhase) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(read(g, c).Status.TLS).To(And(HaveField("Mode", mode), HaveField("Phase", phase)))
	}).Should(Succeed(), "%s to be %s, %s", c.Name, mode, phase)
}

// isServedBy waits until all is as wanted, and members are found and served by one scheme alone.
func isServedBy(c *v1beta1.EtcdCluster, mode v1beta1.TLSMode) {
	GinkgoHelper()
	isIn(c, mode, v1beta1.TLSStable)
	settles(c)
	fresh, scheme, other := now(c), "https", "http"
	if mode == v1beta1.TLSDisabled {
		scheme, other = other, scheme
	}
	Expect(fresh.Status.Endpoint).To(HavePrefix(scheme + "://"))
	Expect(fresh.Status.TLS.SwitchedAt).To(BeNil())
	ask(fresh, func(ctx context.Context, etcd *clientv3.Client) error {
		list, err := etcd.MemberList(ctx)
		if err != nil {
			return err
		}
		for _, m := range list.Members {
			others := func(url string) bool { return !strings.HasPrefix(url, scheme+"://") }
			if slices.ContainsFunc(append(m.PeerURLs, m.ClientURLs...), others) {
				return fmt.Errorf("%s is listed by %v and %v", m.Name, m.PeerURLs, m.ClientURLs)
			}
		}
		return nil
	})
	Expect(answersBy(c, scheme)).To(Succeed())
	Expect(answersBy(c, other)).NotTo(Succeed())
}

// dialBy is a client of the Service by a scheme; the certificate is that of the client Secret.
func dialBy(c *v1beta1.EtcdCluster, scheme string) (*clientv3.Client, error) {
	as := c.DeepCopy()
	as.Status.TLS = &v1beta1.TLSStatus{Mode: v1beta1.TLSDisabled, Phase: v1beta1.TLSStable}
	if scheme == "https" {
		as.Status.TLS.Mode = v1beta1.TLSEnabled
	}
	url, err := serviceURL(c.Namespace, c.ClientService(), scheme)
	if err != nil {
		return nil, err
	}
	config, err := readIdentity(as)
	if err != nil {
		return nil, err
	}
	return clientv3.New(settings([]string{url}, config))
}

// answersBy says why a client of that scheme reads nothing; nil if it does.
func answersBy(c *v1beta1.EtcdCluster, scheme string) error {
	made, err := dialBy(c, scheme)
	if err != nil {
		return err
	}
	defer made.Close()
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err = made.Get(limited, "key")
	return err
}

// A bilingual client knows the Service by http and by https, and writes by whichever answers. Its certificate is the first one that the
// client Secret has.
type bilingual struct {
	cluster *v1beta1.EtcdCluster
	by      map[string]*clientv3.Client
	prefers string
	prefix  string
	stop    chan struct{}
	done    sync.WaitGroup
	acked   int
	moves   []string // to the other scheme
	failed  []error
	longest time.Duration
}

func startBilingual(c *v1beta1.EtcdCluster, prefers string) *bilingual {
	GinkgoHelper()
	b := &bilingual{
		cluster: c, by: map[string]*clientv3.Client{}, prefers: prefers, prefix: fmt.Sprintf("bilingual/%d/", time.Now().UnixNano()),
		stop: make(chan struct{}),
	}
	var err error
	b.by[prefers], err = dialBy(c, prefers)
	Expect(err).NotTo(HaveOccurred())
	b.done.Go(b.write)
	return b
}

func (b *bilingual) write() {
	for i := 0; ; i++ {
		select {
		case <-b.stop:
			return
		case <-time.After(10 * time.Millisecond):
		}
		limited, cancel := context.WithTimeout(ctx, writeTakes)
		begun := time.Now()
		err := b.put(limited, fmt.Sprintf("%s%08d", b.prefix, i))
		for err != nil && limited.Err() == nil {
			time.Sleep(10 * time.Millisecond)
			err = b.put(limited, fmt.Sprintf("%s%08d", b.prefix, i))
		}
		cancel()
		b.longest = max(b.longest, time.Since(begun))
		if err == nil {
			b.acked++
		} else {
			b.failed = append(b.failed, err)
		}
	}
}

// put tries the scheme that answered last for two seconds, and then the other one.
func (b *bilingual) put(ctx context.Context, key string) (err error) {
	for range 2 {
		attempt, cancel := context.WithTimeout(ctx, 2*time.Second)
		err = b.putBy(attempt, key)
		cancel()
		if err == nil {
			return nil
		}
		b.prefers = map[string]string{"http": "https", "https": "http"}[b.prefers]
		b.moves = append(b.moves, b.prefers)
	}
	return err
}

// putBy writes by the scheme that is preferred. There may be no certificate for it yet.
func (b *bilingual) putBy(ctx context.Context, key string) error {
	if b.by[b.prefers] == nil {
		made, err := dialBy(b.cluster, b.prefers)
		if err != nil {
			return err
		}
		b.by[b.prefers] = made
	}
	_, err := b.by[b.prefers].Put(ctx, key, "x")
	return err
}

// end stops writing, and wants every write acknowledged and there.
func (b *bilingual) end() {
	GinkgoHelper()
	b.endAfterLosses()
	Expect(b.failed).To(BeEmpty())
}

// endAfterLosses stops writing, and wants every acknowledged write there. Others may have failed while members were lost.
func (b *bilingual) endAfterLosses() {
	GinkgoHelper()
	close(b.stop)
	b.done.Wait()
	for _, etcd := range b.by {
		_ = etcd.Close()
	}
	AddReportEntry("writes of a client that knows http and https",
		fmt.Sprintf("%d acknowledged, %d failed, longest %s, %d times to the other scheme", b.acked, len(b.failed), b.longest, len(b.moves)))
	Expect(b.acked).To(BeNumerically(">", 0))
	ask(now(b.cluster), func(ctx context.Context, etcd *clientv3.Client) error {
		response, err := etcd.Get(ctx, b.prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err == nil { // a write that failed may be there, too
			Expect(response.Count).To(And(BeNumerically(">=", b.acked), BeNumerically("<=", b.acked+len(b.failed))), "acknowledged writes survive")
		}
		return err
	})
}
