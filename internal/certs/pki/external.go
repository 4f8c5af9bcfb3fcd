// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"time"
)

// A Defect is the kind of reason why an external certificate does not serve.
type Defect string

// The kinds, in the order in which they are looked for.
const (
	Incomplete     Defect = "SecretIncomplete" // a part is missing
	Unreadable     Defect = "Unreadable"       // a part is no PEM of its kind
	KeyMismatch    Defect = "KeyMismatch"      // the key is another certificate's
	WeakKey        Defect = "WeakKey"          // the key, or a signature, can be broken
	WrongAuthority Defect = "WrongAuthority"   // none that is to be trusted has signed it
	Expired        Defect = "Expired"
	NotYetValid    Defect = "NotYetValid"
	WrongName      Defect = "WrongName"
	WrongUsage     Defect = "WrongUsage"
)

// A Rejection says why a certificate does not serve, and what to do.
type Rejection struct {
	Defect  Defect
	Because string // begins with what is wrong, ends with what to do
}

// Error says it in words.
func (r *Rejection) Error() string { return r.Because }

func reject(defect Defect, format string, args ...any) *Rejection {
	return &Rejection{defect, fmt.Sprintf(format, args...)}
}

// leastRSA is how many bits an RSA key must have: NIST SP 800-131A disallows shorter ones.
const leastRSA = 2048

// leastCurve is how many bits a curve must have.
const leastCurve = 256

// Accept says when an external certificate, and all authorities above it, begin and end to be valid, or
// why it does not serve. ca are the authorities that are to be trusted, in PEM. The certificate may have more
// names and usages than r asks for; r.Lifetime is not looked at, and r.CommonName only if it is not empty, or r.Nameless. An error is a
// *Rejection.
func Accept(leaf Pair, ca []byte, r Request, now time.Time) (begin, end time.Time, err error) {
	for _, part := range []struct {
		name string
		text []byte
	}{{"tls.crt", leaf.CertPEM}, {"tls.key", leaf.KeyPEM}, {"ca.crt", ca}} {
		if len(part.text) == 0 {
			return begin, end, reject(Incomplete, "it has no %s: put all of tls.crt, tls.key and ca.crt into it", part.name)
		}
	}
	chain, err := readChain(leaf, ca)
	if err != nil {
		return begin, end, err
	}
	for _, check := range []func() error{
		func() error { return checkStrength(chain) },
		func() error { begin, end = validity(chain); return checkTimes(begin, end, now) },
		func() error { return checkNames(chain[0], r) },
		func() error { return checkUsage(chain[0], r) },
		func() error { return verify(chain, now) },
	} {
		if err := check(); err != nil {
			return begin, end, err
		}
	}
	return begin, end, nil
}

// readChain is the certificate with those above it, up to an authority in ca.
func readChain(leaf Pair, ca []byte) ([]*x509.Certificate, error) {
	own, err := parseAll(leaf.CertPEM)
	if err != nil || len(own) == 0 {
		return nil, reject(Unreadable, "its tls.crt holds no certificate in PEM: write it again")
	}
	if err := checkKey(leaf); err != nil {
		return nil, err
	}
	roots, err := parseAll(ca)
	if err != nil || len(roots) == 0 {
		return nil, reject(Unreadable, "its ca.crt holds no certificate in PEM: put the authority there that has signed tls.crt")
	}
	for _, root := range roots {
		if !root.IsCA {
			return nil, reject(WrongAuthority, "its ca.crt holds %q, which is the certificate of no authority: "+
				"put the authority there that has signed tls.crt", name(root))
		}
	}
	chain := path(own, roots)
	if chain == nil {
		return nil, reject(WrongAuthority, "no authority in ca.crt (%s) has signed its certificate, which says that %q did: "+
			"put that authority into ca.crt, and those in between into tls.crt", names(roots), own[0].Issuer)
	}
	return chain, nil
}

func checkKey(leaf Pair) error {
	if _, err := tls.X509KeyPair(leaf.CertPEM, leaf.KeyPEM); err == nil {
		return nil
	}
	if block, _ := pem.Decode(leaf.KeyPEM); block == nil || !isKey(block.Bytes) {
		return reject(Unreadable, "its tls.key holds no private key in PEM without a passphrase: write it again")
	}
	return reject(KeyMismatch, "its tls.key is not the key of tls.crt: write both of them, in one update")
}

func isKey(der []byte) bool {
	_, pkcs8 := x509.ParsePKCS8PrivateKey(der)
	_, pkcs1 := x509.ParsePKCS1PrivateKey(der)
	_, sec1 := x509.ParseECPrivateKey(der)
	return pkcs8 == nil || pkcs1 == nil || sec1 == nil
}

// parseAll reads all certificates of a bundle. One that cannot be read spoils it.
func parseAll(bundle []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for _, text := range Certificates(bundle) {
		certificate, err := (Pair{CertPEM: text}).parse()
		if err != nil {
			return nil, err
		}
		all = append(all, certificate)
	}
	return all, nil
}

// path is the certificate, those in between, and the root that ends it; nil if there is no such way. How old they are does not matter.
func path(own, roots []*x509.Certificate) []*x509.Certificate {
	chain, between := own[:1:1], own[1:]
	for range len(own) {
		last := chain[len(chain)-1]
		signed := func(by *x509.Certificate) bool {
			return last.CheckSignatureFrom(by) == nil && !slices.Contains(chain, by)
		}
		if i := slices.IndexFunc(roots, signed); i >= 0 {
			return append(chain, roots[i])
		}
		i := slices.IndexFunc(between, signed)
		if i < 0 {
			return nil
		}
		chain = append(chain, between[i])
	}
	return nil
}

