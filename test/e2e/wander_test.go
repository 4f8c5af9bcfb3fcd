package e2e

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// wandering takes one cluster through changes and losses in an order that nobody thought
// of: whatever the way was, it ends as wanted and with all its data. The seed is in the
// report (-ginkgo.seed repeats it), WANDER is the number of stops.
func wandering() {
	It("ends as wanted with all data, whatever was changed and lost on the way", func() {
		wander(&wanderer{sizes: []int32{0, 1, 3, 5}, versions: []string{"3.5.35", "3.6.16", "3.7.3"}},
			func(spec *v1alpha1.EtcdClusterSpec) { spec.DeletionPolicy = v1alpha1.Retain })
	})

	It("ends as wanted without volumes, too, as long as not all Pods are lost", func() {
		wander(&wanderer{mortal: true, sizes: []int32{3, 5}, versions: []string{"3.6.16", "3.7.3"}}, inMemory)
	})
}

func inMemory(spec *v1alpha1.EtcdClusterSpec) {
	spec.Storage = v1alpha1.Storage{Ephemeral: &v1alpha1.Ephemeral{SizeLimit: resource.MustParse("256Mi")}}
}

func wander(w *wanderer, edits ...func(*v1alpha1.EtcdClusterSpec)) {
	GinkgoHelper()
	namespace := newNamespace()
	w.rand = rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 0)) //nolint:gosec // repeatable
	w.operator = startOperator(namespace)
	w.c = create(newCluster(namespace, "wandering", append(edits, ofVersion("3.5.35"))...))
	w.id, w.data = now(w.c).Status.ClusterID, fill(w.c)
	stops, err := strconv.Atoi(cmp.Or(os.Getenv("WANDER"), "12"))
	Expect(err).NotTo(HaveOccurred())
	for i := range stops {
		By(fmt.Sprintf("stop %d of %d: %s", i+1, stops, w.leave()))
		w.arrive()
	}
}

// A wanderer is a cluster and what must stay true of it.
type wanderer struct {
	rand     *rand.Rand
	operator *operator
	mortal   bool     // data goes with a Pod
	sizes    []int32  // that it may get
	versions []string // and these
	c        *v1alpha1.EtcdCluster
	id       string
	data     map[string]string
}

// leave does one or two things at once and says which.
func (w *wanderer) leave() string {
	GinkgoHelper()
	did := w.one(true)
	if w.rand.IntN(3) == 0 {
		w.idle(8 * time.Second)
		did += ", and then " + w.one(false)
	}
	if w.rand.IntN(4) == 0 && !useDeployed {
		w.idle(4 * time.Second)
		w.operator.restart()
		did += ", and then the operator is killed"
	}
	return did
}

// idle waits for any time up to that.
func (w *wanderer) idle(most time.Duration) {
	time.Sleep(time.Duration(w.rand.Int64N(int64(most))))
}

// one changes something or loses it. What costs a quorum, or data, when something else is
// under way is done only at rest.
func (w *wanderer) one(atRest bool) string {
	GinkgoHelper()
	c := now(w.c)
	spec, size := c.Spec, int32(c.Size()) //nolint:gosec // a small number
	all := pods(w.c)
	slices.SortFunc(all, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	switch choice := w.rand.IntN(11); {
	case choice < 3:
		return w.toVersion(spec.Version)
	case choice < 5:
		to := other(w.rand, w.sizes, size)
		setSize(w.c, to)
		return fmt.Sprintf("size %d to %d", size, to)
	case choice < 6:
		Expect(edit(w.c, func(spec *v1alpha1.EtcdClusterSpec) { spec.Etcd.SnapshotCount = int64(5000 + w.rand.IntN(1000)) })).To(Succeed())
		return "a flag"
	case choice < 7 && atRest && size >= 3 && !w.mortal:
		victim := all[w.rand.IntN(len(all))].Name
		lose(w.c, victim)
		return "the volume of " + victim + " is lost"
	case choice < 8 && !w.mortal:
		for _, p := range all {
			Expect(client.IgnoreNotFound(api.Delete(ctx, &p, client.GracePeriodSeconds(0)))).To(Succeed())
		}
		return "all Pods are lost"
	case choice < 9 && atRest && !w.mortal:
		remove(w.c)
		again := newCluster(w.c.Namespace, w.c.Name, func(s *v1alpha1.EtcdClusterSpec) { *s = spec })
		Expect(api.Create(ctx, again)).To(Succeed())
		return "it is deleted and created again"
	case len(all) == 0 || w.mortal && !atRest:
		return "nothing"
	default:
		return "the Pod of " + deletePod(w.c, all[w.rand.IntN(len(all))]).Name + " is lost"
	}
}

// other is any of all but one.
func other[T comparable](rand *rand.Rand, all []T, but T) T {
	rest := slices.DeleteFunc(slices.Clone(all), func(one T) bool { return one == but })
	return rest[rand.IntN(len(rest))]
}

// toVersion asks for any other version. Where there is no way the API server says so, and
// nothing has changed.
func (w *wanderer) toVersion(from string) string {
	to := other(w.rand, w.versions, from)
	if err := edit(w.c, ofVersion(to)); err != nil {
		Expect(err).To(MatchError(ContainSubstring("version may go")))
		return "version " + to + " is refused"
	}
	return "version " + from + " to " + to
}

// arrive waits until the cluster is as wanted, awake, and looks at what must be true.
func (w *wanderer) arrive() {
	GinkgoHelper()
	begin := time.Now()
	if now(w.c).Size() == 0 {
		Eventually(func(g Gomega) { g.Expect(podsOf(g, w.c.Namespace, ours(w.c))).To(BeEmpty()) }).Should(Succeed())
		setSize(w.c, 3)
	}
	Eventually(func(g Gomega) { isSettled(g, w.c) }).WithTimeout(5 * time.Minute).Should(Succeed())
	c := now(w.c)
	Expect(running(c)).To(HaveEach(c.Spec.Version))
	Expect(c.Status.ClusterID).To(Equal(w.id))
	Expect(filled(c)).To(Equal(w.data))
	if !w.mortal {
		Expect(inUse(Default, c)).To(HaveLen(c.Size()))
	}
	AddReportEntry(fmt.Sprintf("%d of %s after %s", c.Size(), c.Spec.Version, time.Since(begin).Round(100*time.Millisecond)))
}
