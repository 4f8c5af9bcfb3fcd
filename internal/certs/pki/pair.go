// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki makes and checks the X.509 certificates of etcd clusters.
//
// It is pure: the caller brings the clock and the randomness, and keeps the
// result. It must never touch a file, the network or Kubernetes, and no error
// it returns may ever hold a private key or part of one, because errors end up
// in logs, events and conditions.
package pki

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

const (
	certificateBlock = "CERTIFICATE"
	keyBlock         = "PRIVATE KEY"
)

// Pair is a certificate and its private key, both PEM encoded.
type Pair struct {
	CertPEM, KeyPEM []byte
}

// Equal says whether both are the same, byte by byte.
func (p Pair) Equal(other Pair) bool {
	return bytes.Equal(p.CertPEM, other.CertPEM) && bytes.Equal(p.KeyPEM, other.KeyPEM)
}

// String keeps the private key out of logs when a Pair is printed by mistake.
func (p Pair) String() string { return "certificate and private key (not shown)" }

// GoString does the same for %#v.
func (p Pair) GoString() string { return p.String() }

// End is when the certificate ends to be valid, and whether there is one.
func (p Pair) End() (time.Time, bool) {
	certificate, err := p.parse()
	if err != nil {
		return time.Time{}, false
	}
	return certificate.NotAfter, true
}

// Begin is when the certificate begins to be valid, and whether there is one.
func (p Pair) Begin() (time.Time, bool) {
	certificate, err := p.parse()
	if err != nil {
		return time.Time{}, false
	}
	return certificate.NotBefore, true
}

// Subject is the name by which TLS says that the certificate is trusted, in DER; nil if there is no certificate.
func (p Pair) Subject() []byte {
	certificate, err := p.parse()
	if err != nil {
		return nil
	}
	return certificate.RawSubject
}

// CommonName is that of the certificate, and whether there is one.
func (p Pair) CommonName() (string, bool) {
	certificate, err := p.parse()
	if err != nil {
		return "", false
	}
	return certificate.Subject.CommonName, true
}

// Chain is a pair without a key of certificates that are in DER, each signed by the next one.
func Chain(certificates [][]byte) Pair {
	var text []byte
	for _, certificate := range certificates {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: certificate})...)
	}
	return Pair{CertPEM: text}
}

// Certificates are those of a bundle, each in PEM of its own. What is no certificate is left out.
func Certificates(bundle []byte) [][]byte {
	var all [][]byte
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == certificateBlock {
			all = append(all, pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: block.Bytes}))
		}
	}
	return all
}

// TLSCertificate is the pair in the form that crypto/tls wants. Its errors contain nothing
// of the key.
func (p Pair) TLSCertificate() (tls.Certificate, error) {
	certificate, err := tls.X509KeyPair(p.CertPEM, p.KeyPEM)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("load certificate and key: %w", err)
	}
	return certificate, nil
}

// ClientConfig is what a client of etcd dials with: it trusts only ca, shows
// the first of its identities that the server accepts, and speaks TLS 1.3 or newer. The caller sets ServerName.
func ClientConfig(ca []byte, identities ...Pair) (*tls.Config, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("load CA bundle: no certificate in it")
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots}
	for _, identity := range identities {
		certificate, err := identity.TLSCertificate()
		if err != nil {
			return nil, err
		}
		config.Certificates = append(config.Certificates, certificate)
	}
	return config, nil
}

// parse reads the pair's certificate, the first one if there is a chain.
func (p Pair) parse() (*x509.Certificate, error) {
	block, _ := pem.Decode(p.CertPEM)
	if block == nil || block.Type != certificateBlock {
		return nil, errors.New("no PEM certificate")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parse certificate: %w", err)
	}
	return certificate, nil
}
