// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certs_test

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestOtherNamesReissueTheServerCertificate: a name more or less is a fault of the members' Secret alone. What is made then has the
// names, another certificate for clients only, and no other authority: no member restarts.
func TestOtherNamesReissueTheServerCertificate(t *testing.T) {
	c := example()
	secrets := makeAll(t, c)
	for _, test := range []struct {
		change func()
		domain string
		name   string // that the certificate has then
		not    string // that it has no more
	}{
		{change: func() { c.Spec.TLS.ExtraSANs = []v1beta1.SAN{"etcd.example.com"} }, name: "etcd.example.com"},
		{change: func() { c.Spec.TLS.ExtraSANs = []v1beta1.SAN{"192.0.2.7"} }, name: "192.0.2.7", not: "etcd.example.com"},
		{change: func() {
			c.Status.ExternalEndpoints = []v1beta1.ExternalEndpoint{{Address: "203.0.113.7:2379", Source: v1beta1.FromLoadBalancer}}
		}, name: "203.0.113.7"},
		{change: func() { c.Status.ExternalEndpoints = nil }, name: "192.0.2.7", not: "203.0.113.7"},
		{
			change: func() {}, domain: "corp.example", name: "example-client.default.svc.corp.example",
			not: "example-client.default.svc.cluster.local",
		},
		{
			change: func() {
				c.Spec.Bootstrap = &v1beta1.BootstrapSpec{Adopt: &v1beta1.Adopt{Services: []string{"old"}}}
				c.Status.Adoption = &v1beta1.AdoptionStatus{CompletedAt: &metav1.Time{Time: now}}
			}, domain: "corp.example", name: "old.default.svc.corp.example", not: "old.default.svc.cluster.local",
		},
	} {
		test.change()
		held := certs.Read(c, func(name string) *corev1.Secret { return secrets[name] })
		held.Domain = test.domain
		var faulty []string
		for _, name := range certs.Names(c) {
			if held.Fault(c, name, now) != nil {
				faulty = append(faulty, name)
			}
		}
		if !slices.Equal(faulty, []string{specs.MemberSecret(c)}) {
			t.Fatalf("for %s faults are in %v", test.name, faulty)
		}
		made, err := held.Make(rand.Reader, now, c, specs.MemberSecret(c))
		if err != nil {
			t.Fatal(err)
		}
		before := secrets[specs.MemberSecret(c)]
		secrets[specs.MemberSecret(c)] = made
		names := namesOf(t, made.Data[specs.ServerCertKey])
		if !slices.Contains(names, test.name) || slices.Contains(names, test.not) {
			t.Errorf("%s is to be in, and not %q: %v", test.name, test.not, names)
		}
		for _, key := range []string{specs.PeerCertKey, specs.ClientCAKey, specs.PeerCAKey} {
			if string(made.Data[key]) != string(before.Data[key]) {
				t.Errorf("for %s %s is another one", test.name, key)
			}
		}
		if held.Fault(c, specs.MemberSecret(c), now) != nil {
			t.Errorf("for %s it is made again and again", test.name)
		}
	}
}

func namesOf(t *testing.T, certificate []byte) []string {
	t.Helper()
	block, _ := pem.Decode(certificate)
	read, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	names := read.DNSNames
	for _, address := range read.IPAddresses {
		names = append(names, strings.ToLower(address.String()))
	}
	return names
}
