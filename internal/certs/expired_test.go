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

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// afterLeaves is when all certificates have expired that a person has issued at now, and no authority has.
const afterLeaves = 91 * 24 * time.Hour

// passesOf are the passes that are due, each with its Secret; one that no person has to ask for has a "!".
func passesOf(r cluster.Rotation) (all []string) {
	for _, o := range r.Turns {
		what := string(o.RotationStep.Stage) + " " + o.Name
		if o.RotationStep.Replaced {
			what += "!"
		}
		all = append(all, what)
	}
	return all
}

// TestFault86ExpiredCertificatesOfOthers: certificates that members mount have expired. Where the authority that members trust can give
// others it does; where another source is ready, its authority replaces the one before at once; and what there is is said.
func TestFault86ExpiredCertificatesOfOthers(t *testing.T) {
	const both = "renew example-client-ca! renew example-peer-ca!"
	ca := someAuthority(t)
	for _, test := range []struct {
		name    string
		change  func(c *v1beta1.EtcdCluster, secrets map[string]*corev1.Secret, at time.Time)
		passes  string
		reason  string // of CertificatesAccepted
		says    string
		lacking bool
		ending  int
	}{
		{
			name:   "renewed by the same authority",
			change: func(_ *v1beta1.EtcdCluster, s map[string]*corev1.Secret, at time.Time) { bring(t, s, at, ca) },
		},
		{
			name: "not renewed", change: func(*v1beta1.EtcdCluster, map[string]*corev1.Secret, time.Time) {},
			reason: v1beta1.ReasonExpired, says: "renew it", lacking: true,
		},
		{
			name: "another authority", passes: both, reason: v1beta1.ReasonExpired, lacking: true, ending: 2,
			says: "example-member-tls: its certificates have expired on 2026-04-01T00:00:00Z",
			change: func(_ *v1beta1.EtcdCluster, s map[string]*corev1.Secret, at time.Time) {
				bring(t, s, at, someAuthority(t))
			},
		},
		{
			name: "another authority of peers only", passes: "renew example-peer-ca!", reason: v1beta1.ReasonExpired, lacking: true, ending: 1,
			says: "example-member-tls: its certificates have expired",
			change: func(_ *v1beta1.EtcdCluster, s map[string]*corev1.Secret, at time.Time) {
				bring(t, s, at, ca)
				s["gossip"] = issued(t, at, someAuthority(t), "gossip")
			},
		},
		{
			name: "the reference removed", passes: both, ending: 2,
			change: func(c *v1beta1.EtcdCluster, _ map[string]*corev1.Secret, _ time.Time) { c.Spec.TLS.SecretRefs = nil },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, secrets := fromSecrets(example()), map[string]*corev1.Secret{}
			c.Status.ClusterID = "c1"
			bring(t, secrets, now, ca)
			makeFrom(t, c, secrets)
			at := now.Add(afterLeaves)
			test.change(c, secrets, at)
			held := heldOf(c, secrets)
			if got := strings.Join(passesOf(held.Rotation(c, certs.Facts{Now: at, Come: at})), " "); got != test.passes {
				t.Errorf("due: %q", got)
			}
			if early := held.Rotation(c, certs.Facts{Now: at, Come: now}); slices.ContainsFunc(early.Turns, isRenewal) {
				t.Errorf("by one clock alone: %q", passesOf(early))
			}
			got := held.Certificates(c, at)
			if got.Reason != test.reason || !strings.Contains(got.Fault, test.says) || got.Lacking != test.lacking {
				t.Errorf("got %+v", got)
			}
			isOtherwise := func(e cluster.Ending) bool { return !e.Over || !e.Expired || e.On != "2026-04-01T00:00:00Z" }
			if ending := held.Ending(c, at); len(ending) != test.ending || slices.ContainsFunc(ending, isOtherwise) {
				t.Errorf("ending: %+v", ending)
			}
			renewAll(t, c, secrets, at)
			if test.name != "not renewed" {
				mustServe(t, c, secrets, at)
			}
		})
	}
}

// TestFault38ShortLivesByTheLaterClock: an authority that lives for half an hour is rotated in time although the operator's clock is an
// hour behind; one that lives for years only when both clocks say so.
func TestFault38ShortLivesByTheLaterClock(t *testing.T) {
	for life, want := range map[time.Duration]string{
		30 * time.Minute: "introduce example-client-ca introduce example-peer-ca", v1beta1.DefaultAuthorityLifetime: "",
	} {
		c := example()
		c.Spec.TLS.Lifetimes.Authority.Duration = life
		at := now.Add(life/3*2 + time.Minute)
		secrets := makeAll(t, c)
		r := heldOf(c, secrets).Rotation(c, certs.Facts{Now: at, Come: at.Add(-time.Hour)})
		if got := strings.Join(passesOf(r), " "); got != want {
			t.Errorf("%s: %q", life, got)
		}
	}
}

