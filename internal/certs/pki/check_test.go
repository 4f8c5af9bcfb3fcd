// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pki_test

import (
	"bytes"
	"encoding/pem"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
)

func TestCheckAcceptsWhatIssueMade(t *testing.T) {
	ca := newCA(t, "ca")
	for _, request := range []pki.Request{server(), client()} {
		if err := pki.Check(issue(t, ca, request), ca, request, now); err != nil {
			t.Errorf("%s: %v", request.CommonName, err)
		}
	}
	request := server()
	request.DNSNames = []string{"localhost", "m1.example.svc", "localhost"}
	if err := pki.Check(issue(t, ca, server()), ca, request, now); err != nil {
		t.Errorf("order and repetition of names matter: %v", err)
	}
	public := pki.Pair{CertPEM: ca.CertPEM}
	if err := pki.Check(issue(t, ca, server()), public, server(), now); err != nil {
		t.Errorf("needs the CA's key: %v", err)
	}
}

func TestCheckAge(t *testing.T) {
	ca := newCA(t, "ca")
	leaf := issue(t, ca, server())
	start := now.Add(-pki.Backdate)
	life := server().Lifetime
	tests := []struct {
		name string
		at   time.Time
		want string
	}{
		{"clock behind by less than the backdate", start, ""},
		{"clock too far behind", start.Add(-time.Second), "not valid before"},
		{"just before two thirds", now.Add(life/3*2 - time.Second), ""},
		{"past two thirds", now.Add(life/3*2 + time.Second), "two thirds"},
		{"expired", now.Add(life + time.Second), "expired on"},
		{"CA expired", now.Add(11 * year), "the CA expired"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fault := pki.Check(leaf, ca, server(), test.at)
			wantError(t, fault, test.want)
			if due := test.want == "two thirds"; pki.IsDue(fault) != due || pki.IsDue(errors.Join(fault, nil)) != due {
				t.Errorf("it is only due: %t", !due)
			}
			if fault != nil && pki.IsDue(errors.Join(fault, errors.New("another is wrong"))) {
				t.Error("another that is wrong counts as due")
			}
		})
	}
}

// However old the CA is, a leaf is due when a third of its own lifetime is left; and not
// at all if a new one would end no later, or it would be recreated with every look.
func TestCheckAgeUnderAnOldCA(t *testing.T) {
	ca := newCA(t, "ca")
	life := server().Lifetime
	for _, of := range []struct {
		made, at time.Duration
		want     string
	}{
		{5 * year, 5*year + time.Minute, ""},
		{5 * year, 5*year + life/3*2 - time.Second, ""},
		{5 * year, 5*year + life/3*2 + time.Second, "two thirds"},
		{lifetime - life/4, lifetime - life/4, ""},
		{lifetime - life/4, lifetime - time.Second, ""},
	} {
		leaf, err := pki.Issue(random, now.Add(of.made), ca, server())
		if err != nil {
			t.Fatal(err)
		}
		wantError(t, pki.Check(leaf, ca, server(), now.Add(of.at)), of.want)
	}
}

func TestCheckSubject(t *testing.T) {
	ca := newCA(t, "ca")
	leaf := issue(t, ca, server())
	tests := []struct {
		name   string
		change func(*pki.Request)
		want   string
	}{
		{"other common name", func(r *pki.Request) { r.CommonName = "m2" }, "common name"},
		{"missing DNS name", func(r *pki.Request) { r.DNSNames = append(r.DNSNames, "m1") }, "DNS names"},
		{"DNS name too many", func(r *pki.Request) { r.DNSNames = r.DNSNames[:1] }, "DNS names"},
		{"missing IP address", func(r *pki.Request) { r.IPs = append(r.IPs, net.IPv4(10, 0, 0, 8)) }, "IP addresses"},
		{"missing usage", func(r *pki.Request) { r.Client = true }, "usages"},
		{"usage too many", func(r *pki.Request) { r.Server, r.Client = false, true }, "usages"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			request := server()
			test.change(&request)
			wantError(t, pki.Check(leaf, ca, request, now), test.want)
		})
	}
}

func TestCheckTampering(t *testing.T) {
	ca, other := newCA(t, "ca"), newCA(t, "ca")
	leaf, second := issue(t, ca, server()), issue(t, ca, server())
	block, _ := pem.Decode(leaf.CertPEM)
	block.Bytes = bytes.Replace(block.Bytes, []byte("m1.example.svc"), []byte("m9.example.svc"), 1)
	request := server()
	request.DNSNames[0] = "m9.example.svc"

	tests := []struct {
		name     string
		leaf, ca pki.Pair
		request  pki.Request
		want     string
	}{
		{"other CA of the same name", leaf, other, server(), "not signed by the CA"},
		{"changed name", pki.Pair{CertPEM: pem.EncodeToMemory(block), KeyPEM: leaf.KeyPEM}, ca, request, "not signed by the CA"},
		{"key of another leaf", pki.Pair{CertPEM: leaf.CertPEM, KeyPEM: second.KeyPEM}, ca, server(), "does not match"},
		{"leaf as CA", leaf, second, server(), "not signed by the CA"},
		{"no certificate", pki.Pair{KeyPEM: leaf.KeyPEM}, ca, server(), "in certificate input"},
		{"no key", pki.Pair{CertPEM: leaf.CertPEM}, ca, server(), "in key input"},
		{"no CA", leaf, pki.Pair{}, server(), "read CA"},
		{"swapped halves", pki.Pair{CertPEM: leaf.KeyPEM, KeyPEM: leaf.CertPEM}, ca, server(), "may have been switched"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wantError(t, pki.Check(test.leaf, test.ca, test.request, now), test.want)
		})
	}
}
