// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certs_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// fromSecrets has certificates of a cluster come from Secrets of a person.
func fromSecrets(c *v1beta1.EtcdCluster) *v1beta1.EtcdCluster {
	c.Spec.TLS.SecretRefs = &v1beta1.SecretRefs{
		Server: v1beta1.LocalSecret{Name: "web"}, Peer: v1beta1.LocalSecret{Name: "gossip"},
		Operator: v1beta1.LocalSecret{Name: "operator"}, Client: &v1beta1.LocalSecret{Name: "app"},
	}
	return c
}

// someAuthority is that of a person. All of them have the same subject.
func someAuthority(t *testing.T) pki.Pair {
	t.Helper()
	ca, err := pki.NewCA(rand.Reader, now.Add(-time.Hour), "external", 1000*24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// theirRequests are what a person has issued, by Secret.
func theirRequests() map[string]pki.Request {
	const life = 90 * 24 * time.Hour
	return map[string]pki.Request{
		"web": {CommonName: "members", Server: true, Client: true, Lifetime: life, DNSNames: []string{
			"*.example.default.svc", "example-client.default.svc", "localhost", "db.example.org",
		}},
		"gossip":   {CommonName: "peers", Server: true, Client: true, Lifetime: life, DNSNames: []string{"*.example.default.svc"}},
		"operator": {CommonName: "root", Client: true, Lifetime: life},
		"app":      {CommonName: "shop", Client: true, Lifetime: life},
	}
}

func issued(t *testing.T, at time.Time, ca pki.Pair, name string) *corev1.Secret {
	t.Helper()
	pair, err := pki.Issue(rand.Reader, at, ca, theirRequests()[name])
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Data: map[string][]byte{
		corev1.TLSCertKey: pair.CertPEM, corev1.TLSPrivateKeyKey: pair.KeyPEM, specs.CAKey: ca.CertPEM,
	}}
}

// bring puts all Secrets of a person in place, issued by that authority.
func bring(t *testing.T, secrets map[string]*corev1.Secret, at time.Time, ca pki.Pair) {
	t.Helper()
	for name := range theirRequests() {
		secrets[name] = issued(t, at, ca, name)
	}
}

func heldOf(c *v1beta1.EtcdCluster, secrets map[string]*corev1.Secret) certs.KeyMaterial {
	return certs.Read(c, func(name string) *corev1.Secret { return secrets[name] })
}

// makeFrom makes all Secrets of a new cluster out of those of a person.
func makeFrom(t *testing.T, c *v1beta1.EtcdCluster, secrets map[string]*corev1.Secret) {
	t.Helper()
	held := heldOf(c, secrets)
	for _, name := range certs.Names(c) {
		if !held.CanMake(c, name, now) {
			t.Fatalf("%s cannot be made", name)
		}
		secret, err := held.Make(rand.Reader, now, c, name)
		if err != nil {
			t.Fatal(err)
		}
		secrets[name] = secret
	}
}

// TestAClusterFromSecretsOfOthers: everything is a copy, no key of an authority is anywhere, and nothing is wrong with it.
func TestAClusterFromSecretsOfOthers(t *testing.T) {
	c, secrets, ca := fromSecrets(example()), map[string]*corev1.Secret{}, someAuthority(t)
	bring(t, secrets, now, ca)
	makeFrom(t, c, secrets)
	if bad := faults(c, secrets, now); len(bad) > 0 {
		t.Errorf("faults in %v", bad)
	}
	member, applications := secrets[specs.MemberSecret(c)].Data, secrets[c.ClientSecret()].Data
	for what, pair := range map[string][2][]byte{
		"server": {member[specs.ServerCertKey], secrets["web"].Data[corev1.TLSCertKey]},
		"peer":   {member[specs.PeerKeyKey], secrets["gossip"].Data[corev1.TLSPrivateKeyKey]},
		"client": {applications[corev1.TLSCertKey], secrets["app"].Data[corev1.TLSCertKey]},
		"root":   {secrets[c.RootSecret()].Data[corev1.TLSCertKey], secrets["operator"].Data[corev1.TLSCertKey]},
		"ca":     {applications[specs.CAKey], ca.CertPEM},
	} {
		if !bytes.Equal(pair[0], pair[1]) {
			t.Errorf("%s is no copy", what)
		}
	}
	held := heldOf(c, secrets)
	if held.IsRotating() || held.ClientCA.Signs(now) || held.Lost(c, c.ClientCA(), now) != nil || !held.ClientCA.External {
		t.Errorf("%+v", held.ClientCA)
	}
	if trusted, _ := held.Trust(); trusted != "" {
		t.Errorf("a Secret that was never rotated says %q", trusted)
	}
	for name := range theirRequests() {
		gone := maps.Clone(secrets)
		delete(gone, name)
		if bad := faults(c, gone, now); len(bad) > 0 {
			t.Errorf("without %s: faults in %v", name, bad)
		}
	}
	if got := held.Certificates(c, now); got.Fault != "" || got.Lacking || got.Until != "2026-04-01T00:00:00Z" ||
		got.End != time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC).Unix() || got.Begin >= got.End || got.Request != "" {
		t.Errorf("%+v", got)
	}
	for _, request := range []string{"today", "client:today", "peer:today"} {
		c.Annotations = map[string]string{v1beta1.AnnotationRotate: request}
		if got := held.Certificates(c, now); got.Request != request {
			t.Errorf("asked for %s: %+v", request, got)
		}
	}
}

