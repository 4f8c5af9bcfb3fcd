// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pki_test

import (
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
)

// TestRevocationList: what is on a list is read from it again, and the CA has signed it, for as long as it lives.
func TestRevocationList(t *testing.T) {
	ca := newCA(t, "ca")
	longest := "7" + strings.Repeat("f", 39)
	for _, serials := range [][]string{{}, {"1"}, {longest}, {"b", "a", "b"}} {
		list, err := pki.RevocationList(random, now, ca, serials)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(serials)
		if got, err := pki.Revoked(list); err != nil || !slices.Equal(got, slices.Compact(serials)) {
			t.Errorf("%v became %v, %v", serials, got, err)
		}
		parsed, err := x509.ParseRevocationList(list)
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(ca.CertPEM)
		signer, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if err := parsed.CheckSignatureFrom(signer); err != nil || !parsed.NextUpdate.Equal(signer.NotAfter) {
			t.Errorf("signed by another, or for another time: %v, %s", err, parsed.NextUpdate)
		}
	}
	later, err := pki.RevocationList(random, now.Add(1), ca, nil)
	if err != nil {
		t.Fatal(err)
	}
	first, second := number(t, must(t, ca)), number(t, later)
	if first >= second {
		t.Errorf("the number went from %d to %d", first, second)
	}
}

func must(t *testing.T, ca pki.Pair) []byte {
	t.Helper()
	list, err := pki.RevocationList(random, now, ca, nil)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func number(t *testing.T, list []byte) int64 {
	t.Helper()
	parsed, err := x509.ParseRevocationList(list)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Number.Int64()
}

// TestRefusedSerials: what is no serial number is on no list and in no certificate.
func TestRefusedSerials(t *testing.T) {
	ca := newCA(t, "ca")
	for _, serial := range []string{"", "0", "-1", "g", "0x1", "1:2", " 1", "1\n"} {
		if _, err := pki.RevocationList(random, now, ca, []string{serial}); err == nil {
			t.Errorf("%q is on a list", serial)
		}
		if serial == "" {
			continue
		}
		request := client()
		request.Serial = serial
		if _, err := pki.Issue(random, now, ca, request); err == nil {
			t.Errorf("%q is in a certificate", serial)
		}
	}
	if _, err := pki.RevocationList(random, now, pki.Pair{CertPEM: ca.CertPEM}, nil); err == nil {
		t.Error("a list without a signature")
	}
	for _, garbage := range [][]byte{nil, []byte("garbage"), ca.CertPEM} {
		if got, err := pki.Revoked(garbage); err == nil {
			t.Errorf("a list of %v", got)
		}
	}
}

// TestSerial: a certificate has the serial number that was asked for, else one of its own.
func TestSerial(t *testing.T) {
	ca, request := newCA(t, "ca"), client()
	if first, second := issue(t, ca, request).Serial(), issue(t, ca, request).Serial(); len(first) < 30 || first == second {
		t.Errorf("%q and %q", first, second)
	}
	request.Serial = "a0b1"
	if got := issue(t, ca, request).Serial(); got != "a0b1" {
		t.Errorf("got %q", got)
	}
	if got := (pki.Pair{}).Serial(); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}
