// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certs_test

import (
	"crypto/rand"
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

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func example() *v1beta1.EtcdCluster {
	return &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "example", Namespace: "default", UID: "u1"}}
}

func makeAll(t *testing.T, c *v1beta1.EtcdCluster) map[string]*corev1.Secret {
	t.Helper()
	secrets := map[string]*corev1.Secret{}
	held := certs.Read(c, func(string) *corev1.Secret { return nil })
	for _, name := range certs.Names(c) {
		secret, err := held.Make(rand.Reader, now, c, name)
		if err != nil {
			t.Fatal(err)
		}
		secrets[name] = secret
	}
	return secrets
}

func faults(c *v1beta1.EtcdCluster, secrets map[string]*corev1.Secret, at time.Time) []string {
	held := certs.Read(c, func(name string) *corev1.Secret { return secrets[name] })
	var bad []string
	for _, name := range certs.Names(c) {
		if held.Fault(c, name, at) != nil {
			bad = append(bad, name)
		}
	}
	return bad
}

// TestWhatIsMadeHasNoFault: made in the order of Names, every Secret is good, and
// stays good until a third of its certificates' life is left.
func TestWhatIsMadeHasNoFault(t *testing.T) {
	c := example()
	secrets := makeAll(t, c)
	if bad := faults(c, secrets, now.Add(v1beta1.DefaultCertificateLifetime/2)); len(bad) > 0 {
		t.Errorf("faults in %v", bad)
	}
	late := faults(c, secrets, now.Add(v1beta1.DefaultCertificateLifetime*3/4))
	if want := "example-member-tls example-client"; strings.Join(late, " ") != want {
		t.Errorf("late in life: %v, want %v", late, want)
	}
}

// TestANewAuthorityMakesItsLeavesFaulty: what a lost authority signed is replaced
// with it, and the other authority's leaves are not touched.
func TestANewAuthorityMakesItsLeavesFaulty(t *testing.T) {
	c := example()
	secrets, others := makeAll(t, c), makeAll(t, c)
	secrets[c.ClientCA()] = others[c.ClientCA()]
	if bad := faults(c, secrets, now); strings.Join(bad, " ") != "example-member-tls example-client" {
		t.Errorf("faults in %v", bad)
	}
}

// TestLostAuthority: one that can sign nothing for members that run, and whether their
// Secret still has what it signed. Neither age nor how a certificate is written counts.
func TestLostAuthority(t *testing.T) {
	c := example()
	for what, test := range map[string]struct {
		spoil        func(mine, others map[string]*corev1.Secret)
		lost, holder string
	}{
		"nothing": {func(_, _ map[string]*corev1.Secret) {}, "", "example-client-ca example-peer-ca"},
		"missing": {func(mine, _ map[string]*corev1.Secret) { delete(mine, c.PeerCA()) }, "example-peer-ca", "example-client-ca example-peer-ca"},
		"no key": {func(mine, _ map[string]*corev1.Secret) {
			mine[c.ClientCA()].Data[corev1.TLSPrivateKeyKey] = []byte("garbage")
		}, "example-client-ca", "example-client-ca example-peer-ca"},
		"another": {func(mine, others map[string]*corev1.Secret) {
			mine[c.ClientCA()] = others[c.ClientCA()]
		}, "example-client-ca", "example-client-ca example-peer-ca"},
		"another peer": {func(mine, others map[string]*corev1.Secret) {
			mine[c.PeerCA()] = others[c.PeerCA()]
		}, "example-peer-ca", "example-client-ca example-peer-ca"},
		"written in another way": {func(mine, _ map[string]*corev1.Secret) {
			ca := mine[c.ClientCA()]
			ca.Data[corev1.TLSCertKey] = append([]byte("restored\n"), ca.Data[corev1.TLSCertKey]...)
		}, "", "example-client-ca example-peer-ca"},
		"members without a Secret": {func(mine, _ map[string]*corev1.Secret) { delete(mine, specs.MemberSecret(c)) }, "", ""},
		"members' Secret is garbage": {func(mine, _ map[string]*corev1.Secret) {
			mine[specs.MemberSecret(c)].Data[specs.ClientCAKey] = []byte("garbage")
		}, "", "example-peer-ca"},
		"all is gone": {func(mine, _ map[string]*corev1.Secret) { clear(mine) }, "example-client-ca example-peer-ca", ""},
	} {
		mine, others := makeAll(t, c), makeAll(t, c)
		test.spoil(mine, others)
		held := certs.Read(c, func(name string) *corev1.Secret { return mine[name] })
		var lost, holder []string
		for _, name := range certs.Authorities(c) {
			if held.Lost(c, name, now) != nil {
				lost = append(lost, name)
			}
			if held.Holds(c, name) {
				holder = append(holder, name)
			}
		}
		if strings.Join(lost, " ") != test.lost || strings.Join(holder, " ") != test.holder {
			t.Errorf("%s: lost %v, held %v", what, lost, holder)
		}
	}
}

// TestSigns: members show certificates of both authorities, clients of their own only.
func TestSigns(t *testing.T) {
	c := example()
	for authority, want := range map[string]string{
		c.ClientCA(): "example-client-ca example-member-tls example-client", c.PeerCA(): "example-peer-ca example-member-tls",
	} {
		var signed []string
		for _, name := range certs.Names(c) {
			if certs.Signs(c, authority, name) {
				signed = append(signed, name)
			}
		}
		if strings.Join(signed, " ") != want {
			t.Errorf("%s signs %v", authority, signed)
		}
	}
}

