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
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// Without a logger, clients complain that there is none.
func init() { ctrl.SetLogger(GinkgoLogr) }

// ran is one image in one Pod.
type ran struct{ UID, Image string }

// A witness watches a cluster's Pods and status, and remembers what it saw. Looking
// now and then would miss what lasts for a moment.
type witness struct {
	dismiss  func() // ends the watch when it has told all; again is harmless
	mutex    sync.Mutex
	version  string // of the cluster
	pods     map[string]corev1.Pod
	fewest   int              // Pods that were ready at once
	runs     map[string][]ran // what each member ran, in order
	statuses []v1alpha1.EtcdClusterStatus
	diary    []string // when each Pod became ready, and ceased to be
	cut      []string // Pods that were gone before their container had ended

	since, wavers map[string]time.Time // when each became ready, and when it wavered
}

// wavering is how long the kubelet takes a word back: beside a container that it has
// just exchanged it may find it ready, then remember the one before, and find it ready
// again when it has listed containers anew, which it does every second.
const wavering = 1500 * time.Millisecond

// callWitness makes a witness of everything from now on.
func callWitness(c *v1alpha1.EtcdCluster) *witness {
	GinkgoHelper()
	w := &witness{
		pods: map[string]corev1.Pod{}, runs: map[string][]ran{}, since: map[string]time.Time{}, wavers: map[string]time.Time{},
	}
	watcher, err := client.NewWithWatch(config, client.Options{Scheme: api.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	watching, stop := context.WithCancel(ctx)
	var pods corev1.PodList
	var clusters v1alpha1.EtcdClusterList
	here, named := client.InNamespace(c.Namespace), client.MatchingFields{"metadata.name": c.Name}
	podEvents := watchFromNow(watching, watcher, &pods, here, ours(c))
	clusterEvents := watchFromNow(watching, watcher, &clusters, here, named)
	for _, p := range pods.Items {
		w.seePod(watch.Added, &p)
	}
	clear(w.since) // they were ready before
	w.fewest = w.ready()
	w.seeCluster(&clusters.Items[0])
	var done sync.WaitGroup
	done.Go(func() { w.see(watching, podEvents, clusterEvents) })
	end := sync.OnceFunc(func() {
		stop()
		done.Wait()
		AddReportEntry("ready Pods of "+c.Name, strings.Join(w.diary, "\n"))
	})
	w.dismiss = sync.OnceFunc(func() {
		Eventually(w.knows).WithArguments(c).Should(Succeed())
		end()
	})
	DeferCleanup(end)
	return w
}

// watchFromNow fills the list and watches on from it.
func watchFromNow(ctx context.Context, watcher client.WithWatch, list client.ObjectList, of ...client.ListOption) <-chan watch.Event {
	GinkgoHelper()
	Expect(watcher.List(ctx, list, of...)).To(Succeed())
	from := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}}
	watched, err := watcher.Watch(ctx, list, append(of, from)...)
	Expect(err).NotTo(HaveOccurred())
	return watched.ResultChan()
}

func (w *witness) see(ctx context.Context, pods, clusters <-chan watch.Event) {
	for {
		select {
		case <-ctx.Done():
			return
		case event, open := <-pods:
			if !open {
				return
			}
			if p, is := event.Object.(*corev1.Pod); is {
				w.seePod(event.Type, p)
			}
		case event, open := <-clusters:
			if !open {
				return
			}
			if c, is := event.Object.(*v1alpha1.EtcdCluster); is {
				w.seeCluster(c)
			}
		}
	}
}

// knows checks that the witness has been told all that is so now: a watch tells a
// moment later.
func (w *witness) knows(g Gomega, c *v1alpha1.EtcdCluster) {
	cluster, pods := read(g, c), podsOf(g, c.Namespace, ours(c))
	w.mutex.Lock()
	defer w.mutex.Unlock()
	g.Expect(w.version).To(Equal(cluster.ResourceVersion))
	g.Expect(w.pods).To(HaveLen(len(pods)))
	for _, p := range pods {
		g.Expect(w.pods).To(HaveKeyWithValue(p.Name, HaveField("ResourceVersion", p.ResourceVersion)))
	}
}

