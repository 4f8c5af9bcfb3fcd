// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

const (
	packageName = "etcd-operator"
	catalogs    = "olm" // namespace
)

func csvName(version string) string { return packageName + ".v" + version }

// A tenant is a namespace with a catalog of its own, into which the Operator
// Lifecycle Manager installs what it is told to. The catalog is where OLM keeps those
// for all namespaces: as OLM runs its Pods, Pod Security restricted refuses them.
type tenant struct{ namespace string }

// newTenant starts from a cluster that has never seen the operator.
func newTenant() *tenant {
	GinkgoHelper()
	forgetCRD()
	return &tenant{newNamespace()}
}

// forgetCRD deletes our types, and with them every cluster that is left.
func forgetCRD() {
	GinkgoHelper()
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	crd.SetName("etcdclusters.etcd-operator.dev")
	Expect(client.IgnoreNotFound(api.Delete(ctx, crd))).To(Succeed())
	Eventually(func() bool { return apierrors.IsNotFound(api.Get(ctx, keyOf(crd), crd)) }).Should(BeTrue())
}

func (t *tenant) newGroup(name string, targets ...string) *operatorsv1.OperatorGroup {
	group := &operatorsv1.OperatorGroup{Spec: operatorsv1.OperatorGroupSpec{TargetNamespaces: targets}}
	group.Namespace, group.Name = t.namespace, name
	return group
}

// group makes the OperatorGroup: without targets it is for all namespaces.
func (t *tenant) group(targets ...string) {
	GinkgoHelper()
	Expect(api.Create(ctx, t.newGroup("group", targets...))).To(Succeed())
}

// failForward lets a release that failed be replaced by the next.
func (t *tenant) failForward() {
	GinkgoHelper()
	Eventually(func(g Gomega) { // OLM writes to it too
		group := t.newGroup("group")
		g.Expect(api.Get(ctx, keyOf(group), group)).To(Succeed())
		group.Spec.UpgradeStrategy = operatorsv1.UpgradeStrategyUnsafeFailForward
		g.Expect(api.Update(ctx, group)).To(Succeed())
	}).Should(Succeed())
}

// subscribe asks for the operator, as an administrator does.
func (t *tenant) subscribe(spec olm.SubscriptionSpec) {
	GinkgoHelper()
	spec.Package, spec.CatalogSource, spec.CatalogSourceNamespace = packageName, t.namespace, catalogs
	subscription := &olm.Subscription{Spec: &spec}
	subscription.Namespace, subscription.Name = t.namespace, packageName
	Expect(api.Create(ctx, subscription)).To(Succeed())
}

func (t *tenant) subscription(g Gomega) *olm.Subscription {
	var found olm.Subscription
	g.Expect(api.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: packageName}, &found)).To(Succeed())
	return &found
}

// change changes what was asked for.
func (t *tenant) change(to func(*olm.SubscriptionSpec)) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		found := t.subscription(g)
		to(found.Spec)
		g.Expect(api.Update(ctx, found)).To(Succeed())
	}).Should(Succeed())
}

// says waits until the Subscription has the condition, with the words.
func (t *tenant) says(condition olm.SubscriptionConditionType, words string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		found := t.subscription(g).Status.GetCondition(condition)
		g.Expect(found.Status).To(Equal(corev1.ConditionTrue))
		g.Expect(found.Message).To(ContainSubstring(words))
	}).Should(Succeed())
}

// unsubscribe uninstalls the operator, and waits until nothing of it runs. What
// it looked after stays.
func (t *tenant) unsubscribe() {
	GinkgoHelper()
	in := client.InNamespace(t.namespace)
	Expect(api.DeleteAllOf(ctx, &olm.Subscription{}, in)).To(Succeed())
	Expect(api.DeleteAllOf(ctx, &olm.ClusterServiceVersion{}, in)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(t.csvs(g)).To(BeEmpty())
		g.Expect(podsOf(g, t.namespace, managers)).To(BeEmpty())
	}).Should(Succeed())
}

// managers are the operator's own Pods.
var managers = client.MatchingLabels{"control-plane": "controller-manager"}

