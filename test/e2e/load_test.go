package e2e

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/test/load"
)

// How long nobody may be able to write. A quiet machine is several times faster.
const (
	withoutElection = 2 * time.Second
	withElection    = 6 * time.Second
)

// underLoad disturbs clusters while clients are busy.
func underLoad() {
	var namespace string
	var c *v1alpha1.EtcdCluster
	var id string

	BeforeAll(func() {
		needsService()
		namespace = newNamespace()
		startOperator(namespace)
		c = create(newCluster(namespace, "loaded"))
		id = now(c).Status.ClusterID
	})

	AfterEach(func() {
		if c == nil {
			return // skipped
		}
		settles(c)
		Expect(now(c).Status.ClusterID).To(Equal(id))
	})

	It("fault 15: a leader's Pod that is deleted", func() {
		known := members(c)
		result, _ := busy(c, func() {
			_, leader, _ := standing(c)
			comesBack(c, deletePod(c, leader))
			settles(c)
		})
		Expect(result.Gap).To(BeNumerically("<", withoutElection), "leadership is handed over")
		Expect(members(c)).To(Equal(known))
	})

	It("fault 16: a leader that is killed", func() {
		known, before := members(c), uids(c)
		result, _ := busy(c, func() {
			_, leader, _ := standing(c)
			killAtOnce(c, leader)
			settles(c)
		})
		Expect(result.Gap).To(BeNumerically("<", withElection))
		Expect(members(c)).To(Equal(known))
		Expect(uids(c)).To(Equal(before), "no Pod was deleted")
	})

	It("fault 17: all members that are killed at once", func() {
		known, before := members(c), uids(c)
		busy(c, func() {
			killAtOnce(c, slices.Collect(maps.Keys(known))...)
			settles(c)
		})
		Expect(members(c)).To(Equal(known))
		Expect(uids(c)).To(Equal(before), "no Pod was deleted")
	})

	It("fault 18: a volume that is lost", func() {
		victim, _ := aFollower(c)
		result, _ := busy(c, func() {
			loseVolume(c, victim.Name)
			settles(c)
		})
		Expect(result.Gap).To(BeNumerically("<", withoutElection))
		Expect(members(c)).To(And(HaveLen(3), Not(HaveKey(victim.Name))))
	})

	It("a flag that is changed: members restart one at a time", func() {
		known := members(c)
		result, _ := busy(c, func() {
			rollsCarefully(c, func(spec *v1alpha1.EtcdClusterSpec) { spec.Etcd.SnapshotCount = 5000 })
		})
		Expect(result.Gap).To(BeNumerically("<", withoutElection), "leadership is handed over")
		Expect(members(c)).To(Equal(known))
		for _, p := range pods(c) {
			Expect(p.Spec.Containers[0].Args).To(ContainElement("--snapshot-count=5000"))
		}
	})

	It("scales 1 to 3 to 5 to 7 and back, by the spec and through the scale subresource in turns", func() {
		discard(c)
		c = create(newCluster(namespace, "scaled", func(spec *v1alpha1.EtcdClusterSpec) { spec.Size = ptr.To[int32](1) }))
		id = now(c).Status.ClusterID
		result, _ := busy(c, func() {
			for i, size := range []int32{3, 5, 7, 5, 3, 1} {
				begun := time.Now()
				[]func(*v1alpha1.EtcdCluster, int32){resize, scale}[i%2](c, size)
				Expect(members(c)).To(HaveLen(int(size)))
				AddReportEntry(fmt.Sprintf("to size %d", size), time.Since(begun).Round(time.Millisecond).String())
			}
		})
		Expect(result.Gap).To(BeNumerically("<", withoutElection), "leadership is handed over")
	})
}

// needsService skips what needs the way from here to a Service's address.
func needsService() {
	if !isLocal() {
		Skip("Services are reached from here on the local cluster only")
	}
}

// throughService dials as an application would: to the client Service, with what
// is in the client Secret.
func throughService(c *v1alpha1.EtcdCluster) clientv3.Config {
	GinkgoHelper()
	var service corev1.Service
	Expect(api.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.ClientService()}, &service)).To(Succeed())
	who := identity(c)
	who.ServerName = service.Name + "." + service.Namespace + ".svc"
	return settings([]string{"https://" + net.JoinHostPort(service.Spec.ClusterIP, "2379")}, who)
}

// busy disturbs a cluster while clients are busy, and checks what they saw.
func busy(c *v1alpha1.EtcdCluster, disturb func()) (load.Result, load.Beats) {
	GinkgoHelper()
	working, stop := context.WithCancel(ctx)
	defer stop()
	way := throughService(c)
	single, err := clientv3.New(way)
	Expect(err).NotTo(HaveOccurred())
	defer single.Close()
	pulse := load.StartPulse(working, single, "pulse")
	clients, err := load.Start(working, func() (*clientv3.Client, error) {
		once := way
		once.MaxUnaryRetries = 1
		return clientv3.New(once)
	})
	Expect(err).NotTo(HaveOccurred())
	time.Sleep(time.Second)
	disturb()
	time.Sleep(time.Second)
	beats, result := pulse.End(), clients.End()
	AddReportEntry("clients", result.String())
	AddReportEntry("pulse", beats.String())
	if err := result.Err(); err != nil {
		keepHistory(result)
		Fail(err.Error())
	}
	Expect(result.Writes).To(BeNumerically(">", 100))
	Expect(result.Reads).To(BeNumerically(">", 100))
	return result, beats
}

// keepHistory saves what clients saw, in the order of their calls.
func keepHistory(result load.Result) {
	var text []byte
	for _, o := range result.History {
		text = fmt.Appendf(text, "%12d %12d %d %s %s %v\n", o.Call.Microseconds(), o.Return.Microseconds(), o.Outcome, o.Key, o, o.Err)
	}
	folder := filepath.Join(top, "artifacts")
	_ = os.MkdirAll(folder, 0o750)
	keep(folder, "history.txt", text)
}

// killAtOnce kills members at the same moment, and waits until the kubelet has
// started them again.
func killAtOnce(c *v1alpha1.EtcdCluster, members ...string) {
	GinkgoHelper()
	before := restarts(c)
	var victims []int
	for _, member := range members {
		victims = append(victims, processOf(string(pod(c, member).UID)))
	}
	for _, victim := range victims {
		Expect(syscall.Kill(victim, syscall.SIGKILL)).To(Succeed())
	}
	for _, member := range members {
		Eventually(func(g Gomega) { g.Expect(restartsOf(g, c)[member]).To(BeNumerically(">", before[member])) }).Should(Succeed())
	}
}

// loseVolume deletes a member's volume and Pod, and waits until etcd no longer lists it.
func loseVolume(c *v1alpha1.EtcdCluster, member string) {
	GinkgoHelper()
	lose(c, member)
	Eventually(membersOf).WithArguments(c).ShouldNot(HaveKey(member))
}
