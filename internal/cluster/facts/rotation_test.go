// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"crypto/rand"
	"encoding/pem"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// take brings the authority of clients on, and what is mounted with it.
func (s *scene) take(at time.Time, pass cluster.RotationStage) {
	s.t.Helper()
	held := certs.Read(s.c, func(name string) *corev1.Secret {
		i := slices.IndexFunc(s.objects, func(o client.Object) bool { return key(o) == "Secret "+name })
		if i < 0 {
			return nil
		}
		return s.objects[i].(*corev1.Secret)
	})
	put := func(made *corev1.Secret, err error) {
		s.t.Helper()
		if err != nil || made == nil {
			s.t.Fatalf("%s: %v", pass, err)
		}
		secret := s.find("Secret " + made.Name).(*corev1.Secret)
		secret.Data, secret.Annotations = made.Data, made.Annotations
	}
	put(held.Turn(rand.Reader, at, s.c, "a-client-ca", cluster.RotationStep{Stage: pass, Because: certs.ByRequest, Request: "today"}))
	put(held.Make(rand.Reader, at, s.c, "a-member-tls"))
	put(held.Make(rand.Reader, at, s.c, "a-client"))
}

// startAll has all members run with what is mounted now.
func (s *scene) startAll() {
	member := s.find("Secret a-member-tls").(*corev1.Secret)
	ca := s.find("Secret a-client-ca").(*corev1.Secret)
	s.sights = map[string]certs.TLSProbe{}
	for _, name := range []string{"a-0", "a-1", "a-2"} {
		pod := s.find("Pod " + name).(*corev1.Pod)
		pod.Annotations[v1beta1.AnnotationTrust] = member.Annotations[v1beta1.AnnotationTrust]
		port := certs.Port{Shown: der(s.t, member.Data["server.crt"]), Accepts: [][]byte{
			pki.Pair{CertPEM: ca.Data[corev1.TLSCertKey]}.Subject(), pki.Pair{CertPEM: ca.Data["next.crt"]}.Subject(),
		}}
		s.sights[name] = certs.TLSProbe{Client: port, Peer: port}
	}
}

// der is a certificate in DER.
func der(t *testing.T, text []byte) []byte {
	t.Helper()
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatal("no certificate")
	}
	return block.Bytes
}

func passesDue(v cluster.View) (all []string) {
	for _, o := range v.Rotation.Turns {
		all = append(all, string(o.RotationStep.Stage)+" "+o.Name)
	}
	return all
}

// TestFault62RotationIsSeen: members are outdated that trust others than is wanted, are looked at only while an authority is
// rotated, and the next pass is due when all of them, and what is mounted, are ready for it.
func TestFault62RotationIsSeen(t *testing.T) {
	s := newScene(t)
	look := func() cluster.View {
		later := s.observer()
		later.Now = func() time.Time { return now.Add(10 * time.Minute) }
		return s.lookBy(later)
	}
	v := look()
	if asked := s.callsOf("Sight"); len(asked)+len(v.Rotation.Turns) > 0 || v.Rotation.Await != "" || v.Target.Trust != "" {
		t.Errorf("at rest: %+v, looked at %v", v.Rotation, asked)
	}
	s.c.Annotations = map[string]string{v1beta1.AnnotationRotate: "client:today"}
	if got := passesDue(look()); !slices.Equal(got, []string{"introduce a-client-ca"}) {
		t.Errorf("asked for: %v", got)
	}
	s.take(now, cluster.Introduce)
	v = look()
	outdated := v.Select(cluster.IsSuperseded, func(m cluster.Member) bool { return m.Pod.OldCABundle })
	if len(outdated) != 3 || len(v.Rotation.Turns) > 0 || !strings.Contains(v.Rotation.Await, "a-0 at port 2379") {
		t.Errorf("introduced: %d outdated, %+v", len(outdated), v.Rotation)
	}
	if asked := s.callsOf("Sight"); len(asked) < 3 {
		t.Errorf("looked at %v", asked)
	}
	s.startAll()
	v = look()
	if got := passesDue(v); !slices.Equal(got, []string{"switch to a-client-ca"}) || v.Count(cluster.IsOutdated) > 0 {
		t.Errorf("all trust it: %v, %d outdated; %s", got, v.Count(cluster.IsOutdated), v.Rotation.Await)
	}
	s.sights["a-1"] = certs.TLSProbe{Client: certs.Port{Err: "connection refused"}}
	v = look()
	await := v.Rotation.Await
	if len(v.Rotation.Turns) > 0 || !strings.Contains(await, "a-1 at port 2379") || !strings.Contains(await, "refused") {
		t.Errorf("one cannot be looked at: %+v", v.Rotation)
	}
	s.startAll()
	s.take(now.Add(9*time.Minute), cluster.Switch)
	if v = look(); len(v.Rotation.Turns) > 0 || !strings.Contains(v.Rotation.Await, "to show a certificate by the new authority") {
		t.Errorf("none shows it: %+v", v.Rotation)
	}
	s.startAll()
	if v = look(); len(v.Rotation.Turns) > 0 || !strings.Contains(v.Rotation.Await, "was written at 2026-01-01T00:09:00Z") {
		t.Errorf("clients have yet to get it: %+v", v.Rotation)
	}
}

