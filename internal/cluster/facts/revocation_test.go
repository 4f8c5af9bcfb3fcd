// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"crypto/rand"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// revoke has members mount a list with these serial numbers.
func (s *scene) revoke(at time.Time, serials ...string) {
	s.t.Helper()
	s.c.Spec.TLS.Revocations = nil
	for _, serial := range serials {
		s.c.Spec.TLS.Revocations = append(s.c.Spec.TLS.Revocations, v1beta1.Revocation{Serial: serial})
	}
	held := certs.Read(s.c, func(name string) *corev1.Secret {
		if !slices.Contains(certs.Names(s.c), name) {
			return nil
		}
		return s.find("Secret " + name).(*corev1.Secret)
	})
	made, err := held.Make(rand.Reader, at, s.c, "a-member-tls")
	if err != nil {
		s.t.Fatal(err)
	}
	secret := s.find("Secret a-member-tls").(*corev1.Secret)
	secret.Data, secret.Annotations = made.Data, made.Annotations
}

// refuse has members run with the list that is mounted, and refuse what is on it.
func (s *scene) refuse(names ...string) {
	at := s.find("Secret a-member-tls").(*corev1.Secret).Annotations[v1beta1.AnnotationRevokedAt]
	if s.sights == nil {
		s.sights = map[string]certs.TLSProbe{}
	}
	for _, name := range names {
		specs.Revoking(s.pod(name), at)
		s.sights[name] = certs.TLSProbe{Refusal: certs.Refusal{Is: true}}
	}
}

func permitting(v cluster.View) (names []string) {
	for _, m := range v.Select(cluster.IsSuperseded, func(m cluster.Member) bool { return m.Pod.PredatesRevocation }) {
		names = append(names, m.Name)
	}
	return names
}

// TestFault82RevocationIsSeen: members are outdated that were made before a certificate was revoked, when each of those which
// read the list was seen to refuse it, and no member is probed when that is over.
func TestFault82RevocationIsSeen(t *testing.T) {
	s := newScene(t)
	v := s.look()
	if asked := s.callsOf("Sight"); len(asked) > 0 || v.Revocation.Phase != "" || v.Target.RevokedAt != "" {
		t.Errorf("at rest: %+v, looked at %v", v.Revocation, asked)
	}
	s.c.Spec.TLS.Revocations = []v1beta1.Revocation{{Serial: "abc"}}
	v = s.look()
	if len(v.Objects) != 1 || v.Objects[0].Name != "a-member-tls" || v.Objects[0].CanWait {
		t.Errorf("asked for: %+v", v.Objects)
	}
	s.revoke(now, "abc")
	v = s.look()
	if got := permitting(v); len(got) != 3 || v.Target.RevokedAt == "" || v.Revocation.Phase != cluster.CutOff {
		t.Errorf("none reads a list: %v, %+v", got, v.Revocation)
	}
	s.refuse("a-0")
	if got := permitting(s.look()); !slices.Equal(got, []string{"a-1", "a-2"}) {
		t.Errorf("one has restarted: %v", got)
	}
	s.c.Spec.TLS.Revocations = nil
	v = s.look()
	if got := permitting(v); len(got) > 0 || v.Revocation.Await != "" || v.Revocation.Phase != cluster.Revoked ||
		v.Count(cluster.IsOutdated) > 0 {
		t.Errorf("taken off the list meanwhile: %v, %+v", got, v.Revocation)
	}
	s.c.Spec.TLS.Revocations = []v1beta1.Revocation{{Serial: "abc"}}
	s.sights["a-0"] = certs.TLSProbe{}
	v = s.look()
	if got := permitting(v); len(got) > 0 || !strings.Contains(v.Revocation.Await, "a-0 to refuse") || v.Count(cluster.IsOutdated) > 0 ||
		v.Count(cluster.IsUpdated) != 1 {
		t.Errorf("it does not refuse: %v, %s", got, v.Revocation.Await)
	}
	s.refuse("a-0", "a-1", "a-2")
	v = s.look()
	if v.Revocation.Phase != cluster.Revoked || v.Revocation.Await != "" || v.Count(cluster.IsOutdated) > 0 {
		t.Errorf("all refuse: %+v", v.Revocation)
	}
	s.c.Status.Revocations = &v1beta1.RevocationStatus{Phase: v1beta1.RevocationDone, RevokedAt: v.Revocation.At}
	s.calls = nil
	s.look()
	if asked := s.callsOf("Sight"); len(asked) > 0 {
		t.Errorf("when it is over: looked at %v", asked)
	}
}

// TestFault82ListIsGone: members that read a list which is no more restart without it: their kubelets bring them nothing else, either.
func TestFault82ListIsGone(t *testing.T) {
	s := newScene(t)
	s.revoke(now, "abc")
	s.refuse("a-0", "a-1", "a-2")
	s.c.Spec.TLS.Revocations = nil
	secret := s.find("Secret a-member-tls").(*corev1.Secret)
	delete(secret.Data, specs.RevokedKey)
	delete(secret.Annotations, v1beta1.AnnotationRevokedAt)
	v := s.look()
	if got := permitting(v); len(got) != 3 || v.Target.RevokedAt != "" || len(v.Objects) > 0 {
		t.Errorf("%v outdated, %+v, %+v", got, v.Revocation, v.Objects)
	}
}
