package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// movedData is what a backup tool does that maps one namespace to another: the volume of a cluster
// is claimed by the same name elsewhere. The data goes back to where it belongs, and is all there.
func movedData() {
	retained := func(spec *v1alpha1.EtcdClusterSpec) {
		oneMember(spec)
		spec.DeletionPolicy = v1alpha1.Retain
	}
	for _, mark := range []struct {
		name    string
		missing []string // annotations of the volume
		says    string
	}{
		{"a volume says where it belongs, and is not mounted", nil, "PersistentVolumeClaim moved-0 is in the way"},
		{"etcd says where it belongs, if the volume does not", []string{v1alpha1.AnnotationNamespace}, "etcd lists its member at"},
	} {
		It(mark.name, func() {
			namespace, elsewhere := newNamespace(), newNamespace()
			startOperator(namespace + "," + elsewhere)
			c := create(newCluster(namespace, "moved", retained))
			put(c, "key", "survives")
			id := now(c).Status.ClusterID
			remove(c)

			claim := rebind(namespace, elsewhere, "moved-0", mark.missing...)
			stranger := newCluster(elsewhere, "moved", retained)
			Expect(api.Create(ctx, stranger)).To(Succeed())
			says(stranger, v1alpha1.ConditionDegraded, v1alpha1.ReasonNeedsHelp, mark.says)
			Expect(conditionOf(now(stranger), v1alpha1.ConditionDegraded).Message).To(And(
				ContainSubstring(namespace), Not(ContainSubstring("member remove"))))
			if mark.missing == nil {
				Expect(pods(stranger)).To(BeEmpty())
			}
			remove(stranger)
			Expect(api.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed(), "the volume is kept")

			rebind(elsewhere, namespace, "moved-0") // with what the operator has written on it meanwhile
			again := create(newCluster(namespace, "moved", retained))
			Expect(value(again, "key")).To(Equal("survives"))
			Expect(now(again).Status.ClusterID).To(Equal(id))
			discard(again)
		})
	}
}

// rebind gives a volume to a claim of the same name, labels and annotations in another namespace.
func rebind(from, to, name string, without ...string) *corev1.PersistentVolumeClaim {
	GinkgoHelper()
	var old corev1.PersistentVolumeClaim
	Expect(api.Get(ctx, types.NamespacedName{Namespace: from, Name: name}, &old)).To(Succeed())
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: old.Spec.VolumeName}}
	change := func(patch string) {
		GinkgoHelper()
		Expect(api.Patch(ctx, volume, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
	}
	change(`{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`)
	Expect(api.Delete(ctx, &old)).To(Succeed())
	Eventually(func() error { return api.Get(ctx, client.ObjectKeyFromObject(&old), &corev1.PersistentVolumeClaim{}) }).ShouldNot(Succeed())
	change(`{"spec":{"claimRef":null}}`)

	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: to, Name: name, Labels: old.Labels, Annotations: map[string]string{}},
		Spec:       old.Spec,
	}
	for key, value := range old.Annotations {
		if key != "pv.kubernetes.io/bind-completed" && key != "pv.kubernetes.io/bound-by-controller" {
			claim.Annotations[key] = value
		}
	}
	for _, key := range without {
		delete(claim.Annotations, key)
	}
	Expect(api.Create(ctx, claim)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(api.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		g.Expect(claim.Status.Phase).To(Equal(corev1.ClaimBound))
	}).Should(Succeed())
	change(`{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}`)
	return claim
}
