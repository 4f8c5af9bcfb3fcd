// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
)

// A source is a cluster of three members that a StatefulSet runs, as Bitnami's chart lays it out: members named like their Pods, data on a
// claim data-<name>-<n>, all first members in initial-cluster, and a second advertised URL, which is the Service's.
type source struct {
	namespace, name string
	password        string            // of root; empty: no authentication
	ca              *pki.Pair         // of clients and of peers; nil: plain text
	host            string            // in its certificate; empty: that of its Service
	port            string            // for clients; empty: 2379
	has             map[string]string // labels, of another layout than that of the chart
	data            string            // directory on the volumes; empty: data
}

// withKeptVolumes has the layout of a StatefulSet written by hand, whose volumes are kept.
func withKeptVolumes(s *source) { s.data = "default.etcd" }

// withRootPassword enables authentication, as the chart does by default.
func withRootPassword(s *source) { s.password = "not a secret" }

// withAuthority gives members certificates of one authority for clients and peers, as kamaji-etcd does; its key is in a Secret.
func withAuthority(s *source) {
	ca, err := pki.NewCA(rand.Reader, time.Now(), s.name, 24*time.Hour)
	Expect(err).NotTo(HaveOccurred())
	s.ca = &ca
	secret := func(name string, data map[string][]byte) {
		Expect(api.Create(ctx, &corev1.Secret{ObjectMeta: s.meta(name), Data: data})).To(Succeed())
	}
	secret(s.name+"-ca", map[string][]byte{"tls.crt": ca.CertPEM, "tls.key": ca.KeyPEM})
	for name, request := range map[string]pki.Request{
		"server": {CommonName: "server", Server: true, Client: true, DNSNames: append(s.hosts(), s.name+"."+s.namespace+".svc", "localhost")},
		"root":   {CommonName: "root", Client: true},
	} {
		request.Lifetime = time.Hour
		pair, err := pki.Issue(rand.Reader, time.Now(), ca, request)
		Expect(err).NotTo(HaveOccurred())
		secret(s.name+"-"+name, map[string][]byte{"ca.crt": ca.CertPEM, "tls.crt": pair.CertPEM, "tls.key": pair.KeyPEM})
	}
}

// hosts are the names of its Pods.
func (s *source) hosts() []string {
	var hosts []string
	for i := range 3 {
		hosts = append(hosts, fmt.Sprintf("%s-%d.%s-headless.%s.svc.cluster.local", s.name, i, s.name, s.namespace))
	}
	return hosts
}

func (s *source) scheme() string {
	if s.ca != nil {
		return "https"
	}
	return "http"
}

func newSource(namespace, name string, options ...func(*source)) *source {
	GinkgoHelper()
	s := &source{namespace: namespace, name: name}
	for _, option := range options {
		option(s)
	}
	for _, object := range []client.Object{s.service(""), s.service("-headless"), s.statefulSet()} {
		Expect(api.Create(ctx, object)).To(Succeed())
	}
	Eventually(func(g Gomega) {
		running := podsOf(g, namespace, client.MatchingLabels(s.labels()))
		g.Expect(running).To(HaveLen(3))
		for _, p := range running {
			g.Expect(p.Status.Conditions).To(ContainElement(And(HaveField("Type", corev1.PodReady), HaveField("Status", corev1.ConditionTrue))))
		}
	}).Should(Succeed())
	if s.password != "" {
		s.protect()
	}
	return s
}

func (s *source) labels() map[string]string {
	if s.has != nil {
		return s.has
	}
	return map[string]string{
		"app.kubernetes.io/name": "etcd", "app.kubernetes.io/instance": s.name, "app.kubernetes.io/component": "etcd-of-a-chart",
	}
}

func (s *source) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: s.namespace, Name: name, Labels: s.labels(),
	}
}

