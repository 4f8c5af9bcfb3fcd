// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pki_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
)

// An issuer is an external authority, which issues any certificate.
type issuer struct {
	t    *testing.T
	cert *x509.Certificate
	key  crypto.Signer
}

var today = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func ecdsaKey(t *testing.T) crypto.Signer { return curveKey(t, elliptic.P256()) }

func curveKey(t *testing.T, curve elliptic.Curve) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// certify has the issuer sign; a nil one signs itself.
func (i *issuer) certify(t *testing.T, template x509.Certificate, key crypto.Signer) (*x509.Certificate, pki.Pair) {
	t.Helper()
	template.SerialNumber = big.NewInt(1)
	parent, by := &template, key
	if i != nil {
		parent, by = i.cert, i.key
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, parent, key.Public(), by)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, pki.Pair{
		CertPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		KeyPEM:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}),
	}
}

func authorityTemplate(name string) x509.Certificate {
	return x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: today.Add(-time.Hour), NotAfter: today.Add(10000 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
	}
}

func leafTemplate() x509.Certificate {
	return x509.Certificate{
		Subject: pkix.Name{CommonName: "other"}, NotBefore: today.Add(-time.Hour), NotAfter: today.Add(1000 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames: []string{"*.example.default.svc", "*.default.svc", "localhost"},
	}
}

func newIssuer(t *testing.T, by *issuer, template x509.Certificate, key crypto.Signer) (*issuer, []byte) {
	t.Helper()
	certificate, pair := by.certify(t, template, key)
	return &issuer{t, certificate, key}, pair.CertPEM
}

// TestFault81ExternalCertificates: each kind of certificate that does not serve has a reason of its own, and a sentence that says what to
// do; one that differs from ours only in what does not matter serves.
func TestFault81ExternalCertificates(t *testing.T) {
	root, ca := newIssuer(t, nil, authorityTemplate("root"), ecdsaKey(t))
	_, otherCA := newIssuer(t, nil, authorityTemplate("other"), ecdsaKey(t))
	between, betweenCA := newIssuer(t, root, authorityTemplate("between"), ecdsaKey(t))
	old := authorityTemplate("old")
	old.NotAfter = today.Add(-time.Minute)
	ended, endedCA := newIssuer(t, nil, old, ecdsaKey(t))
	weakKey, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	weak, weakCA := newIssuer(t, nil, authorityTemplate("weak"), weakKey)
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	wanted := pki.Request{Server: true, Client: true, DNSNames: []string{"*.example.default.svc", "example-client.default.svc", "localhost"}}
	for _, test := range []struct {
		name   string
		by     *issuer
		key    crypto.Signer
		change func(*x509.Certificate)
		bring  func(leaf *pki.Pair, ca *[]byte)
		ask    func(*pki.Request)
		want   pki.Defect
		says   string
	}{
		{name: "good"},
		{name: "Ed25519", key: edKey},
		{name: "no usages", change: func(c *x509.Certificate) { c.ExtKeyUsage = nil }},
		{name: "several authorities", bring: func(_ *pki.Pair, ca *[]byte) { *ca = append(append([]byte{}, otherCA...), *ca...) }},
		{name: "one in between", by: between, bring: func(l *pki.Pair, _ *[]byte) { l.CertPEM = append(l.CertPEM, betweenCA...) }},
		{name: "common name", ask: func(r *pki.Request) { r.CommonName = "other" }},

		{name: "no certificate", bring: func(l *pki.Pair, _ *[]byte) { l.CertPEM = nil }, want: pki.Incomplete, says: "it has no tls.crt"},
		{name: "no key", bring: func(l *pki.Pair, _ *[]byte) { l.KeyPEM = nil }, want: pki.Incomplete, says: "it has no tls.key"},
		{name: "no authority", bring: func(_ *pki.Pair, ca *[]byte) { *ca = nil }, want: pki.Incomplete, says: "it has no ca.crt"},
		{name: "garbage", bring: func(l *pki.Pair, _ *[]byte) { l.CertPEM = []byte("garbage") }, want: pki.Unreadable, says: "tls.crt"},
		{name: "garbage in PEM", bring: func(l *pki.Pair, _ *[]byte) {
			l.CertPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("garbage")})
		}, want: pki.Unreadable, says: "tls.crt"},
		{name: "garbage for a key", bring: func(l *pki.Pair, _ *[]byte) { l.KeyPEM = []byte("garbage") }, want: pki.Unreadable, says: "tls.key"},
		{name: "garbage for an authority", bring: func(_ *pki.Pair, ca *[]byte) { *ca = []byte("x") }, want: pki.Unreadable, says: "ca.crt"},
		{name: "half written", bring: func(l *pki.Pair, _ *[]byte) {
			_, other := root.certify(t, leafTemplate(), ecdsaKey(t))
			l.KeyPEM = other.KeyPEM
		}, want: pki.KeyMismatch, says: "not the key of tls.crt"},
		{name: "RSA-1024", key: weakKey, want: pki.WeakKey, says: "1024 bits"},
		{name: "P-224", key: curveKey(t, elliptic.P224()), want: pki.WeakKey, says: "224 bits"},
		{name: "an authority of RSA-1024", by: weak, bring: func(_ *pki.Pair, ca *[]byte) { *ca = weakCA }, want: pki.WeakKey, says: "1024 bits"},
		{name: "wrong authority", bring: func(_ *pki.Pair, ca *[]byte) { *ca = otherCA }, want: pki.WrongAuthority, says: "CN=root"},
		{name: "nothing in between", by: between, want: pki.WrongAuthority, says: "those in between into tls.crt"},
		{
			name: "itself for its authority", bring: func(l *pki.Pair, ca *[]byte) { *ca = l.CertPEM },
			want: pki.WrongAuthority, says: "no authority",
		},
		{
			name: "expired", change: func(c *x509.Certificate) { c.NotAfter = today.Add(-time.Minute) },
			want: pki.Expired, says: "2025-12-31T23:59:00Z: renew",
		},
		{name: "expired authority", by: ended, bring: func(_ *pki.Pair, ca *[]byte) { *ca = endedCA }, want: pki.Expired, says: "renew"},
		{
			name: "not yet", change: func(c *x509.Certificate) { c.NotBefore = today.Add(time.Hour) },
			want: pki.NotYetValid, says: "2026-01-01T01:00:00Z",
		},
		{
			name: "wrong name", change: func(c *x509.Certificate) { c.DNSNames = []string{"localhost"} },
			want: pki.WrongName, says: "*.example.default.svc",
		},
		{name: "not for the Service", change: func(c *x509.Certificate) {
			c.DNSNames = []string{"localhost", "*.example.default.svc"}
		}, want: pki.WrongName, says: "example-client.default.svc"},
		{
			name: "wrong user", ask: func(r *pki.Request) { r.CommonName = "root" },
			want: pki.WrongName, says: `"other": have one issued with "root"`,
		},
		{
			name: "for servers only", change: func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[:1] },
			want: pki.WrongUsage, says: "client auth",
		},
		{
			name: "for clients only", change: func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[1:] },
			want: pki.WrongUsage, says: "server auth",
		},
		{
			name: "not for signing", change: func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyEncipherment },
			want: pki.WrongUsage, says: "digital",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			by, key, template, r := test.by, test.key, leafTemplate(), wanted
			if by == nil {
				by = root
			}
			if key == nil {
				key = ecdsaKey(t)
			}
			if test.change != nil {
				test.change(&template)
			}
			if test.ask != nil {
				test.ask(&r)
			}
			_, leaf := by.certify(t, template, key)
			trusted := append([]byte{}, ca...)
			if test.bring != nil {
				test.bring(&leaf, &trusted)
			}
			begin, end, err := pki.Accept(leaf, trusted, r, today)
			var rejected *pki.Rejection
			switch isRejected := errors.As(err, &rejected); {
			case test.want == "" && err != nil:
				t.Errorf("rejected: %v", err)
			case test.want == "" && (!begin.Equal(today.Add(-time.Hour)) || !end.Equal(today.Add(1000*time.Hour))):
				t.Errorf("valid from %s to %s", begin, end)
			case test.want != "" && (!isRejected || rejected.Defect != test.want || !strings.Contains(rejected.Because, test.says)):
				t.Errorf("got %v, want %s: %s", err, test.want, test.says)
			}
			if err != nil && strings.Contains(err.Error(), "PRIVATE") {
				t.Errorf("the error contains a key: %v", err)
			}
		})
	}
}

