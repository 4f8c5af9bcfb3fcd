// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certs_test

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestRootIsMadeWithAuthenticationOnly: a cluster without has the Secrets that it always had.
func TestRootIsMadeWithAuthenticationOnly(t *testing.T) {
	c := example()
	if slices.Contains(certs.Names(c), c.RootSecret()) {
		t.Error("it is made for a cluster that does not ask for it")
	}
	c.Spec.Auth.Enabled = true
	secrets := makeAll(t, c)
	if name := commonName(t, secrets["example-root"]); name != "root" {
		t.Errorf("the certificate is of %s", name)
	}
	if bad := faults(c, secrets, now.Add(v1beta1.DefaultCertificateLifetime*3/4)); !slices.Contains(bad, "example-root") {
		t.Errorf("late in life: %v", bad)
	}
	if !certs.Signs(c, c.ClientCA(), c.RootSecret()) || certs.Signs(c, c.PeerCA(), c.RootSecret()) {
		t.Error("it is signed by another authority than that of clients")
	}
	secrets["example-root"].Data[specs.EndpointsKey] = nil
	if bad := faults(c, secrets, now); !slices.Equal(bad, []string{"example-root"}) {
		t.Errorf("faults in %v", bad)
	}
	c.Spec.TLS.Mode = v1beta1.TLSDisabled
	if names := certs.Names(c); len(names) != 1 {
		t.Errorf("without TLS: %v", names)
	}
}

func commonName(t *testing.T, secret *corev1.Secret) string {
	t.Helper()
	block, _ := pem.Decode(secret.Data[corev1.TLSCertKey])
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert.Subject.CommonName
}

func user(how v1beta1.EtcdAuthentication) *v1beta1.EtcdUser {
	return &v1beta1.EtcdUser{
		ObjectMeta: metav1.ObjectMeta{Name: "orders", Namespace: "default", UID: "u2"},
		Spec:       v1beta1.EtcdUserSpec{Cluster: "example", UserName: "team/orders", Authentication: how},
	}
}

