// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// An owned world is one etcd that has started with what the Secrets of an EtcdCluster hold.
type owned struct {
	t       *testing.T
	c       *v1beta1.EtcdCluster
	secrets map[string]*corev1.Secret
	member  *process.Member
}

func newOwned(t *testing.T) *owned {
	t.Helper()
	w := &owned{
		t: t, c: &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns", UID: "u1"}},
		secrets: map[string]*corev1.Secret{}, member: process.New(t, 1).Member("m1"),
	}
	w.make(certs.Names(w.c)...)
	return w
}

func (w *owned) held() certs.KeyMaterial {
	return certs.Read(w.c, func(name string) *corev1.Secret { return w.secrets[name] })
}

func (w *owned) make(names ...string) {
	w.t.Helper()
	for _, name := range names {
		held := w.held()
		w.secrets[name] = must(held.Make(rand.Reader, time.Now(), w.c, name))(w.t)
	}
}

// losesAuthority is a client authority that was deleted, with another one introduced beside it.
func (w *owned) losesAuthority() {
	w.t.Helper()
	delete(w.secrets, w.c.ClientCA())
	held := w.held()
	turn := cluster.RotationStep{Stage: cluster.Introduce, Because: certs.ByLoss}
	w.secrets[w.c.ClientCA()] = must(held.Turn(rand.Reader, time.Now(), w.c, w.c.ClientCA(), turn))(w.t)
	w.make(specs.MemberSecret(w.c))
}

func (w *owned) start(version string) {
	w.t.Helper()
	folder := w.t.TempDir()
	for name, content := range w.secrets[specs.MemberSecret(w.c)].Data {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	file := func(name string) string { return filepath.Join(folder, name) }
	w.member.Start(version,
		"--initial-cluster=m1=http://"+w.member.Peer, "--initial-cluster-state=new", "--listen-metrics-urls=http://127.0.0.1:0",
		"--listen-client-urls=https://"+w.member.Client, "--advertise-client-urls=https://"+w.member.Client,
		"--client-cert-auth=true", "--trusted-ca-file="+file(specs.ClientCAKey), "--tls-min-version=TLS1.2",
		"--cert-file="+file(specs.ServerCertKey), "--key-file="+file(specs.ServerKeyKey))
	eventually(w.t, "m1 to serve", func() error { return answers(w.operator()) })
}

// operator is a client that shows what the operator would.
func (w *owned) operator() etcd.Client {
	w.t.Helper()
	ca, pairs, err := w.held().OperatorPairs(rand.Reader, time.Now(), w.c)
	if err != nil {
		w.t.Fatal(err)
	}
	pool := etcd.NewPool()
	w.t.Cleanup(func() { pool.Keep(owner, nil) })
	return must(pool.Client(owner, etcd.Target{
		Instance: "m1", Address: w.member.Client, ServerName: specs.Host(w.c, "a-0"), TLS: must(pki.ClientConfig(ca, pairs...))(w.t),
	}))(w.t)
}

// TestFault83LockedOut: of an operator that is not root etcd takes the enabling of authentication, and nothing after it. It is root again
// as soon as a member has restarted that trusts the next authority.
func TestFault83LockedOut(t *testing.T) {
	ofVersions(t, process.Versions, func(t *testing.T, version string) {
		w := newOwned(t)
		w.start(version)
		if who := w.held().Operator(w.c, time.Now()); !who.IsRoot() || who.Source != w.c.ClientCA() {
			t.Errorf("with its authority the operator is %+v", who)
		}
		w.losesAuthority()
		if who := w.held().Operator(w.c, time.Now()); who.Name != "etcd-server" || who.Lacks == "" {
			t.Errorf("without it the operator is %+v", who)
		}
		operator := w.operator()
		prepareAuth(t, operator, "app", "")
		want(t, "enabling by etcd-server", operator.EnableAuth(t.Context()), nil)
		for what, err := range map[string]error{
			"users": second(operator.Users(t.Context())), "disabling": operator.DisableAuth(t.Context()),
			"a learner": second(operator.AddLearner(t.Context(), "http://127.0.0.1:1")), "a move": operator.MoveLeader(t.Context(), 1),
		} {
			if !etcd.WantsRoot(err) {
				t.Errorf("%s: %v", what, err)
			}
		}
		want(t, "a look, which needs no root", operator.Read(t.Context()), nil)

		w.member.Terminate()
		w.start(version)
		operator = w.operator()
		want(t, "users as root", second(operator.Users(t.Context())), nil)
		want(t, "disabling as root", operator.DisableAuth(t.Context()), nil)
	})
}
