// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
)

// etcdOf is a container that runs etcd by these flags.
func etcdOf(version, dir string, flags ...string) corev1.Container {
	return corev1.Container{
		Name: "etcd", Image: image + version, Command: append([]string{"etcd", "--data-dir=" + dir}, flags...),
		Env: []corev1.EnvVar{
			{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		},
		VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: dir[:strings.LastIndex(dir, "/")]}},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
}

// unprivileged runs as a user of its own.
func unprivileged(containers ...corev1.Container) corev1.PodSpec {
	return corev1.PodSpec{
		TerminationGracePeriodSeconds: ptr.To[int64](3), Containers: containers,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](1001), FSGroup: ptr.To[int64](1001),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
}

// joined are the members of a new cluster, as initial-cluster has them.
func joined(hosts map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		all = append(all, name+"=http://"+hosts[name]+":2380")
	}
	return "--initial-cluster=" + strings.Join(all, ",")
}

func (s *source) headless(name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: s.meta(name), Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: s.labels(),
		Ports: []corev1.ServicePort{{Name: "client", Port: 2379}, {Name: "peer", Port: 2380}},
	}}
}

func (s *source) make(objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(api.Create(ctx, o)).To(Succeed())
	}
}

func (s *source) runs(pods int) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		running := podsOf(g, s.namespace, client.MatchingLabels(s.labels()))
		g.Expect(running).To(HaveLen(pods))
		g.Expect(running).To(HaveEach(HaveField("Status.Phase", corev1.PodRunning)))
	}).Should(Succeed())
}

// ofEtcdIO is a cluster as etcd-io/etcd-operator lays it out: a StatefulSet and a headless Service of its name, plain text.
func ofEtcdIO(namespace, name string) *source {
	GinkgoHelper()
	s := &source{namespace: namespace, name: name, has: map[string]string{"app": name, "controller": name}}
	host := func(pod string) string { return pod + "." + name + "." + namespace + ".svc.cluster.local" }
	hosts := map[string]string{}
	for i := range 3 {
		pod := fmt.Sprintf("%s-%d", name, i)
		hosts[pod] = host(pod)
	}
	pod := unprivileged(etcdOf("3.6.16", "/var/lib/etcd/data", "--name=$(POD_NAME)", "--listen-peer-urls=http://0.0.0.0:2380",
		"--listen-client-urls=http://0.0.0.0:2379", "--initial-advertise-peer-urls=http://"+host("$(POD_NAME)")+":2380",
		"--advertise-client-urls=http://"+host("$(POD_NAME)")+":2379", "--initial-cluster-state=new", joined(hosts)))
	yetToAgree := metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: s.has}
	s.make(s.headless(name), &appsv1.StatefulSet{ObjectMeta: yetToAgree, Spec: appsv1.StatefulSetSpec{
		Replicas: ptr.To[int32](3), ServiceName: name, PodManagementPolicy: appsv1.ParallelPodManagement,
		Selector: &metav1.LabelSelector{MatchLabels: s.has},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: s.has}, Spec: pod},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "data", Labels: s.has},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("256Mi")}},
			},
		}},
	}})
	s.runs(3)
	return s
}

// ofCoreOS is a cluster as coreos/etcd-operator leaves it behind: Pods that nothing starts again, whose data goes with them.
func ofCoreOS(namespace, name string) *source {
	GinkgoHelper()
	s := &source{namespace: namespace, name: name, has: map[string]string{"app": "etcd", "etcd_cluster": name}}
	hosts := map[string]string{}
	for _, suffix := range []string{"b7xk2", "fq9dm", "zw4tl"} {
		hosts[name+"-"+suffix] = name + "-" + suffix + "." + name + "." + namespace + ".svc"
	}
	service := &corev1.Service{ObjectMeta: s.meta(name + "-client"), Spec: corev1.ServiceSpec{
		Selector: s.has, Ports: []corev1.ServicePort{{Name: "client", Port: 2379}},
	}}
	s.make(s.headless(name), service)
	for member, host := range hosts {
		labels := maps.Clone(s.has)
		labels["etcd_node"] = member
		spec := unprivileged(etcdOf("3.5.35", "/var/etcd/data", "--name="+member, "--initial-advertise-peer-urls=http://"+host+":2380",
			"--listen-peer-urls=http://0.0.0.0:2380", "--listen-client-urls=http://0.0.0.0:2379", "--advertise-client-urls=http://"+host+":2379",
			"--initial-cluster-state=new", "--initial-cluster-token=of-"+name, joined(hosts)))
		spec.RestartPolicy, spec.Hostname, spec.Subdomain = corev1.RestartPolicyNever, member, name
		spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		s.make(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: member, Labels: labels}, Spec: spec})
	}
	s.runs(3)
	return s
}