// TestFault81BadSecretsAreNotTaken: a new cluster waits, one that runs keeps what it has, and both say which Secret, why, and what to do.
func TestFault81BadSecretsAreNotTaken(t *testing.T) {
	ca, other := someAuthority(t), someAuthority(t)
	spoils := map[string]struct {
		spoil  func(secrets map[string]*corev1.Secret)
		reason string
		says   string
	}{
		"missing": {
			func(s map[string]*corev1.Secret) { delete(s, "web") }, v1beta1.ReasonSecretMissing,
			"Secret web: there is no such Secret: create it, with tls.crt, tls.key and ca.crt of a certificate for server auth and client auth, " +
				"with DNS names *.example.default.svc, example-client.default.svc, localhost",
		},
		"half written": {
			func(s map[string]*corev1.Secret) {
				s["gossip"].Data[corev1.TLSPrivateKeyKey] = s["web"].Data[corev1.TLSPrivateKeyKey]
			}, v1beta1.ReasonKeyMismatch, "Secret gossip: its tls.key is not the key of tls.crt",
		},
		"by two authorities": {
			func(s map[string]*corev1.Secret) { s["operator"] = issued(t, now, other, "operator") }, v1beta1.ReasonWrongAuthority,
			"Secret operator: no authority in ca.crt of Secret web",
		},
		"expired": {
			func(s map[string]*corev1.Secret) {
				s["app"] = issued(t, now.Add(-91*24*time.Hour), longAuthority(t, s), "app")
			},
			v1beta1.ReasonWrongAuthority, "Secret app",
		},
		"not root": {
			func(s map[string]*corev1.Secret) { s["operator"].Data = s["app"].Data }, v1beta1.ReasonWrongName,
			`Secret operator: the common name of its certificate is "shop"`,
		},
		"root for applications": {
			func(s map[string]*corev1.Secret) { s["app"].Data = s["operator"].Data }, v1beta1.ReasonWrongName,
			"Secret app: the common name of its certificate is root",
		},
	}
	for what, test := range spoils {
		t.Run(what, func(t *testing.T) {
			c, secrets := fromSecrets(example()), map[string]*corev1.Secret{}
			bring(t, secrets, now, ca)
			makeFrom(t, c, secrets)
			before := secrets[specs.MemberSecret(c)]
			bring(t, secrets, now.Add(time.Hour), ca)
			test.spoil(secrets)
			held := heldOf(c, secrets)
			got := held.Certificates(c, now)
			if got.Reason != test.reason || !strings.HasPrefix(got.Fault, test.says) || got.Lacking {
				t.Errorf("got %+v", got)
			}
			if turns := held.Rotation(c, certs.Facts{Now: now, Come: now}).Turns; len(turns) > 0 {
				t.Errorf("it rotates: %v", turns)
			}
			if secret, err := held.Make(rand.Reader, now, c, specs.MemberSecret(c)); err != nil || what == "half written" &&
				!bytes.Equal(secret.Data[specs.PeerKeyKey], before.Data[specs.PeerKeyKey]) {
				t.Errorf("members do not keep what they have: %v", err)
			}
			for _, name := range certs.Names(c) {
				delete(secrets, name)
			}
			held = heldOf(c, secrets)
			got = held.Certificates(c, now)
			if !got.Lacking || held.CanMake(c, specs.MemberSecret(c), now) {
				t.Errorf("a new cluster begins: %+v", got)
			}
		})
	}
}