// TestChainsTo: with what is in between, however old, and with nothing that was not signed.
func TestChainsTo(t *testing.T) {
	root, ca := newIssuer(t, nil, authorityTemplate("root"), ecdsaKey(t))
	_, sameName := newIssuer(t, nil, authorityTemplate("root"), ecdsaKey(t))
	between, betweenCA := newIssuer(t, root, authorityTemplate("between"), ecdsaKey(t))
	_, direct := root.certify(t, leafTemplate(), ecdsaKey(t))
	_, deep := between.certify(t, leafTemplate(), ecdsaKey(t))
	whole := pki.Pair{CertPEM: append(append([]byte{}, deep.CertPEM...), betweenCA...)}
	for _, test := range []struct {
		name string
		leaf pki.Pair
		ca   []byte
		want bool
	}{
		{"direct", direct, ca, true},
		{"deep", whole, ca, true},
		{"to the middle", deep, betweenCA, true},
		{"deep without the middle", deep, ca, false},
		{"another of the same name", direct, sameName, false},
		{"both of that name", direct, append(append([]byte{}, sameName...), ca...), true},
		{"nothing", pki.Pair{}, ca, false},
		{"by nothing", direct, nil, false},
	} {
		if got := pki.ChainsTo(test.leaf, test.ca); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}