// agree has everything that an EtcdCluster names of a source agree to it.
func agree(c *v1beta1.EtcdCluster) {
	GinkgoHelper()
	var all []client.Object
	for _, name := range c.SourceServices() {
		all = append(all, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for _, name := range c.SourceSecrets() {
		all = append(all, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	if b := c.Spec.Bootstrap; b != nil && b.Adopt != nil && b.Adopt.StatefulSet != "" {
		all = append(all, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: b.Adopt.StatefulSet}})
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1beta1.AnnotationAdoptedBy, c.Consent())
	for _, o := range all {
		o.SetNamespace(c.Namespace)
		Expect(api.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
	}
}

func (s *source) service(suffix string) *corev1.Service {
	service := &corev1.Service{
		ObjectMeta: s.meta(s.name + suffix),
		Spec: corev1.ServiceSpec{Selector: s.labels(), Ports: []corev1.ServicePort{
			{Name: "client", Port: 2379, TargetPort: intstr.FromString("client")},
			{Name: "peer", Port: 2380, TargetPort: intstr.FromString("peer")},
		}},
	}
	if suffix != "" {
		service.Spec.ClusterIP, service.Spec.PublishNotReadyAddresses = corev1.ClusterIPNone, true
	}
	return service
}

func (s *source) statefulSet() *appsv1.StatefulSet {
	const dir = "/bitnami/etcd"
	host := "$(MY_POD_NAME)." + s.name + "-headless." + s.namespace + ".svc.cluster.local"
	var peers []string
	for i, host := range s.hosts() {
		peers = append(peers, fmt.Sprintf("%s-%d=%s://%s:2380", s.name, i, s.scheme(), host))
	}
	podName := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}
	env := []corev1.EnvVar{{Name: "MY_POD_NAME", ValueFrom: podName}}
	ready := corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("client")}}
	restricted := &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	for _, pair := range [][2]string{
		{"ETCD_NAME", "$(MY_POD_NAME)"},
		{"ETCD_DATA_DIR", dir + "/" + cmp.Or(s.data, "data")},
		{"ETCD_ADVERTISE_CLIENT_URLS", s.scheme() + "://" + host + ":2379," + s.scheme() + "://" + s.name + "." + s.namespace +
			".svc.cluster.local:2379"},
		{"ETCD_LISTEN_CLIENT_URLS", s.scheme() + "://0.0.0.0:2379"},
		{"ETCD_INITIAL_ADVERTISE_PEER_URLS", s.scheme() + "://" + host + ":2380"},
		{"ETCD_LISTEN_PEER_URLS", s.scheme() + "://0.0.0.0:2380"},
		{"ETCD_INITIAL_CLUSTER_TOKEN", "etcd-cluster-k8s"},
		{"ETCD_INITIAL_CLUSTER_STATE", "new"},
		{"ETCD_INITIAL_CLUSTER", strings.Join(peers, ",")},
	} {
		env = append(env, corev1.EnvVar{Name: pair[0], Value: pair[1]})
	}
	if s.ca != nil {
		for _, use := range []string{"", "PEER_"} {
			for key, file := range map[string]string{"CERT_FILE": "tls.crt", "KEY_FILE": "tls.key", "TRUSTED_CA_FILE": "ca.crt"} {
				env = append(env, corev1.EnvVar{Name: "ETCD_" + use + key, Value: "/certs/" + file})
			}
			env = append(env, corev1.EnvVar{Name: "ETCD_" + use + "CLIENT_CERT_AUTH", Value: "true"})
		}
	}
	set := &appsv1.StatefulSet{
		ObjectMeta: s.meta(s.name),
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To[int32](3), ServiceName: s.name + "-headless", PodManagementPolicy: appsv1.ParallelPodManagement,
			Selector: &metav1.LabelSelector{MatchLabels: s.labels()},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: s.labels()},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: ptr.To[int64](3),
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](1001), FSGroup: ptr.To[int64](1001),
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					},
					Containers: []corev1.Container{{
						Name: "etcd", Image: image + "3.6.16", Env: env, Command: []string{"etcd"},
						Ports:           []corev1.ContainerPort{{Name: "client", ContainerPort: 2379}, {Name: "peer", ContainerPort: 2380}},
						VolumeMounts:    []corev1.VolumeMount{{Name: "data", MountPath: dir}},
						ReadinessProbe:  &corev1.Probe{ProbeHandler: ready, PeriodSeconds: 1},
						SecurityContext: restricted,
					}},
				},
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data", Labels: s.labels()},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("256Mi")}},
				},
			}},
		},
	}
	if s.ca != nil {
		pod := &set.Spec.Template.Spec
		pod.Volumes = []corev1.Volume{{Name: "certs", VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: s.name + "-server"},
		}}}
		pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "certs", MountPath: "/certs"})
	}
	return set
}

// urls are those of the Pods by their addresses.
func (s *source) urls() []string {
	GinkgoHelper()
	var urls []string
	for _, p := range podsOf(Default, s.namespace, client.MatchingLabels(s.labels())) {
		urls = append(urls, s.scheme()+"://"+net.JoinHostPort(p.Status.PodIP, cmp.Or(s.port, "2379")))
	}
	return urls
}

func (s *source) client(urls ...string) *clientv3.Client {
	GinkgoHelper()
	var who *tls.Config
	if s.ca != nil {
		who = s.identity()
	}
	way := settings(urls, who)
	if s.password != "" {
		way.Username, way.Password = "root", s.password
	}
	etcd, err := clientv3.New(way)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(etcd.Close)
	return etcd
}