// TestFault62StartedWithoutTheNextOne: a kubelet whose cache is old has started a member with an old bundle. The next authority
// signs nothing before that member trusts it, and the status names that member.
func TestFault62StartedWithoutTheNextOne(t *testing.T) {
	s := newScene(t)
	s.take(now.Add(time.Second), cluster.Introduce)
	s.startAll()
	old := s.sights["a-1"]
	old.Client.Accepts = old.Client.Accepts[:1]
	s.sights["a-1"] = old
	later := s.observer()
	later.Now = func() time.Time { return now.Add(10 * time.Minute) }
	v := s.lookBy(later)
	if len(v.Rotation.Turns) > 0 || !strings.Contains(v.Rotation.Await, "a-1 at port 2379 to trust the next authority of Secret a-client-ca") {
		t.Errorf("%+v", v.Rotation)
	}
}

// TestFault38RotationNeedsBothClocks: a clock that is years ahead has nothing rotated.
func TestFault38RotationNeedsBothClocks(t *testing.T) {
	s := newScene(t)
	const years = 9 * 365 * 24 * time.Hour
	late := s.observer()
	late.Now = func() time.Time { return now.Add(years) }
	s.ahead = years
	if got := passesDue(s.lookBy(late)); len(got) > 0 {
		t.Errorf("by a wrong clock: %v", got)
	}
	s.ahead = 0
	if got := passesDue(s.lookBy(late)); !slices.Equal(got, []string{"introduce a-client-ca", "introduce a-peer-ca"}) {
		t.Errorf("in time: %v", got)
	}
}

// TestFault83NotRoot: the operator is locked out while etcd says so, or while authentication is enabled and it has nothing that says root.
func TestFault83NotRoot(t *testing.T) {
	for _, test := range []struct {
		reason string
		auth   bool
		lost   bool
		want   string
	}{
		{v1beta1.ReasonAuthAsSpecified, true, false, ""},
		{v1beta1.ReasonAuthAsSpecified, true, true, "it connects as etcd-server by Secret a-member-tls"},
		{v1beta1.ReasonAuthEnabledByHand, false, false, ""},
		{v1beta1.ReasonAuthEnabledByHand, false, true, "it connects as etcd-server by Secret a-member-tls"},
		{v1beta1.ReasonOperatorNotRoot, false, true, "as etcd says"},
		{v1beta1.ReasonAuthChanging, true, true, ""},
	} {
		s := newScene(t)
		s.c.Spec.Auth.Enabled = test.auth
		status := metav1.ConditionTrue
		if test.reason == v1beta1.ReasonAuthChanging {
			status = metav1.ConditionUnknown
		}
		s.c.Status.Conditions = append(s.c.Status.Conditions, metav1.Condition{
			Type: v1beta1.ConditionAuthEnabled, Status: status, Reason: test.reason, Message: "as etcd says",
		})
		if test.lost {
			s.objects = slices.DeleteFunc(s.objects, func(o client.Object) bool { return key(o) == "Secret a-client-ca" })
		}
		if got := s.look().NotRoot; !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%+v: %q", test, got)
		}
	}
}