func (t *tenant) csvs(g Gomega) []olm.ClusterServiceVersion {
	var list olm.ClusterServiceVersionList
	g.Expect(api.List(ctx, &list, client.InNamespace(t.namespace))).To(Succeed())
	return slices.DeleteFunc(list.Items, func(csv olm.ClusterServiceVersion) bool {
		return !strings.HasPrefix(csv.Name, packageName+".") || csv.IsCopied()
	})
}

// versions are those that are installed, or about to be.
func (t *tenant) versions(g Gomega) []string {
	var all []string
	for _, csv := range t.csvs(g) {
		all = append(all, csv.Spec.Version.String())
	}
	return all
}

func (t *tenant) csv(g Gomega, version string) *olm.ClusterServiceVersion {
	var found olm.ClusterServiceVersion
	g.Expect(api.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: csvName(version)}, &found)).To(Succeed())
	return &found
}

// succeeds waits until the version is installed, and is the only one.
func (t *tenant) succeeds(version string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		status := t.csv(g, version).Status
		g.Expect(status.Phase).To(Equal(olm.CSVPhaseSucceeded), status.Message)
		g.Expect(t.versions(g)).To(ConsistOf(version))
	}).Should(Succeed(), t.state)
}

// is waits until the version is in the phase for the reason, with the words.
func (t *tenant) is(version string, phase olm.ClusterServiceVersionPhase, reason olm.ConditionReason, words string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		status := t.csv(g, version).Status
		g.Expect(status.Phase).To(Equal(phase), status.Message)
		g.Expect(status.Reason).To(Equal(reason), status.Message)
		g.Expect(status.Message).To(ContainSubstring(words))
	}).Should(Succeed())
}

func (t *tenant) plans(g Gomega) []olm.InstallPlan {
	var list olm.InstallPlanList
	g.Expect(api.List(ctx, &list, client.InNamespace(t.namespace))).To(Succeed())
	return list.Items
}

// offered waits for the plan to install the version, and returns it.
func (t *tenant) offered(version string) *olm.InstallPlan {
	GinkgoHelper()
	var found *olm.InstallPlan
	Eventually(func(g Gomega) {
		for _, plan := range t.plans(g) {
			if slices.Contains(plan.Spec.ClusterServiceVersionNames, csvName(version)) {
				found = &plan
			}
		}
		g.Expect(found).NotTo(BeNil())
	}).Should(Succeed(), "a plan to install %s", version)
	return found
}

// approve lets a plan be carried out, as soon as OLM says that it waits for that: it makes another one of a plan that somebody changes
// before.
func (t *tenant) approve(version string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		plan := t.offered(version)
		g.Expect(plan.Status.Phase).To(Equal(olm.InstallPlanPhaseRequiresApproval))
		before := client.MergeFrom(plan.DeepCopy())
		plan.Spec.Approved = true
		g.Expect(api.Patch(ctx, plan, before)).To(Succeed())
	}).Should(Succeed())
}

// isUpgradeable waits for the word of the operator itself.
func (t *tenant) isUpgradeable(version string, is bool) {
	GinkgoHelper()
	want := metav1.ConditionFalse
	if is {
		want = metav1.ConditionTrue
	}
	Eventually(func(g Gomega) {
		var found operatorsv2.OperatorCondition
		g.Expect(api.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: csvName(version)}, &found)).To(Succeed())
		condition := meta.FindStatusCondition(found.Spec.Conditions, operatorsv2.Upgradeable)
		g.Expect(condition).NotTo(BeNil())
		g.Expect(condition.Status).To(Equal(want), condition.Message)
	}).Should(Succeed())
}

// isLedBy waits until a Pod of the version holds the lease.
func (t *tenant) isLedBy(version string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		var lease coordinationv1.Lease
		g.Expect(api.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: "etcd-operator.dev"}, &lease)).To(Succeed())
		name, _, _ := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_")
		g.Expect(name).NotTo(BeEmpty(), "the lease is nobody's")
		var leader corev1.Pod
		g.Expect(api.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: name}, &leader)).To(Succeed())
		g.Expect(leader.Spec.Containers[0].Env).To(ContainElement(corev1.EnvVar{Name: "OPERATOR_CONDITION_NAME", Value: csvName(version)}))
	}).Should(Succeed(), t.state)
}