// TestUserSecret: the certificate of a user has its name, and that of one with a password has no common name.
func TestUserSecret(t *testing.T) {
	c := example()
	secrets := makeAll(t, c)
	held := certs.Read(c, func(name string) *corev1.Secret { return secrets[name] })
	for how, want := range map[v1beta1.EtcdAuthentication]string{
		v1beta1.CertificateAuthentication: "team/orders", v1beta1.PasswordAuthentication: "",
	} {
		u := user(how)
		if err := held.UserFault(c, u, nil, now); err == nil {
			t.Error("none is missing")
		}
		secret, err := held.MakeUser(rand.Reader, now, c, u, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := held.UserFault(c, u, secret, now); err != nil {
			t.Errorf("what was made is wrong: %v", err)
		}
		if name := commonName(t, secret); name != want {
			t.Errorf("%s: the certificate is of %s", how, name)
		}
		if got := string(secret.Data["username"]); got != "team/orders" || secret.Name != "example-user-orders" {
			t.Errorf("Secret %s is of %s", secret.Name, got)
		}
		if has := len(secret.Data["password"]) == 32; has != u.HasPassword() {
			t.Errorf("%s: has a password: %t", how, has)
		}
	}
}

// TestFurtherKeysOfUserSecret: the Secret has what an application asks for under its own names, and no key that is not asked for.
func TestFurtherKeysOfUserSecret(t *testing.T) {
	c, u := example(), user(v1beta1.PasswordAuthentication)
	u.Spec.Secret = &v1beta1.EtcdUserSecret{Name: "cilium-etcd-secrets", Keys: []v1beta1.EtcdUserSecretKey{
		{Key: "etcd-client-ca.crt", Value: v1beta1.ValueCA},
		{Key: "etcd-client.crt", Value: v1beta1.ValueCertificate},
		{Key: "etcd-client.key", Value: v1beta1.ValuePrivateKey},
		{Key: "ETCD_URLS", Value: v1beta1.ValueURL},
		{Key: "HOSTS", Value: v1beta1.ValueAddress},
		{Key: "ETCD_USERNAME", Value: v1beta1.ValueUsername},
		{Key: "ETCD_PASSWORD", Value: v1beta1.ValuePassword},
	}}
	secrets := makeAll(t, c)
	held := certs.Read(c, func(name string) *corev1.Secret { return secrets[name] })
	secret, err := held.MakeUser(rand.Reader, now, c, u, nil)
	if err != nil {
		t.Fatal(err)
	}
	if fault := held.UserFault(c, u, secret, now); fault != nil || secret.Name != "cilium-etcd-secrets" {
		t.Errorf("Secret %s: %v", secret.Name, fault)
	}
	for key, want := range map[string]string{
		"etcd-client-ca.crt": string(secret.Data["ca.crt"]), "etcd-client.crt": string(secret.Data["tls.crt"]),
		"etcd-client.key": string(secret.Data["tls.key"]), "ETCD_URLS": "https://example-client.default.svc:2379",
		"HOSTS": "example-client.default.svc:2379", "ETCD_USERNAME": "team/orders", "ETCD_PASSWORD": string(secret.Data["password"]),
	} {
		if got := string(secret.Data[key]); got != want || want == "" {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	for what, spoil := range map[string]func(data map[string][]byte){
		"its HOSTS is not the current one":                        func(data map[string][]byte) { data["HOSTS"] = []byte("elsewhere:2379") },
		"its ETCD_PASSWORD is not the current one":                func(data map[string][]byte) { data["password"] = []byte("one-of-sixteen..") },
		"its etcd-client.key is not the current one":              func(data map[string][]byte) { delete(data, "etcd-client.key") },
		"its key OLD_PASSWORD is not among those of the EtcdUser": func(data map[string][]byte) { data["OLD_PASSWORD"] = []byte("x") },
	} {
		there := secret.DeepCopy()
		spoil(there.Data)
		if fault := held.UserFault(c, u, there, now); fault == nil || fault.Error() != what {
			t.Errorf("wrong with it is %v, want %s", fault, what)
		}
		made, err := held.MakeUser(rand.Reader, now, c, u, there)
		if err != nil || held.UserFault(c, u, made, now) != nil || !bytes.Equal(made.Data["password"], there.Data["password"]) {
			t.Errorf("%s: it is not put right: %v, %v", what, err, held.UserFault(c, u, made, now))
		}
	}
}

// TestNoPasswordBesideACertificate: a password that a user cannot have is removed.
func TestNoPasswordBesideACertificate(t *testing.T) {
	c, u := example(), user(v1beta1.CertificateAuthentication)
	secrets := makeAll(t, c)
	held := certs.Read(c, func(name string) *corev1.Secret { return secrets[name] })
	secret, err := held.MakeUser(rand.Reader, now, c, u, nil)
	if err != nil {
		t.Fatal(err)
	}
	secret.Data["password"] = []byte("of-another-user-of-etcd")
	if fault := held.UserFault(c, u, secret, now); fault == nil {
		t.Error("nothing is wrong with it")
	}
}

// TestUserSecretIsMadeAgain: what is good of it stays.
func TestUserSecretIsMadeAgain(t *testing.T) {
	c, u := example(), user(v1beta1.PasswordAuthentication)
	secrets, others := makeAll(t, c), makeAll(t, c)
	read := func() certs.KeyMaterial {
		return certs.Read(c, func(name string) *corev1.Secret { return secrets[name] })
	}
	first, err := read().MakeUser(rand.Reader, now, c, u, nil)
	if err != nil {
		t.Fatal(err)
	}
	for what, test := range map[string]struct {
		spoil              func(data map[string][]byte)
		at                 time.Time
		password, identity bool // stays
	}{
		"nothing":     {func(map[string][]byte) {}, now, true, true},
		"host":        {func(data map[string][]byte) { delete(data, "host") }, now, true, true},
		"authority":   {func(data map[string][]byte) { data["ca.crt"] = others[c.ClientCA()].Data["ca.crt"] }, now, true, true},
		"certificate": {func(data map[string][]byte) { data["tls.crt"] = []byte("garbage") }, now, true, false},
		"common name": {func(data map[string][]byte) { // as earlier releases made it
			ca := pki.Pair{CertPEM: secrets[c.ClientCA()].Data["tls.crt"], KeyPEM: secrets[c.ClientCA()].Data["tls.key"]}
			pair, err := pki.Issue(rand.Reader, now, ca, certs.ClientRequest("(password)", v1beta1.DefaultCertificateLifetime))
			if err != nil {
				t.Fatal(err)
			}
			data["tls.crt"], data["tls.key"] = pair.CertPEM, pair.KeyPEM
		}, now, true, false},
		"old":             {func(map[string][]byte) {}, now.Add(v1beta1.DefaultCertificateLifetime * 3 / 4), true, false},
		"password":        {func(data map[string][]byte) { delete(data, "password") }, now, false, true},
		"short password":  {func(data map[string][]byte) { data["password"] = []byte(strings.Repeat("x", 15)) }, now, false, true},
		"long password":   {func(data map[string][]byte) { data["password"] = []byte(strings.Repeat("x", 73)) }, now, false, true},
		"chosen password": {func(data map[string][]byte) { data["password"] = first.Data["password"][:16] }, now, false, true},
	} {
		t.Run(what, func(t *testing.T) {
			there := first.DeepCopy()
			test.spoil(there.Data)
			fault := read().UserFault(c, u, there, test.at)
			if isFine := what == "nothing" || what == "chosen password"; isFine != (fault == nil) {
				t.Errorf("wrong with it is: %v", fault)
			}
			made, err := read().MakeUser(rand.Reader, test.at, c, u, there)
			if err != nil {
				t.Fatal(err)
			}
			if err := read().UserFault(c, u, made, test.at); err != nil {
				t.Errorf("what was made is wrong: %v", err)
			}
			if stays := string(made.Data["password"]) == string(first.Data["password"]); stays != test.password {
				t.Errorf("the password stays: %t", stays)
			}
			if stays := string(made.Data["tls.crt"]) == string(first.Data["tls.crt"]); stays != test.identity {
				t.Errorf("the certificate stays: %t", stays)
			}
		})
	}
	if _, err := read().MakeUser(iotest.ErrReader(errors.New("no entropy")), now, c, u, first); err != nil {
		t.Errorf("nothing is to be made, and entropy is asked for: %v", err)
	}
	delete(first.Data, "password")
	if _, err := read().MakeUser(iotest.ErrReader(errors.New("no entropy")), now, c, u, first); err == nil {
		t.Error("a password without entropy")
	}
}
