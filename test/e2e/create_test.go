package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"maps"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

func aCluster() {
	var c *v1alpha1.EtcdCluster
	var o *operator

	BeforeAll(func() {
		namespace := newNamespace()
		o = startOperator(namespace)
		c = create(newCluster(namespace, "plain"))
	})

	It("is shown by kubectl get with its columns", func() {
		table := asTable(c)
		Expect(table.column("Name")).To(Equal("plain"))
		Expect(table.column("Size")).To(BeEquivalentTo(3))
		Expect(table.column("Ready")).To(BeEquivalentTo(3))
		Expect(table.column("Version")).To(Equal("3.6.16"))
		Expect(table.column("Status")).To(Equal("Healthy"))
		Expect(table.column("Age")).NotTo(BeEmpty())
	})

	It("has its Services, Secrets, disruption budget and volumes, and nothing else", func() {
		Eventually(belongings).WithArguments(c).Should(ConsistOf(ofThree...))
	})

	It("runs under Pod Security restricted and gives Pods no service account token", func() {
		for _, p := range pods(c) {
			Expect(p.Spec.AutomountServiceAccountToken).To(HaveValue(BeFalse()))
			for _, volume := range p.Spec.Volumes {
				Expect(volume.Projected).To(BeNil())
			}
		}
	})

	It("serves an application that mounts the client Secret", func() {
		Eventually(servingClients).WithArguments(c).Should(HaveLen(3))
		Expect(runClient(c, "put", "greeting", "hello")).To(Equal(corev1.PodSucceeded))
		Expect(value(c, "greeting")).To(Equal("hello"))
	})

	It("refuses a client without a certificate, or with one of its own making", func() {
		without := identity(c)
		without.Certificates = nil
		Expect(handshake(c, without)).NotTo(Succeed())
		foreign := identity(c)
		foreign.Certificates = []tls.Certificate{selfSigned()}
		Expect(handshake(c, foreign)).NotTo(Succeed())
		Expect(handshake(c, identity(c))).To(Succeed())
	})

	It("refuses TLS 1.2, of clients and of peers", func() {
		old := identity(c)
		old.MaxVersion = tls.VersionTLS12
		Expect(handshake(c, old)).NotTo(Succeed())
		old.InsecureSkipVerify = true //nolint:gosec // what is refused is the version
		Expect(handshakeAt(c, "2380", old)).NotTo(Succeed())
	})

	It("causes no writes while it is idle", func() {
		settles(c)
		before := calmsDown(c)
		if o.Proxy != nil {
			o.Forget()
		}
		stays(30*time.Second, func(g Gomega) {
			g.Expect(versions(c)).To(Equal(before))
			if o.Proxy != nil {
				g.Expect(o.Written()).To(BeEmpty())
			}
		})
	})

	It("fault 55: uses no name that depends on the domain of the Kubernetes cluster", func() {
		for _, p := range pods(c) {
			Expect(p.Spec.Containers[0].Args).NotTo(ContainElement(ContainSubstring("cluster.local")))
		}
		Expect(now(c).Status.Endpoint).To(HaveSuffix(".svc:2379"))
	})
}

// ofThree are the belongings of a cluster of three. Endpoints come a moment after the
// Services.
var ofThree = []any{
	"Pod -0", "Pod -1", "Pod -2", "PersistentVolumeClaim -0", "PersistentVolumeClaim -1", "PersistentVolumeClaim -2",
	"Service ", "Service -client", "EndpointSlice", "EndpointSlice", "PodDisruptionBudget ",
	"Secret -client", "Secret -client-ca", "Secret -peer-ca", "Secret -member-tls",
}

// calmsDown waits until nothing has been written for two seconds, because the kubelet
// may have a last word to say, and returns the versions.
func calmsDown(c *v1alpha1.EtcdCluster) map[string]string {
	GinkgoHelper()
	var all map[string]string
	Eventually(func() bool {
		last := all
		all = versions(c)
		return maps.Equal(all, last)
	}).WithPolling(2 * time.Second).Should(BeTrue())
	return all
}

