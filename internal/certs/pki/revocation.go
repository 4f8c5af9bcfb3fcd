// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"time"
)

// serialBase is that of serial numbers in text: hexadecimal, in lower case, without leading zeros.
const serialBase = 16

// Serial is the serial number of the certificate in hexadecimal; empty if there is no certificate.
func (p Pair) Serial() string {
	certificate, err := p.parse()
	if err != nil {
		return ""
	}
	return certificate.SerialNumber.Text(serialBase)
}

// RevocationList is a list of revoked certificates, signed by ca, in DER: etcd reads no PEM. It is valid for as long as ca:
// etcd asks for neither its signature nor its age. Its number is the time of its making, so that each later one has a
// higher one.
func RevocationList(random io.Reader, now time.Time, ca Pair, serials []string) ([]byte, error) {
	signer, err := ca.TLSCertificate()
	if err != nil {
		return nil, fmt.Errorf("make revocation list: read CA: %w", err)
	}
	key, is := signer.PrivateKey.(crypto.Signer)
	if !is {
		return nil, errors.New("make revocation list: the key of the CA cannot sign")
	}
	list := &x509.RevocationList{
		Number: big.NewInt(now.UnixNano()), ThisUpdate: now.Add(-Backdate), NextUpdate: signer.Leaf.NotAfter,
	}
	for _, text := range serials {
		serial, err := parseSerial(text)
		if err != nil {
			return nil, fmt.Errorf("make revocation list: %w", err)
		}
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{
			SerialNumber: serial, RevocationTime: now,
		})
	}
	der, err := x509.CreateRevocationList(random, list, signer.Leaf, key)
	if err != nil {
		return nil, fmt.Errorf("make revocation list: sign: %w", err)
	}
	return der, nil
}

// Revoked are the serial numbers on a revocation list in DER, sorted. It is an error if that is none, as it is to etcd.
func Revoked(list []byte) ([]string, error) {
	parsed, err := x509.ParseRevocationList(list)
	if err != nil {
		return nil, fmt.Errorf("parse revocation list: %w", err)
	}
	serials := make([]string, 0, len(parsed.RevokedCertificateEntries))
	for _, entry := range parsed.RevokedCertificateEntries {
		serials = append(serials, entry.SerialNumber.Text(serialBase))
	}
	slices.Sort(serials)
	return slices.Compact(serials), nil
}

func parseSerial(text string) (*big.Int, error) {
	serial, is := new(big.Int).SetString(text, serialBase)
	if !is || serial.Sign() <= 0 {
		return nil, fmt.Errorf("%.50q is no serial number in hexadecimal", text)
	}
	return serial, nil
}
