// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// drift is how long a change with etcdctl may last: half as long again as the pause between two looks, and some.
const drift = 9 * time.Minute

// users are those of a cluster on which authentication is turned on, and off again.
func users() {
	var c *v1beta1.EtcdCluster
	var orders *v1beta1.EtcdUser

	BeforeAll(func() {
		namespace := newNamespace()
		startOperator(namespace)
		DeferCleanup(usersGo, namespace)
		c = create(newCluster(namespace, "private"))
		newVolumeStore(namespace, "offsite")
		newRole(c, "orders", "/orders/")
		orders = newUser(c, "orders", v1beta1.CertificateAuthentication, "orders")
		isInPlace(orders)
	})

	It("are shown by kubectl get with their columns", Label("gate"), func() {
		table := asTable("etcdusers", orders)
		Expect(table.column("Cluster")).To(Equal("private"))
		Expect(table.column("User")).To(Equal("orders"))
		Expect(table.column("Roles")).To(ContainSubstring("orders"))
		Expect(table.column("Ready")).To(Equal("True"))
		Expect(table.column("Age")).NotTo(BeEmpty())
	})

	It("may do everything before authentication is enabled, and what their roles allow after", Label("gate"), func() {
		etcd := as(c, orders.Status.Binding.Name)
		Expect(puts(etcd, "/others/a")()).To(Succeed())
		switchAuth(c, true)
		Expect(puts(etcd, "/orders/a")()).To(Succeed())
		Expect(puts(etcd, "/others/a")()).To(refuses())
		_, err := etcd.Get(ctx, "/orders", clientv3.WithRange("/z"))
		Expect(err).To(refuses(), "of more than the prefix")
	})

	It("are nobody with the certificate that everybody mounts, until there is a user of its name", func() {
		everybody := as(c, c.ClientSecret())
		Expect(puts(everybody, "/orders/b")()).To(refuses())
		newRole(c, "everybody", "/public/")
		isInPlace(newUser(c, "client", v1beta1.CertificateAuthentication, "everybody"))
		Expect(puts(everybody, "/public/b")()).To(Succeed())
		Expect(puts(everybody, "/orders/b")()).To(refuses())
	})

	It("prove by a password who they are, and fault 71: a Secret that is deleted is made again", func() {
		u := newUser(c, "worker", v1beta1.PasswordAuthentication, "orders")
		isInPlace(u)
		Expect(puts(as(c, u.Status.Binding.Name), "/orders/c")()).To(Succeed())
		first := secretNamed(c, u.Status.Binding.Name)
		Expect(api.Delete(ctx, first)).To(Succeed())
		lookAt(u)
		Eventually(func(g Gomega) {
			second := secretNamed(c, u.Status.Binding.Name)
			g.Expect(second.UID).NotTo(Equal(first.UID))
			g.Expect(api.Get(ctx, keyOf(u), u)).To(Succeed())
			g.Expect(u.Status.PasswordVersion).To(HaveSuffix("/" + second.ResourceVersion))
		}).Should(Succeed())
		Expect(puts(as(c, u.Status.Binding.Name), "/orders/c")()).To(Succeed())
	})

	It("do not keep the operator from its work: it scales and backs up", func() {
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](5) })).To(Succeed())
		settles(c)
		Expect(now(c).Status.Members).To(HaveLen(5))
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](3) })).To(Succeed())
		settles(c)
		back(c, "offsite", "with-users")
		Expect(puts(as(c, orders.Status.Binding.Name), "/orders/d")()).To(Succeed())
	})

	It("fault 84: are in etcd already, with a password that somebody knows, or as one that can have none", func() {
		root, known := as(c, c.RootSecret()), "known-to-a-stranger"
		_, err := root.UserAdd(ctx, "taken", known)
		Expect(err).NotTo(HaveOccurred())
		_, err = root.Authenticate(ctx, "taken", known)
		Expect(err).NotTo(HaveOccurred())
		_, err = root.UserAddWithOptions(ctx, "bare", "", &clientv3.UserAddOptions{NoPassword: true})
		Expect(err).NotTo(HaveOccurred())
		taken := newUser(c, "taken", v1beta1.CertificateAuthentication, "orders")
		bare := newUser(c, "bare", v1beta1.PasswordAuthentication, "orders")
		for _, u := range []*v1beta1.EtcdUser{taken, bare} {
			isInPlace(u)
			Expect(puts(as(c, u.Status.Binding.Name), "/orders/already")()).To(Succeed())
		}
		_, err = root.Authenticate(ctx, "taken", known)
		Expect(err).To(HaveOccurred(), "by the password of before")
		for _, u := range []*v1beta1.EtcdUser{taken, bare} {
			Expect(api.Delete(ctx, u)).To(Succeed())
			Eventually(func() bool { return apierrors.IsNotFound(api.Get(ctx, keyOf(u), u)) }).Should(BeTrue())
		}
	})

	It("fault 70: two objects for one user", func() {
		twice := &v1beta1.EtcdUser{
			ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: "twice"},
			Spec:       v1beta1.EtcdUserSpec{Cluster: c.Name, UserName: "orders", Roles: []string{"everybody"}},
		}
		Expect(api.Create(ctx, twice)).To(Succeed())
		Eventually(reasonOf(twice)).Should(Equal(v1beta1.ReasonNameTaken))
		Expect(puts(as(c, orders.Status.Binding.Name), "/orders/e")()).To(Succeed())
		Expect(api.Delete(ctx, twice)).To(Succeed())
	})

	It("are gone at once when the object is deleted, on the connection that they have", func() {
		etcd := as(c, orders.Status.Binding.Name)
		Expect(puts(etcd, "/orders/f")()).To(Succeed())
		Expect(api.Delete(ctx, orders)).To(Succeed())
		Eventually(func() bool { return apierrors.IsNotFound(api.Get(ctx, keyOf(orders), orders)) }).Should(BeTrue())
		Expect(puts(etcd, "/orders/f")()).To(refuses())
	})

	It("stay in etcd when authentication is disabled", func() {
		everybody := as(c, c.ClientSecret())
		switchAuth(c, false)
		Expect(puts(everybody, "/anything")()).To(Succeed())
		found, err := everybody.UserList(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(found.Users).To(ConsistOf("client", "root", "worker"))
	})

	It("fault 72: authentication that is enabled with etcdctl", func() {
		root := as(c, c.RootSecret())
		Expect(func() error { _, err := root.AuthEnable(ctx); return err }()).To(Succeed())
		Eventually(func(g Gomega) {
			touch(g, now(c)) // any change of the object has it looked at, which otherwise takes minutes
			g.Expect(conditionOf(read(g, c), v1beta1.ConditionAuthEnabled)).To(HaveField("Reason", v1beta1.ReasonAuthEnabledByHand))
		}).WithPolling(2 * time.Second).Should(Succeed())
		loseAFollower(c)
		settles(c)
		_, err := root.AuthDisable(ctx)
		Expect(err).NotTo(HaveOccurred())
	})
}

