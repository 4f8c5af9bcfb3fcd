// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// kept is an API server that has only the authority's Secret, and perhaps that of
// members.
type kept struct {
	client.Reader
	data, member, root map[string][]byte
	others             bool // they have another owner
}

func (s *kept) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	data := map[string]map[string][]byte{
		"default/a-client-ca": s.data, "default/a-member-tls": s.member, "default/a-root": s.root,
	}[key.String()]
	if data == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
	}
	into.(*corev1.Secret).Data = data
	if !s.others {
		into.SetLabels(map[string]string{specs.ManagedByLabel: v1beta1.FieldOwner})
	}
	return nil
}

func authority(t *testing.T) map[string][]byte {
	t.Helper()
	ca, err := pki.NewCA(rand.Reader, time.Now(), "a clients", v1beta1.DefaultAuthorityLifetime)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{specs.CAKey: ca.CertPEM, corev1.TLSCertKey: ca.CertPEM, corev1.TLSPrivateKeyKey: ca.KeyPEM}
}

// A clock is what the dialer takes for the time.
type clock struct{ now time.Time }

func newDialer(t *testing.T) (*Dialer, *kept, *clock) {
	t.Helper()
	held, at := &kept{data: authority(t)}, &clock{time.Now()}
	pool := etcd.NewPool()
	t.Cleanup(func() { pool.Keep("default/a", nil) })
	return &Dialer{Pool: pool, Reader: held, Now: func() time.Time { return at.now }, Random: rand.Reader}, held, at
}

func example() *v1beta1.EtcdCluster {
	return &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", UID: "u1"}}
}

var one = cluster.Member{Name: "a-1", Pod: cluster.Pod{UID: "pod-1", Address: "10.0.0.1"}}

func mustTarget(t *testing.T, d *Dialer, c *v1beta1.EtcdCluster) etcd.Target {
	t.Helper()
	target, err := d.target(t.Context(), c, one)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// TestTarget: a member is found by its Pod and known by its name.
func TestTarget(t *testing.T) {
	d, _, at := newDialer(t)
	target := mustTarget(t, d, example())
	if target.Instance != "pod-1" || target.Address != "10.0.0.1:2379" || target.ServerName != "a-1.a.default.svc" {
		t.Errorf("got %+v", target)
	}
	cert, err := x509.ParseCertificate(target.TLS.Certificates[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	if life := cert.NotAfter.Sub(at.now); life > 31*24*time.Hour || cert.Subject.CommonName != v1beta1.RootUser {
		t.Errorf("the operator is %s for %s", cert.Subject.CommonName, life)
	}
	six := one
	six.Pod.Address = "fd00::1"
	if target, err := d.target(t.Context(), example(), six); err != nil || target.Address != "[fd00::1]:2379" {
		t.Errorf("IPv6: got %s, %v", target.Address, err)
	}
}

// TestForget: nothing is kept of a cluster that is gone.
func TestForget(t *testing.T) {
	d, _, _ := newDialer(t)
	first := mustTarget(t, d, example()).TLS
	d.Forget(client.ObjectKeyFromObject(example()))
	if mustTarget(t, d, example()).TLS == first || len(d.identities) != 1 {
		t.Error("the identity was kept")
	}
}

// TestWithoutTLS: neither TLS nor a Secret is needed.
func TestWithoutTLS(t *testing.T) {
	d, held, _ := newDialer(t)
	held.data = nil
	c := example()
	c.Spec.TLS.Mode = v1beta1.TLSDisabled
	if target := mustTarget(t, d, c); target.TLS != nil {
		t.Errorf("got %+v", target)
	}
	if _, err := d.Member(t.Context(), c, one); err != nil {
		t.Error(err)
	}
}

// TestKeysAreNeverInErrors: whatever part of the authority is broken.
func TestKeysAreNeverInErrors(t *testing.T) {
	good := authority(t)
	key := string(good[corev1.TLSPrivateKeyKey])
	for name, data := range map[string]map[string][]byte{
		"no secret":                nil,
		"empty":                    {},
		"no certificate":           {corev1.TLSPrivateKeyKey: good[corev1.TLSPrivateKeyKey]},
		"certificate cut short":    {corev1.TLSCertKey: good[corev1.TLSCertKey][:100], corev1.TLSPrivateKeyKey: good[corev1.TLSPrivateKeyKey]},
		"key cut short":            {corev1.TLSCertKey: good[corev1.TLSCertKey], corev1.TLSPrivateKeyKey: good[corev1.TLSPrivateKeyKey][:100]},
		"another's key":            {corev1.TLSCertKey: good[corev1.TLSCertKey], corev1.TLSPrivateKeyKey: authority(t)[corev1.TLSPrivateKeyKey]},
		"the key as certificate":   {corev1.TLSCertKey: good[corev1.TLSPrivateKeyKey], corev1.TLSPrivateKeyKey: good[corev1.TLSPrivateKeyKey]},
		"the certificate as a key": {corev1.TLSCertKey: good[corev1.TLSCertKey], corev1.TLSPrivateKeyKey: good[corev1.TLSCertKey]},
	} {
		t.Run(name, func(t *testing.T) {
			d, held, _ := newDialer(t)
			held.data = data
			_, err := d.Member(t.Context(), example(), one)
			if err == nil || !strings.Contains(err.Error(), "a-1") {
				t.Fatalf("got error %v, want one that names the member", err)
			}
			for _, line := range strings.Split(key, "\n") {
				if len(line) > 8 && !strings.HasPrefix(line, "-----") && strings.Contains(err.Error(), line[:8]) {
					t.Errorf("the error contains the key: %v", err)
				}
			}
		})
	}
}

// TestBrokenAuthorityIsNotRemembered: once it is fixed, members are reached.
func TestBrokenAuthorityIsNotRemembered(t *testing.T) {
	d, held, _ := newDialer(t)
	good := held.data
	held.data = nil
	if _, err := d.Member(t.Context(), example(), one); err == nil || !strings.Contains(err.Error(), "a-client-ca: it is missing") {
		t.Errorf("got %v", err)
	}
	held.data = good
	if _, err := d.Member(t.Context(), example(), one); err != nil {
		t.Error(err)
	}
}

// TestAuthorityOfAnotherOwner: nothing is trusted by a Secret of the name that is not the cluster's.
func TestAuthorityOfAnotherOwner(t *testing.T) {
	d, held, _ := newDialer(t)
	held.others = true
	if _, err := d.Member(t.Context(), example(), one); err == nil || !strings.Contains(err.Error(), "a-client-ca: it is missing") {
		t.Errorf("got %v", err)
	}
}

// TestManyAtOnce: workers share one dialer; the race detector watches.
func TestManyAtOnce(t *testing.T) {
	d, _, _ := newDialer(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := d.Member(t.Context(), example(), one); err != nil {
				t.Error(err)
			}
			d.Keep(t.Context(), example(), []cluster.Member{one})
			d.Keep(t.Context(), example(), nil)
			d.Forget(client.ObjectKeyFromObject(example()))
		})
	}
	all.Wait()
}
