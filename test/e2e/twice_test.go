package e2e

import (
	"fmt"
	"maps"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// twoInstallations runs the deployed operator once more, from another namespace.
func twoInstallations() {
	var c *v1alpha1.EtcdCluster
	var second string // namespace of the second installation
	var replicas int32

	BeforeAll(func() {
		var found appsv1.Deployment
		Expect(api.Get(ctx, deployment, &found)).To(Succeed(), "make images deploy")
		replicas = max(ptr.Deref(found.Spec.Replicas, 1), ptr.Deref(slept, 1))
		runDeployed(replicas)
		DeferCleanup(func() { runDeployed(replicas) })
		c = create(newCluster(newNamespace(), "twice"))
		put(c, "key", "value")
		isLookedAfterBy(c, deployment.Namespace)
		second = installAgain()
	})

	It("fault 12: the second one leaves a cluster of the first alone and says so, while the first scales it", func() {
		says12 := fmt.Sprintf("the operator of lease %s/etcd-operator.dev does nothing to it", second)
		By("waiting for the second one to say that it does nothing")
		Eventually(func(g Gomega) { g.Expect(notesOf(g, c, "OtherOperator")).To(ContainElement(ContainSubstring(says12))) }).Should(Succeed())
		resize(c, 5)
		hasOnlyEverHadFive(c)
		Expect(value(c, "key")).To(Equal("value"))
		isLookedAfterBy(c, deployment.Namespace)
	})

	It("fault 12: the second one takes over when the first is gone, and heals", func() {
		before := members(c)
		By("scaling the first one to nothing")
		runDeployed(0)
		victim, _ := aFollower(c)
		deletePod(c, victim)
		comesBack(c, victim)
		isLookedAfterBy(c, second)
		settles(c)
		Expect(members(c)).To(Equal(before))
		Eventually(func(g Gomega) {
			g.Expect(notesOf(g, c, "OperatorChanged")).To(ContainElement(ContainSubstring(second)))
		}).Should(Succeed())
	})

	It("fault 12: the first one is passive when it is back, until the second is removed", func() {
		By("bringing the first one back")
		runDeployed(replicas)
		passive := fmt.Sprintf("the operator of lease %s/etcd-operator.dev does nothing to it", deployment.Namespace)
		Eventually(func(g Gomega) { g.Expect(notesOf(g, c, "OtherOperator")).To(ContainElement(ContainSubstring(passive))) }).Should(Succeed())
		victim, _ := aFollower(c)
		deletePod(c, victim)
		comesBack(c, victim)
		isLookedAfterBy(c, second)

		By("removing the second one; the first looks again within half a minute")
		again := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: second, Name: deployment.Name}}
		Expect(api.Delete(ctx, again)).To(Succeed())
		isLookedAfterBy(c, deployment.Namespace)
		resize(c, 3)
		hasOnlyEverHadFive(c)
		Expect(value(c, "key")).To(Equal("value"))
	})
}

// hasOnlyEverHadFive checks that two operators did not each make members: of as many
// as were ever wanted at once, none had to be made a second time.
func hasOnlyEverHadFive(c *v1alpha1.EtcdCluster) {
	GinkgoHelper()
	Expect(now(c).Status.NextSerial).To(Equal(int64(5)))
	Expect(claims(c)).To(HaveLen(5))
}

// isLookedAfterBy waits until the status names the installation in that namespace.
func isLookedAfterBy(c *v1alpha1.EtcdCluster, namespace string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(read(g, c).Status.Operator).To(Equal(namespace + "/etcd-operator.dev"))
	}).WithTimeout(time.Minute).Should(Succeed())
}

// runDeployed scales the deployed operator and waits until it is so.
func runDeployed(replicas int32) {
	GinkgoHelper()
	scaleDeployed(replicas)
	Eventually(func(g Gomega) {
		var found appsv1.Deployment
		g.Expect(api.Get(ctx, deployment, &found)).To(Succeed())
		g.Expect(found.Status.ObservedGeneration).To(Equal(found.Generation))
		g.Expect(found.Status.ReadyReplicas).To(Equal(replicas))
		g.Expect(operatorPods(g)).To(HaveLen(int(replicas)))
	}).Should(Succeed())
}