func isRenewal(o cluster.Object) bool { return o.RotationStep.Stage == cluster.Renew }

// renewAll takes the passes that are due, and makes what is not as wanted then.
func renewAll(t *testing.T, c *v1beta1.EtcdCluster, secrets map[string]*corev1.Secret, at time.Time) {
	t.Helper()
	for _, o := range heldOf(c, secrets).Rotation(c, certs.Facts{Now: at, Come: at}).Turns {
		held := heldOf(c, secrets)
		secret, err := held.Turn(rand.Reader, at, c, o.Name, o.RotationStep)
		if err != nil || secret == nil {
			t.Fatalf("%s is not taken: %v", o.Name, err)
		}
		secrets[o.Name] = secret
		held = heldOf(c, secrets)
		if again, err := held.Turn(rand.Reader, at, c, o.Name, o.RotationStep); again != nil || err != nil {
			t.Fatalf("%s is taken twice: %v", o.Name, err)
		}
		if lost := held.Lost(c, o.Name, at); lost != nil && isRenewal(o) {
			t.Fatalf("%s keeps from being made what it is to sign: %v", o.Name, lost)
		}
	}
	for _, name := range certs.Names(c) {
		held := heldOf(c, secrets)
		if held.Fault(c, name, at) == nil || !held.CanMake(c, name, at) {
			continue
		}
		secret, err := held.Make(rand.Reader, at, c, name)
		if err != nil {
			t.Fatal(err)
		}
		secrets[name] = secret
	}
}

// mustServe fails if what members show has expired, or is by no authority that members trust.
func mustServe(t *testing.T, c *v1beta1.EtcdCluster, secrets map[string]*corev1.Secret, at time.Time) {
	t.Helper()
	if bad := faults(c, secrets, at); len(bad) > 0 {
		t.Errorf("faults in %v", bad)
	}
	data := secrets[specs.MemberSecret(c)].Data
	for cert, ca := range map[string]string{specs.ServerCertKey: specs.ClientCAKey, specs.PeerCertKey: specs.PeerCAKey} {
		if end, known := pki.ValidUntil(pki.Pair{CertPEM: data[cert]}, data[ca]); !known || at.After(end) {
			t.Errorf("%s is valid until %s", cert, end)
		}
	}
	if got := heldOf(c, secrets).Certificates(c, at); got.Lacking || got.Reason != "" {
		t.Errorf("got %+v", got)
	}
}

// TestFault86ExpiredInTheMiddle: the certificates expire while another authority is introduced that members do not all trust yet.
func TestFault86ExpiredInTheMiddle(t *testing.T) {
	c, secrets := fromSecrets(example()), map[string]*corev1.Secret{}
	c.Status.ClusterID = "c1"
	bring(t, secrets, now, someAuthority(t))
	makeFrom(t, c, secrets)
	next := someAuthority(t)
	bring(t, secrets, now.Add(time.Hour), next)
	renewAll(t, c, secrets, now.Add(time.Hour))
	held := heldOf(c, secrets)
	if held.ClientCA.Phase() != cluster.Introduced || held.PeerCA.Phase() != cluster.Introduced {
		t.Fatalf("phase %s", held.ClientCA.Phase())
	}
	at := now.Add(afterLeaves)
	bring(t, secrets, at, next)
	got := strings.Join(passesOf(heldOf(c, secrets).Rotation(c, certs.Facts{Now: at, Come: at})), " ")
	if got != "renew example-client-ca! renew example-peer-ca!" {
		t.Errorf("due: %q", got)
	}
	renewAll(t, c, secrets, at)
	mustServe(t, c, secrets, at)
	if held := heldOf(c, secrets); held.IsRotating() || !held.Rotation(c, certs.Facts{Now: at, Come: at}).Together {
		t.Errorf("%+v", held.Rotation(c, certs.Facts{Now: at, Come: at}))
	}
}

// TestFault86LostAndExpired: an authority of ours was lost, and what it has signed has expired. Nothing is introduced beside it, which
// would need members that accept each other; a person asks, as for one that has ended, unless no member runs.
func TestFault86LostAndExpired(t *testing.T) {
	c := example()
	c.Status.ClusterID = "c1"
	secrets := makeAll(t, c)
	delete(secrets, c.PeerCA())
	at := now.Add(2 * v1beta1.DefaultCertificateLifetime)
	r := heldOf(c, secrets).Rotation(c, certs.Facts{Now: at, Come: at})
	if got := strings.Join(passesOf(r), " "); got != "renew example-peer-ca" {
		t.Errorf("due: %q", got)
	}
	ending := heldOf(c, secrets).Ending(c, at)
	if len(ending) != 1 || !ending[0].Expired || !ending[0].Over || ending[0].Secret != c.PeerCA() {
		t.Errorf("ending: %+v", ending)
	}
	renewAll(t, c, secrets, at)
	mustServe(t, c, secrets, at)
}