// versions are the resource versions of everything that the operator may write.
func versions(c *v1alpha1.EtcdCluster) map[string]string {
	GinkgoHelper()
	all := map[string]string{"EtcdCluster": now(c).ResourceVersion}
	for _, p := range pods(c) {
		all["Pod "+p.Name] = p.ResourceVersion
	}
	var secrets corev1.SecretList
	Expect(api.List(ctx, &secrets, client.InNamespace(c.Namespace), ours(c))).To(Succeed())
	for _, secret := range secrets.Items {
		all["Secret "+secret.Name] = secret.ResourceVersion
	}
	return all
}

// table is what kubectl get prints.
type table struct{ metav1.Table }

func (t table) column(name string) any {
	GinkgoHelper()
	for i, column := range t.ColumnDefinitions {
		if column.Name == name {
			return t.Rows[0].Cells[i]
		}
	}
	Fail("no column " + name)
	return nil
}

func asTable(c *v1alpha1.EtcdCluster) table {
	GinkgoHelper()
	chosen := rest.CopyConfig(config)
	chosen.GroupVersion = &v1alpha1.GroupVersion
	chosen.APIPath = "/apis"
	chosen.NegotiatedSerializer = plainCodec()
	asker, err := rest.RESTClientFor(chosen)
	Expect(err).NotTo(HaveOccurred())
	text, err := asker.Get().Namespace(c.Namespace).Resource("etcdclusters").Name(c.Name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred())
	var shown table
	Expect(json.Unmarshal(text, &shown.Table)).To(Succeed())
	Expect(shown.Rows).To(HaveLen(1))
	return shown
}

// handshake makes one request, because TLS 1.3 tells a client of its bad
// certificate only then.
func handshake(c *v1alpha1.EtcdCluster, identity *tls.Config) error {
	GinkgoHelper()
	return handshakeAt(c, "2379", identity)
}

func handshakeAt(c *v1alpha1.EtcdCluster, port string, identity *tls.Config) error {
	GinkgoHelper()
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	dialer := tls.Dialer{Config: identity}
	connection, err := dialer.DialContext(limited, "tcp", pods(c)[0].Status.PodIP+":"+port)
	if err != nil {
		return err
	}
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err = connection.Write([]byte("GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n")); err != nil {
		return err
	}
	_, err = connection.Read(make([]byte, 1))
	return err
}

// runClient runs etcdctl in a Pod like an application's: under Pod Security
// restricted, with the client Secret mounted as it is.
func runClient(c *v1alpha1.EtcdCluster, command ...string) corev1.PodPhase {
	GinkgoHelper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, GenerateName: "client-"},
		Spec: corev1.PodSpec{
			RestartPolicy:                corev1.RestartPolicyNever,
			AutomountServiceAccountToken: ptr.To(false),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](1000), FSGroup: ptr.To[int64](1000),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Volumes: []corev1.Volume{{Name: "etcd", VolumeSource: corev1.VolumeSource{
				Secret: &corev1.SecretVolumeSource{SecretName: c.ClientSecret(), DefaultMode: ptr.To[int32](0o440)},
			}}},
			Containers: []corev1.Container{{
				Name: "etcdctl", Image: "gcr.io/etcd-development/etcd:v3.6.16", Command: append([]string{"/usr/local/bin/etcdctl"}, command...),
				VolumeMounts: []corev1.VolumeMount{{Name: "etcd", MountPath: "/etcd", ReadOnly: true}},
				Env: []corev1.EnvVar{
					{Name: "ETCDCTL_ENDPOINTS", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
						LocalObjectReference: corev1.LocalObjectReference{Name: c.ClientSecret()}, Key: "endpoints",
					}}},
					{Name: "ETCDCTL_CACERT", Value: "/etcd/ca.crt"},
					{Name: "ETCDCTL_CERT", Value: "/etcd/tls.crt"},
					{Name: "ETCDCTL_KEY", Value: "/etcd/tls.key"},
				},
				SecurityContext: harmless(),
			}},
		},
	}
	Expect(api.Create(ctx, p)).To(Succeed())
	Eventually(func(g Gomega) corev1.PodPhase {
		g.Expect(api.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		return p.Status.Phase
	}).Should(BeElementOf(corev1.PodSucceeded, corev1.PodFailed))
	return p.Status.Phase
}
