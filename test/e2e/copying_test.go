// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gstruct"
	clientv3 "go.etcd.io/etcd/client/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// copies are of running clusters that members cannot join.
func copies() {
	var namespace string
	var o *operator

	BeforeEach(func() {
		namespace = newNamespace()
		o = startOperator(namespace)
	})

	It("take a StatefulSet without TLS under a writer into a cluster with TLS, with every acknowledged write", Label("gate", "long"), func() {
		s := newSource(namespace, "plain")
		data := values(s.client(s.urls()...))
		s.fill()
		c := create(copying(s, "etcd"))
		says(c, v1beta1.ConditionCopied, v1beta1.ReasonReadyToSwitch, "all 91 keys are the same in both clusters")
		before := data()
		w := startCounting(s.client(s.urls()...))
		time.Sleep(time.Second)
		annotate(c, v1beta1.AnnotationSwitch, "now")
		hasSwitched(c)
		target := as(c, c.ClientSecret())
		w.switched(target)
		after := values(target)()
		for key, value := range before {
			Expect(after).To(HaveKeyWithValue(key, value))
		}
		_, err := s.client(s.urls()...).Put(ctx, "stray", "x")
		Expect(err).To(MatchError(ContainSubstring("corrupt cluster")), "stray clients cannot write to the source")
		leased, err := target.Get(ctx, "data/leased")
		Expect(err).NotTo(HaveOccurred())
		Expect(leased.Kvs[0].Lease).NotTo(BeZero())
		var service corev1.Service
		Expect(api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: s.name}, &service)).To(Succeed())
		Expect(specs.Selects(c, &service)).To(BeTrue(), "%v", service.Spec.Selector)
		settles(c)
	})

	It("faults 124 and 126: go on after an operator that was killed, and after the source has lost its quorum", Label("long"), func() {
		needsOwnOperator()
		s := newSource(namespace, "plain")
		source := s.client(s.urls()...)
		const many = 20_000
		fillMany(source, many)
		c := create(copying(s, "etcd"))
		target := as(c, c.ClientSecret())
		kills := 0
		for range 5 {
			Eventually(func() (int64, error) { return countOf(target, "many/") }).WithPolling(time.Millisecond).Should(BeNumerically(">", kills*100))
			o.kill()
			kills++
			o.restart()
		}
		says(c, v1beta1.ConditionCopied, v1beta1.ReasonReadyToSwitch, fmt.Sprintf("all %d keys are the same", many))
		s.scale(1)
		says(c, v1beta1.ConditionCopied, v1beta1.ReasonSourceUnreachable, "the source cannot be read")
		annotate(c, v1beta1.AnnotationSwitch, "while it is away")
		s.scale(3)
		Eventually(func() error {
			_, err := s.client(s.urls()...).Put(ctx, "many/later", "x")
			return err
		}).Should(Or(Succeed(), MatchError(ContainSubstring("corrupt cluster"))))
		remove(c)
	})

	It("fault 127: do not go on when something else writes to the cluster", Label("long"), func() {
		s := newSource(namespace, "plain")
		s.fill()
		c := create(copying(s, "etcd"))
		says(c, v1beta1.ConditionCopied, v1beta1.ReasonReadyToSwitch, "all 91 keys are the same")
		put(c, "data/foreign", "x")
		annotate(c, v1beta1.AnnotationSwitch, "now")
		says(c, v1beta1.ConditionCopied, v1beta1.ReasonTargetChanged, "something else has written to the cluster")
		_, err := s.client(s.urls()...).Put(ctx, "data/more", "x")
		Expect(err).NotTo(HaveOccurred(), "writes to the source go on")
	})

	It("fault 129: let writes go on within the limit, although the cluster has failed in the middle", Label("long"), func() {
		needsOwnOperator()
		s := newSource(namespace, "plain")
		source := s.client(s.urls()...)
		fillMany(source, 20_000)
		c := create(copying(s, "etcd", func(from *v1beta1.Copy) { from.StopLimit = metav1.Duration{Duration: 10 * time.Second} }))
		says(c, v1beta1.ConditionCopied, v1beta1.ReasonReadyToSwitch, "keys are the same")
		annotate(c, v1beta1.AnnotationSwitch, "now")
		Eventually(func() error { return putIn(source, "probe") }).WithPolling(time.Millisecond).
			Should(MatchError(ContainSubstring("corrupt cluster")))
		stopped := time.Now()
		o.kill()
		time.Sleep(12 * time.Second)
		o.restart()
		Eventually(func() error { return putIn(source, "probe") }).Should(Succeed())
		measured("writes stopped by an operator that was killed for 12 s", time.Since(stopped))
		Expect(now(c).Status.Copy.SwitchedAt).To(BeNil())
		says(c, v1beta1.ConditionCopied, v1beta1.ReasonSwitchFailed, "the switch was not made within 10s")
		annotate(c, v1beta1.AnnotationSwitch, "again")
		hasSwitched(c)
	})
}

