// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/witness"
)

// newCluster is a cluster of three members with small volumes that go with it. Members ask for a little of a processor: Kubernetes
// gives those that ask for none almost nothing where Pods are busy.
func newCluster(namespace, name string, changes ...func(*v1beta1.EtcdClusterSpec)) *v1beta1.EtcdCluster {
	c := &v1beta1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1beta1.EtcdClusterSpec{
			Size: ptr.To[int32](3), DeletionPolicy: v1beta1.Delete,
			Storage:   v1beta1.Storage{Size: ptr.To(resource.MustParse("256Mi"))},
			Resources: v1beta1.Resources{Requests: aLittle()},
		},
	}
	for _, change := range changes {
		change(&c.Spec)
	}
	return c
}

func oneMember(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](1) }

func inMemory(spec *v1beta1.EtcdClusterSpec) {
	spec.Storage = v1beta1.Storage{Ephemeral: &v1beta1.Ephemeral{SizeLimit: resource.MustParse("256Mi")}}
}

func ofVersion(version string) func(*v1beta1.EtcdClusterSpec) {
	return func(spec *v1beta1.EtcdClusterSpec) { spec.Version = version }
}

func automatic(spec *v1beta1.EtcdClusterSpec) { spec.Recovery.QuorumLoss = v1beta1.Automatic }

func accepting(loss string) func(*v1beta1.EtcdClusterSpec) {
	return func(spec *v1beta1.EtcdClusterSpec) { spec.Recovery.AcceptDataLoss = loss }
}

func using(requests, limits corev1.ResourceList) func(*v1beta1.EtcdClusterSpec) {
	return func(spec *v1beta1.EtcdClusterSpec) {
		spec.Resources = v1beta1.Resources{Requests: requests, Limits: limits}
	}
}

// aLittle is what members of newCluster ask for.
func aLittle() corev1.ResourceList { return list("20m", "") }

// list is an amount of processors and memory; empty for none.
func list(cpu, memory string) corev1.ResourceList {
	amounts := corev1.ResourceList{}
	if cpu != "" {
		amounts[corev1.ResourceCPU] = resource.MustParse(cpu)
	}
	if memory != "" {
		amounts[corev1.ResourceMemory] = resource.MustParse(memory)
	}
	return amounts
}

// asWritten creates the cluster with exactly this spec, as kubectl would: Go leaves
// out fields that are zero.
func asWritten(c *v1beta1.EtcdCluster, spec string) error {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte("spec: "+spec), &object.Object); err != nil {
		return err
	}
	object.SetGroupVersionKind(v1beta1.GroupVersion.WithKind("EtcdCluster"))
	object.SetNamespace(c.Namespace)
	object.SetName(c.Name)
	return api.Create(ctx, object)
}

// create creates the cluster and waits until it is as wanted.
func create(c *v1beta1.EtcdCluster) *v1beta1.EtcdCluster {
	GinkgoHelper()
	Expect(api.Create(ctx, c)).To(Succeed())
	agree(c)
	settles(c)
	return c
}

// settles waits until all of the cluster is as wanted.
func settles(c *v1beta1.EtcdCluster) {
	GinkgoHelper()
	Eventually(func(g Gomega) { isSettled(g, c) }).Should(Succeed(), "cluster %s to be as wanted", c.Name)
}

func isSettled(g Gomega, c *v1beta1.EtcdCluster) { isSettledAs(g, c, v1beta1.ReasonUpToDate) }

// isSettledAs is for the words of an earlier version, too.
func isSettledAs(g Gomega, c *v1beta1.EtcdCluster, upToDate ...string) {
	now := read(g, c)
	g.Expect(conditionOf(now, v1beta1.ConditionAvailable)).To(HaveField("Reason", v1beta1.ReasonHealthy))
	g.Expect(conditionOf(now, v1beta1.ConditionProgressing)).To(HaveField("Reason", BeElementOf(upToDate)))
	g.Expect(conditionOf(now, v1beta1.ConditionDegraded)).To(HaveField("Status", metav1.ConditionFalse))
	g.Expect(now.Status.ObservedGeneration).To(Equal(now.Generation))
	g.Expect(now.Status.ReadyMembers).To(Equal(int32(now.Size())))
	g.Expect(now.Status.Replicas).To(Equal(int32(now.Size())))
	all := podsOf(g, c.Namespace, ours(c))
	g.Expect(all).To(HaveLen(now.Size())) // one that was deleted may be gone before the status says so
	for _, pod := range all {
		g.Expect(witness.IsReady(pod)).To(BeTrue(), pod.Name)
	}
}

// sleeps waits until no Pod is left, and checks that every volume is, and stays.
func sleeps(c *v1beta1.EtcdCluster, volumes int) {
	GinkgoHelper()
	set := quarantined(Default, c)
	isAsleep := func(g Gomega) {
		asleep := read(g, c)
		g.Expect(conditionOf(asleep, v1beta1.ConditionAvailable)).To(And(
			HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1beta1.ReasonHibernated)))
		g.Expect(conditionOf(asleep, v1beta1.ConditionProgressing)).To(HaveField("Reason", v1beta1.ReasonUpToDate))
		g.Expect(conditionOf(asleep, v1beta1.ConditionDegraded)).To(HaveField("Status", metav1.ConditionFalse))
		g.Expect(asleep.Status).To(And(HaveField("Replicas", BeZero()), HaveField("ReadyMembers", BeZero())))
		g.Expect(podsOf(g, c.Namespace, ours(c))).To(BeEmpty())
		all := claimsOf(g, c)
		g.Expect(all).To(HaveLen(volumes))
		for _, claim := range all {
			g.Expect(claim.DeletionTimestamp).To(BeNil(), claim.Name)
		}
		g.Expect(quarantined(g, c)).To(Equal(set))
	}
	Eventually(isAsleep).Should(Succeed())
	stays(3*time.Second, isAsleep)
}