// ofKubeadm is the only etcd of a control plane as kubeadm makes it: on the network of its node, named like the node, with TLS by an
// authority whose key is at hand. Ports are free ones, because the cluster of the tests has an etcd of its own. Members of the operator
// have names that only the cluster's DNS knows, which a Pod on the node's network asks only if its manifest says so.
func ofKubeadm(namespace string) *source {
	GinkgoHelper()
	var nodes corev1.NodeList
	Expect(api.List(ctx, &nodes)).To(Succeed())
	node := nodes.Items[0]
	var address string
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			address = a.Address
		}
	}
	s := &source{
		namespace: namespace, name: "etcd-" + node.Name, host: "localhost", port: "12379",
		has: map[string]string{"component": "etcd", "tier": "control-plane"},
	}
	ca, err := pki.NewCA(rand.Reader, time.Now(), "etcd-ca", 24*time.Hour)
	Expect(err).NotTo(HaveOccurred())
	s.ca = &ca
	s.make(&corev1.Secret{ObjectMeta: s.meta("etcd-ca"), Data: map[string][]byte{"ca.crt": ca.CertPEM, "ca.key": ca.KeyPEM}})
	for name, request := range map[string]pki.Request{
		"server": {
			CommonName: node.Name, Server: true, Client: true,
			DNSNames: []string{node.Name, "localhost"}, IPs: []net.IP{net.ParseIP(address)},
		},
		"root": {CommonName: "kube-apiserver-etcd-client", Client: true},
	} {
		request.Lifetime = time.Hour
		pair, err := pki.Issue(rand.Reader, time.Now(), ca, request)
		Expect(err).NotTo(HaveOccurred())
		s.make(&corev1.Secret{ObjectMeta: s.meta("etcd-" + name), Data: map[string][]byte{
			"ca.crt": ca.CertPEM, "tls.crt": pair.CertPEM, "tls.key": pair.KeyPEM,
		}})
	}
	peer, clients := "https://"+address+":12380", "https://"+address+":12379"
	container := etcdOf("3.6.16", "/var/lib/etcd/data", "--name="+node.Name, "--advertise-client-urls="+clients,
		"--listen-client-urls="+clients,
		"--initial-advertise-peer-urls="+peer, "--listen-peer-urls="+peer, "--initial-cluster="+node.Name+"="+peer, "--client-cert-auth=true",
		"--peer-client-cert-auth=true", "--cert-file=/certs/tls.crt", "--key-file=/certs/tls.key", "--trusted-ca-file=/certs/ca.crt",
		"--peer-cert-file=/certs/tls.crt", "--peer-key-file=/certs/tls.key", "--peer-trusted-ca-file=/certs/ca.crt", "--listen-metrics-urls=")
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "certs", MountPath: "/certs"})
	spec := unprivileged(container)
	spec.NodeName, spec.HostNetwork, spec.DNSPolicy = node.Name, true, corev1.DNSClusterFirstWithHostNet
	spec.Volumes = []corev1.Volume{
		{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "certs", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "etcd-server"}}},
	}
	s.make(&corev1.Pod{ObjectMeta: s.meta(s.name), Spec: spec})
	s.runs(1)
	return s
}

// privileged lets Pods of a namespace be on the network of their node.
func privileged(namespace string) {
	GinkgoHelper()
	var n corev1.Namespace
	Expect(api.Get(ctx, client.ObjectKey{Name: namespace}, &n)).To(Succeed())
	n.Labels["pod-security.kubernetes.io/enforce"] = "privileged"
	Expect(api.Update(ctx, &n)).To(Succeed())
}

// serviceURL is a Service, by a scheme.
func serviceURL(namespace, name, scheme string) (string, error) {
	var service corev1.Service
	err := api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &service)
	return scheme + "://" + net.JoinHostPort(service.Spec.ClusterIP, "2379"), err
}

// taken is what members of the operator have of what the source had.
func (s *source) taken(c *v1beta1.EtcdCluster) map[string]string {
	GinkgoHelper()
	var urls []string
	for _, p := range podsOf(Default, c.Namespace, ours(c)) {
		urls = append(urls, s.scheme()+"://"+net.JoinHostPort(p.Status.PodIP, "2379"))
	}
	return s.read(s.client(urls...))
}
