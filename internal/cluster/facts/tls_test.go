// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// inPhase has members that were made as the status says, which is how far a change of tls.mode is. Those that are listed keep their
// peer URLs, which are by https.
func (s *scene) inPhase(mode v1beta1.TLSMode, phase v1beta1.TLSPhase) {
	s.t.Helper()
	s.c.Status.TLS = &v1beta1.TLSStatus{Mode: mode, Phase: phase}
	for _, name := range []string{"a-0", "a-1", "a-2"} {
		s.drop("Pod " + name)
		s.objects = append(s.objects, s.newPod(name))
	}
}

// listedBy has etcd list every member by these schemes.
func (s *scene) listedBy(schemes ...string) {
	s.members = func(all []etcd.Member) {
		for i := range all {
			all[i].PeerURLs = nil
			for _, scheme := range schemes {
				all[i].PeerURLs = append(all[i].PeerURLs, scheme+"://"+all[i].Name+".a.default.svc:2380")
			}
		}
	}
}

// TestPeerURLsOfEachPass: which are not those that the pass wants is a fact, and so is which members have yet to restart for it.
func TestPeerURLsOfEachPass(t *testing.T) {
	for _, test := range []struct {
		mode    v1beta1.TLSMode
		phase   v1beta1.TLSPhase
		schemes string
		old     bool
	}{
		{v1beta1.TLSEnabled, v1beta1.TLSStable, "https", false},
		{v1beta1.TLSEnabled, v1beta1.TLSStable, "http https", true},
		{v1beta1.TLSEnabled, v1beta1.TLSAdvertised, "https", true},
		{v1beta1.TLSEnabled, v1beta1.TLSAdvertised, "https http", false},
		{v1beta1.TLSDisabled, v1beta1.TLSBoth, "http", true},
		{v1beta1.TLSDisabled, v1beta1.TLSStable, "http", false},
	} {
		s := newScene(t)
		s.inPhase(test.mode, test.phase)
		s.listedBy(strings.Fields(test.schemes)...)
		for _, m := range s.look().Members {
			if m.OldPeerURLs != test.old || cluster.IsOutdated(m) {
				t.Errorf("%s %s, listed by %s: %+v", test.mode, test.phase, test.schemes, m)
			}
		}
	}
	s := newScene(t)
	s.inPhase(v1beta1.TLSEnabled, v1beta1.TLSAdvertised)
	s.c.Status.TLS.Phase = v1beta1.TLSBoth
	if v := s.look(); v.Count(cluster.IsSuperseded) != 3 {
		t.Errorf("%d members are to restart for the next pass", v.Count(cluster.IsSuperseded))
	}
}

// TestTLSIsTurnedOnBesideNoCertificates: the Secrets that are missing are made before any member needs them, and count as lost for none.
func TestTLSIsTurnedOnBesideNoCertificates(t *testing.T) {
	s := newScene(t)
	s.inPhase(v1beta1.TLSDisabled, v1beta1.TLSStable)
	s.listedBy("http")
	s.drop("Secret a-client-ca", "Secret a-peer-ca", "Secret a-member-tls", "Secret a-client")
	v := s.look()
	step, because := plan.Next(v)
	apply, is := step.(plan.Apply)
	if !is || len(apply.Objects) != 3 || len(v.Lost) > 0 || v.Count(cluster.IsOutdated) > 0 {
		t.Fatalf("%s (%s), lost %v", step, because, v.Lost)
	}
	for _, secret := range goodSecrets() {
		s.objects = append(s.objects, secret.DeepCopy())
	}
	s.find("Secret a-client").(*corev1.Secret).Data[specs.EndpointsKey] = []byte(specs.Endpoint(s.c))
	s.claims(v1beta1.TLSDisabled)
	v = s.look()
	step, because = plan.Next(v)
	if because != "turn TLS on or off" || step.(plan.Record).Event != "TLSChanging" {
		t.Errorf("%s (%s), %v, %v", step, because, v.Objects, v.Misfits)
	}
}

// claims writes on all volumes by which mode their members are found.
func (s *scene) claims(mode v1beta1.TLSMode) {
	for _, name := range []string{"a-0", "a-1", "a-2"} {
		s.claim(name).Annotations[v1beta1.AnnotationTLSMode] = string(mode)
	}
}

// TestVolumesSayByWhichModeMembersAreFound: they are rewritten while etcd lists members by both, and those of a member that restarts are
// its own meanwhile. Later one with another mode is not.
func TestVolumesSayByWhichModeMembersAreFound(t *testing.T) {
	s := newScene(t)
	s.inPhase(v1beta1.TLSEnabled, v1beta1.TLSBoth)
	s.claims(v1beta1.TLSDisabled)
	s.drop("Pod a-2")
	s.etcd.Stop("a-2")
	v := s.look()
	if len(v.Foreign) > 0 || len(v.Misfits) != 2 || v.Misfits[0].Part != cluster.Version {
		t.Errorf("foreign %v, to be written %v", v.Foreign, v.Misfits)
	}
	s.c.Status.TLS.Phase = v1beta1.TLSStable
	if v := s.look(); len(v.Foreign) != 1 {
		t.Errorf("a volume with data of the other mode is taken: %v", v.Foreign)
	}
}

// TestWindowOfClients: it begins when clients were sent to the other scheme, and is as long as the spec says.
func TestWindowOfClients(t *testing.T) {
	s := newScene(t)
	s.inPhase(v1beta1.TLSEnabled, v1beta1.TLSBoth)
	since := metav1.NewTime(now.Add(-9 * time.Minute))
	if v := s.look(); v.TLS.Window != "" || v.Record.TLS.SwitchedAt != 0 {
		t.Errorf("a window before clients were sent: %+v", v.TLS)
	}
	s.c.Status.TLS.SwitchedAt = &since
	if v := s.look(); v.TLS.Window != "2026-01-01T00:01:00Z" || v.Record.TLS.SwitchedAt != since.Unix() {
		t.Errorf("%+v, %+v", v.TLS, v.Record.TLS)
	}
	s.c.Spec.TLS.ClientWindow = &metav1.Duration{Duration: 9 * time.Minute}
	if v := s.look(); v.TLS.Window != "" {
		t.Errorf("it is not over: %s", v.TLS.Window)
	}
	s.ahead = time.Second // the API server has yet to see its end
	if v := s.look(); v.TLS.Window == "" {
		t.Error("it is over by one clock alone")
	}
}

// TestWhatHoldsTLSBack: authentication needs TLS for as long as etcd has it enabled, and members need certificates that serve.
func TestWhatHoldsTLSBack(t *testing.T) {
	s := newScene(t)
	s.inPhase(v1beta1.TLSEnabled, v1beta1.TLSStable)
	s.c.Spec.TLS.Mode = v1beta1.TLSDisabled
	if v := s.look(); v.TLS.Held != "" || v.TLS.Wanted {
		t.Errorf("%+v", v.TLS)
	}
	s.c.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionAuthEnabled, Status: metav1.ConditionTrue}}
	if v := s.look(); !strings.Contains(v.TLS.Held, "authentication to be disabled") {
		t.Errorf("%+v", v.TLS)
	}
	s = newScene(t)
	s.inPhase(v1beta1.TLSDisabled, v1beta1.TLSStable)
	s.listedBy("http")
	s.fromSecrets()
	s.drop("Secret a-client-ca", "Secret a-peer-ca", "Secret a-member-tls", "Secret gossip")
	if v := s.look(); !strings.Contains(v.TLS.Held, "Secret gossip") || v.Certificates.Lacking {
		t.Errorf("%+v, %+v", v.TLS, v.Certificates)
	}
}