// isActedUpon changes the size of a cluster, and waits until it is so.
func isActedUpon(c *v1beta1.EtcdCluster) {
	GinkgoHelper()
	if now(c).Size() == 1 {
		resize(c, 3)
	} else {
		resize(c, 1)
	}
}

// hasOnlyEverHadFive checks that two operators did not each make members: of as many
// as were ever wanted at once, none had to be made a second time.
func hasOnlyEverHadFive(c *v1beta1.EtcdCluster) {
	GinkgoHelper()
	Expect(now(c).Status.NextSerial).To(Equal(int64(5)))
	Expect(claims(c)).To(HaveLen(5))
}

// stays checks that something holds for a while.
func stays(lasts time.Duration, check func(g Gomega)) {
	GinkgoHelper()
	Consistently(check).WithTimeout(lasts).Should(Succeed())
}

// read is the cluster as it is now.
func read(g Gomega, c *v1beta1.EtcdCluster) *v1beta1.EtcdCluster {
	var now v1beta1.EtcdCluster
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(c), &now)).To(Succeed())
	return &now
}

func now(c *v1beta1.EtcdCluster) *v1beta1.EtcdCluster { return read(Default, c) }

// isSeen waits until the operator has seen the spec as it is.
func isSeen(c *v1beta1.EtcdCluster) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		now := read(g, c)
		g.Expect(now.Status.ObservedGeneration).To(Equal(now.Generation))
	}).Should(Succeed())
}

// edit changes the spec as a user would, and returns what the API server says.
func edit(c *v1beta1.EtcdCluster, change func(*v1beta1.EtcdClusterSpec)) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var current v1beta1.EtcdCluster
		if err := api.Get(ctx, client.ObjectKeyFromObject(c), &current); err != nil {
			return err
		}
		change(&current.Spec)
		return api.Update(ctx, &current)
	})
}

// resize sets the size and waits until it is so.
func resize(c *v1beta1.EtcdCluster, size int32) {
	GinkgoHelper()
	setSize(c, size)
	settles(c)
}

func setSize(c *v1beta1.EtcdCluster, size int32) {
	GinkgoHelper()
	Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = &size })).To(Succeed())
}

// scale sets the size as kubectl scale does.
func scale(c *v1beta1.EtcdCluster, replicas int32) {
	GinkgoHelper()
	wanted := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	Expect(api.SubResource("scale").Update(ctx, now(c), client.WithSubResourceBody(wanted))).To(Succeed())
	settles(c)
}

// scaleTo sets the size as kubectl scale does, and does not wait.
func scaleTo(c *v1beta1.EtcdCluster, replicas int32) {
	GinkgoHelper()
	wanted := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	Expect(api.SubResource("scale").Update(ctx, now(c), client.WithSubResourceBody(wanted))).To(Succeed())
}

func setFormat(c *v1beta1.EtcdCluster, format int32) {
	GinkgoHelper()
	changed := now(c)
	before := client.MergeFrom(changed.DeepCopy())
	changed.Status.Format = format
	Expect(api.Status().Patch(ctx, changed, before)).To(Succeed())
}

// remove deletes the cluster and waits until nothing but kept volumes is left.
func remove(c *v1beta1.EtcdCluster) {
	GinkgoHelper()
	Expect(client.IgnoreNotFound(api.Delete(ctx, c))).To(Succeed())
	Eventually(func(g Gomega) { g.Expect(left(g, c)).To(BeEmpty()) }).Should(Succeed())
}

// discard deletes the cluster and does not wait.
func discard(c *v1beta1.EtcdCluster) {
	GinkgoHelper()
	Expect(api.Delete(ctx, c)).To(Succeed())
}

// isGone waits until Kubernetes has deleted an EtcdCluster, its Pods and its volumes.
func isGone(c *v1beta1.EtcdCluster) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(apierrors.IsNotFound(api.Get(ctx, keyOf(c), c))).To(BeTrue())
		var volumes corev1.PersistentVolumeClaimList
		g.Expect(api.List(ctx, &volumes, client.InNamespace(c.Namespace), client.MatchingLabels{v1beta1.LabelCluster: c.Name})).To(Succeed())
		g.Expect(volumes.Items).To(BeEmpty())
	}).Should(Succeed())
}

// madeEarlier is a cluster as a user of a release makes it that serves the earlier version of the API alone, with the lives of its members.
func madeEarlier(name string, changes ...func(*v1beta1.EtcdClusterSpec)) (*v1beta1.EtcdCluster, map[string]life) {
	GinkgoHelper()
	c := newCluster(newNamespace(), name, changes...)
	asEarlier(func() {
		Expect(api.Create(ctx, c)).To(Succeed())
		agree(c)
		Eventually(func(g Gomega) { isSettledAs(g, c, v1beta1.ReasonUpToDate, "AsWanted") }).Should(Succeed()) // 0.7.0 says AsWanted
	})
	return c, lives(c)
}
