package e2e

import (
	"fmt"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/apiproxy"
)

// ways are those in which a write can go wrong.
var ways = []struct {
	name, prefix string
	fate         apiproxy.Verdict
	dies         bool
}{
	{"dies before", "before", apiproxy.Drop, true},
	{"dies after, without the answer to,", "after", apiproxy.Deafen, true},
	{"hears a timeout after", "timeout", apiproxy.Timeout, false},
}

func faultsOfTheOperator() {
	var o *operator
	var namespace string

	BeforeEach(func() {
		needsOwnOperator()
		namespace = newNamespace()
		o = startOperator(namespace)
	})

	for _, way := range ways {
		It("faults 1 and 2: the end is the same when the operator "+way.name+" any write of a creation", func() {
			trace := writesOfACreation(o, namespace)
			for _, at := range points(trace) {
				By(fmt.Sprintf("%s write %d: %s", way.name, at, trace[at]))
				c := createBroken(o, namespace, way.prefix, at, way.fate, way.dies)
				if way.dies {
					o.restart()
				}
				settles(c)
				Eventually(belongings).WithArguments(c).Should(ConsistOf(ofThree...))
				Expect(members(c)).To(And(HaveLen(3), HaveKey(c.Name+"-0"), HaveKey(c.Name+"-1"), HaveKey(c.Name+"-2")))
				o.Heal()
				discard(c)
			}
		})
	}

	It("fault 3: an operator that died between listing a learner and making its Pod finishes it", func() {
		c := create(newCluster(namespace, "orphan", func(spec *v1alpha1.EtcdClusterSpec) { spec.Size = ptr.To[int32](1) }))
		o.OnRequest(func(asked apiproxy.Request) apiproxy.Verdict {
			if asked.Kind() == "POST pods" {
				return apiproxy.Drop
			}
			return apiproxy.Pass
		})
		Expect(edit(c, func(spec *v1alpha1.EtcdClusterSpec) { spec.Size = ptr.To[int32](3) })).To(Succeed())
		Eventually(membersOf).WithArguments(c).Should(HaveKey("?"), "a learner that has not started")
		o.restart()
		settles(c)
		Expect(members(c)).To(And(HaveLen(3), HaveKey("orphan-0"), HaveKey("orphan-1"), HaveKey("orphan-2")))
		discard(c)
	})

	It("fault 9: an API server that refuses every other request, and is slow, costs time: a member is replaced, a cluster is created", func() {
		c := create(newCluster(namespace, "throttled"))
		data, known := fill(c), members(c)
		victim, _ := aFollower(c)
		others := uids(c)
		delete(others, victim.Name)
		asked, refused := 0, 0
		o.OnRequest(func(r apiproxy.Request) apiproxy.Verdict {
			if r.Watch {
				return apiproxy.Pass
			}
			if asked++; asked%2 == 0 {
				refused++
				return apiproxy.Refuse
			}
			return apiproxy.Linger
		})
		lose(c, victim.Name)
		second := newCluster(namespace, "beside", oneMember)
		Expect(api.Create(ctx, second)).To(Succeed())
		begun := time.Now()
		Eventually(func(g Gomega) {
			isSettled(g, second)
			g.Expect(membersOf(g, c)).To(And(HaveLen(3), Not(HaveKey(victim.Name))))
			isSettled(g, c)
		}).WithTimeout(5 * time.Minute).Should(Succeed())
		o.Heal()
		AddReportEntry("requests", fmt.Sprintf("%d in %s, %d of them refused", asked, time.Since(begun).Round(time.Second), refused))
		Expect(refused).To(BeNumerically(">", 10), "requests that were refused")
		untouched, after := uids(c), members(c)
		for name, uid := range others {
			Expect(untouched).To(HaveKeyWithValue(name, uid))
			Expect(after).To(HaveKeyWithValue(name, known[name]))
		}
		Expect(filled(c)).To(Equal(data))
		discard(c)
		discard(second)
	})

	It("fault 9: an API server that refuses everything is asked as seldom as it says, and then all goes on", Label("long"), func() {
		c := create(newCluster(namespace, "refused", oneMember))
		asked := 0
		o.OnRequest(func(apiproxy.Request) apiproxy.Verdict {
			asked++
			return apiproxy.Refuse
		})
		setSize(c, 3)
		time.Sleep(time.Minute)
		o.Heal()
		AddReportEntry("requests in a minute", asked)
		Expect(asked).To(BeNumerically("<", 5*60))
		settles(c)
		Expect(members(c)).To(HaveLen(3))
		discard(c)
	})

	It("fault 45: a size that is raised and at once set back leaves no orphan", func() {
		c := create(newCluster(namespace, "hasty", func(spec *v1alpha1.EtcdClusterSpec) { spec.Size = ptr.To[int32](1) }))
		Expect(edit(c, func(spec *v1alpha1.EtcdClusterSpec) { spec.Size = ptr.To[int32](3) })).To(Succeed())
		Eventually(membersOf).WithArguments(c).Should(HaveLen(2))
		Expect(edit(c, func(spec *v1alpha1.EtcdClusterSpec) { spec.Size = ptr.To[int32](1) })).To(Succeed())
		settles(c)
		Expect(members(c)).To(HaveLen(1))
		Eventually(func(g Gomega) { g.Expect(podsOf(g, namespace, ours(c))).To(HaveLen(1)) }).Should(Succeed())
		discard(c)
	})
}

