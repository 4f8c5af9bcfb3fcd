package e2e

import (
	"cmp"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/witness"
)

// newNamespace makes a namespace under the strictest Pod Security level, which
// goes with the spec or container.
func newNamespace() string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "e2e-",
		Labels:       map[string]string{"pod-security.kubernetes.io/enforce": "restricted", "etcd-operator.dev/e2e": "true"},
	}}
	Expect(api.Create(ctx, namespace)).To(Succeed())
	namespaces = append(namespaces, namespace.Name)
	DeferCleanup(func() {
		namespaces = slices.DeleteFunc(namespaces, func(name string) bool { return name == namespace.Name })
		Expect(client.IgnoreNotFound(api.Delete(ctx, namespace))).To(Succeed())
		// What is left has served, and makes room for others.
		Expect(api.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(namespace.Name), client.GracePeriodSeconds(1))).To(Succeed())
	})
	return namespace.Name
}

// allNamespacesGo waits for those that were deleted: in the end nothing is left. One that
// is touched is looked at again sooner than after half of its Pods' grace.
func allNamespacesGo() {
	Eventually(func(g Gomega) {
		var list corev1.NamespaceList
		g.Expect(api.List(ctx, &list, client.HasLabels{"etcd-operator.dev/e2e"})).To(Succeed())
		for i := range list.Items {
			touch(g, &list.Items[i])
		}
		g.Expect(list.Items).To(BeEmpty())
	}).WithPolling(time.Second).Should(Succeed())
}

// leftoversGo clears away what a run left that was interrupted: it would go on beside this
// one, and in the end not all would be gone.
func leftoversGo() {
	var list corev1.NamespaceList
	Expect(api.List(ctx, &list, client.HasLabels{"etcd-operator.dev/e2e"})).To(Succeed())
	for i := range list.Items {
		AddReportEntry("left by a run that was interrupted", list.Items[i].Name)
		Expect(client.IgnoreNotFound(api.Delete(ctx, &list.Items[i]))).To(Succeed())
	}
	allNamespacesGo()
}

// namespaces are those in use, for what is kept of a failure.
var namespaces []string

// newCluster is a cluster of three members with small volumes that go with it.
func newCluster(namespace, name string, changes ...func(*v1alpha1.EtcdClusterSpec)) *v1alpha1.EtcdCluster {
	c := &v1alpha1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.EtcdClusterSpec{
			Size: ptr.To[int32](3), DeletionPolicy: v1alpha1.Delete,
			Storage: v1alpha1.Storage{Size: ptr.To(resource.MustParse("256Mi"))},
		},
	}
	for _, change := range changes {
		change(&c.Spec)
	}
	return c
}

// create creates the cluster and waits until it is as wanted.
func create(c *v1alpha1.EtcdCluster) *v1alpha1.EtcdCluster {
	GinkgoHelper()
	Expect(api.Create(ctx, c)).To(Succeed())
	settles(c)
	return c
}

// settles waits until all of the cluster is as wanted.
func settles(c *v1alpha1.EtcdCluster) {
	GinkgoHelper()
	Eventually(func(g Gomega) { isSettled(g, c) }).Should(Succeed(), "cluster %s to be as wanted", c.Name)
}

func isSettled(g Gomega, c *v1alpha1.EtcdCluster) {
	now := read(g, c)
	g.Expect(conditionOf(now, v1alpha1.ConditionAvailable)).To(HaveField("Reason", v1alpha1.ReasonHealthy))
	g.Expect(conditionOf(now, v1alpha1.ConditionProgressing)).To(HaveField("Reason", v1alpha1.ReasonAsWanted))
	g.Expect(conditionOf(now, v1alpha1.ConditionDegraded)).To(HaveField("Status", metav1.ConditionFalse))
	g.Expect(now.Status.ObservedGeneration).To(Equal(now.Generation))
	g.Expect(now.Status.ReadyMembers).To(Equal(int32(now.Size())))
	g.Expect(now.Status.Replicas).To(Equal(int32(now.Size())))
	all := podsOf(g, c.Namespace, ours(c))
	g.Expect(all).To(HaveLen(now.Size())) // one that was deleted may be gone before the status says so
	for _, pod := range all {
		g.Expect(witness.IsReady(pod)).To(BeTrue(), pod.Name)
	}
}

// says waits until the cluster says the reason in the condition, with a message
// that contains the words.
func says(c *v1alpha1.EtcdCluster, kind, reason, words string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(conditionOf(read(g, c), kind)).To(And(HaveField("Reason", reason), HaveField("Message", ContainSubstring(words))))
	}).Should(Succeed())
}

func conditionOf(c *v1alpha1.EtcdCluster, kind string) metav1.Condition {
	if found := meta.FindStatusCondition(c.Status.Conditions, kind); found != nil {
		return *found
	}
	return metav1.Condition{Type: kind}
}

