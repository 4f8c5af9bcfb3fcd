// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package witness watches, and remembers what it saw: of a cluster its Pods and its status, of a Lease who held it.
// Looking now and then would miss what lasts for a moment.
//
// It changes nothing, and counts only what the API server tells, in the order in which it tells it.
package witness

import (
	"context"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// A Witness remembers what it saw of one cluster.
type Witness struct {
	// Dismiss ends the watch when it has told all; again is harmless.
	Dismiss func()

	cluster  *v1beta1.EtcdCluster
	api      client.WithWatch
	mutex    sync.Mutex
	version  string // of the cluster
	statuses []v1beta1.EtcdClusterStatus
	sights
}

// Call makes a witness of everything from now on.
func Call(ctx context.Context, api client.WithWatch, c *v1beta1.EtcdCluster) *Witness {
	GinkgoHelper()
	w := &Witness{cluster: c, api: api}
	watching, stop := context.WithCancel(ctx)
	var pods corev1.PodList
	var clusters v1beta1.EtcdClusterList
	here, named := client.InNamespace(c.Namespace), client.MatchingFields{"metadata.name": c.Name}
	podEvents := fromNow(watching, api, &pods, here, ours(c))
	clusterEvents := fromNow(watching, api, &clusters, here, named)
	w.sights = begin(pods.Items)
	w.seeCluster(&clusters.Items[0])
	var done sync.WaitGroup
	done.Go(func() { w.see(watching, podEvents, clusterEvents) })
	end := sync.OnceFunc(func() {
		stop()
		done.Wait()
		AddReportEntry("ready Pods of "+c.Name, strings.Join(w.diary, "\n"))
	})
	w.Dismiss = sync.OnceFunc(func() {
		Eventually(func(g Gomega) { w.knows(ctx, g) }).Should(Succeed())
		end()
	})
	DeferCleanup(end)
	return w
}

func ours(c *v1beta1.EtcdCluster) client.MatchingLabels {
	return client.MatchingLabels{v1beta1.LabelCluster: c.Name}
}

// fromNow fills the list and watches on from it.
func fromNow(ctx context.Context, api client.WithWatch, list client.ObjectList, of ...client.ListOption) <-chan watch.Event {
	GinkgoHelper()
	Expect(api.List(ctx, list, of...)).To(Succeed())
	from := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}}
	watched, err := api.Watch(ctx, list, append(of, from)...)
	Expect(err).NotTo(HaveOccurred())
	return watched.ResultChan()
}

func (w *Witness) see(ctx context.Context, pods, clusters <-chan watch.Event) {
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
			if c, is := event.Object.(*v1beta1.EtcdCluster); is {
				w.seeCluster(c)
			}
		}
	}
}

// knows checks that the witness has been told all that is so now: a watch tells a
// moment later.
func (w *Witness) knows(ctx context.Context, g Gomega) {
	var cluster v1beta1.EtcdCluster
	var pods corev1.PodList
	g.Expect(w.api.Get(ctx, client.ObjectKeyFromObject(w.cluster), &cluster)).To(Succeed())
	g.Expect(w.api.List(ctx, &pods, client.InNamespace(w.cluster.Namespace), ours(w.cluster))).To(Succeed())
	w.mutex.Lock()
	defer w.mutex.Unlock()
	g.Expect(w.version).To(Equal(cluster.ResourceVersion))
	g.Expect(w.pods).To(HaveLen(len(pods.Items)))
	for _, p := range pods.Items {
		g.Expect(w.pods).To(HaveKeyWithValue(p.Name, HaveField("ResourceVersion", p.ResourceVersion)))
	}
}

func (w *Witness) seeCluster(c *v1beta1.EtcdCluster) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.version = c.ResourceVersion
	w.statuses = append(w.statuses, c.Status)
}

func (w *Witness) seePod(kind watch.EventType, p *corev1.Pod) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.sights.see(kind, p, time.Now())
}

// Fewest is how many Pods were ready at once, at least.
func (w *Witness) Fewest() int { return w.fewest }

// Runs are what each member ran, in order, by its name.
func (w *Witness) Runs() map[string][]Run { return w.runs }

// Statuses are those that the cluster had, in order.
func (w *Witness) Statuses() []v1beta1.EtcdClusterStatus { return w.statuses }

// KeptServing makes sure that the kubelet found all members ready but one, at any moment: those that it has found ready, and that nobody
// has stopped or changed since. In the last hand-over of a roll it may have yet to find the member before ready (decision 18); of three,
// clients then have one. No Pod may be gone before its container has ended (decision 19). The status says less: while
// members elect a leader, which a busy machine draws out, none of them is ready by it.
func (w *Witness) KeptServing(size int32) {
	GinkgoHelper()
	w.Dismiss()
	Expect(w.cut).To(BeEmpty(), "Pods that were gone before their container had ended")
	Expect(w.fewest).To(BeNumerically(">=", size-2), "Pods that were ready at once")
	Expect(w.fewestElse).To(BeNumerically(">=", size-1), "Pods that were ready at once, but in the last hand-over of a roll")
}

// Progress is what the status said of a roll, in order: each version that members
// were brought to, and how many were there.
func (w *Witness) Progress() (targets []string, updated map[string][]int32) {
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
