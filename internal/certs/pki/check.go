// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
)

// keyIDSize is the length of a key identifier: SHA-256 cut to 160 bits, method
// 1 of RFC 7093.
const keyIDSize = 20

// Check says why leaf must be issued again, or nil if it still serves: it is
// signed by ca, has the names and usages that r asks for, belongs to its key,
// and has more than a third of its life left. More names or usages than asked
// for are also a reason: a name that was taken away must not stay valid.
// The CA's private key is not looked at.
func Check(leaf, ca Pair, r Request, now time.Time) error {
	pair, err := leaf.TLSCertificate()
	if err != nil {
		return err
	}
	issuer, err := ca.parse()
	if err != nil {
		return fmt.Errorf("read CA: %w", err)
	}
	if err := checkSigner(pair.Leaf, issuer, now); err != nil {
		return err
	}
	if err := checkSubject(pair.Leaf, r); err != nil {
		return err
	}
	return checkAge(pair.Leaf, issuer, r.Lifetime, now)
}

// IsSignedBy says whether ca has signed leaf, however old both are.
func IsSignedBy(leaf, ca Pair) bool {
	certificate, err := leaf.parse()
	if err != nil {
		return false
	}
	issuer, err := ca.parse()
	return err == nil && certificate.CheckSignatureFrom(issuer) == nil
}

func checkSigner(certificate, issuer *x509.Certificate, now time.Time) error {
	if now.After(issuer.NotAfter) {
		return fmt.Errorf("the CA expired on %s", date(issuer.NotAfter))
	}
	if err := certificate.CheckSignatureFrom(issuer); err != nil {
		return fmt.Errorf("not signed by the CA: %w", err)
	}
	return nil
}

func checkSubject(certificate *x509.Certificate, r Request) error {
	if certificate.Subject.CommonName != r.CommonName {
		return fmt.Errorf("the common name is %q, not %q", certificate.Subject.CommonName, r.CommonName)
	}
	if !sameSet(certificate.DNSNames, r.DNSNames) {
		return fmt.Errorf("the DNS names are %q, not %q", certificate.DNSNames, r.DNSNames)
	}
	if got, want := texts(certificate.IPAddresses), texts(r.IPs); !sameSet(got, want) {
		return fmt.Errorf("the IP addresses are %q, not %q", got, want)
	}
	if !sameSet(certificate.ExtKeyUsage, r.usages()) {
		return errors.New("the key usages for server and client are not as asked")
	}
	return nil
}

func checkAge(certificate, issuer *x509.Certificate, lifetime time.Duration, now time.Time) error {
	if now.Before(certificate.NotBefore) {
		return fmt.Errorf("not valid before %s", date(certificate.NotBefore))
	}
	if now.After(certificate.NotAfter) {
		return fmt.Errorf("expired on %s", date(certificate.NotAfter))
	}
	// It is due when a third of the lifetime that it was made for is left. Its begin does not
	// matter: one of an earlier release began with its CA.
	renew := certificate.NotAfter.Add(-lifetime / 3)
	// One that ends with its CA would end no later if it were issued again.
	if now.After(renew) && certificate.NotAfter.Before(issuer.NotAfter) {
		return fmt.Errorf("%w since %s", errDue, date(renew))
	}
	// The third is for clocks that were ahead.
	if longest := now.Add(lifetime + lifetime/3); certificate.NotAfter.After(longest) {
		return fmt.Errorf("%w: it is valid until %s", errLong, date(certificate.NotAfter))
	}
	return nil
}

// errLong: a shorter lifetime is wanted than it was made with.
var errLong = errors.New("valid for longer than is wanted")

var errDue = errors.New("past two thirds of its life")

// IsDue says whether nothing is wrong with what was checked but that it is time to issue it
// again, and so with all of it if that was more: it is valid for months.
func IsDue(fault error) bool {
	isDue := func(err error) bool { return errors.Is(err, errDue) || errors.Is(err, errLong) }
	var several interface{ Unwrap() []error }
	if !errors.As(fault, &several) {
		return isDue(fault)
	}
	return !slices.ContainsFunc(several.Unwrap(), func(err error) bool { return !isDue(err) })
}

func keyID(key *ecdsa.PublicKey) ([]byte, error) {
	point, err := key.Bytes()
	if err != nil {
		return nil, fmt.Errorf("encode public key: %w", err)
	}
	sum := sha256.Sum256(point)
	return sum[:keyIDSize], nil
}

// sameSet compares without regard to order or repetition: neither has a
// meaning in a certificate.
func sameSet[T ~string | ~int](a, b []T) bool {
	sorted := func(in []T) []T {
		out := slices.Clone(in)
		slices.Sort(out)
		return slices.Compact(out)
	}
	return slices.Equal(sorted(a), sorted(b))
}

func texts(ips []net.IP) []string {
	var out []string
	for _, ip := range ips {
		out = append(out, ip.String())
	}
	return out
}

func date(t time.Time) string { return t.UTC().Format(time.RFC3339) }
