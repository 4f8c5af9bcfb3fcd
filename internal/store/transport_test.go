package store_test

import (
	"crypto/x509"
	"os"
	"os/exec"
	"slices"
	"testing"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/etcd-operator/etcd-operator/internal/store"
)

// publicAuthorities have signed the certificates of Amazon, Google and Azure.
var publicAuthorities = []string{"Amazon Root CA 1", "GTS Root R1", "DigiCert Global Root G2", "Microsoft RSA Root Certificate Authority 2017"}

const noSystem = "TEST_STORE_WITHOUT_SYSTEM"

// TestPublicAuthorities: in an image without files of authorities, public endpoints are trusted, and so is the authority that a store names.
func TestPublicAuthorities(t *testing.T) {
	if os.Getenv(noSystem) == "" {
		again := exec.Command(os.Args[0], "-test.run=^TestPublicAuthorities$", "-test.v")
		again.Env = append(os.Environ(), noSystem+"=yes", "SSL_CERT_FILE=/nowhere", "SSL_CERT_DIR=/nowhere")
		if said, err := again.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		return
	}
	trusted, err := store.Authorities()
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