// installAgain installs the deployed operator in another namespace too, with the same
// rights, and returns its name.
func installAgain() string {
	GinkgoHelper()
	namespace := newNamespace()
	var found appsv1.Deployment
	Expect(api.Get(ctx, deployment, &found)).To(Succeed())
	account := found.Spec.Template.Spec.ServiceAccountName
	Expect(api.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}})).To(Succeed())
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: account}}

	var whole rbacv1.ClusterRoleBinding
	Expect(api.Get(ctx, client.ObjectKey{Name: "etcd-operator-manager-rolebinding"}, &whole)).To(Succeed())
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-operator-"}, RoleRef: whole.RoleRef, Subjects: subjects,
	}
	Expect(api.Create(ctx, binding)).To(Succeed())
	DeferCleanup(func() { Expect(api.Delete(ctx, binding)).To(Succeed()) })

	var role rbacv1.Role
	lease := client.ObjectKey{Namespace: deployment.Namespace, Name: "etcd-operator-leader-election-role"}
	Expect(api.Get(ctx, lease, &role)).To(Succeed())
	there := metav1.ObjectMeta{Namespace: namespace, Name: role.Name}
	Expect(api.Create(ctx, &rbacv1.Role{ObjectMeta: there, Rules: role.Rules})).To(Succeed())
	Expect(api.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: there, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}, Subjects: subjects,
	})).To(Succeed())

	found.Spec.Replicas = ptr.To[int32](1)
	Expect(api.Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: found.Name, Labels: found.Labels}, Spec: found.Spec,
	})).To(Succeed())
	return namespace
}

// olderOperator makes an operator old, by a status that only a newer one would write.
func olderOperator() {
	It("fault 13: it changes nothing in the middle of a scale-up and says so; set back, it goes on", func() {
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "older"))
		put(c, "key", "value")
		setSize(c, 5)
		Eventually(func(g Gomega) { g.Expect(read(g, c).Status.NextSerial).To(Equal(int64(4))) }).
			WithPolling(10 * time.Millisecond).Should(Succeed())
		setFormat(c, v1alpha1.StatusFormat+1)
		By("waiting for the operator to say that a newer one has written the status")
		Eventually(func(g Gomega) { g.Expect(notesOf(g, c, "NewerStatus")).NotTo(BeEmpty()) }).Should(Succeed())

		ids := func() []string { // a learner gets its name only when it has started
			return slices.Sorted(maps.Values(members(c, "older-0", "older-1", "older-2")))
		}
		before, running, listed := now(c), uids(c), ids()
		Expect(before.Status.NextSerial).To(Equal(int64(4)), "it is not done")
		victim, _ := aFollower(c)
		deletePod(c, victim)
		Eventually(uidsOf).WithArguments(c).ShouldNot(HaveKey(victim.Name))
		delete(running, victim.Name)
		By("watching it do nothing for ten seconds")
		stays(10*time.Second, func(g Gomega) {
			g.Expect(read(g, c).ResourceVersion).To(Equal(before.ResourceVersion))
			g.Expect(uids(c)).To(Equal(running))
		})
		Expect(ids()).To(Equal(listed))

		setFormat(c, v1alpha1.StatusFormat)
		settles(c)
		Expect(now(c).Status.NextSerial).To(Equal(int64(5)))
		Expect(value(c, "key")).To(Equal("value"))
	})
}

func setFormat(c *v1alpha1.EtcdCluster, format int32) {
	GinkgoHelper()
	changed := now(c)
	before := client.MergeFrom(changed.DeepCopy())
	changed.Status.Format = format
	Expect(api.Status().Patch(ctx, changed, before)).To(Succeed())
}
