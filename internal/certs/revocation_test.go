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

// A ward is a cluster with its Secrets, some of whose certificates are revoked.
type ward struct {
	t       *testing.T
	c       *v1beta1.EtcdCluster
	secrets map[string]*corev1.Secret
	made    map[string]string // with which list members were made
	refuse  map[string]certs.Refusal
	users   []*corev1.Secret
}

func newWard(t *testing.T) *ward {
	t.Helper()
	c := example()
	w := &ward{t: t, c: c, secrets: makeAll(t, c), made: map[string]string{}, refuse: map[string]certs.Refusal{}}
	for _, name := range w.members() {
		w.made[name] = ""
	}
	return w
}

func (w *ward) members() []string { return []string{"example-0", "example-1", "example-2"} }

func (w *ward) held() certs.KeyMaterial {
	return certs.Read(w.c, func(name string) *corev1.Secret { return w.secrets[name] })
}

// revoke has the spec name these serial numbers, and what is faulty made again; it says what that was.
func (w *ward) revoke(at time.Time, serials ...string) []string {
	w.t.Helper()
	w.c.Spec.TLS.Revocations = nil
	for _, serial := range serials {
		w.c.Spec.TLS.Revocations = append(w.c.Spec.TLS.Revocations, v1beta1.Revocation{Serial: serial})
	}
	return w.repair(at)
}

func (w *ward) repair(at time.Time) []string {
	w.t.Helper()
	bad := faults(w.c, w.secrets, at)
	held := w.held()
	for _, name := range bad {
		secret, err := held.Make(rand.Reader, at, w.c, name)
		if err != nil {
			w.t.Fatal(err)
		}
		w.secrets[name] = secret
	}
	if left := faults(w.c, w.secrets, at); len(left) > 0 {
		w.t.Errorf("made again, and faulty: %v", left)
	}
	return bad
}

func (w *ward) listed() []string {
	w.t.Helper()
	serials, err := pki.Revoked(w.mounted().Data[specs.RevokedKey])
	if err != nil {
		w.t.Fatal(err)
	}
	return serials
}

func (w *ward) mounted() *corev1.Secret { return w.secrets[specs.MemberSecret(w.c)] }
func (w *ward) at() string              { return w.mounted().Annotations[v1beta1.AnnotationRevokedAt] }

// look is what is known at that time.
func (w *ward) look(at time.Time) cluster.Revocation {
	f := certs.Facts{Now: at, Members: w.members(), Made: w.made, Users: w.users}
	for _, name := range w.members() {
		f.Probes = append(f.Probes, certs.TLSProbe{Member: name, Refusal: w.refuse[name]})
	}
	return w.held().Revocation(w.c, f)
}

// recordStatus writes the revocation into the status.
func (w *ward) recordStatus(r cluster.Revocation) {
	w.c.Status.Revocations = &v1beta1.RevocationStatus{Phase: v1beta1.RevocationPhase(r.Phase), RevokedAt: r.At, Serials: r.Serials}
}

// restart has members run with the list that is there.
func (w *ward) restart(names ...string) {
	for _, name := range names {
		w.made[name], w.refuse[name] = w.at(), certs.Refusal{Is: true}
	}
}

func (w *ward) want(r cluster.Revocation, phase cluster.RevocationPhase, await string) {
	w.t.Helper()
	if r.Phase != phase || !strings.Contains(r.Await, await) || (await == "") != (r.Await == "") {
		w.t.Errorf("%s, waiting for %q; want %s, waiting for %q", r.Phase, r.Await, phase, await)
	}
}

const later = time.Hour

// TestFault82NothingWithoutRevocations: a cluster in which none was revoked has no list, and nothing on it asks for a restart.
func TestFault82NothingWithoutRevocations(t *testing.T) {
	w := newWard(t)
	held := w.held()
	if data := w.mounted().Data; len(data) != 6 || w.at() != "" || held.List() != nil {
		t.Errorf("%d entries, revoked at %q", len(data), w.at())
	}
	if r := w.look(now); r.At != "" || r.Await != "" || r.Phase != "" || held.IsRevoking(w.c, w.made) {
		t.Errorf("%+v", r)
	}
}