// state is what OLM says of its plans, versions and Pods: an update that does not come has its reason there.
func (t *tenant) state() string {
	var all strings.Builder
	in := client.InNamespace(t.namespace)
	for _, kind := range []client.ObjectList{
		&olm.InstallPlanList{}, &olm.ClusterServiceVersionList{}, &operatorsv2.OperatorConditionList{}, &corev1.PodList{},
	} {
		if err := api.List(ctx, kind, in); err != nil {
			fmt.Fprintln(&all, err)
		}
		_ = meta.EachListItem(kind, func(object runtime.Object) error {
			text, err := statusAsYAML(object)
			fmt.Fprintf(&all, "--- %T\n%s%v\n", object, text, err)
			return nil
		})
	}
	return all.String()
}

// statusAsYAML is the name of an object, its status, and the conditions that its spec may have.
func statusAsYAML(object runtime.Object) ([]byte, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	name, _, _ := unstructured.NestedString(content, "metadata", "name")
	status := content["status"]
	if plan, is := object.(*olm.InstallPlan); is { // its steps are whole manifests
		status = map[string]any{"phase": plan.Status.Phase, "message": plan.Status.Message, "conditions": plan.Status.Conditions}
	}
	return yaml.Marshal(map[string]any{"name": name, "status": status, "conditions": content["spec"].(map[string]any)["conditions"]})
}

// isUnresolved waits until OLM cannot tell what to install. Only its log says why.
func (t *tenant) isUnresolved(words string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		said, err := exec.Command("kubectl", "-n", catalogs, "logs", "deployment/catalog-operator", "--since=1m").Output()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(said)).To(MatchRegexp("/" + t.namespace + ".*" + words))
		g.Expect(t.csvs(g)).To(BeEmpty())
	}).WithPolling(time.Second).Should(Succeed())
}

// logs are what the operator's Pods have said.
func (t *tenant) logs() string {
	GinkgoHelper()
	clients, err := kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	return surely(func(g Gomega) string { // a Pod may have yet to start, or have just gone
		var all strings.Builder
		for _, p := range podsOf(g, t.namespace, managers) {
			stream, err := clients.CoreV1().Pods(t.namespace).GetLogs(p.Name, &corev1.PodLogOptions{}).Stream(context.Background())
			g.Expect(err).NotTo(HaveOccurred())
			_, err = io.Copy(&all, stream)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(stream.Close()).To(Succeed())
		}
		return all.String()
	})
}

// oneIn makes a cluster of one member in each namespace.
func oneIn(namespaces []string) []*v1beta1.EtcdCluster {
	GinkgoHelper()
	var all []*v1beta1.EtcdCluster
	for _, namespace := range namespaces {
		c := newCluster(namespace, "one", oneMember, using(list("50m", "64Mi"), list("", "256Mi")))
		Expect(api.Create(ctx, c)).To(Succeed())
		all = append(all, c)
	}
	return all
}

var stableChannel = olm.SubscriptionSpec{Channel: "stable-v0"}

var candidateChannel = olm.SubscriptionSpec{Channel: "candidate-v0"}

// replaceSlowly takes a member's volume and lets no other be made, so that the
// replacement goes on until it is let go.
func replaceSlowly(c *v1beta1.EtcdCluster) (letGo func()) {
	GinkgoHelper()
	quota := allow(c.Namespace, corev1.ResourcePersistentVolumeClaims, "2")
	victim, _ := aFollower(c)
	loseVolume(c, victim.Name)
	return func() { Expect(api.Delete(ctx, quota)).To(Succeed()) }
}

// kill ends every Pod with the label, without grace.
func kill(namespace, label, value string) {
	GinkgoHelper()
	found := podsOf(Default, namespace, client.MatchingLabels{label: value})
	Expect(found).NotTo(BeEmpty())
	for _, p := range found {
		Expect(client.IgnoreNotFound(api.Delete(ctx, &p, client.GracePeriodSeconds(0)))).To(Succeed())
	}
}
