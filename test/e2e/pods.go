// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/witness"
)

func ours(c *v1beta1.EtcdCluster) client.MatchingLabels {
	return client.MatchingLabels{v1beta1.LabelCluster: c.Name}
}

// pods are the cluster's Pods, by name.
func pods(c *v1beta1.EtcdCluster) []corev1.Pod { return podsOf(Default, c.Namespace, ours(c)) }

func podsOf(g Gomega, namespace string, labels client.MatchingLabels) []corev1.Pod {
	var list corev1.PodList
	g.Expect(api.List(ctx, &list, client.InNamespace(namespace), labels)).To(Succeed())
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items
}

func pod(c *v1beta1.EtcdCluster, name string) corev1.Pod {
	GinkgoHelper()
	return surely(func(g Gomega) corev1.Pod { // it may be gone for a moment
		var found corev1.Pod
		g.Expect(api.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &found)).To(Succeed())
		return found
	})
}

// aReadyPod is the name of the first Pod that is ready.
func aReadyPod(c *v1beta1.EtcdCluster) string {
	GinkgoHelper()
	var name string
	Eventually(func(g Gomega) {
		all := podsOf(g, c.Namespace, ours(c))
		first := slices.IndexFunc(all, witness.IsReady)
		g.Expect(first).To(BeNumerically(">=", 0), "no pod is ready")
		name = all[first].Name
	}).Should(Succeed())
	return name
}

// aFollower is the Pod of a member that does not lead, and the names of all others.
func aFollower(c *v1beta1.EtcdCluster) (corev1.Pod, []string) {
	GinkgoHelper()
	_, leader, _ := standing(c)
	var chosen corev1.Pod
	var others []string
	for _, p := range pods(c) {
		if p.Name != leader && chosen.Name == "" {
			chosen = p
		} else {
			others = append(others, p.Name)
		}
	}
	return chosen, others
}

// uids are the Pods by name and UID: equal before and after means that none was
// replaced.
func uids(c *v1beta1.EtcdCluster) map[string]string { return uidsOf(Default, c) }

func uidsOf(g Gomega, c *v1beta1.EtcdCluster) map[string]string {
	all := map[string]string{}
	for _, p := range podsOf(g, c.Namespace, ours(c)) {
		all[p.Name] = string(p.UID)
	}
	return all
}

// restarts is how often the containers of each Pod were started again.
func restarts(c *v1beta1.EtcdCluster) map[string]int32 { return restartsOf(Default, c) }

func restartsOf(g Gomega, c *v1beta1.EtcdCluster) map[string]int32 {
	all := map[string]int32{}
	for _, p := range podsOf(g, c.Namespace, ours(c)) {
		for _, status := range p.Status.ContainerStatuses {
			all[p.Name] += status.RestartCount
		}
	}
	return all
}

// A life of a Pod ends when another takes its place, or when its container is started again
// or with another image.
type life struct {
	uid, container, image string
	restarts              int32
}

func lives(c *v1beta1.EtcdCluster) map[string]life {
	all := map[string]life{}
	for _, p := range pods(c) {
		for _, container := range p.Status.ContainerStatuses {
			all[p.Name] = life{string(p.UID), container.ContainerID, container.ImageID, container.RestartCount}
		}
	}
	return all
}

func lastEnd(c *v1beta1.EtcdCluster, member string) string {
	GinkgoHelper()
	for _, status := range pod(c, member).Status.ContainerStatuses {
		if end := status.LastTerminationState.Terminated; end != nil {
			return fmt.Sprintf("%s, exit code %d", end.Reason, end.ExitCode)
		}
	}
	return ""
}

const noImage = "gcr.io/etcd-development/etcd:v3.6.9999"

// untouched is how many Pods are the same as before, and run what they ran.
func untouched(g Gomega, c *v1beta1.EtcdCluster, before map[string]string) int {
	same := 0
	for _, p := range podsOf(g, c.Namespace, ours(c)) {
		if before[p.Name] == string(p.UID) && p.DeletionTimestamp == nil && p.Spec.Containers[0].Image != noImage {
			same++
		}
	}
	return same
}

// unexchanged is how many Pods are ready with the image of 3.6.16.
func unexchanged(g Gomega, c *v1beta1.EtcdCluster) int {
	count := 0
	for _, p := range podsOf(g, c.Namespace, ours(c)) {
		if witness.IsReady(p) && p.Spec.Containers[0].Image == image+"3.6.16" {
			count++
		}
	}
	return count
}

// deletePod deletes a Pod, given itself or its name.
func deletePod(c *v1beta1.EtcdCluster, which any) corev1.Pod {
	GinkgoHelper()
	victim, ok := which.(corev1.Pod)
	if !ok {
		victim = pod(c, which.(string)) //nolint:forcetypeassert // one of two
	}
	Expect(client.IgnoreNotFound(api.Delete(ctx, &victim))).To(Succeed())
	return victim
}

func evict(c *v1beta1.EtcdCluster, name string) error {
	victim := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name}}
	return api.SubResource("eviction").Create(ctx, victim, &policyv1.Eviction{ObjectMeta: victim.ObjectMeta})
}

// lose deletes members' volumes for good, and the Pods that keep them alive.
func lose(c *v1beta1.EtcdCluster, members ...string) {
	GinkgoHelper()
	for _, name := range members {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name}}
		Expect(api.Delete(ctx, claim)).To(Succeed())
	}
	for _, name := range members { // the Pod of one that could not start may be gone for a moment
		victim := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name}}
		Expect(client.IgnoreNotFound(api.Delete(ctx, victim))).To(Succeed())
	}
}

// loseVolume deletes a member's volume and Pod, and waits until etcd no longer lists it.
func loseVolume(c *v1beta1.EtcdCluster, member string) {
	GinkgoHelper()
	lose(c, member)
	Eventually(membersOf).WithArguments(c).ShouldNot(HaveKey(member))
}

// comesBack waits for another Pod of the same name that is ready.
func comesBack(c *v1beta1.EtcdCluster, gone corev1.Pod) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		var back corev1.Pod
		g.Expect(api.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: gone.Name}, &back)).To(Succeed())
		g.Expect(back.UID).NotTo(Equal(gone.UID))
		g.Expect(witness.IsReady(back)).To(BeTrue())
	}).Should(Succeed(), "pod %s to come back", gone.Name)
}

// harmless is what Pod Security restricted wants of a container.
func harmless() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
