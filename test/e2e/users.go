// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// newRole makes an EtcdRole that may read and write the keys with a prefix.
func newRole(c *v1beta1.EtcdCluster, name, prefix string) *v1beta1.EtcdRole {
	GinkgoHelper()
	r := &v1beta1.EtcdRole{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name},
		Spec: v1beta1.EtcdRoleSpec{Cluster: c.Name, Permissions: []v1beta1.EtcdPermission{
			{Access: v1beta1.ReadWriteAccess, Prefix: ptr.To(prefix)},
		}},
	}
	Expect(api.Create(ctx, r)).To(Succeed())
	return r
}

// newUser makes an EtcdUser with these roles.
func newUser(c *v1beta1.EtcdCluster, name string, how v1beta1.EtcdAuthentication, roles ...string) *v1beta1.EtcdUser {
	GinkgoHelper()
	u := &v1beta1.EtcdUser{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name},
		Spec:       v1beta1.EtcdUserSpec{Cluster: c.Name, Roles: roles, Authentication: how},
	}
	Expect(api.Create(ctx, u)).To(Succeed())
	return u
}

// usersGo deletes all users and roles of a namespace: without an operator nobody takes their finalizer off. If this one does not in
// time, the spec fails, and the namespace can go even so.
func usersGo(namespace string) {
	defer letUsersGo(namespace)
	for _, kind := range []client.Object{&v1beta1.EtcdUser{}, &v1beta1.EtcdRole{}} {
		Expect(api.DeleteAllOf(ctx, kind, client.InNamespace(namespace))).To(Succeed())
	}
	Eventually(func(g Gomega) {
		var users v1beta1.EtcdUserList
		var roles v1beta1.EtcdRoleList
		g.Expect(api.List(ctx, &users, client.InNamespace(namespace))).To(Succeed())
		g.Expect(api.List(ctx, &roles, client.InNamespace(namespace))).To(Succeed())
		g.Expect(users.Items).To(BeEmpty())
		g.Expect(roles.Items).To(BeEmpty())
	}).Should(Succeed())
}

// letUsersGo takes the finalizer off all users and roles of a namespace that are left.
func letUsersGo(namespace string) {
	var users v1beta1.EtcdUserList
	var roles v1beta1.EtcdRoleList
	Expect(api.List(ctx, &users, client.InNamespace(namespace))).To(Succeed())
	Expect(api.List(ctx, &roles, client.InNamespace(namespace))).To(Succeed())
	var left []client.Object
	for i := range users.Items {
		left = append(left, &users.Items[i])
	}
	for i := range roles.Items {
		left = append(left, &roles.Items[i])
	}
	for _, object := range left {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		Expect(client.IgnoreNotFound(api.Patch(ctx, object, patch))).To(Succeed())
	}
}

// isInPlace waits until etcd has the user and the Secret is there.
func isInPlace(u *v1beta1.EtcdUser) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(api.Get(ctx, keyOf(u), u)).To(Succeed())
		g.Expect(meta.FindStatusCondition(u.Status.Conditions, v1beta1.ConditionReady)).To(HaveField("Reason", v1beta1.ReasonSynced))
	}).Should(Succeed())
}

// reasonOf is why an EtcdUser is ready, or is not.
func reasonOf(u *v1beta1.EtcdUser) func(g Gomega) string {
	return func(g Gomega) string {
		g.Expect(api.Get(ctx, keyOf(u), u)).To(Succeed())
		if c := meta.FindStatusCondition(u.Status.Conditions, v1beta1.ConditionReady); c != nil {
			return c.Reason
		}
		return ""
	}
}

// authIs waits until etcd lets only its users in, or everybody.
func authIs(c *v1beta1.EtcdCluster, status metav1.ConditionStatus) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(conditionOf(read(g, c), v1beta1.ConditionAuthEnabled)).To(HaveField("Status", status))
	}).Should(Succeed())
}

// switchAuth turns authentication on or off, and waits for that.
func switchAuth(c *v1beta1.EtcdCluster, enabled bool) {
	GinkgoHelper()
	Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Auth.Enabled = enabled })).To(Succeed())
	status := metav1.ConditionFalse
	if enabled {
		status = metav1.ConditionTrue
	}
	authIs(c, status)
}

// secretNamed is a Secret of the cluster's namespace.
func secretNamed(c *v1beta1.EtcdCluster, name string) *corev1.Secret {
	GinkgoHelper()
	var secret corev1.Secret
	Eventually(func() error { return api.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &secret) }).Should(Succeed())
	return &secret
}

// as is a client with what is in a Secret: its certificate, and its password if it has one. One with a password must be made after
// authentication was enabled, or it is nobody.
func as(c *v1beta1.EtcdCluster, name string) *clientv3.Client {
	GinkgoHelper()
	return holding(c, secretNamed(c, name), pods(c)...)
}

// holding is a client of these members with what was in a Secret once.
func holding(c *v1beta1.EtcdCluster, secret *corev1.Secret, of ...corev1.Pod) *clientv3.Client {
	GinkgoHelper()
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	Expect(err).NotTo(HaveOccurred())
	pool := x509.NewCertPool()
	Expect(pool.AppendCertsFromPEM(secret.Data["ca.crt"])).To(BeTrue())
	var endpoints []string
	for _, p := range of {
		endpoints = append(endpoints, endpoint(c, p))
	}
	config := settings(endpoints, &tls.Config{
		RootCAs: pool, Certificates: []tls.Certificate{pair}, ServerName: "localhost", MinVersion: tls.VersionTLS12,
	})
	if password, has := secret.Data["password"]; has {
		config.Username, config.Password = string(secret.Data["username"]), string(password)
	}
	var made *clientv3.Client
	Eventually(func() error { // it logs in, maybe at a member that does not know of the user yet
		made, err = clientv3.New(config)
		return err
	}).Should(Succeed())
	DeferCleanup(made.Close)
	return made
}

// puts says what etcd answers to a write.
func puts(etcd *clientv3.Client, key string) func() error {
	return func() error {
		limited, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		_, err := etcd.Put(limited, key, "value")
		return err
	}
}

// mayWriteOnly asks etcd, with what a user has, to write below a prefix and elsewhere.
func mayWriteOnly(c *v1beta1.EtcdCluster, u *v1beta1.EtcdUser, prefix string) {
	GinkgoHelper()
	application := as(c, u.Status.Binding.Name)
	Expect(puts(application, prefix+"key")()).To(Succeed())
	Expect(puts(application, "/elsewhere")()).To(refuses())
}

// refuses matches the answer to somebody who is no user, or may not.
func refuses() OmegaMatcher { return MatchError(rpctypes.ErrPermissionDenied) }
