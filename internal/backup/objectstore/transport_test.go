// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore_test

import (
	"crypto/x509"
	"os"
	"os/exec"
	"slices"
	"testing"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
)

// publicAuthorities have signed the certificates of Amazon, Google and Azure.
var publicAuthorities = []string{
	"Amazon Root CA 1", "GTS Root R1", "DigiCert Global Root G2",
	"Microsoft RSA Root Certificate Authority 2017",
}

const noSystem = "TEST_STORE_WITHOUT_SYSTEM"

// TestPublicAuthorities: in an image without files of authorities, public endpoints are trusted.
func TestPublicAuthorities(t *testing.T) {
	if os.Getenv(noSystem) == "" {
		again := exec.Command(os.Args[0], "-test.run=^TestPublicAuthorities$", "-test.v")
		again.Env = append(os.Environ(), noSystem+"=yes", "SSL_CERT_FILE=/nowhere", "SSL_CERT_DIR=/nowhere")
		if said, err := again.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		return
	}
	trusted, err := objectstore.Authorities()
	must(t, err)
	var found []string
	for one := range bundle.Roots() {
		root, err := x509.ParseCertificate(one.Certificate)
		must(t, err)
		if !slices.Contains(publicAuthorities, root.Subject.CommonName) {
			continue
		}
		if _, err := root.Verify(x509.VerifyOptions{Roots: trusted, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
			t.Errorf("%s: %v", root.Subject, err)
		}
		found = append(found, root.Subject.CommonName)
	}
	if len(found) < len(publicAuthorities) {
		t.Errorf("only %v are known", found)
	}
}

// TestProxy: requests to a store go through the proxy that the operator has, but to a store in the cluster and to agents of the node.
func TestProxy(t *testing.T) {
	p := objectstore.Proxy{HTTPS: "http://proxy:3128", No: ".svc,10.0.0.0/8"}
	for address, want := range map[string]string{
		"https://s3.eu-central-1.amazonaws.com": "http://proxy:3128", "https://minio.default.svc:9000": "", "https://10.1.2.3": "",
		"http://169.254.170.23/v1/credentials": "", "http://example.com": "",
	} {
		if got := objectstore.ProxyOf(p, address); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
	if got := objectstore.ProxyOf(objectstore.Proxy{}, "https://example.com"); got != "" {
		t.Errorf("%q without a proxy", got)
	}
}
