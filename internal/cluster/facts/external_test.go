// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"crypto/rand"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// fromSecrets has the certificates of the scene come from Secrets of a person, of which only the API server itself knows.
func (s *scene) fromSecrets() {
	s.t.Helper()
	s.c.Spec.TLS.SecretRefs = &v1beta1.SecretRefs{
		Server: v1beta1.LocalSecret{Name: "web"}, Peer: v1beta1.LocalSecret{Name: "gossip"}, Operator: v1beta1.LocalSecret{Name: "operator"},
	}
	ca, err := pki.NewCA(rand.Reader, now.Add(-time.Hour), "external", 1000*24*time.Hour)
	if err != nil {
		s.t.Fatal(err)
	}
	both := pki.Request{CommonName: "x", Server: true, Client: true, Lifetime: 90 * 24 * time.Hour, DNSNames: []string{
		"*.a.default.svc", "a-client.default.svc", "localhost",
	}}
	root := pki.Request{CommonName: "root", Client: true, Lifetime: both.Lifetime}
	for name, r := range map[string]pki.Request{"web": both, "gossip": both, "operator": root} {
		pair, err := pki.Issue(rand.Reader, now, ca, r)
		if err != nil {
			s.t.Fatal(err)
		}
		s.objects = append(s.objects, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Data: map[string][]byte{
			corev1.TLSCertKey: pair.CertPEM, corev1.TLSPrivateKeyKey: pair.KeyPEM, specs.CAKey: ca.CertPEM,
		}})
		s.stale = append(s.stale, "Secret "+name)
	}
}

// TestFault81SecretsOfOthersAreRead: from the API server itself, because they have no label of ours; another source begins a rotation, and
// one that is bad does not, which is reported.
func TestFault81SecretsOfOthersAreRead(t *testing.T) {
	s := newScene(t)
	if v := s.look(); v.Certificates.External || slices.Contains(s.callsOf("Get"), "Secret web") {
		t.Errorf("%+v", v.Certificates)
	}
	s.fromSecrets()
	v := s.look()
	if got := passesDue(v); !slices.Equal(got, []string{"introduce a-client-ca", "introduce a-peer-ca"}) || v.Certificates.Fault != "" {
		t.Errorf("%v, %+v", got, v.Certificates)
	}
	if !slices.ContainsFunc(v.Objects, func(o cluster.Object) bool { return o.Name == s.c.RootSecret() }) {
		t.Errorf("the operator's own certificate is not made ready: %v", v.Objects)
	}
	delete(s.find("Secret gossip").(*corev1.Secret).Data, specs.CAKey)
	v = s.look()
	status := v.Certificates
	if got := passesDue(v); !slices.Equal(got, []string{"introduce a-client-ca"}) || status.Reason != "SecretIncomplete" || status.Lacking {
		t.Errorf("%v, %+v", got, status)
	}
	s.drop("Secret a-client-ca", "Secret a-peer-ca", "Secret a-member-tls")
	s.c.Status.ClusterID = ""
	if v = s.look(); !v.Certificates.Lacking || !strings.HasPrefix(v.Certificates.Fault, "Secret gossip: it has no ca.crt") {
		t.Errorf("a new cluster: %+v", v.Certificates)
	}
}
