// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

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

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// startStranger is a Pod whose etcd joins the cluster as soon as it is listed.
func startStranger(c *v1beta1.EtcdCluster) corev1.Pod {
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
