// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// elections are the terms in which a member saw a leader.
type elections struct {
	stop  context.CancelFunc
	all   sync.WaitGroup
	mutex sync.Mutex
	terms map[uint64]bool
}

// watchElections asks every member all the time, until it is asked how many
// elections were won.
func watchElections(c *v1beta1.EtcdCluster) *elections {
	GinkgoHelper()
	_, _, term := standing(c)
	e := &elections{terms: map[uint64]bool{term: true}}
	var watching context.Context
	watching, e.stop = context.WithCancel(ctx)
	DeferCleanup(e.stop)
	for _, p := range pods(c) {
		etcd := dial(c, p.Name)
		e.all.Go(func() {
			defer etcd.Close()
			e.watch(watching, etcd)
		})
	}
	return e
}

func (e *elections) watch(watching context.Context, etcd *clientv3.Client) {
	for watching.Err() == nil {
		limited, cancel := context.WithTimeout(watching, time.Second)
		status, err := etcd.Status(limited, etcd.Endpoints()[0])
		cancel()
		if err == nil && status.Leader != 0 {
			e.mutex.Lock()
			e.terms[status.RaftTerm] = true
			e.mutex.Unlock()
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// end is how many elections were won since the beginning. A vote that was split
// and repeated counts once, because nobody won it the first time.
func (e *elections) end() int {
	e.stop()
	e.all.Wait()
	return len(e.terms) - 1
}

// isHandedOver checks that a leader gave leadership away before it left, so that
// nobody waited for an election timeout: a member says so that was told to lead.
func isHandedOver(c *v1beta1.EtcdCluster) {
	GinkgoHelper()
	Expect(handOvers(c, namesOf(c)...)).To(BeNumerically(">", 0), "leadership is handed over")
}

// handOvers is how often members were told to lead since their containers have started.
func handOvers(c *v1beta1.EtcdCluster, members ...string) int {
	GinkgoHelper()
	clients, err := kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	return surely(func(g Gomega) int {
		count := 0
		for _, name := range members {
			log, err := clients.CoreV1().Pods(c.Namespace).GetLogs(name, &corev1.PodLogOptions{}).DoRaw(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			count += strings.Count(string(log), "received MsgTimeoutNow")
		}
		return count
	})
}

// namesOf are the names of the members' Pods.
func namesOf(c *v1beta1.EtcdCluster) []string {
	var names []string
	for _, pod := range pods(c) {
		names = append(names, pod.Name)
	}
	return names
}
