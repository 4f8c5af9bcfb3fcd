// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package witness

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A Tenure is the time in which one process holds the Lease, or none does.
type Tenure struct {
	Holder      string
	Since       time.Time // when a watch told
	Transitions int32
}

// HoldersOf are who held the Lease, in order.
func HoldersOf(all []Tenure) []string {
	var holders []string
	for _, t := range all {
		holders = append(holders, t.Holder)
	}
	return holders
}

// A Succession is all that a watch tells of who holds a Lease, oldest first.
type Succession struct {
	mutex sync.Mutex
	all   []Tenure
}

// WatchLease watches until the spec ends.
func WatchLease(ctx context.Context, api client.WithWatch, key client.ObjectKey) *Succession {
	GinkgoHelper()
	watching, stop := context.WithCancel(ctx)
	var leases coordinationv1.LeaseList
	events := fromNow(watching, api, &leases, client.InNamespace(key.Namespace), client.MatchingFields{"metadata.name": key.Name})
	Expect(leases.Items).To(HaveLen(1))
	s := &Succession{}
	s.see(&leases.Items[0])
	var done sync.WaitGroup
	done.Go(func() { s.seeAll(watching, events) })
	DeferCleanup(func() {
		stop()
		done.Wait()
	})
	return s
}

func (s *Succession) seeAll(ctx context.Context, events <-chan watch.Event) {
	for {
		select {
		case <-ctx.Done():
			return
		case event, open := <-events:
			if !open {
				return
			}
			if lease, is := event.Object.(*coordinationv1.Lease); is {
				s.see(lease)
			}
		}
	}
}

func (s *Succession) see(lease *coordinationv1.Lease) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	if len(s.all) == 0 || s.all[len(s.all)-1].Holder != holder {
		s.all = append(s.all, Tenure{holder, time.Now(), ptr.Deref(lease.Spec.LeaseTransitions, 0)})
	}
}

// Tenures are all, as far as the watch has told.
func (s *Succession) Tenures() []Tenure {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]Tenure(nil), s.all...)
}

// Holder is who holds the Lease now; nobody if it is empty.
func (s *Succession) Holder() string {
	all := s.Tenures()
	return all[len(all)-1].Holder
}

// PassesFrom waits until another process than the old one holds the Lease.
func (s *Succession) PassesFrom(old string) {
	GinkgoHelper()
	Eventually(s.Holder).ShouldNot(BeElementOf("", old))
}
