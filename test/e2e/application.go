// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"net"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
)

// runClient runs etcdctl in a Pod like an application's: under Pod Security
// restricted, with the client Secret mounted as it is.
func runClient(c *v1beta1.EtcdCluster, command ...string) corev1.PodPhase {
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

// handshake makes one request, because TLS 1.3 tells a client of its bad
// certificate only then.
func handshake(c *v1beta1.EtcdCluster, identity *tls.Config) error {
	GinkgoHelper()
	return handshakeAt(c, "2379", identity)
}

func handshakeAt(c *v1beta1.EtcdCluster, port string, identity *tls.Config) error {
	GinkgoHelper()
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	dialer := tls.Dialer{Config: identity}
	connection, err := dialer.DialContext(limited, "tcp", net.JoinHostPort(pods(c)[0].Status.PodIP, port))
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

// selfSigned is a certificate of an authority that nobody trusts.
func selfSigned() tls.Certificate {
	GinkgoHelper()
	ca, err := pki.NewCA(rand.Reader, time.Now(), "somebody else", 24*time.Hour)
	Expect(err).NotTo(HaveOccurred())
	pair, err := pki.Issue(rand.Reader, time.Now(), ca, pki.Request{CommonName: "client", Client: true, Lifetime: time.Hour})
	Expect(err).NotTo(HaveOccurred())
	certificate, err := pair.TLSCertificate()
	Expect(err).NotTo(HaveOccurred())
	return certificate
}

// servingClients are the Pods that the client Service sends clients to.
func servingClients(g Gomega, c *v1beta1.EtcdCluster) []string {
	var slices discoveryv1.EndpointSliceList
	ofService := client.MatchingLabels{discoveryv1.LabelServiceName: c.ClientService()}
	g.Expect(api.List(ctx, &slices, client.InNamespace(c.Namespace), ofService)).To(Succeed())
	var names []string
	for _, slice := range slices.Items {
		for _, endpoint := range slice.Endpoints {
			if endpoint.TargetRef != nil && endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready {
				names = append(names, endpoint.TargetRef.Name)
			}
		}
	}
	return names
}