// writesOfACreation are the kinds of the writes by which a cluster comes into being, in order.
func writesOfACreation(o *operator, namespace string) []string {
	GinkgoHelper()
	o.Forget()
	c := create(newCluster(namespace, "reference"))
	Expect(members(c)).To(HaveLen(3))
	var trace []string
	for _, write := range o.Written() {
		trace = append(trace, strings.Join(strings.Fields(write)[:2], " "))
	}
	AddReportEntry("writes of a creation", strings.Join(trace, "\n"))
	discard(c)
	return trace
}

// points are the writes to break: one of each kind and the last, or all with
// E2E_MATRIX=full.
func points(trace []string) []int {
	seen := map[string]bool{}
	var chosen []int
	for i, write := range trace {
		if !seen[write] || i == len(trace)-1 || os.Getenv("E2E_MATRIX") == "full" {
			chosen = append(chosen, i)
		}
		seen[write] = true
	}
	return chosen
}

// createBroken makes a cluster, and lets its write with that number meet its fate. When
// it comes into being without one, because less had to be said of it than of the first,
// another meets it a write earlier.
func createBroken(o *operator, namespace, prefix string, number int, fate apiproxy.Verdict, dies bool) *v1alpha1.EtcdCluster {
	GinkgoHelper()
	for at := number; at >= 0; at-- {
		c := newCluster(namespace, fmt.Sprintf("%s-%d-%d", prefix, number, at))
		broken := breakAt(o, c.Name, at, fate, dies)
		Expect(api.Create(ctx, c)).To(Succeed())
		Eventually(func(g Gomega) {
			if !isClosed(broken) {
				isSettled(g, c)
			}
		}).Should(Succeed(), "write %d", at)
		if isClosed(broken) {
			return c
		}
		discard(c)
	}
	Fail("no write was broken")
	return nil
}

func isClosed(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}

// breakAt lets the cluster's write with that number meet its fate. If the operator
// dies with it, nothing that it asks afterwards arrives. The channel is closed when
// it is so.
func breakAt(o *operator, name string, number int, fate apiproxy.Verdict, dies bool) <-chan struct{} {
	broken := make(chan struct{})
	count, dead := 0, false
	o.OnRequest(func(asked apiproxy.Request) apiproxy.Verdict {
		if dead {
			return apiproxy.Drop
		}
		ofAnother := asked.Resource == "etcdclusters" && asked.Name != name
		if !asked.IsWrite() || ofAnother {
			return apiproxy.Pass
		}
		count++
		if count != number+1 {
			return apiproxy.Pass
		}
		dead = dies
		close(broken)
		return fate
	})
	return broken
}
