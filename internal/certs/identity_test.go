// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certs_test

import (
	"crypto/rand"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestFault62UserIsAwaited: the next authority signs nothing while the Secret of an EtcdUser lacks it, however long ago that was written.
func TestFault62UserIsAwaited(t *testing.T) {
	c, u := example(), user(v1beta1.CertificateAuthentication)
	secrets := makeAll(t, c)
	held := certs.Read(c, func(name string) *corev1.Secret { return secrets[name] })
	put := func(secret *corev1.Secret, err error) *corev1.Secret {
		t.Helper()
		if err != nil || secret == nil {
			t.Fatal(err)
		}
		secrets[secret.Name] = secret
		return secret
	}
	mine := put(held.MakeUser(rand.Reader, now, c, u, nil))
	ca := put(held.Turn(rand.Reader, now, c, c.ClientCA(), cluster.RotationStep{Stage: cluster.Introduce, Because: certs.ByRequest}))
	member := put(held.Make(rand.Reader, now, c, specs.MemberSecret(c)))
	put(held.Make(rand.Reader, now, c, c.ClientSecret()))
	held = certs.Read(c, func(name string) *corev1.Secret { return secrets[name] })
	block, _ := pem.Decode(member.Data[specs.ServerCertKey])
	port := certs.Port{Shown: block.Bytes, Accepts: [][]byte{
		pki.Pair{CertPEM: ca.Data[corev1.TLSCertKey]}.Subject(), pki.Pair{CertPEM: ca.Data[specs.NextCertKey]}.Subject(),
	}}
	later := now.Add(10 * time.Minute)
	facts := certs.Facts{
		Now: later, Come: later, Members: []string{"example-0"}, Users: []*corev1.Secret{mine},
		Probes: []certs.TLSProbe{{Member: "example-0", Client: port, Peer: port}},
	}
	if r := held.Rotation(c, facts); len(r.Turns) > 0 || !strings.Contains(r.Await, "of EtcdUser orders to have the authorities") {
		t.Errorf("%+v", r)
	}
	facts.Users[0] = put(held.MakeUser(rand.Reader, now, c, u, mine))
	if r := held.Rotation(c, facts); len(r.Turns) != 1 || r.Turns[0].RotationStep.Stage != cluster.Switch {
		t.Errorf("%+v", r)
	}
}
