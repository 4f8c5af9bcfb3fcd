// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"crypto/rand"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// TestFault63ALostAuthorityGoesThroughAllPasses: a real API server takes each pass, and keeps nothing of the one before,
// whoever has written it.
func TestFault63ALostAuthorityGoesThroughAllPasses(t *testing.T) {
	for name, lose := range map[string]func(*corev1.Secret) error{
		"gone": func(s *corev1.Secret) error { return server.Delete(t.Context(), s) },
		"garbage": func(s *corev1.Secret) error {
			s.Data[corev1.TLSPrivateKeyKey] = []byte("garbage")
			return server.Update(t.Context(), s)
		},
		"put back by others": func(s *corev1.Secret) error {
			s.Data["previous.crt"] = s.Data[corev1.TLSCertKey]
			return server.Update(t.Context(), s, client.FieldOwner("backup-tool"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := create(t, elsewhere, "lost-"+name[:3])
			actor := &act.Actor{Client: live, Live: live, Now: time.Now, Later: time.Now, Random: rand.Reader}
			do := func(pass cluster.RotationStage, names ...string) error {
				var objects []cluster.Object
				for _, name := range names {
					objects = append(objects, cluster.Object{Kind: "Secret", Name: name, RotationStep: cluster.RotationStep{
						Stage:   pass,
						Because: certs.ByLoss,
					}})
				}
				return actor.Do(t.Context(), c, cluster.View{}, plan.Apply{Objects: objects}, time.Now())
			}
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(do("", certs.Names(c)...))
			ca := &corev1.Secret{}
			must(get(t, c, c.PeerCA(), ca))
			must(lose(ca))
			for _, pass := range []cluster.RotationStage{cluster.Introduce, cluster.Switch, cluster.Drop} {
				must(do(pass, c.PeerCA()))
				must(do("", certs.Names(c)[2:]...))
			}
			must(get(t, c, c.PeerCA(), ca))
			held := certs.Read(c, func(name string) *corev1.Secret {
				secret := &corev1.Secret{}
				err := get(t, c, name, secret)
				must(client.IgnoreNotFound(err))
				if err != nil {
					return nil
				}
				return secret
			})
			if held.IsRotating() || len(ca.Data) != 3 || !held.PeerCA.Signs(time.Now()) {
				t.Errorf("%s with %d keys", held.PeerCA.Phase(), len(ca.Data))
			}
			for _, name := range certs.Names(c) {
				if fault := held.Fault(c, name, time.Now()); fault != nil {
					t.Errorf("%s: %v", name, fault)
				}
			}
		})
	}
}
