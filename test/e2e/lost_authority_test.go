// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func lostAuthorities() {
	for of, nameOf := range map[string]func(*v1beta1.EtcdCluster) string{
		"client": (*v1beta1.EtcdCluster).ClientCA, "peer": (*v1beta1.EtcdCluster).PeerCA,
	} {
		It("fault 63: an authority that is deleted is replaced while members and clients go on: of "+of+"s", func() {
			needsService()
			namespace := newNamespace()
			startOperator(namespace)
			c := create(newCluster(namespace, "orphan"))
			put(c, "before", "kept")
			signed := signers(c)
			w := startMounted(c)
			Expect(api.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: nameOf(c)}})).To(Succeed())
			lookAt(c)
			tells(c, "AuthorityIntroduced")

			By("a member that restarts meanwhile hears the others and is heard")
			Eventually(func(g Gomega) { // when the others do not restart, too
				g.Expect(read(g, c).Status.Authorities).To(ContainElement(HaveField("Phase", v1beta1.RotationSwitched)))
			}).WithTimeout(rotationTakes).Should(Succeed())
			victim, _ := aFollower(c)
			deletePod(c, victim)
			comesBack(c, victim)
			Expect(value(c, "before")).To(Equal("kept"))

			isRotated(c, signed, of)
			Expect(w.end().failed).To(BeEmpty())
			Expect(value(c, "before")).To(Equal("kept"))
			var secret corev1.Secret
			Expect(api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: nameOf(c)}, &secret)).To(Succeed())
			Expect(secret.Annotations).To(HaveKeyWithValue(v1beta1.AnnotationRotatedBecause, "Lost"))
		})
	}
}
