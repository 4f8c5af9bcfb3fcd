package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

func lostAuthorities() {
	var c *v1alpha1.EtcdCluster

	BeforeEach(func() {
		namespace := newNamespace()
		startOperator(namespace)
		c = create(newCluster(namespace, "orphan"))
		put(c, "before", "kept")
	})

	for of, nameOf := range map[string]func(*v1alpha1.EtcdCluster) string{
		"clients": (*v1alpha1.EtcdCluster).ClientCA, "peers": (*v1alpha1.EtcdCluster).PeerCA,
	} {
		It("fault 63: an authority that is deleted is not replaced while members run by it, and goes on when it is restored: of "+of, func() {
			var secret corev1.Secret
			key := client.ObjectKey{Namespace: c.Namespace, Name: nameOf(c)}
			Expect(api.Get(ctx, key, &secret)).To(Succeed())
			Expect(api.Delete(ctx, secret.DeepCopy())).To(Succeed())
			says(c, v1alpha1.ConditionDegraded, v1alpha1.ReasonNeedsHelp, "Secret "+key.Name)

			By("a member that restarts hears the others and is heard")
			victim, _ := aFollower(c)
			deletePod(c, victim)
			comesBack(c, victim)
			Expect(value(c, "before")).To(Equal("kept"))
			stays(5*time.Second, func(g Gomega) {
				err := api.Get(ctx, key, &corev1.Secret{})
				g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "another authority was made")
			})
			put(c, "after", "written")

			By("restoring it from a backup")
			secret.ObjectMeta = metav1.ObjectMeta{
				Namespace: key.Namespace, Name: key.Name, Labels: secret.Labels, OwnerReferences: secret.OwnerReferences,
			}
			Expect(api.Create(ctx, &secret)).To(Succeed())
			settles(c)
			Expect(value(c, "after")).To(Equal("written"))
		})
	}
}