// ValidUntil is when the certificate ends to be valid, or an authority above it, up to one in the bundle; not known if none in it is
// above the certificate.
func ValidUntil(leaf Pair, bundle []byte) (end time.Time, known bool) {
	chain := chainTo(leaf, bundle)
	if chain == nil {
		return time.Time{}, false
	}
	_, end = validity(chain)
	return end, true
}

// ChainsTo says whether an authority in the bundle has signed the first certificate of the leaf, or one of those in between that come
// with it, however old they are.
func ChainsTo(leaf Pair, bundle []byte) bool { return chainTo(leaf, bundle) != nil }

// chainTo is the certificate with those above it, up to an authority in the bundle; nil if there is none.
func chainTo(leaf Pair, bundle []byte) []*x509.Certificate {
	own, err := parseAll(leaf.CertPEM)
	if err != nil || len(own) == 0 {
		return nil
	}
	var roots []*x509.Certificate
	for _, text := range Certificates(bundle) {
		if root, err := (Pair{CertPEM: text}).parse(); err == nil {
			roots = append(roots, root)
		}
	}
	return path(own, roots)
}

func checkStrength(chain []*x509.Certificate) error {
	for _, certificate := range chain {
		switch key := certificate.PublicKey.(type) {
		case *rsa.PublicKey:
			if bits := key.N.BitLen(); bits < leastRSA {
				return reject(WeakKey, "%q has an RSA key of %d bits, which can be broken: make one of %d bits or more, or ECDSA P-256",
					name(certificate), bits, leastRSA)
			}
		case *ecdsa.PublicKey:
			if bits := key.Curve.Params().BitSize; bits < leastCurve {
				return reject(WeakKey, "%q has an ECDSA key of %d bits, which can be broken: make one of %d bits or more",
					name(certificate), bits, leastCurve)
			}
		case ed25519.PublicKey:
		default:
			return reject(WeakKey, "%q has a key that is neither RSA nor ECDSA nor Ed25519: make one that is", name(certificate))
		}
	}
	return nil
}

// validity is when all of them are valid.
func validity(chain []*x509.Certificate) (begin, end time.Time) {
	begin, end = chain[0].NotBefore, chain[0].NotAfter
	for _, certificate := range chain[1:] {
		if certificate.NotBefore.After(begin) {
			begin = certificate.NotBefore
		}
		if certificate.NotAfter.Before(end) {
			end = certificate.NotAfter
		}
	}
	return begin, end
}

func checkTimes(begin, end, now time.Time) error {
	switch {
	case now.After(end):
		return reject(Expired, "its certificate, or an authority above it, has expired on %s: renew it", date(end))
	case now.Before(begin):
		return reject(NotYetValid, "its certificate, or an authority above it, is not valid before %s: wait, or have one issued that "+
			"is valid now, and look whether clocks are right", date(begin))
	default:
		return nil
	}
}

func checkNames(certificate *x509.Certificate, r Request) error {
	if name := certificate.Subject.CommonName; r.Nameless && name != "" {
		return reject(WrongName, "the common name of its certificate is %q: have one issued without a common name", name)
	}
	if r.CommonName != "" && certificate.Subject.CommonName != r.CommonName {
		return reject(WrongName, "the common name of its certificate is %q: have one issued with %q",
			certificate.Subject.CommonName, r.CommonName)
	}
	for _, name := range r.DNSNames {
		if !slices.Contains(certificate.DNSNames, name) && certificate.VerifyHostname(name) != nil {
			return reject(WrongName, "its certificate is not for the DNS name %s, only for %q: have one issued that has it too",
				name, certificate.DNSNames)
		}
	}
	return nil
}

func checkUsage(certificate *x509.Certificate, r Request) error {
	usages := certificate.ExtKeyUsage
	isForAll := len(usages) == 0 && len(certificate.UnknownExtKeyUsage) == 0 || slices.Contains(usages, x509.ExtKeyUsageAny)
	for _, usage := range r.usages() {
		if !isForAll && !slices.Contains(usages, usage) {
			return reject(WrongUsage, "its certificate lacks an extended key usage: have one issued for %s", r.purposes())
		}
	}
	if certificate.KeyUsage != 0 && certificate.KeyUsage&x509.KeyUsageDigitalSignature == 0 {
		return reject(WrongUsage, "its certificate lacks the key usage digital signature: have one issued that has it")
	}
	return nil
}

func (r Request) purposes() string {
	switch {
	case r.Server && r.Client:
		return "server auth and client auth"
	case r.Server:
		return "server auth"
	default:
		return "client auth"
	}
}

// verify is what a TLS stack does with the chain, limits that authorities put on names and depth among it.
func verify(chain []*x509.Certificate, now time.Time) error {
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(chain[len(chain)-1])
	for _, certificate := range chain[1 : len(chain)-1] {
		between.AddCert(certificate)
	}
	how := x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	if _, err := chain[0].Verify(how); err != nil {
		return reject(WrongAuthority, "its certificate does not verify: %v; have another one issued", err)
	}
	return nil
}

func name(certificate *x509.Certificate) string { return certificate.Subject.String() }

func names(all []*x509.Certificate) string {
	text := ""
	for i, certificate := range all {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%q", name(certificate))
	}
	return text
}