// read is the cluster as it is now.
func read(g Gomega, c *v1alpha1.EtcdCluster) *v1alpha1.EtcdCluster {
	var now v1alpha1.EtcdCluster
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(c), &now)).To(Succeed())
	return &now
}

func now(c *v1alpha1.EtcdCluster) *v1alpha1.EtcdCluster { return read(Default, c) }

// isSeen waits until the operator has seen the spec as it is.
func isSeen(c *v1alpha1.EtcdCluster) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		now := read(g, c)
		g.Expect(now.Status.ObservedGeneration).To(Equal(now.Generation))
	}).Should(Succeed())
}

// edit changes the spec as a user would, and returns what the API server says.
func edit(c *v1alpha1.EtcdCluster, change func(*v1alpha1.EtcdClusterSpec)) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var current v1alpha1.EtcdCluster
		if err := api.Get(ctx, client.ObjectKeyFromObject(c), &current); err != nil {
			return err
		}
		change(&current.Spec)
		return api.Update(ctx, &current)
	})
}

// resize sets the size and waits until it is so.
func resize(c *v1alpha1.EtcdCluster, size int32) {
	GinkgoHelper()
	setSize(c, size)
	settles(c)
}

func setSize(c *v1alpha1.EtcdCluster, size int32) {
	GinkgoHelper()
	Expect(edit(c, func(spec *v1alpha1.EtcdClusterSpec) { spec.Size = &size })).To(Succeed())
}

// remove deletes the cluster and waits until nothing but kept volumes is left.
func remove(c *v1alpha1.EtcdCluster) {
	GinkgoHelper()
	Expect(client.IgnoreNotFound(api.Delete(ctx, c))).To(Succeed())
	Eventually(func(g Gomega) { g.Expect(left(g, c)).To(BeEmpty()) }).Should(Succeed())
}

// discard deletes the cluster and does not wait.
func discard(c *v1alpha1.EtcdCluster) {
	GinkgoHelper()
	Expect(api.Delete(ctx, c)).To(Succeed())
}

func ours(c *v1alpha1.EtcdCluster) client.MatchingLabels {
	return client.MatchingLabels{v1alpha1.LabelCluster: c.Name}
}

func podsOf(g Gomega, namespace string, labels client.MatchingLabels) []corev1.Pod {
	var list corev1.PodList
	g.Expect(api.List(ctx, &list, client.InNamespace(namespace), labels)).To(Succeed())
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items
}

// pods are the cluster's Pods, by name.
func pods(c *v1alpha1.EtcdCluster) []corev1.Pod { return podsOf(Default, c.Namespace, ours(c)) }

func pod(c *v1alpha1.EtcdCluster, name string) corev1.Pod {
	GinkgoHelper()
	return surely(func(g Gomega) corev1.Pod { // it may be gone for a moment
		var found corev1.Pod
		g.Expect(api.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &found)).To(Succeed())
		return found
	})
}

// claims are the cluster's volumes, by name.
func claims(c *v1alpha1.EtcdCluster) []corev1.PersistentVolumeClaim {
	GinkgoHelper()
	return claimsOf(Default, c)
}

func claimsOf(g Gomega, c *v1alpha1.EtcdCluster) []corev1.PersistentVolumeClaim {
	var list corev1.PersistentVolumeClaimList
	g.Expect(api.List(ctx, &list, client.InNamespace(c.Namespace), ours(c))).To(Succeed())
	slices.SortFunc(list.Items, func(a, b corev1.PersistentVolumeClaim) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items
}

// putAside are the volumes that were put aside, by name, with their UIDs.
func putAside(c *v1alpha1.EtcdCluster) map[string]string {
	GinkgoHelper()
	aside := map[string]string{}
	for _, claim := range claims(c) {
		if claim.Labels[v1alpha1.LabelQuarantined] != "" {
			aside[claim.Name] = string(claim.UID)
		}
	}
	return aside
}

// uids are the Pods by name and UID: equal before and after means that none was
// replaced.
func uids(c *v1alpha1.EtcdCluster) map[string]string { return uidsOf(Default, c) }

func uidsOf(g Gomega, c *v1alpha1.EtcdCluster) map[string]string {
	all := map[string]string{}
	for _, p := range podsOf(g, c.Namespace, ours(c)) {
		all[p.Name] = string(p.UID)
	}
	return all
}

// stays checks that something holds for a while.
func stays(lasts time.Duration, check func(g Gomega)) {
	GinkgoHelper()
	Consistently(check).WithTimeout(lasts).Should(Succeed())
}

func oneMember(spec *v1alpha1.EtcdClusterSpec) { spec.Size = ptr.To[int32](1) }
