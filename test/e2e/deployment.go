// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

var deployment = client.ObjectKey{Namespace: "etcd-operator-system", Name: "etcd-operator-controller-manager"}

// operatorPods are those that have not ended: one that a node has evicted stays.
func operatorPods(g Gomega) []corev1.Pod {
	all := podsOf(g, deployment.Namespace, client.MatchingLabels{"control-plane": "controller-manager"})
	return slices.DeleteFunc(all, func(pod corev1.Pod) bool {
		return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	})
}

func scaleDeployed(replicas int32) {
	GinkgoHelper()
	var found appsv1.Deployment
	Expect(api.Get(ctx, deployment, &found)).To(Succeed())
	before := client.MergeFrom(found.DeepCopy())
	found.Spec.Replicas = ptr.To(replicas)
	Expect(api.Patch(ctx, &found, before)).To(Succeed())
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

// sleepDeployed scales a deployed operator to nothing, so that ours is the only one.
func sleepDeployed() {
	GinkgoHelper()
	var found appsv1.Deployment
	err := api.Get(ctx, deployment, &found)
	if apierrors.IsNotFound(err) {
		return
	}
	Expect(err).NotTo(HaveOccurred())
	if ptr.Deref(found.Spec.Replicas, 1) > 0 {
		slept = found.Spec.Replicas
		scaleDeployed(0)
	}
	Eventually(operatorPods).Should(BeEmpty())
}

// wakeDeployed brings a deployed operator back to how it was found.
func wakeDeployed() {
	if slept != nil {
		scaleDeployed(*slept)
	}
}

// deployedImage is the image of the deployed operator, which Jobs run; empty if none is deployed.
func deployedImage() string {
	GinkgoHelper()
	var found appsv1.Deployment
	err := api.Get(ctx, deployment, &found)
	if apierrors.IsNotFound(err) {
		return ""
	}
	Expect(err).NotTo(HaveOccurred())
	return found.Spec.Template.Spec.Containers[0].Image
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

	for _, name := range []string{"etcd-operator-manager-rolebinding", "etcd-operator-manager-cluster-rolebinding"} {
		var whole rbacv1.ClusterRoleBinding
		Expect(api.Get(ctx, client.ObjectKey{Name: name}, &whole)).To(Succeed())
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-operator-"}, RoleRef: whole.RoleRef, Subjects: subjects,
		}
		Expect(api.Create(ctx, binding)).To(Succeed())
		DeferCleanup(func() { Expect(api.Delete(ctx, binding)).To(Succeed()) })
	}

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

// isLookedAfterBy waits until the status names the installation in that namespace.
func isLookedAfterBy(c *v1beta1.EtcdCluster, namespace string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(read(g, c).Status.Operator).To(Equal(namespace + "/etcd-operator.dev"))
	}).Should(Succeed())
}

// manifest is the file from which people install without Operator Lifecycle Manager.
const manifest = "dist/install.yaml"

// writeManifest writes it with the image that is deployed.
func writeManifest() {
	GinkgoHelper()
	var found appsv1.Deployment
	Expect(api.Get(ctx, deployment, &found)).To(Succeed())
	writeManifestOf(found.Spec.Template.Spec.Containers[0].Image)
}

// writeManifestOf writes it with that image.
func writeManifestOf(image string) {
	GinkgoHelper()
	run("make", "install-manifest", "IMG="+image)
}

// direct asks Pods by their addresses, past any proxy.
var direct = http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the operator's certificate is of its own making
}}

// answer is what a Pod answered.
type answer struct {
	Code int
	Text string
}

// metrics asks the first Pod with a token, or with none.
func metrics(g Gomega, token string) answer {
	all := operatorPods(g)
	g.Expect(all).NotTo(BeEmpty())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+net.JoinHostPort(all[0].Status.PodIP, "8443")+"/metrics", nil)
	g.Expect(err).NotTo(HaveOccurred())
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := direct.Do(request) // the Pod may have just started
	g.Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	return answer{response.StatusCode, string(text)}
}

// newReader is a service account, allowed to read metrics or not.
func newReader(allowed bool) *corev1.ServiceAccount {
	GinkgoHelper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: newNamespace(), Name: "reader"}}
	Expect(api.Create(ctx, account)).To(Succeed())
	if !allowed {
		return account
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-metrics-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "etcd-operator-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: account.Namespace, Name: account.Name}},
	}
	Expect(api.Create(ctx, binding)).To(Succeed())
	DeferCleanup(func() { Expect(api.Delete(ctx, binding)).To(Succeed()) })
	return account
}

func tokenOf(account *corev1.ServiceAccount) string {
	GinkgoHelper()
	request := &authenticationv1.TokenRequest{}
	Expect(api.SubResource("token").Create(ctx, account, request)).To(Succeed())
	return request.Status.Token
}
