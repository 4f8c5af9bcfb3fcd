// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/tls"
	"net"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// podTemplates are what members' Pods have beside etcd. docs/operations/pods.md.
func podTemplates() {
	var c *v1beta1.EtcdCluster

	// beside is a container that runs for as long as its Pod: an etcd of its own, because the image is there.
	beside := func(image string) *v1beta1.PodTemplate {
		return &v1beta1.PodTemplate{
			Containers: []v1beta1.PodContainer{
				{
					Name: "beside", Image: image, Command: []string{"/usr/local/bin/etcd"}, Args: []string{
						"--data-dir=/scratch/data", "--listen-client-urls=http://127.0.0.1:12379", "--advertise-client-urls=http://127.0.0.1:12379",
						"--listen-peer-urls=http://127.0.0.1:12380", "--initial-advertise-peer-urls=http://127.0.0.1:12380",
						"--initial-cluster=default=http://127.0.0.1:12380",
					},
					VolumeMounts: []v1beta1.PodMount{{Name: "scratch", MountPath: "/scratch"}},
				},
				{Name: "etcd", Env: []v1beta1.PodEnv{{Name: "GOGC", Value: "90"}}},
			},
			Volumes:     []v1beta1.PodVolume{{Name: "scratch", EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			HostAliases: []v1beta1.HostAlias{{IP: "192.0.2.7", Hostnames: []string{"ntp.example.com"}}},
		}
	}
	ready := func(p corev1.Pod, container string) bool {
		for _, status := range p.Status.ContainerStatuses {
			if status.Name == container {
				return status.Ready
			}
		}
		return false
	}

	BeforeAll(func() {
		namespace := newNamespace()
		startOperator(namespace)
		c = create(newCluster(namespace, "patched"))
		put(c, "before", "value")
	})

	It("bring containers, variables, volumes and names into every Pod, and members of TLS 1.2 clients, by one roll", func() {
		Expect(speaks(c, tls.VersionTLS12)).NotTo(Succeed())
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) {
			spec.PodTemplate, spec.TLS.MinVersion = beside(spec.MemberImage()), v1beta1.TLS12
		})).To(Succeed())
		settles(c)
		pods := podsOf(Default, c.Namespace, ours(c))
		Expect(pods).To(HaveLen(3))
		for _, p := range pods {
			Expect(ready(p, "beside")).To(BeTrue(), p.Name)
			Expect(ready(p, "etcd")).To(BeTrue(), p.Name)
			Expect(p.Spec.Containers[0].Env).To(ContainElement(corev1.EnvVar{Name: "GOGC", Value: "90"}))
			Expect(p.Spec.HostAliases).To(HaveLen(2))
		}
		Expect(value(c, "before")).To(Equal("value"))
		Expect(speaks(c, tls.VersionTLS12)).To(Succeed())
		Expect(speaks(c, tls.VersionTLS13)).To(Succeed())
	})

	It("fault 111: are refused where they would break membership; a container that fails halts the roll at once", Label("long"), func() {
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) {
			spec.PodTemplate.Containers[1].Args = []string{"--force-new-cluster"}
		})).To(MatchError(ContainSubstring("may give the container etcd only env and volumeMounts")))
		before := uids(c)
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.PodTemplate = beside("missing.example/none:v1") })).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(conditionOf(read(g, c), v1beta1.ConditionProgressing).Message).To(ContainSubstring("more voters to be ready"))
			same := 0
			for name, uid := range uidsOf(g, c) {
				if before[name] == uid {
					same++
				}
			}
			g.Expect(same).To(Equal(2))
		}).Should(Succeed())
		stays(aWhile, func(g Gomega) {
			healthy := 0
			for _, p := range podsOf(g, c.Namespace, ours(c)) {
				if ready(p, "beside") && ready(p, "etcd") {
					healthy++
				}
			}
			g.Expect(healthy).To(Equal(2))
		})
		Expect(value(c, "before")).To(Equal("value"))
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.PodTemplate, spec.TLS.MinVersion = nil, "" })).To(Succeed())
		settles(c)
		for _, p := range podsOf(Default, c.Namespace, ours(c)) {
			Expect(p.Spec.Containers).To(HaveLen(1), p.Name)
		}
		Expect(speaks(c, tls.VersionTLS12)).NotTo(Succeed())
		Expect(value(c, "before")).To(Equal("value"))
	})
}

// speaks says why a member takes no client that knows this version of TLS alone.
func speaks(c *v1beta1.EtcdCluster, version uint16) error {
	GinkgoHelper()
	config := identity(c).Clone()
	pod := podsOf(Default, c.Namespace, ours(c))[0]
	config.MinVersion, config.MaxVersion = version, version
	config.ServerName = c.ClientService() + "." + c.Namespace + ".svc"
	dialer := &net.Dialer{Timeout: patience}
	connection, err := tls.DialWithDialer(dialer, "tcp", net.JoinHostPort(pod.Status.PodIP, "2379"), config)
	if err != nil {
		return err
	}
	return connection.Close()
}