// identity is a client that knows nothing but the authority that there was before.
func (s *source) identity() *tls.Config {
	GinkgoHelper()
	pair, err := pki.Issue(rand.Reader, time.Now(), *s.ca, pki.Request{CommonName: "application", Client: true, Lifetime: time.Hour})
	Expect(err).NotTo(HaveOccurred())
	config, err := pki.ClientConfig(s.ca.CertPEM, pair)
	Expect(err).NotTo(HaveOccurred())
	config.ServerName = cmp.Or(s.host, s.name+"."+s.namespace+".svc")
	return config
}

// protect enables authentication, and writes the Secret that the chart has for it.
func (s *source) protect() {
	GinkgoHelper()
	password := s.password
	s.password = ""
	etcd := s.client(s.urls()...)
	s.password = password
	_, err := etcd.UserAdd(ctx, "root", s.password)
	Expect(err).NotTo(HaveOccurred())
	_, err = etcd.UserGrantRole(ctx, "root", "root")
	Expect(err).NotTo(HaveOccurred())
	_, err = etcd.AuthEnable(ctx)
	Expect(err).NotTo(HaveOccurred())
	secret := &corev1.Secret{ObjectMeta: s.meta(s.name), StringData: map[string]string{"etcd-root-password": s.password}}
	Expect(api.Create(ctx, secret)).To(Succeed())
}

// fill writes keys, one of them several times and one with a lease, and returns what read returns of them.
func (s *source) fill() map[string]string {
	GinkgoHelper()
	etcd := s.client(s.urls()...)
	lease, err := etcd.Grant(ctx, 3600)
	Expect(err).NotTo(HaveOccurred())
	for i := range 100 {
		_, err := etcd.Put(ctx, fmt.Sprintf("data/%03d", i%90), fmt.Sprintf("value %d", i))
		Expect(err).NotTo(HaveOccurred())
	}
	_, err = etcd.Put(ctx, "data/leased", "for an hour", clientv3.WithLease(lease.ID))
	Expect(err).NotTo(HaveOccurred())
	return s.read(etcd)
}

// read is each key with its value, its revisions and its lease.
func (s *source) read(etcd *clientv3.Client) map[string]string {
	GinkgoHelper()
	found, err := etcd.Get(ctx, "data/", clientv3.WithPrefix())
	Expect(err).NotTo(HaveOccurred())
	all := map[string]string{}
	for _, kv := range found.Kvs {
		all[string(kv.Key)] = fmt.Sprintf("%s, created %d, changed %d, version %d, lease "+
			"%x", kv.Value, kv.CreateRevision, kv.ModRevision, kv.Version, kv.Lease)
	}
	return all
}

// startOperatorInCluster starts an operator that finds hosts as Pods do, by the cluster's DNS.
func startOperatorInCluster(namespace string) *operator {
	GinkgoHelper()
	mayAdopt(namespace)
	if !isLocal() {
		return startOperator(namespace)
	}
	var dns corev1.Service
	Expect(api.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: "kube-dns"}, &dns)).To(Succeed())
	o := startOperator(namespace)
	o.kill()
	file := filepath.Join(o.folder, "resolv.conf")
	text := "nameserver " + dns.Spec.ClusterIP + "\nsearch svc.cluster.local cluster.local\noptions ndots:5\n"
	Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
	o.resolver = file
	o.start()
	return o
}

// mayAdopt gives the deployed operator its role for adoptions, in one namespace, as the guide does.
func mayAdopt(namespace string) {
	GinkgoHelper()
	user := actingAsOperator().Impersonate.UserName
	if user == "" {
		return // operators are administrators
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "etcd-operator-adoption"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "etcd-operator-adoption-role"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	Expect(client.IgnoreAlreadyExists(api.Create(ctx, binding))).To(Succeed())
}

// resolving runs a command in a mount namespace of its own, with another resolv.conf.
func resolving(command *exec.Cmd, file string) *exec.Cmd {
	script := "mount --bind " + file + " /etc/resolv.conf && exec \"$0\" \"$@\""
	return exec.Command("unshare", append([]string{"--mount", "sh", "-c", script, command.Path}, command.Args[1:]...)...)
}

func annotate(c *v1beta1.EtcdCluster, key, value string) {
	GinkgoHelper()
	now := now(c)
	before := client.MergeFrom(now.DeepCopy())
	metav1.SetMetaDataAnnotation(&now.ObjectMeta, key, value)
	Expect(api.Patch(ctx, now, before)).To(Succeed())
}
