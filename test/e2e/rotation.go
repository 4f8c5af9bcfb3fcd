// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// shortLived has certificates live for as short as is allowed.
func shortLived(spec *v1beta1.EtcdClusterSpec) {
	spec.TLS.Lifetimes.Authority.Duration, spec.TLS.Lifetimes.Certificate.Duration = 30*time.Minute, 12*time.Minute
}

// refreshes is how old at most what a Pod has mounted is: kubelets look after a Pod once in 60 to 90 seconds.
const refreshes = 90 * time.Second

// A mount is the client Secret as a Pod has it whose kubelet is slow.
type mount struct {
	cluster *v1beta1.EtcdCluster
	mutex   sync.Mutex
	read    time.Time
	now     *tls.Config
}

func (m *mount) identity() (*tls.Config, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if time.Since(m.read) < refreshes {
		return m.now, nil
	}
	var failed error
	g := NewGomega(func(message string, _ ...int) { failed = fmt.Errorf("%s", message) })
	if read := identityOf(g, m.cluster); failed == nil {
		m.now, m.read = read, time.Now()
	}
	return m.now, nil
}

// startMounted writes as an application does that mounts the client Secret and reads it with every handshake. Members
// restart meanwhile: a write is tried again, and has failed if it is not acknowledged in time.
func startMounted(c *v1beta1.EtcdCluster) *writer {
	GinkgoHelper()
	mounted := &mount{cluster: c, now: identity(c), read: time.Now()}
	way := throughService(c)
	way.TLS.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		who, err := mounted.identity()
		return &who.Certificates[0], err
	}
	name := way.TLS.ServerName
	way.TLS.VerifyConnection = func(state tls.ConnectionState) error {
		who, err := mounted.identity()
		if err == nil {
			_, err = state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: who.RootCAs, DNSName: name})
		}
		return err
	}
	etcd, err := clientv3.New(way)
	Expect(err).NotTo(HaveOccurred())
	prefix := fmt.Sprintf("mounted/%d/", time.Now().UnixNano())
	w := &writer{cluster: c, etcd: etcd, prefix: prefix, stop: make(chan struct{}), repeats: true}
	w.done.Go(w.write)
	return w
}

// signers are when the authorities end, by their names: another end is another authority.
func signers(c *v1beta1.EtcdCluster) map[string]string {
	GinkgoHelper()
	return signersNow(Default, c)
}

func signersNow(g Gomega, c *v1beta1.EtcdCluster) map[string]string {
	all := map[string]string{}
	for _, a := range read(g, c).Status.Authorities {
		g.Expect(a.NotAfter).NotTo(BeNil())
		all[a.Name] = a.NotAfter.String()
	}
	g.Expect(all).To(HaveLen(2))
	return all
}

// requestRotation asks for other authorities.
func requestRotation(c *v1beta1.EtcdCluster, request string) {
	GinkgoHelper()
	fresh := now(c)
	before := fresh.DeepCopy()
	metav1.SetMetaDataAnnotation(&fresh.ObjectMeta, v1beta1.AnnotationRotate, request)
	Expect(api.Patch(ctx, fresh, client.MergeFrom(before))).To(Succeed())
}

// rotationTakes is how long a rotation may take: kubelets are waited for twice, and members restart twice.
const rotationTakes = 15 * time.Minute

// isRotated waits until the named authorities are others than before, and nothing is left to do.
func isRotated(c *v1beta1.EtcdCluster, before map[string]string, names ...string) {
	GinkgoHelper()
	limited, cancel := context.WithTimeout(ctx, rotationTakes)
	defer cancel()
	Eventually(limited, func(g Gomega) {
		after := signersNow(g, c)
		for _, name := range names {
			g.Expect(after[name]).NotTo(Equal(before[name]), name)
		}
		for _, a := range read(g, c).Status.Authorities {
			g.Expect(a.Phase).To(Equal(v1beta1.RotationStable), a.Name)
		}
		isSettled(g, c)
	}).WithTimeout(rotationTakes).Should(Succeed(), "authorities of %s to be rotated", c.Name)
}