// TestFault82NothingIsRevokedAnyMore: all numbers are removed while members restart, as is needed before another source of certificates
// is named. No member restarts or is probed for them any more, also when an external authority can sign neither a list nor a witness.
func TestFault82NothingIsRevokedAnyMore(t *testing.T) {
	for _, theirs := range []bool{false, true} {
		w := newWard(t)
		w.revoke(now.Add(later), "abc")
		w.recordStatus(w.look(now.Add(later)))
		w.restart("example-0")
		w.revoke(now.Add(2 * later))
		if ca := w.secrets[w.c.ClientCA()]; theirs {
			ca.Data[corev1.TLSPrivateKeyKey], ca.Data[specs.ExternalKey] = nil, []byte(corev1.TLSCertKey)
		}
		r := w.look(now.Add(2 * later))
		w.want(r, cluster.Revoked, "")
		if len(r.Serials) > 0 || w.held().IsRevoking(w.c, w.made) {
			t.Errorf("theirs: %t: %+v", theirs, r)
		}
	}
}

// TestFault82FirstRevocation: members get a list with the number and a witness, and restart at once to read it; it is over
// when each was seen to refuse the witness.
func TestFault82FirstRevocation(t *testing.T) {
	w := newWard(t)
	if bad := w.revoke(now.Add(later), "abc"); !slices.Equal(bad, []string{"example-member-tls"}) {
		t.Errorf("made again: %v", bad)
	}
	if serials := w.listed(); len(serials) != 2 || !slices.Contains(serials, "abc") {
		t.Errorf("on the list: %v", serials)
	}
	r := w.look(now.Add(later))
	w.want(r, cluster.CutOff, "")
	if r.At != "2026-01-01T01:00:00Z" || !slices.Equal(r.Serials, []string{"abc"}) {
		t.Errorf("%+v", r)
	}
	w.restart("example-0", "example-1")
	w.want(w.look(now.Add(later)), cluster.CutOff, "")
	w.restart("example-2")
	w.refuse["example-2"] = certs.Refusal{}
	w.want(w.look(now.Add(later)), cluster.CutOff, "example-2 to refuse certificates")
	w.refuse["example-2"] = certs.Refusal{Err: "connection refused"}
	w.want(w.look(now.Add(later)), cluster.CutOff, "connection refused")
	w.restart("example-2")
	w.want(w.look(now.Add(later)), cluster.Revoked, "")
	if !w.held().IsRevoking(w.c, w.made) {
		t.Error("members are not probed before it is recorded")
	}
	w.recordStatus(w.look(now.Add(later)))
	w.refuse = map[string]certs.Refusal{}
	if w.held().IsRevoking(w.c, w.made) {
		t.Error("it is never over")
	}
	w.want(w.look(now.Add(later)), cluster.Revoked, "")
}

// TestFault82AnotherRevocation: members that read the list restart only when each was seen to refuse the new one.
func TestFault82AnotherRevocation(t *testing.T) {
	w := newWard(t)
	w.revoke(now.Add(later), "abc")
	w.restart(w.members()...)
	w.recordStatus(w.look(now.Add(later)))
	first := w.at()
	at := now.Add(2 * later)
	w.revoke(at, "abc", "def")
	if w.at() == first || len(w.listed()) != 3 {
		t.Errorf("revoked at %s, %v", w.at(), w.listed())
	}
	w.refuse = map[string]certs.Refusal{"example-0": {Is: true}}
	w.want(w.look(at), cluster.Listed, "example-1 to refuse certificates that are revoked")
	for _, name := range w.members() {
		w.refuse[name] = certs.Refusal{Is: true}
	}
	w.want(w.look(at), cluster.CutOff, "")
	w.restart(w.members()...)
	w.want(w.look(at), cluster.Revoked, "")
	w.recordStatus(w.look(at))

	second, witnessed := w.at(), w.listed()
	if w.revoke(at.Add(later)); w.at() != second || len(w.listed()) != 1 {
		t.Errorf("taken off: revoked at %s, %v", w.at(), w.listed())
	}
	if slices.Contains(witnessed, w.listed()[0]) {
		t.Error("the list has the witness of another one")
	}
	w.want(w.look(at.Add(later)), cluster.Revoked, "")
	w.recordStatus(w.look(at.Add(later)))
	if w.revoke(at.Add(2*later), "def"); w.at() == second {
		t.Error("one that was let in meanwhile is revoked, and its connections stay")
	}
}

