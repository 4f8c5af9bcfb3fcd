// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki makes the cluster's keys, certificates and kubeconfigs.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const tenYears = 10 * 365 * 24 * time.Hour

// Holder is who a certificate is for.
type Holder struct {
	File   string
	Name   string
	Groups []string
	DNS    []string
	IPs    []string
}

// Authority signs certificates and keeps them all in one folder.
type Authority struct {
	dir  string
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

// Open reads the authority in the folder, or makes a new one.
func Open(dir string) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	a := &Authority{dir: dir}
	if err := a.load(); err == nil {
		return a, nil
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the authority: %w", err)
	}
	if err := a.create(); err != nil {
		return nil, fmt.Errorf("make the authority: %w", err)
	}
	return a, nil
}

// Path is a file in the authority's folder.
func (a *Authority) Path(name string) string { return filepath.Join(a.dir, name) }

func (a *Authority) load() error {
	cert, err := block(a.Path("ca.crt"))
	if err != nil {
		return err
	}
	key, err := block(a.Path("ca.key"))
	if err != nil {
		return err
	}
	if a.cert, err = x509.ParseCertificate(cert); err != nil {
		return err
	}
	a.key, err = x509.ParseECPrivateKey(key)
	return err
}

func (a *Authority) create() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := fresh(pkix.Name{CommonName: "devcluster"})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	if err := writeKey(a.Path("ca.key"), key); err != nil {
		return err
	}
	if err := writeBlock(a.Path("ca.crt"), "CERTIFICATE", raw); err != nil {
		return err
	}
	return a.load()
}

// Issue makes a key and certificate for the holder, unless both are there.
func (a *Authority) Issue(holder Holder) error {
	_, errKey := os.Stat(a.Path(holder.File + ".key"))
	_, errCert := os.Stat(a.Path(holder.File + ".crt"))
	if errKey == nil && errCert == nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := fresh(pkix.Name{CommonName: holder.Name, Organization: holder.Groups})
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	template.DNSNames = holder.DNS
	for _, ip := range holder.IPs {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(ip))
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return fmt.Errorf("sign for %s: %w", holder.File, err)
	}
	if err := writeKey(a.Path(holder.File+".key"), key); err != nil {
		return err
	}
	return writeBlock(a.Path(holder.File+".crt"), "CERTIFICATE", raw)
}

// SigningKey makes the pair that signs service account tokens.
func (a *Authority) SigningKey() error {
	if _, err := os.Stat(a.Path("sa.pub")); err == nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if err := writeKey(a.Path("sa.key"), key); err != nil {
		return err
	}
	raw, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	return writeBlock(a.Path("sa.pub"), "PUBLIC KEY", raw)
}

func fresh(subject pkix.Name) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	now := time.Now()
	// An hour back forgives a clock that was set back.
	return &x509.Certificate{SerialNumber: serial, Subject: subject, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(tenYears)}
}

func block(file string) ([]byte, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	decoded, _ := pem.Decode(raw)
	if decoded == nil {
		return nil, fmt.Errorf("%s holds no PEM block", file)
	}
	return decoded.Bytes, nil
}

func writeKey(file string, key *ecdsa.PrivateKey) error {
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writeBlock(file, "EC PRIVATE KEY", raw)
}

func writeBlock(file, kind string, raw []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600)
}
