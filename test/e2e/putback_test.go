package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// putBack is what backup tools do: objects come back without status and owners, under new UIDs.
func putBack() {
	var namespace string

	BeforeEach(func() {
		namespace = newNamespace()
		startOperator(namespace)
	})

	retained := func(spec *v1alpha1.EtcdClusterSpec) { spec.DeletionPolicy = v1alpha1.Retain }
	isGone := func(c *v1alpha1.EtcdCluster) {
		GinkgoHelper()
		Eventually(func() bool { return apierrors.IsNotFound(api.Get(ctx, client.ObjectKeyFromObject(c), c.DeepCopy())) }).Should(BeTrue())
	}
	owned := func(c *v1alpha1.EtcdCluster) {
		GinkgoHelper()
		uid := now(c).UID
		Eventually(func(g Gomega) {
			for _, object := range exported(g, c) {
				owner := metav1.GetControllerOf(object)
				g.Expect(owner).NotTo(BeNil(), object.GetName())
				g.Expect(owner.UID).To(Equal(uid), object.GetName())
			}
		}).Should(Succeed())
	}

	It("adopts all that an EtcdCluster left behind, and restarts nobody", func() {
		c := create(newCluster(namespace, "orphaned", retained))
		put(c, "key", "survives")
		id, before := now(c).Status.ClusterID, uids(c)
		Expect(api.Delete(ctx, c, client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
		isGone(c)
		again := create(newCluster(namespace, "orphaned", retained))
		Expect(value(again, "key")).To(Equal("survives"))
		Expect(now(again).Status.ClusterID).To(Equal(id))
		Expect(uids(again)).To(Equal(before))
		owned(again)
		discard(again)
	})

	It("adopts what was exported and created again, over volumes that were kept", func() {
		c := create(newCluster(namespace, "exported", retained))
		put(c, "key", "survives")
		id, known := now(c).Status.ClusterID, members(c)
		objects := exported(Default, c)
		remove(c)
		for _, object := range objects {
			Expect(api.Create(ctx, stripped(object))).To(Succeed())
		}
		again := create(newCluster(namespace, "exported", retained))
		Expect(value(again, "key")).To(Equal("survives"))
		Expect(now(again).Status.ClusterID).To(Equal(id))
		Expect(members(again)).To(Equal(known))
		owned(again)
		discard(again)
	})
}

// exported are the objects of a cluster that the operator owns.
func exported(g Gomega, c *v1alpha1.EtcdCluster) []client.Object {
	var all []client.Object
	for _, list := range []client.ObjectList{
		&corev1.SecretList{}, &corev1.ServiceList{}, &corev1.ConfigMapList{}, &policyv1.PodDisruptionBudgetList{}, &corev1.PodList{},
	} {
		g.Expect(api.List(ctx, list, client.InNamespace(c.Namespace), ours(c))).To(Succeed())
		g.Expect(meta.EachListItem(list, func(object runtime.Object) error {
			all = append(all, object.(client.Object)) //nolint:forcetypeassert // every kind above is one
			return nil
		})).To(Succeed())
	}
	g.Expect(all).NotTo(BeEmpty())
	return all
}

// stripped is an object as a backup tool puts it back.
func stripped(object client.Object) client.Object {
	object.SetUID("")
	object.SetResourceVersion("")
	object.SetOwnerReferences(nil)
	object.SetManagedFields(nil)
	switch o := object.(type) {
	case *corev1.Service:
		o.Status = corev1.ServiceStatus{}
		if o.Spec.ClusterIP != corev1.ClusterIPNone {
			o.Spec.ClusterIP, o.Spec.ClusterIPs = "", nil
		}
	case *policyv1.PodDisruptionBudget:
		o.Status = policyv1.PodDisruptionBudgetStatus{}
	case *corev1.Pod:
		o.Status, o.Spec.NodeName = corev1.PodStatus{}, ""
	}
	return object
}