// TestFault82OurOwnAreIssuedAgain: what is revoked and in a Secret of ours is issued again at once, and members restart when
// applications have had the time to mount it.
func TestFault82OurOwnAreIssuedAgain(t *testing.T) {
	w := newWard(t)
	w.c.Spec.Auth.Enabled = true
	w.repair(now)
	u := user(v1beta1.CertificateAuthentication)
	held := w.held()
	mine, err := held.MakeUser(rand.Reader, now, w.c, u, nil)
	if err != nil {
		t.Fatal(err)
	}
	member := w.mounted().Data
	revoked := []string{
		certs.Serial(mine), certs.Serial(w.secrets["example-client"]), certs.Serial(w.secrets["example-root"]),
		pki.Pair{CertPEM: member[specs.ServerCertKey]}.Serial(),
	}
	at := now.Add(later)
	if bad := w.revoke(at, revoked...); !slices.Equal(bad, []string{"example-member-tls", "example-client", "example-root"}) {
		t.Errorf("made again: %v", bad)
	}
	held = w.held()
	if held.UserFault(w.c, u, mine, at) == nil {
		t.Error("a user keeps what is revoked")
	}
	again, err := held.MakeUser(rand.Reader, at.Add(time.Minute), w.c, u, mine)
	if err != nil || held.UserFault(w.c, u, again, at) != nil {
		t.Errorf("made again: %v, %v", err, held.UserFault(w.c, u, again, at))
	}
	for name, serial := range map[string]string{
		"user": certs.Serial(again), "client": certs.Serial(w.secrets["example-client"]), "root": certs.Serial(w.secrets["example-root"]),
		"server": pki.Pair{CertPEM: w.mounted().Data[specs.ServerCertKey]}.Serial(),
	} {
		if serial == "" || slices.Contains(revoked, serial) {
			t.Errorf("the certificate of %s has the number %q", name, serial)
		}
	}
	w.secrets["example-client"].Annotations = nil // as if it had not been mounted
	w.users = []*corev1.Secret{mine}
	w.want(w.look(at.Add(time.Minute)), cluster.Listed, "Secret example-user-orders")
	w.want(w.look(at.Add(2*time.Minute)), cluster.CutOff, "")
	w.users = nil
	w.repair(at)
	w.secrets["example-client"].Annotations = map[string]string{v1beta1.AnnotationWrittenAt: at.Format(time.RFC3339)}
	w.want(w.look(at.Add(time.Minute)), cluster.Listed, "Secret example-client, which they mount, was written at 2026-01-01T01:00:00Z")
	w.users = []*corev1.Secret{again}
	w.want(w.look(at.Add(2*time.Minute)), cluster.Listed, "Secret example-user-orders")
	w.want(w.look(at.Add(3*time.Minute)), cluster.CutOff, "")
}

// TestFault82SpoiltList: a list that holds garbage or lacks its time is made again, and members restart once more; a deleted
// Secret restarts no member.
func TestFault82SpoiltList(t *testing.T) {
	for what, spoil := range map[string]func(*ward){
		"garbage": func(w *ward) { w.mounted().Data[specs.RevokedKey] = []byte("garbage") },
		"no list": func(w *ward) { delete(w.mounted().Data, specs.RevokedKey) },
		"no time": func(w *ward) { delete(w.mounted().Annotations, v1beta1.AnnotationRevokedAt) },
		"a number that is not wanted": func(w *ward) {
			ca := w.held().ClientCA.Pair
			list, err := pki.RevocationList(rand.Reader, now, ca, []string{"abc", "def"})
			if err != nil {
				t.Fatal(err)
			}
			w.mounted().Data[specs.RevokedKey] = list
		},
		"the Secret is lost": func(w *ward) { delete(w.secrets, specs.MemberSecret(w.c)) },
	} {
		w := newWard(t)
		w.revoke(now.Add(later), "abc")
		w.restart(w.members()...)
		w.recordStatus(w.look(now.Add(later)))
		before := w.at()
		spoil(w)
		if bad := w.repair(now.Add(2 * later)); !slices.Equal(bad, []string{"example-member-tls"}) {
			t.Errorf("%s: made again: %v", what, bad)
		}
		if serials := w.listed(); len(serials) != 2 || !slices.Contains(serials, "abc") {
			t.Errorf("%s: on the list: %v", what, serials)
		}
		if kept := what == "the Secret is lost" || what == "no time" || what == "a number that is not wanted"; (w.at() == before) != kept {
			t.Errorf("%s: revoked at %s, and before at %s", what, w.at(), before)
		}
	}
}

