// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

const (
	// Backdate is how far before now a certificate starts to be valid. It is a day, so that a
	// clock which is ahead by less, such as one set to local time, signs nothing that others do
	// not accept yet.
	Backdate = 24 * time.Hour

	// maxCommonName is ub-common-name of RFC 5280. Go would sign a longer one,
	// and other TLS stacks would then refuse it.
	maxCommonName = 64
)

// Request says what a leaf certificate is for.
type Request struct {
	CommonName     string
	Organization   string // in the subject of one without a common name, which DNSNames identify: some programs take no empty subject
	DNSNames       []string
	IPs            []net.IP
	Server, Client bool
	Lifetime       time.Duration
	Nameless       bool   // to Accept: it must have no common name
	Serial         string // in hexadecimal; empty for a random one
}

// NewCA makes a self-signed CA. It may sign leaves only, never another CA. Its subject also says
// when it was made: TLS names the CAs that a server trusts by their subjects alone.
func NewCA(random io.Reader, now time.Time, commonName string, lifetime time.Duration) (Pair, error) {
	if err := checkCommonName(commonName); err != nil {
		return Pair{}, fmt.Errorf("make CA: %w", err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: commonName, SerialNumber: now.UTC().Format("20060102150405.000000000")},
		NotBefore:             now.Add(-Backdate),
		NotAfter:              now.Add(lifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	pair, err := sign(random, template, nil, nil)
	if err != nil {
		return Pair{}, fmt.Errorf("make CA %q: %w", commonName, err)
	}
	return pair, nil
}

// Issue makes a leaf certificate signed by ca. The leaf is valid from a day before now, so
// that others accept it whose clocks are behind, but not from before the CA is. It never
// outlives the CA.
func Issue(random io.Reader, now time.Time, ca Pair, r Request) (Pair, error) {
	if err := checkCommonName(r.CommonName); err != nil && !r.isNameless() {
		return Pair{}, fmt.Errorf("issue certificate: %w", err)
	}
	signer, err := ca.TLSCertificate()
	if err != nil {
		return Pair{}, fmt.Errorf("issue certificate %q: read CA: %w", r.CommonName, err)
	}
	if err := canSign(signer.Leaf, now); err != nil {
		return Pair{}, fmt.Errorf("issue certificate %q: %w", r.CommonName, err)
	}
	template := r.template(now, signer.Leaf)
	if r.Serial != "" {
		if template.SerialNumber, err = parseSerial(r.Serial); err != nil {
			return Pair{}, fmt.Errorf("issue certificate %q: %w", r.CommonName, err)
		}
	}
	pair, err := sign(random, template, signer.Leaf, signer.PrivateKey)
	if err != nil {
		return Pair{}, fmt.Errorf("issue certificate %q: %w", r.CommonName, err)
	}
	return pair, nil
}

func (r Request) template(now time.Time, issuer *x509.Certificate) *x509.Certificate {
	begin, end := now.Add(-Backdate), now.Add(r.Lifetime)
	if begin.Before(issuer.NotBefore) {
		begin = issuer.NotBefore
	}
	if end.After(issuer.NotAfter) {
		end = issuer.NotAfter
	}
	return &x509.Certificate{
		Subject:               r.subject(),
		NotBefore:             begin,
		NotAfter:              end,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           r.usages(),
		BasicConstraintsValid: true,
		DNSNames:              r.DNSNames,
		IPAddresses:           r.IPs,
	}
}

// isNameless says whether something else than a common name identifies the certificate.
func (r Request) isNameless() bool {
	return r.CommonName == "" && r.Organization != "" && len(r.DNSNames) > 0
}

func (r Request) subject() pkix.Name {
	if r.isNameless() {
		return pkix.Name{Organization: []string{r.Organization}}
	}
	return pkix.Name{CommonName: r.CommonName}
}

func (r Request) usages() []x509.ExtKeyUsage {
	var usages []x509.ExtKeyUsage
	if r.Server {
		usages = append(usages, x509.ExtKeyUsageServerAuth)
	}
	if r.Client {
		usages = append(usages, x509.ExtKeyUsageClientAuth)
	}
	return usages
}

func checkCommonName(name string) error {
	if name == "" {
		return errors.New("the common name is empty")
	}
	if len(name) > maxCommonName {
		return fmt.Errorf("the common name %q is longer than %d bytes", name, maxCommonName)
	}
	return nil
}

func canSign(issuer *x509.Certificate, now time.Time) error {
	switch {
	case !issuer.IsCA || issuer.KeyUsage&x509.KeyUsageCertSign == 0:
		return errors.New("the CA certificate may not sign certificates")
	case now.Before(issuer.NotBefore) || now.After(issuer.NotAfter):
		return fmt.Errorf("the CA is valid only from %s to %s", date(issuer.NotBefore), date(issuer.NotAfter))
	}
	return nil
}

// sign makes a fresh key and a certificate for it. Without an issuer the
// certificate signs itself. crypto/x509 derives the subject and authority key
// identifiers: those of a leaf only when the template carries one, so we set it.
// Since Go 1.26 keys and signatures always use the system's secure randomness;
// random then feeds only the serial number, which crypto/x509 draws.
func sign(random io.Reader, template, issuer *x509.Certificate, issuerKey crypto.PrivateKey) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), random)
	if err != nil {
		return Pair{}, fmt.Errorf("generate key: %w", err)
	}
	if template.SubjectKeyId, err = keyID(&key.PublicKey); err != nil {
		return Pair{}, err
	}
	if issuer == nil {
		issuer, issuerKey = template, key
	}
	certificate, err := x509.CreateCertificate(random, template, issuer, &key.PublicKey, issuerKey)
	if err != nil {
		return Pair{}, fmt.Errorf("sign: %w", err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, errors.New("the new private key cannot be encoded")
	}
	return Pair{
		CertPEM: pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: certificate}),
		KeyPEM:  pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: encoded}),
	}, nil
}
