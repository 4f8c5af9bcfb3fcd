// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"os"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// namespaces are those in use, for what is kept of a failure.
var namespaces []string

// runLabel is on namespaces. Its value tells runs apart that go on side by side (E2E_RUN): each clears away only what is its own.
const runLabel = "etcd-operator.dev/e2e"

var runName = cmp.Or(os.Getenv("E2E_RUN"), "true")

// newNamespace makes a namespace under the strictest Pod Security level, which
// goes with the spec or container.
func newNamespace() string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "e2e-",
		Labels:       map[string]string{"pod-security.kubernetes.io/enforce": "restricted", runLabel: runName},
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

// allow lets a namespace have so many of one kind, and no more.
func allow(namespace string, kind corev1.ResourceName, count string) *corev1.ResourceQuota {
	GinkgoHelper()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "few-" + string(kind)},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{kind: resource.MustParse(count)}},
	}
	Expect(api.Create(ctx, quota)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(api.Get(ctx, keyOf(quota), quota)).To(Succeed())
		g.Expect(quota.Status.Hard).NotTo(BeEmpty())
	}).Should(Succeed())
	return quota
}

// leftoversGo clears away what a run left that was interrupted: it would go on beside this
// one, and in the end not all would be gone.
func leftoversGo() {
	var list corev1.NamespaceList
	Expect(api.List(ctx, &list, client.MatchingLabels{runLabel: runName})).To(Succeed())
	for i := range list.Items {
		AddReportEntry("left by a run that was interrupted", list.Items[i].Name)
		letUsersGo(list.Items[i].Name)
		Expect(client.IgnoreNotFound(api.Delete(ctx, &list.Items[i]))).To(Succeed())
	}
	allNamespacesGo()
}

// allNamespacesGo waits for those that were deleted: in the end nothing is left. One that
// is touched is looked at again sooner than after half of its Pods' grace.
func allNamespacesGo() {
	Eventually(func(g Gomega) {
		var list corev1.NamespaceList
		g.Expect(api.List(ctx, &list, client.MatchingLabels{runLabel: runName})).To(Succeed())
		for i := range list.Items {
			touch(g, &list.Items[i])
		}
		g.Expect(list.Items).To(BeEmpty())
	}).WithPolling(time.Second).Should(Succeed())
}

// touch changes nothing that matters of an object.
func touch(g Gomega, object client.Object) {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"touched":"`+time.Now().String()+`"}}}`))
	g.Expect(client.IgnoreNotFound(api.Patch(ctx, object, patch))).To(Succeed())
}