// TestFault82NoAuthorityCanSign: while the authority can sign nothing there is no other list, and what is there stays; members are not
// probed in vain.
func TestFault82NoAuthorityCanSign(t *testing.T) {
	w := newWard(t)
	w.revoke(now, "abc")
	list := string(w.mounted().Data[specs.RevokedKey])
	w.secrets[w.c.ClientCA()].Data[corev1.TLSPrivateKeyKey] = nil
	w.c.Spec.TLS.Revocations = append(w.c.Spec.TLS.Revocations, v1beta1.Revocation{Serial: "def"})
	held := w.held()
	if err := held.Fault(w.c, specs.MemberSecret(w.c), now); err != nil && strings.Contains(err.Error(), "list of revoked") {
		t.Errorf("asks for what cannot be made: %v", err)
	}
	if _, _, err := held.Witnesses(rand.Reader, now); err == nil {
		t.Error("a witness without a signer")
	}
	if string(w.mounted().Data[specs.RevokedKey]) != list {
		t.Error("the list is gone")
	}
}

// TestFault82Witnesses: one of them is on the list, and the other one on none; no number in the spec can be taken for that of
// the witness.
func TestFault82Witnesses(t *testing.T) {
	w := newWard(t)
	w.revoke(now, "abc")
	good, revoked, err := w.held().Witnesses(rand.Reader, now)
	if err != nil {
		t.Fatal(err)
	}
	if listed := w.listed(); !slices.Contains(listed, revoked.Serial()) || slices.Contains(listed, good.Serial()) {
		t.Errorf("%s and %s of %v", good.Serial(), revoked.Serial(), listed)
	}
	w.revoke(now.Add(later), "abc", revoked.Serial())
	_, next, err := w.held().Witnesses(rand.Reader, now)
	if err != nil || next.Serial() == revoked.Serial() || !slices.Contains(w.listed(), next.Serial()) || len(w.listed()) != 3 {
		t.Errorf("%s after %s, of %v: %v", next.Serial(), revoked.Serial(), w.listed(), err)
	}
	if r := w.look(now.Add(later)); !slices.Equal(r.Serials, []string{revoked.Serial(), "abc"}) {
		t.Errorf("the status has %v", r.Serials)
	}
}

// TestFault82RotationKeepsTheList: another authority signs another list when that is to be made; until then etcd takes the one
// that there is.
func TestFault82RotationKeepsTheList(t *testing.T) {
	w := newWard(t)
	w.revoke(now, "abc")
	before := string(w.mounted().Data[specs.RevokedKey])
	for _, pass := range []cluster.RotationStage{cluster.Introduce, cluster.Switch, cluster.Drop} {
		held := w.held()
		secret, err := held.Turn(rand.Reader, now, w.c, w.c.ClientCA(), cluster.RotationStep{Stage: pass, Because: certs.ByRequest})
		if err != nil || secret == nil {
			t.Fatalf("%s: %v", pass, err)
		}
		w.secrets[w.c.ClientCA()] = secret
		w.repair(now)
	}
	if string(w.mounted().Data[specs.RevokedKey]) != before || w.at() == "" {
		t.Error("members restart for a list that says the same")
	}
	w.revoke(now.Add(later), "abc", "def")
	if len(w.listed()) != 3 {
		t.Errorf("by the next authority: %v", w.listed())
	}
}
