// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pki_test

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
)

var (
	random = rand.Reader
	now    = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
)

const year = 365 * 24 * time.Hour

// lifetime is that of the CAs of these tests.
const lifetime = 10 * year

func clock() time.Time { return now }

func server() pki.Request {
	return pki.Request{
		CommonName: "m1",
		DNSNames:   []string{"m1.example.svc", "localhost"},
		IPs:        []net.IP{net.IPv4(10, 0, 0, 7), net.IPv6loopback},
		Server:     true,
		Lifetime:   90 * 24 * time.Hour,
	}
}

func client() pki.Request {
	return pki.Request{CommonName: "operator", Client: true, Lifetime: time.Hour}
}

func newCA(t *testing.T, name string) pki.Pair {
	t.Helper()
	ca, err := pki.NewCA(random, now, name, lifetime)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func issue(t *testing.T, ca pki.Pair, request pki.Request) pki.Pair {
	t.Helper()
	pair, err := pki.Issue(random, now, ca, request)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func TestNewCA(t *testing.T) {
	ca := parse(t, newCA(t, "etcd peers"))
	if !ca.IsCA || !ca.MaxPathLenZero || ca.MaxPathLen != 0 || !ca.BasicConstraintsValid {
		t.Error("not a CA that may sign leaves only")
	}
	if ca.KeyUsage != x509.KeyUsageCertSign|x509.KeyUsageCRLSign || len(ca.ExtKeyUsage) > 0 {
		t.Errorf("key usages %v %v", ca.KeyUsage, ca.ExtKeyUsage)
	}
	if !ca.NotBefore.Equal(now.Add(-pki.Backdate)) || !ca.NotAfter.Equal(now.Add(lifetime)) {
		t.Errorf("valid from %s to %s", ca.NotBefore, ca.NotAfter)
	}
	if len(ca.SubjectKeyId) == 0 {
		t.Error("no subject key identifier")
	}
}

func TestIssue(t *testing.T) {
	ca := newCA(t, "ca")
	issuer, leaf := parse(t, ca), parse(t, issue(t, ca, server()))
	if leaf.IsCA || leaf.KeyUsage != x509.KeyUsageDigitalSignature {
		t.Errorf("CA %t, key usage %v", leaf.IsCA, leaf.KeyUsage)
	}
	if !slices.Equal(leaf.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}) {
		t.Errorf("extended key usages %v", leaf.ExtKeyUsage)
	}
	if !leaf.NotBefore.Equal(issuer.NotBefore) || !leaf.NotAfter.Equal(now.Add(server().Lifetime)) {
		t.Errorf("valid from %s to %s", leaf.NotBefore, leaf.NotAfter)
	}
	if len(leaf.SubjectKeyId) == 0 || !bytes.Equal(leaf.AuthorityKeyId, issuer.SubjectKeyId) {
		t.Error("key identifiers do not link the leaf to its CA")
	}
	if bytes.Equal(leaf.SubjectKeyId, issuer.SubjectKeyId) {
		t.Error("the leaf has the key of the CA")
	}
}

// A leaf begins now, less a day for clocks that are behind, and not when its CA did.
func TestALeafBeginsNow(t *testing.T) {
	ca, later := newCA(t, "ca"), now.Add(9*year)
	leaf, err := pki.Issue(random, later, ca, server())
	if err != nil {
		t.Fatal(err)
	}
	if begin := parse(t, leaf).NotBefore; !begin.Equal(later.Add(-24 * time.Hour)) {
		t.Errorf("one made on %s begins on %s", later, begin)
	}
	if begin := parse(t, issue(t, ca, server())).NotBefore; !begin.Equal(now.Add(-pki.Backdate)) {
		t.Errorf("one as old as its CA begins on %s", begin)
	}
}

// A clock that is ahead by a day signs nothing that others, whose clocks are right, do not
// accept yet.
func TestFault38AClockThatIsAhead(t *testing.T) {
	later := now.Add(24 * time.Hour)
	early, err := pki.NewCA(random, later, "ca", lifetime)
	if err != nil {
		t.Fatal(err)
	}
	for name, ca := range map[string]pki.Pair{"an authority of before": newCA(t, "ca"), "one by that clock": early} {
		ahead, err := pki.Issue(random, later, ca, server())
		if err != nil {
			t.Fatal(err)
		}
		if err := pki.Check(ahead, ca, server(), now); err != nil {
			t.Errorf("%s, for whom it is a day earlier: %v", name, err)
		}
		for _, part := range []pki.Pair{ca, ahead} {
			if leaf := parse(t, part); now.Before(leaf.NotBefore) {
				t.Errorf("%s: it is valid from %s on", name, leaf.NotBefore)
			}
		}
	}
}

func TestSerialsAreLongAndDiffer(t *testing.T) {
	ca := newCA(t, "ca")
	seen, longest := map[string]bool{}, 0
	for range 32 {
		serial := parse(t, issue(t, ca, client())).SerialNumber
		if seen[serial.String()] || serial.Sign() <= 0 {
			t.Fatalf("serial %s", serial)
		}
		seen[serial.String()] = true
		longest = max(longest, serial.BitLen())
	}
	if longest < 150 || longest > 159 {
		t.Errorf("longest of 32 serials has %d bits", longest)
	}
}

func TestALeafNeverOutlivesItsCA(t *testing.T) {
	ca, request := newCA(t, "ca"), server()
	request.Lifetime = 11 * year
	if end := parse(t, issue(t, ca, request)).NotAfter; !end.Equal(now.Add(lifetime)) {
		t.Errorf("ends %s", end)
	}
}

func TestIssueRefuses(t *testing.T) {
	ca, other := newCA(t, "ca"), newCA(t, "other")
	for name, want := range map[string]string{"": "empty", strings.Repeat("x", 65): "longer than 64"} {
		_, err := pki.Issue(random, now, ca, pki.Request{CommonName: name, Client: true, Lifetime: time.Hour})
		wantError(t, err, want)
	}
	_, err := pki.Issue(random, now, issue(t, ca, server()), server())
	wantError(t, err, "may not sign")
	_, err = pki.Issue(random, now, pki.Pair{CertPEM: ca.CertPEM, KeyPEM: other.KeyPEM}, server())
	wantError(t, err, "does not match")
	_, err = pki.Issue(random, now.Add(11*year), ca, server())
	wantError(t, err, "valid only from")
	_, err = pki.NewCA(random, now, "", lifetime)
	wantError(t, err, "empty")
	_, err = pki.NewCA(iotest.ErrReader(errors.New("no entropy")), now, "ca", lifetime)
	wantError(t, err, "no entropy")
}
