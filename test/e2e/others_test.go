package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

func whatBelongsToOthers() {
	var namespace string

	BeforeEach(func() {
		namespace = newNamespace()
		startOperator(namespace)
	})

	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	for i, object := range []func(guest string) client.Object{
		func(guest string) client.Object {
			return &corev1.Service{ObjectMeta: meta(guest), Spec: corev1.ServiceSpec{
				Selector: map[string]string{"app": "theirs"}, Ports: []corev1.ServicePort{{Port: 80}},
			}}
		},
		func(guest string) client.Object {
			return &corev1.Secret{ObjectMeta: meta(guest + "-client"), StringData: map[string]string{"theirs": "untouched"}}
		},
		func(guest string) client.Object {
			return &corev1.Secret{ObjectMeta: meta(guest + "-client-ca"), StringData: map[string]string{"theirs": "untouched"}}
		},
		func(guest string) client.Object {
			return &policyv1.PodDisruptionBudget{ObjectMeta: meta(guest), Spec: policyv1.PodDisruptionBudgetSpec{
				MaxUnavailable: ptr.To(intstr.FromInt(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "theirs"}},
			}}
		},
		func(guest string) client.Object {
			return &corev1.PersistentVolumeClaim{ObjectMeta: meta(guest + "-0"), Spec: newClaimSpec()}
		},
	} {
		It("I7: an object of somebody else is left alone and named, and the cluster comes when it is gone: "+describe(object("guest")), func() {
			guest := fmt.Sprintf("guest%d", i)
			theirs := object(guest)
			Expect(api.Create(ctx, theirs)).To(Succeed())
			c := newCluster(namespace, guest, oneMember)
			Expect(api.Create(ctx, c)).To(Succeed())
			Eventually(func(g Gomega) {
				degraded := conditionOf(read(g, c), v1alpha1.ConditionDegraded)
				g.Expect(degraded.Status).To(Equal(metav1.ConditionTrue))
				g.Expect(degraded.Message).To(ContainSubstring(theirs.GetName()))
			}).Should(Succeed())
			Expect(api.Get(ctx, keyOf(theirs), theirs)).To(Succeed())
			Expect(theirs.GetLabels()).NotTo(HaveKey(v1alpha1.LabelCluster))
			Expect(theirs.GetOwnerReferences()).To(BeEmpty())
			for _, field := range theirs.GetManagedFields() {
				Expect(field.Manager).NotTo(Equal(v1alpha1.FieldOwner))
			}
			Expect(api.Delete(ctx, theirs)).To(Succeed())
			settles(c)
			discard(c)
		})
	}
}

func whatIsChangedBack() {
	It("fault 53: a Service that a policy changes back each time holds up no repair, and is told of", func() {
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "undone"))
		lift := changeBack(c)
		victim, _ := aFollower(c)
		lose(c, victim.Name)
		Eventually(membersOf).WithArguments(c).Should(And(Not(HaveKey(victim.Name)), HaveLen(3)))
		says(c, v1alpha1.ConditionDegraded, v1alpha1.ReasonStepRejected, "Service "+c.Name)
		lift()
		settles(c)
		discard(c)
	})
}

// changeBack has a policy of the Kubernetes cluster change a label of the Service of members, and
// change it back at every write, until it is lifted.
func changeBack(c *v1alpha1.EtcdCluster) (lift func()) {
	GinkgoHelper()
	const label = "app.kubernetes.io/part-of"
	expression := fmt.Sprintf(`Object{metadata: Object.metadata{labels: {%q: "theirs"}}}`, label)
	rule := admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"services"}}
	name := metav1.ObjectMeta{Name: c.Namespace}
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: name, Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: c.Namespace}},
			ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				ResourceNames: []string{c.Name},
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update}, Rule: rule,
				},
			}},
		},
		ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
		Mutations: []admissionregistrationv1.Mutation{{
			PatchType:          admissionregistrationv1.PatchTypeApplyConfiguration,
			ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: expression},
		}},
	}}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: name, Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name.Name},
	}
	if err := api.Create(ctx, policy); apimeta.IsNoMatchError(err) {
		Skip("this Kubernetes has no mutating policies")
	} else {
		Expect(err).NotTo(HaveOccurred())
	}
	Expect(api.Create(ctx, binding)).To(Succeed())
	lift = func() {
		Expect(client.IgnoreNotFound(api.Delete(ctx, binding))).To(Succeed())
		Expect(client.IgnoreNotFound(api.Delete(ctx, policy))).To(Succeed())
	}
	DeferCleanup(lift)
	Eventually(func(g Gomega) {
		var service corev1.Service
		g.Expect(api.Get(ctx, keyOf(c), &service)).To(Succeed())
		before := client.MergeFrom(service.DeepCopy())
		service.Annotations = map[string]string{"touched": time.Now().String()}
		g.Expect(api.Patch(ctx, &service, before)).To(Succeed())
		g.Expect(service.Labels).To(HaveKeyWithValue(label, "theirs"), "the policy holds")
	}).Should(Succeed())
	return lift
}

func secrecy() {
	It("I8: no secret is in the operator's log, in events, in the status or in Pods", func() {
		namespace := newNamespace()
		o := startOperator(namespace)
		c := create(newCluster(namespace, "discreet"))
		victim, _ := aFollower(c)
		deletePod(c, victim)
		comesBack(c, victim)
		Expect(edit(c, func(spec *v1alpha1.EtcdClusterSpec) { spec.Image = noImage })).To(Succeed())
		says(c, v1alpha1.ConditionDegraded, v1alpha1.ReasonMemberBlocked, noImage)

		places := map[string]string{"status": asText(now(c)), "pods": asText(pods(c))}
		var list eventsv1.EventList
		Expect(api.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
		Expect(list.Items).NotTo(BeEmpty())
		places["events"] = asText(list.Items)
		if o.command != nil {
			places["log"] = o.log()
			Expect(places["log"]).To(ContainSubstring("planned"))
		}
		secrets := privateLines(c)
		Expect(len(secrets)).To(BeNumerically(">=", 5))
		for place, text := range places {
			for _, secret := range secrets {
				Expect(strings.Contains(text, secret)).To(BeFalse(), "a line of a private key is in the "+place)
			}
			Expect(text).NotTo(ContainSubstring("PRIVATE KEY"), place)
		}
	})
}

// privateLines are the lines of every private key, and its encoding in a Secret.
func privateLines(c *v1alpha1.EtcdCluster) []string {
	GinkgoHelper()
	var secrets corev1.SecretList
	Expect(api.List(ctx, &secrets, client.InNamespace(c.Namespace), ours(c))).To(Succeed())
	var lines []string
	for _, secret := range secrets.Items {
		for key, text := range secret.Data {
			if !strings.HasSuffix(key, ".key") {
				continue
			}
			Expect(string(text)).To(ContainSubstring("PRIVATE KEY"))
			lines = append(lines, base64.StdEncoding.EncodeToString(text)[:120])
			for line := range strings.Lines(string(text)) {
				if !strings.HasPrefix(line, "-----") {
					lines = append(lines, strings.TrimSpace(line))
				}
			}
		}
	}
	return lines
}

func asText(object any) string {
	GinkgoHelper()
	text, err := json.Marshal(object)
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}