// longAuthority is another authority; the certificate is by none that the Secrets have.
func longAuthority(t *testing.T, _ map[string]*corev1.Secret) pki.Pair {
	t.Helper()
	ca, err := pki.NewCA(rand.Reader, now.Add(-100*24*time.Hour), "long", 1000*24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// TestARenewedLeafRestartsNoMember: members get it, and nothing is rotated.
func TestARenewedLeafRestartsNoMember(t *testing.T) {
	c, secrets, ca := fromSecrets(example()), map[string]*corev1.Secret{}, someAuthority(t)
	bring(t, secrets, now, ca)
	makeFrom(t, c, secrets)
	at := now.Add(60 * 24 * time.Hour)
	bring(t, secrets, at, ca)
	if bad := faults(c, secrets, at); strings.Join(bad, " ") != "example-member-tls example-client example-root" {
		t.Errorf("faults in %v", bad)
	}
	held := heldOf(c, secrets)
	if turns := held.Rotation(c, certs.Facts{Now: at, Come: at}).Turns; len(turns) > 0 {
		t.Errorf("it rotates: %v", turns)
	}
	secret, err := held.Make(rand.Reader, at, c, specs.MemberSecret(c))
	if err != nil || !bytes.Equal(secret.Data[specs.ServerCertKey], secrets["web"].Data[corev1.TLSCertKey]) {
		t.Errorf("it is not taken: %v", err)
	}
}

// TestFault81WhatIsNotRenewedIsReported: half of what tools leave for it is over.
func TestFault81WhatIsNotRenewedIsReported(t *testing.T) {
	c, secrets, ca := fromSecrets(example()), map[string]*corev1.Secret{}, someAuthority(t)
	bring(t, secrets, now, ca)
	makeFrom(t, c, secrets)
	for days, want := range map[int]string{74: "", 77: v1beta1.ReasonEndsSoon, 91: v1beta1.ReasonExpired} {
		got := heldOf(c, secrets).Certificates(c, now.Add(time.Duration(days)*24*time.Hour))
		if got.Reason != want {
			t.Errorf("after %d days: %+v", days, got)
		}
	}
}

// TestTheAuthorityOfOthersIsNotLost: its Secret has no key; it is made again.
func TestTheAuthorityOfOthersIsNotLost(t *testing.T) {
	c, secrets, ca := fromSecrets(example()), map[string]*corev1.Secret{}, someAuthority(t)
	c.Status.ClusterID = "c1"
	bring(t, secrets, now, ca)
	makeFrom(t, c, secrets)
	delete(secrets, c.PeerCA())
	held := heldOf(c, secrets)
	if lost := held.Lost(c, c.PeerCA(), now); lost != nil {
		t.Errorf("lost: %v", lost)
	}
	secret, err := held.Make(rand.Reader, now, c, c.PeerCA())
	if err != nil {
		t.Fatal(err)
	}
	secrets[c.PeerCA()] = secret
	if bad := faults(c, secrets, now); len(bad) > 0 || heldOf(c, secrets).IsRotating() {
		t.Errorf("faults in %v", bad)
	}
	delete(secrets, "gossip")
	delete(secrets, c.PeerCA())
	if lost := heldOf(c, secrets).Lost(c, c.PeerCA(), now); lost == nil {
		t.Error("it is not known what it was")
	}
}

// TestFault81SourceChangesInPasses: from ours to a person's, to another authority of the same name, and back, whatever the operator dies
// at; and at no moment any client is refused.
func TestFault81SourceChangesInPasses(t *testing.T) {
	t.Parallel() // signatures take a processor for seconds
	seeds := uint64(10)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		l := newLand(t, seed)
		l.dies = seed%2 > 0
		l.apps = l.apps[:1] // no certificates of EtcdUsers are issued by an external authority
		changes := []struct {
			name   string
			change func()
		}{
			{"to a person's", func() { bring(t, l.secrets, l.at, someAuthority(t)); fromSecrets(l.c) }},
			{"to another one of a person", func() { bring(t, l.secrets, l.at, someAuthority(t)) }},
			{"back to ours", func() { l.c.Spec.TLS.SecretRefs = nil }},
		}
		for _, change := range changes {
			first := l.held().ClientCA.CertPEM
			l.history = nil
			change.change()
			l.until(change.name, 20*time.Minute, func() bool { return l.isRotated(first) })
			passes := strings.Join(l.passes(), " ")
			if !l.dies && passes != "introduce restart switch drop restart" {
				t.Errorf("seed %d, %s: %s", seed, change.name, passes)
			}
			if l.held().ClientCA.Because != certs.BySource {
				t.Errorf("because of %s", l.held().ClientCA.Because)
			}
			length := len(l.history)
			for range 50 {
				l.tick(time.Minute)
			}
			if len(l.history) != length {
				t.Errorf("seed %d, %s: it goes on: %v", seed, change.name, l.history[length:])
			}
		}
	}
}

// TestFault81SourceIsChangedBackInBetween: whatever is wanted in the middle of a change, no client is refused, and it ends as wanted.
func TestFault81SourceIsChangedBackInBetween(t *testing.T) {
	t.Parallel() // signatures take a processor for seconds
	for i, phase := range []cluster.RotationPhase{cluster.Introduced, cluster.Switched} {
		for what, change := range map[string]func(l *land){
			"back":        func(l *land) { l.c.Spec.TLS.SecretRefs = nil },
			"another one": func(l *land) { bring(t, l.secrets, l.at, someAuthority(t)) },
			"spoiled, then good": func(l *land) {
				good := l.secrets["web"]
				delete(l.secrets, "web")
				for range 120 {
					l.tick(5 * time.Second)
				}
				l.secrets["web"] = good
			},
		} {
			t.Run(fmt.Sprintf("%s %s", phase, what), func(t *testing.T) {
				l := newLand(t, uint64(i))
				l.apps = l.apps[:1]
				bring(t, l.secrets, l.at, someAuthority(t))
				fromSecrets(l.c)
				l.until("in phase", 20*time.Minute, func() bool { return l.held().ClientCA.Phase() == phase })
				change(l)
				l.until("as wanted", 40*time.Minute, func() bool {
					wanted := l.c.Spec.TLS.SecretRefs != nil
					return l.isRotated(nil) && l.held().ClientCA.External == wanted && l.held().PeerCA.External == wanted
				})
				if l.c.Spec.TLS.SecretRefs != nil && !bytes.Equal(l.held().ClientCA.CertPEM, l.secrets["web"].Data[specs.CAKey]) {
					t.Error("another authority than that of the Secret")
				}
			})
		}
	}
}

// TestASubjectThatAuthoritiesShareIsCounted: TLS names authorities by subject; that the next one is trusted shows where its subject is
// named as often as it is to be.
func TestASubjectThatAuthoritiesShareIsCounted(t *testing.T) {
	c, secrets, ca := fromSecrets(example()), map[string]*corev1.Secret{}, someAuthority(t)
	c.Status.ClusterID = "c1"
	bring(t, secrets, now, ca)
	makeFrom(t, c, secrets)
	bring(t, secrets, now, someAuthority(t))
	for _, name := range certs.Authorities(c) {
		held := heldOf(c, secrets)
		secret, err := held.Turn(rand.Reader, now, c, name, cluster.RotationStep{Stage: cluster.Introduce, Because: certs.BySource})
		if err != nil || secret == nil {
			t.Fatal(err)
		}
		secrets[name] = secret
	}
	subject, shown := ca.Subject(), certificates(t, secrets[specs.MemberSecret(c)].Data[specs.ServerCertKey])[0].Raw
	peers := certificates(t, secrets[specs.MemberSecret(c)].Data[specs.PeerCertKey])[0].Raw
	for times, want := range map[int]string{1: "to trust the next authority of Secret example-client-ca", 2: "as wanted"} {
		accepts := slices.Repeat([][]byte{subject}, times)
		facts := certs.Facts{Now: now, Come: now, Members: []string{"example-0"}, Probes: []certs.TLSProbe{{
			Member: "example-0", Client: certs.Port{Shown: shown, Accepts: accepts}, Peer: certs.Port{Shown: peers, Accepts: accepts},
		}}}
		if await := heldOf(c, secrets).Rotation(c, facts).Await; !strings.Contains(await, want) {
			t.Errorf("named %d times: %s", times, await)
		}
	}
}

// TestUsersBesideAnAuthorityOfOthers: the operator cannot issue their certificates; one of ours stays while it is trusted.
func TestUsersBesideAnAuthorityOfOthers(t *testing.T) {
	l := newLand(t, 1)
	u := l.user
	bring(t, l.secrets, l.at, someAuthority(t))
	fromSecrets(l.c)
	l.apps = l.apps[:1]
	l.until("switched", 20*time.Minute, func() bool { return l.held().ClientCA.Phase() == cluster.Switched })
	l.writeUser()
	if len(l.secrets[u.Secret()].Data[corev1.TLSCertKey]) == 0 || l.held().IssuesUsers() {
		t.Error("a certificate that is trusted was taken away, or another issued")
	}
	l.until("dropped", 20*time.Minute, func() bool { return l.held().ClientCA.Phase() == cluster.Stable })
	l.writeUser()
	data := l.secrets[u.Secret()].Data
	if len(data[corev1.TLSCertKey]) > 0 || !bytes.Equal(data[specs.CAKey], l.secrets["web"].Data[specs.CAKey]) {
		t.Error("it has a certificate that is not trusted")
	}
}

// TestCertificatesOfUsersByOthers: one that serves is copied, another is not, and what the user has stays for as long as its authority is
// trusted.
func TestCertificatesOfUsersByOthers(t *testing.T) {
	c, secrets, ca, u := fromSecrets(example()), map[string]*corev1.Secret{}, someAuthority(t), user(v1beta1.CertificateAuthentication)
	bring(t, secrets, now, ca)
	makeFrom(t, c, secrets)
	held := heldOf(c, secrets)
	by := func(ca pki.Pair, name string, hours time.Duration) *corev1.Secret {
		pair, err := pki.Issue(rand.Reader, now, ca, pki.Request{CommonName: name, Client: true, Lifetime: hours * time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		return &corev1.Secret{Data: map[string][]byte{corev1.TLSCertKey: pair.CertPEM, corev1.TLSPrivateKeyKey: pair.KeyPEM}}
	}
	write := func(issued, there *corev1.Secret) *corev1.Secret {
		held.Issued = map[string]*corev1.Secret{u.Name: issued}
		made, err := held.MakeUser(rand.Reader, now, c, u, there)
		if err != nil {
			t.Fatal(err)
		}
		if fault := held.UserFault(c, u, made, now); fault != nil {
			t.Errorf("what was made is wrong: %v", fault)
		}
		return made
	}
	has := func(made, issued *corev1.Secret) bool {
		return bytes.Equal(made.Data[corev1.TLSCertKey], issued.Data[corev1.TLSCertKey]) &&
			bytes.Equal(made.Data[corev1.TLSPrivateKeyKey], issued.Data[corev1.TLSPrivateKeyKey])
	}
	lacks := func(u *v1beta1.EtcdUser, secret *corev1.Secret, at time.Time) string {
		reason, _ := held.LacksCertificate(c, u, secret, at)
		return reason
	}
	good := by(ca, "team/orders", 1)
	first := write(good, nil)
	if !has(first, good) || lacks(u, first, now) != "" {
		t.Error("one that serves is not taken")
	}
	for what, bad := range map[string]struct {
		issued *corev1.Secret
		defect pki.Defect
	}{
		"missing":         {nil, v1beta1.ReasonSecretMissing},
		"of another user": {by(ca, "other", 10), pki.WrongName},
		"by another":      {by(someAuthority(t), "team/orders", 10), pki.WrongAuthority},
		"half written":    {with(by(ca, "team/orders", 10), good), pki.KeyMismatch},
	} {
		if made := write(bad.issued, first.DeepCopy()); !has(made, good) {
			t.Errorf("%s: what there is does not stay", what)
		}
		if lack := lacks(u, first, now); lack != "" {
			t.Errorf("%s: what there is serves: %s", what, lack)
		}
		if lack := lacks(u, write(bad.issued, nil), now); lack != string(bad.defect) {
			t.Errorf("%s: %s", what, lack)
		}
		if lack := lacks(u, first, now.Add(2*time.Hour)); lack != string(bad.defect) {
			t.Errorf("%s, and what there is has ended: %s", what, lack)
		}
	}
	untrusted := first.DeepCopy()
	untrusted.Data[corev1.TLSCertKey] = by(someAuthority(t), "team/orders", 10).Data[corev1.TLSCertKey]
	held.Issued = nil
	if fault := held.UserFault(c, u, untrusted, now); fault == nil {
		t.Error("it is not seen that the authority is trusted no more")
	}
	if made := write(nil, untrusted); len(made.Data[corev1.TLSCertKey]) > 0 {
		t.Error("one whose authority is trusted no more stays")
	}
}

// with gives a Secret the key of another one.
func with(secret, other *corev1.Secret) *corev1.Secret {
	secret.Data[corev1.TLSPrivateKeyKey] = other.Data[corev1.TLSPrivateKeyKey]
	return secret
}