func (w *witness) seeCluster(c *v1alpha1.EtcdCluster) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.version = c.ResourceVersion
	w.statuses = append(w.statuses, c.Status)
}

func (w *witness) seePod(kind watch.EventType, p *corev1.Pod) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	defer func() { w.fewest = min(w.fewest, w.ready()) }()
	was, is := isReady(w.pods[p.Name]), kind != watch.Deleted && isReady(*p)
	switch {
	case is && !was:
		w.since[p.Name] = time.Now()
	case was && !is && kind != watch.Deleted && p.DeletionTimestamp == nil && time.Since(w.since[p.Name]) < wavering:
		w.wavers[p.Name] = time.Now()
	}
	if was != is {
		w.diary = append(w.diary, fmt.Sprintf("%s %s ready: %t", time.Now().Format("15:04:05.000"), p.Name, is))
	}
	if kind == watch.Deleted {
		delete(w.pods, p.Name)
		if !hasEnded(*p) {
			w.cut = append(w.cut, fmt.Sprintf("%s: %+v", p.Name, p.Status.ContainerStatuses))
		}
		return
	}
	w.pods[p.Name] = *p
	seen := ran{string(p.UID), p.Spec.Containers[0].Image}
	if !slices.Contains(w.runs[p.Name], seen) {
		w.runs[p.Name] = append(w.runs[p.Name], seen)
	}
}

func hasEnded(p corev1.Pod) bool {
	return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].State.Terminated != nil
}

func (w *witness) ready() int {
	count := 0
	for name, p := range w.pods {
		if isReady(p) || time.Since(w.wavers[name]) < wavering {
			count++
		}
	}
	return count
}

// keptServing makes sure that one member at most was down at any moment, by what the
// operator was told by etcd, and that clients always found one that the kubelet had found
// ready: in a roll it may have yet to find the member before ready (decision 18). No Pod may be
// gone before its container has ended (decision 19).
func (w *witness) keptServing(size int32) {
	GinkgoHelper()
	w.dismiss()
	Expect(w.cut).To(BeEmpty(), "Pods that were gone before their container had ended")
	Expect(w.fewest).To(BeNumerically(">=", size-2), "Pods that were ready at once")
	for _, s := range w.statuses {
		Expect(s.ReadyMembers).To(BeNumerically(">=", size-1), "members that answered at once")
	}
}

// progress is what the status said of a roll, in order: each version that members
// were brought to, and how many were there.
func (w *witness) progress() (targets []string, updated map[string][]int32) {
	updated = map[string][]int32{}
	for _, s := range w.statuses {
		if len(targets) == 0 || targets[len(targets)-1] != s.TargetVersion {
			targets = append(targets, s.TargetVersion)
		}
		if counts := updated[s.TargetVersion]; len(counts) == 0 || counts[len(counts)-1] != s.UpdatedMembers {
			updated[s.TargetVersion] = append(counts, s.UpdatedMembers)
		}
	}
	return targets, updated
}

// tells waits until there are events about the cluster with the reasons. Each is written
// a moment after the status.
func tells(c *v1alpha1.EtcdCluster, reasons ...any) {
	GinkgoHelper()
	Eventually(reasonsOf).WithArguments(c).Should(ContainElements(reasons...))
}

// reasonsOf are the reasons of all events about the cluster.
func reasonsOf(g Gomega, c *v1alpha1.EtcdCluster) []string {
	var list eventsv1.EventList
	g.Expect(api.List(ctx, &list, client.InNamespace(c.Namespace))).To(Succeed())
	var reasons []string
	for _, event := range list.Items {
		if event.Regarding.Name == c.Name {
			reasons = append(reasons, event.Reason)
		}
	}
	return reasons
}

// notesOf are the sentences of all events about the cluster, or of those with one of
// the reasons.
func notesOf(g Gomega, c *v1alpha1.EtcdCluster, reasons ...string) []string {
	var list eventsv1.EventList
	g.Expect(api.List(ctx, &list, client.InNamespace(c.Namespace))).To(Succeed())
	var notes []string
	for _, event := range list.Items {
		if event.Regarding.Name == c.Name && (len(reasons) == 0 || contains(reasons, event.Reason)) {
			notes = append(notes, event.Note)
		}
	}
	return notes
}
