package e2e

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// strangers are members that the operator did not make.
func strangers() {
	It("fault 40: a voter that somebody added and started is reported, never removed, and nothing changes beside it", func() {
		namespace := newNamespace()
		startOperator(namespace)
		// A stranger has no certificate of our authority, so this is a cluster without.
		c := create(newCluster(namespace, "open", func(spec *v1alpha1.EtcdClusterSpec) { spec.TLS.Mode = v1alpha1.TLSDisabled }))
		put(c, "key", "value")
		known := members(c)
		stranger := startStranger(c)
		id := addByHand(c, "http://"+stranger.Status.PodIP+":2380")
		Eventually(membersOf).WithArguments(c).Should(HaveKey("stranger?"))
		Eventually(func(g Gomega) {
			promoteByHand(c)
			g.Expect(membersOf(g, c)).To(HaveKey("stranger"))
		}).Should(Succeed())

		before := uids(c)
		Expect(edit(c, func(spec *v1alpha1.EtcdClusterSpec) {
			spec.Size = ptr.To[int32](5)
			spec.Etcd.SnapshotCount = 5000
		})).To(Succeed())
		says(c, v1alpha1.ConditionDegraded, v1alpha1.ReasonNeedsHelp, fmt.Sprintf("etcdctl member remove %x", id))
		stays(aWhile, func(g Gomega) {
			g.Expect(members(c)).To(And(HaveLen(4), HaveKey("stranger")))
			g.Expect(uids(c)).To(Equal(before))
			g.Expect(conditionOf(read(g, c), v1alpha1.ConditionAvailable).Status).To(Equal(metav1.ConditionTrue))
			g.Expect(read(g, c).Status.UnknownMembers).To(HaveExactElements(And(
				HaveField("ID", fmt.Sprintf("%x", id)), HaveField("Name", "stranger"), HaveField("Role", v1alpha1.RoleVoter))))
		})
		put(c, "key", "beside a stranger")

		removeByHand(c, id)
		Expect(edit(c, func(spec *v1alpha1.EtcdClusterSpec) { spec.Size = ptr.To[int32](3) })).To(Succeed())
		settles(c)
		Expect(now(c).Status.UnknownMembers).To(BeEmpty())
		Expect(members(c)).To(Equal(known))
		Expect(untouched(Default, c, before)).To(BeZero(), "the roll went on")
		Expect(value(c, "key")).To(Equal("beside a stranger"))
	})

	It("fault 41: a learner of the operator that cannot start is reported, and goes when the size is set back", func() {
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "stuck"))
		known, before := members(c), uids(c)
		quota := allow(namespace, corev1.ResourcePods, "3")
		setSize(c, 5)
		says(c, v1alpha1.ConditionDegraded, v1alpha1.ReasonStepRejected, "exceeded quota")
		Expect(members(c)).To(And(HaveLen(4), HaveKey("?")))
		setSize(c, 3)
		settles(c)
		Expect(members(c)).To(Equal(known))
		Expect(uids(c)).To(Equal(before))
		Expect(api.Delete(ctx, quota)).To(Succeed())
	})
}

// allow lets a namespace have so many of one kind, and no more.
func allow(namespace string, kind corev1.ResourceName, count string) *corev1.ResourceQuota {
	GinkgoHelper()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "few-" + string(kind)},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{kind: resource.MustParse(count)}},
	}
	Expect(api.Create(ctx, quota)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(api.Get(ctx, keyOf(quota), quota)).To(Succeed())
		g.Expect(quota.Status.Hard).NotTo(BeEmpty())
	}).Should(Succeed())
	return quota
}

// startStranger is a Pod whose etcd joins the cluster as soon as it is listed.
func startStranger(c *v1alpha1.EtcdCluster) corev1.Pod {
	GinkgoHelper()
	peers := []string{"stranger=http://$(IP):2380"}
	for name := range members(c) {
		peers = append(peers, fmt.Sprintf("%s=http://%s.%s.%s.svc:2380", name, name, c.HeadlessService(), c.Namespace))
	}
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: "stranger"},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: ptr.To(false),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](1000), FSGroup: ptr.To[int64](1000),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
				SizeLimit: ptr.To(resource.MustParse("256Mi")),
			}}}},
			InitContainers: []corev1.Container{{ // until etcd lists it
				Name: "wait", Image: "busybox:1.37", Command: []string{"sleep", "3"}, SecurityContext: harmless(),
			}},
			Containers: []corev1.Container{{
				Name: "etcd", Image: "gcr.io/etcd-development/etcd:v3.6.16", Command: []string{"/usr/local/bin/etcd"},
				Args: []string{
					"--name=stranger", "--data-dir=/data/etcd", "--initial-cluster-state=existing",
					"--initial-cluster=" + strings.Join(peers, ","),
					"--listen-peer-urls=http://0.0.0.0:2380", "--initial-advertise-peer-urls=http://$(IP):2380",
					"--listen-client-urls=http://0.0.0.0:2379", "--advertise-client-urls=http://$(IP):2379",
				},
				Env: []corev1.EnvVar{{Name: "IP", ValueFrom: &corev1.EnvVarSource{
					FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"},
				}}},
				VolumeMounts:    []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
				SecurityContext: harmless(),
			}},
		},
	}
	Expect(api.Create(ctx, &p)).To(Succeed())
	Eventually(func() string {
		p = pod(c, p.Name)
		return p.Status.PodIP
	}).ShouldNot(BeEmpty())
	return p
}

// harmless is what Pod Security restricted wants of a container.
func harmless() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