// copying is an EtcdCluster of one member with TLS that a source is copied into.
func copying(s *source, name string, changes ...func(*v1beta1.Copy)) *v1beta1.EtcdCluster {
	GinkgoHelper()
	from := &v1beta1.Copy{Endpoints: s.urls(), Services: []string{s.name}}
	for _, change := range changes {
		change(from)
	}
	begins := func(spec *v1beta1.EtcdClusterSpec) { spec.Bootstrap = &v1beta1.BootstrapSpec{Copy: from} }
	return newCluster(s.namespace, name, oneMember, begins)
}

// hasSwitched waits for the end of a copy, and says how long writes were stopped.
func hasSwitched(c *v1beta1.EtcdCluster) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		seen := read(g, c)
		g.Expect(conditionOf(seen, v1beta1.ConditionCopied)).To(HaveField("Status", metav1.ConditionTrue), "%+v", seen.Status.Copy)
		g.Expect(seen.Status.Copy).To(gstruct.PointTo(HaveField("CompletedAt", Not(BeNil()))))
	}).WithPolling(20 * time.Millisecond).Should(Succeed())
	status := now(c).Status.Copy
	Expect(status.Comparison.Equal).To(BeTrue())
	measured("writes stopped by a switch", status.StoppedFor.Duration)
	AddReportEntry("the copy", fmt.Sprintf("%+v", *status))
}

// values reads all keys of the test with their values.
func values(etcd *clientv3.Client) func() map[string]string {
	return func() map[string]string {
		GinkgoHelper()
		found, err := etcd.Get(ctx, "", clientv3.WithFromKey())
		Expect(err).NotTo(HaveOccurred())
		all := map[string]string{}
		for _, kv := range found.Kvs {
			all[string(kv.Key)] = string(kv.Value)
		}
		return all
	}
}

func putIn(etcd *clientv3.Client, key string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := etcd.Put(ctx, key, "x")
	return err
}

// fillMany writes as many keys in transactions of a hundred.
func fillMany(etcd *clientv3.Client, many int) {
	GinkgoHelper()
	for n := 0; n < many; n += 100 {
		var all []clientv3.Op
		for i := range 100 {
			all = append(all, clientv3.OpPut(fmt.Sprintf("many/%06d", n+i), fmt.Sprintf("value %d", n+i)))
		}
		_, err := etcd.Txn(ctx).Then(all...).Commit()
		Expect(err).NotTo(HaveOccurred())
	}
}

// A counting writes one key after the other to the source until it refuses them.
type counting struct {
	etcd         *clientv3.Client
	stop         chan struct{}
	ended        chan struct{}
	acknowledged int
	last         time.Time // when a write was acknowledged
	refused      error
}

func startCounting(etcd *clientv3.Client) *counting {
	w := &counting{etcd: etcd, stop: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		for {
			select {
			case <-w.stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			if err := putIn(etcd, fmt.Sprintf("counted/%06d", w.acknowledged)); err != nil {
				w.refused = errors.Join(w.refused, err)
				continue
			}
			w.acknowledged, w.last = w.acknowledged+1, time.Now()
		}
	}()
	return w
}

// switched has the client go on with the other cluster, and says how long it could not write.
func (w *counting) switched(to *clientv3.Client) {
	GinkgoHelper()
	close(w.stop)
	<-w.ended
	Expect(w.refused).To(HaveOccurred(), "the source has refused writes")
	found, err := to.Get(ctx, "counted/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	Expect(err).NotTo(HaveOccurred())
	Expect(found.Count).To(Or(BeEquivalentTo(w.acknowledged), BeEquivalentTo(w.acknowledged+1)),
		"every acknowledged write, and at most one whose answer was lost")
	AddReportEntry("writes", fmt.Sprintf("%d acknowledged by the source, all in the cluster; the client wrote again %s after the last of them",
		w.acknowledged, time.Since(w.last).Round(time.Millisecond)))
}

// scale changes how many members of the source run.
func (s *source) scale(replicas int32) {
	GinkgoHelper()
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name}}
	before := client.MergeFrom(set.DeepCopy())
	set.Spec.Replicas = ptr.To(replicas)
	Expect(api.Patch(ctx, set, before)).To(Succeed())
}