// TestGarbageIsAFault: truncated, empty and missing Secrets are distinguished from
// good ones.
func TestGarbageIsAFault(t *testing.T) {
	c := example()
	for _, name := range certs.Names(c) {
		secrets := makeAll(t, c)
		for key, value := range secrets[name].Data {
			secrets[name].Data[key] = value[:len(value)/2]
		}
		if bad := faults(c, secrets, now); len(bad) == 0 || bad[0] != name {
			t.Errorf("truncated %s: faults in %v", name, bad)
		}
		delete(secrets, name)
		if bad := faults(c, secrets, now); len(bad) == 0 || bad[0] != name {
			t.Errorf("missing %s: faults in %v", name, bad)
		}
	}
}

// TestPlainClientSecretHoldsEndpointsOnly: without TLS there is nothing to sign.
func TestPlainClientSecretHoldsEndpointsOnly(t *testing.T) {
	c := example()
	c.Spec.TLS.Mode = v1beta1.TLSDisabled
	secrets := makeAll(t, c)
	client := secrets[c.ClientSecret()]
	if len(secrets) != 1 || len(client.Data) != 1 || string(client.Data[specs.EndpointsKey]) != "http://example-client.default.svc:2379" {
		t.Errorf("secrets %v, client holds %v", len(secrets), client.Data)
	}
	if bad := faults(c, secrets, now); len(bad) > 0 {
		t.Errorf("faults in %v", bad)
	}
}

// TestAuthorityEnds: it is reported a year before, and is near 30 days before; what it has
// signed does not matter, and an end that has come counts.
func TestAuthorityEnds(t *testing.T) {
	const day = 24 * time.Hour
	c := example()
	secrets := makeAll(t, c)
	held := certs.Read(c, func(name string) *corev1.Secret { return secrets[name] })
	end := now.Add(v1beta1.DefaultAuthorityLifetime)
	for left, want := range map[time.Duration]struct{ reported, near bool }{
		366 * day: {}, 365*day - time.Second: {reported: true}, 30 * day: {reported: true},
		30*day - time.Second: {reported: true, near: true}, -day: {reported: true, near: true},
	} {
		var all []cluster.Ending
		if want.reported {
			for _, name := range certs.Authorities(c) {
				all = append(all, cluster.Ending{Secret: name, On: end.Format(time.DateOnly), Near: want.near, Over: left < 0})
			}
		}
		if got := held.Ending(c, end.Add(-left)); !slices.Equal(got, all) {
			t.Errorf("%s before the end: %+v, want %+v", left, got, all)
		}
	}
	delete(secrets, c.PeerCA())
	held = certs.Read(c, func(name string) *corev1.Secret { return secrets[name] })
	if got := held.Ending(c, end); len(got) != 2 || got[0].Secret != c.ClientCA() || got[0].Expired || !got[1].Expired {
		t.Errorf("one is missing, and what it has signed has expired: %+v", got)
	}
}

// TestFault61NothingIsSignedByAnAuthorityThatHasEnded: what it has signed has ended with it, and no other is made by it, nor
// by one that is yet to begin; what it would be replaced by can be made.
func TestFault61NothingIsSignedByAnAuthorityThatHasEnded(t *testing.T) {
	c := example()
	secrets := makeAll(t, c)
	held := certs.Read(c, func(name string) *corev1.Secret { return secrets[name] })
	for _, at := range []time.Time{now.Add(v1beta1.DefaultAuthorityLifetime + time.Minute), now.Add(-2 * pki.Backdate)} {
		for _, name := range certs.Names(c) {
			isAuthority := name == c.ClientCA() || name == c.PeerCA()
			if fault := held.Fault(c, name, at); fault == nil && !isAuthority {
				t.Errorf("%s: %s is good", at, name)
			}
			if held.CanMake(c, name, at) != isAuthority {
				t.Errorf("%s: %s can be made: %t", at, name, !isAuthority)
			}
		}
	}
}

// TestFault38ClockJumps: a clock that jumps costs at most one new certificate there and
// one back, however often is looked, and never an authority: every member would have to
// learn of it. Ten years away nothing can be signed, and all stays as it is.
func TestFault38ClockJumps(t *testing.T) {
	const hour, year = time.Hour, 365 * 24 * time.Hour
	for jump, most := range map[time.Duration]int{-10 * year: 0, -hour: 0, hour: 0, year * 3 / 4: 1, 9 * year: 1, 10*year + hour: 0} {
		c := example()
		secrets := makeAll(t, c)
		there := renewals(t, c, secrets, now.Add(jump))
		back := renewals(t, c, secrets, now)
		for _, name := range certs.Names(c) {
			want := most
			if name == c.ClientCA() || name == c.PeerCA() {
				want = 0
			}
			if there[name] != want || back[name] != want {
				t.Errorf("%s away %s was made %d times there and %d times back, want %d", jump, name, there[name], back[name], want)
			}
		}
		if bad := faults(c, secrets, now); len(bad) > 0 {
			t.Errorf("%s away and back: faults in %v", jump, bad)
		}
	}
}

// renewals are how often each Secret is recreated in three looks.
func renewals(t *testing.T, c *v1beta1.EtcdCluster, secrets map[string]*corev1.Secret, at time.Time) map[string]int {
	t.Helper()
	made := map[string]int{}
	for range 3 {
		held := certs.Read(c, func(name string) *corev1.Secret { return secrets[name] })
		for _, name := range faults(c, secrets, at) {
			if secret, err := held.Make(rand.Reader, at, c, name); err == nil {
				secrets[name] = secret
				made[name]++
			}
		}
	}
	return made
}
