package e2e

import (
	"context"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// takeover ends the leader of the two replicas that are deployed, as planned and not. How
// long it may take is a matter of the benchmarks.
func takeover() {
	var c *v1alpha1.EtcdCluster

	BeforeAll(func() {
		Expect(api.Get(ctx, deployment, &appsv1.Deployment{})).To(Succeed(), "make images deploy")
		runDeployed(2)
		c = create(newCluster(newNamespace(), "led", oneMember))
	})
	BeforeEach(func() { runDeployed(2) })

	It("fault 11: a leader whose Pod is deleted gives its lease away, and another Pod leads", func() {
		leader, seen := holder(), watchLease()
		old := seen.holder()
		begun := time.Now()
		Expect(api.Delete(ctx, leader)).To(Succeed())
		seen.passesFrom(old, 30*time.Second) // whether it was given away is seen below
		isActedUpon(c)

		all := seen.tenures()
		Expect(holdersOf(all)).To(HaveExactElements(old, "", Not(HavePrefix(leader.Name+"_"))), "one at a time, and no one else since")
		Expect(all[2].transitions).To(Equal(all[0].transitions + 1))
		measured("from the deletion of the leader's Pod to the next leader", all[2].since.Sub(begun))
		measured("from the lease given away to the next leader", all[2].since.Sub(all[1].since))
	})

	It("fault 11: a leader that is killed loses its lease when it runs out, and another process leads", Label("long"), func() {
		if !isLocal() {
			Skip("kills a process: on the local cluster only")
		}
		leader, seen := holder(), watchLease()
		old := seen.holder()
		Expect(api.Get(ctx, keyOf(leader), leader)).To(Succeed())
		process := processNamed(string(leader.UID), "etcd-operator")
		begun := time.Now()
		Expect(syscall.Kill(process, syscall.SIGKILL)).To(Succeed())
		seen.passesFrom(old, 30*time.Second) // a lease and as much again
		isActedUpon(c)

		all := seen.tenures() // the container that starts again in the same Pod stands for election too, as a new process
		Expect(holdersOf(all)).To(HaveExactElements(old, Not(BeEmpty())), "one after the other, and no one else since")
		Expect(all[1].transitions).To(Equal(all[0].transitions + 1))
		measured("from SIGKILL to the next leader", all[1].since.Sub(begun))
	})
}

// isActedUpon changes the size of a cluster, and waits until it is so.
func isActedUpon(c *v1alpha1.EtcdCluster) {
	GinkgoHelper()
	if now(c).Size() == 1 {
		resize(c, 3)
	} else {
		resize(c, 1)
	}
}

// leaseKey names the lease of the deployed operator.
var leaseKey = client.ObjectKey{Namespace: deployment.Namespace, Name: "etcd-operator.dev"}

// A tenure is the time in which one process holds the lease, or none does.
type tenure struct {
	holder      string
	since       time.Time // when a watch told
	transitions int32
}

func holdersOf(all []tenure) []string {
	var holders []string
	for _, t := range all {
		holders = append(holders, t.holder)
	}
	return holders
}

// A succession is all that a watch tells of who holds the lease, oldest first.
type succession struct {
	mutex sync.Mutex
	all   []tenure
}

// watchLease watches until the spec ends.
func watchLease() *succession {
	GinkgoHelper()
	watcher, err := client.NewWithWatch(config, client.Options{Scheme: api.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	watching, stop := context.WithCancel(ctx)
	var leases coordinationv1.LeaseList
	events := watchFromNow(watching, watcher, &leases,
		client.InNamespace(leaseKey.Namespace), client.MatchingFields{"metadata.name": leaseKey.Name})
	Expect(leases.Items).To(HaveLen(1))
	s := &succession{}
	s.see(&leases.Items[0])
	var done sync.WaitGroup
	done.Go(func() { s.seeAll(watching, events) })
	DeferCleanup(func() {
		stop()
		done.Wait()
	})
	return s
}

func (s *succession) seeAll(ctx context.Context, events <-chan watch.Event) {
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

func (s *succession) see(lease *coordinationv1.Lease) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	if len(s.all) == 0 || s.all[len(s.all)-1].holder != holder {
		s.all = append(s.all, tenure{holder, time.Now(), ptr.Deref(lease.Spec.LeaseTransitions, 0)})
	}
}

func (s *succession) tenures() []tenure {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]tenure(nil), s.all...)
}

// holder is who holds the lease now; nobody if it is empty.
func (s *succession) holder() string {
	all := s.tenures()
	return all[len(all)-1].holder
}

// passesFrom waits until another process than the old one holds the lease.
func (s *succession) passesFrom(old string, within time.Duration) {
	GinkgoHelper()
	Eventually(s.holder).WithTimeout(within).ShouldNot(BeElementOf("", old))
}

// holderNow is the name of the Pod that holds the lease.
func holderNow(g Gomega) string {
	var lease coordinationv1.Lease
	g.Expect(api.Get(ctx, leaseKey, &lease)).To(Succeed())
	name, _, _ := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_")
	var names []string
	for _, p := range operatorPods(g) {
		if p.DeletionTimestamp == nil {
			names = append(names, p.Name)
		}
	}
	g.Expect(names).To(ContainElement(name), "a holder that runs")
	return name
}

// holder waits until a Pod that runs holds the lease.
func holder() *corev1.Pod {
	GinkgoHelper()
	found := &corev1.Pod{}
	found.Namespace = deployment.Namespace
	Eventually(func(g Gomega) { found.Name = holderNow(g) }).Should(Succeed())
	return found
}