// loseAFollower deletes the Pod of one member that does not lead.
func loseAFollower(c *v1beta1.EtcdCluster) {
	GinkgoHelper()
	victim, _ := aFollower(c)
	comesBack(c, deletePod(c, victim.Name))
}

// driftOfUsers is what somebody changes with etcdctl. It takes as long as the pause between two looks.
func driftOfUsers() {
	It("fault 74: is put back, and what no object names is left alone", func() {
		namespace := newNamespace()
		startOperator(namespace)
		DeferCleanup(usersGo, namespace)
		c := create(newCluster(namespace, "drifting", oneMember))
		newRole(c, "app", "/app/")
		u := newUser(c, "app", v1beta1.CertificateAuthentication, "app")
		isInPlace(u)
		switchAuth(c, true)
		root := as(c, c.RootSecret())
		for _, change := range []func(context.Context) error{
			func(ctx context.Context) error { _, err := root.UserGrantRole(ctx, "app", "root"); return err },
			func(ctx context.Context) error { _, err := root.RoleAdd(ctx, "theirs"); return err },
			func(ctx context.Context) error {
				_, err := root.RoleGrantPermission(ctx, "app", "/others/", "/others0", clientv3.PermissionType(clientv3.PermReadWrite))
				return err
			},
		} {
			Expect(change(ctx)).To(Succeed())
		}
		etcd := as(c, u.Status.Binding.Name)
		Expect(puts(etcd, "/others/a")()).To(Succeed())
		Eventually(puts(etcd, "/others/a")).WithTimeout(drift).WithPolling(time.Second).Should(refuses())
		Expect(puts(etcd, "/app/a")()).To(Succeed())
		roles, err := root.RoleList(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(roles.Roles).To(ConsistOf("app", "root", "theirs"))
	})
}

// usersUnderLoad switches authentication while clients are busy that are a user.
func usersUnderLoad() {
	It("are let in while authentication is turned on and off", func() {
		needsService()
		namespace := newNamespace()
		startOperator(namespace)
		DeferCleanup(usersGo, namespace)
		c := create(newCluster(namespace, "switched"))
		newRole(c, "everything", "")
		isInPlace(newUser(c, "client", v1beta1.CertificateAuthentication, "everything"))
		watch := watchElections(c)
		result, beats := busy(c, func() {
			switchAuth(c, true)
			time.Sleep(2 * time.Second)
			switchAuth(c, false)
		})
		Expect(watch.end()).To(BeZero(), "elections")
		Expect(beats.Refused).To(BeZero())
		Expect(result.Gap).To(BeNumerically("<", outage))
	})
}
