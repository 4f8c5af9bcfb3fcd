// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"crypto/rand"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/users"
)

// TestSwitchWaitsAfterTheLastChange: that is the last one that etcd reported or that had an effect, also of this run.
func TestSwitchWaitsAfterTheLastChange(t *testing.T) {
	clock := time.Unix(1_700_000_000, 0)
	c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns"}}
	made := map[string]*corev1.Secret{}
	held := certs.Read(c, func(string) *corev1.Secret { return nil })
	for _, name := range certs.Names(c) {
		secret, err := held.Make(rand.Reader, clock, c, name)
		if err != nil {
			t.Fatal(err)
		}
		made[name] = secret
	}
	c.Spec.Auth.Enabled, c.Status.Auth = true, &v1beta1.AuthStatus{Managed: true}
	root := &users.State{Users: map[string][]string{"root": {"root"}}, Roles: map[string][]etcd.Permission{"root": {}}}
	p := &userRun{UsersReconciler: &UsersReconciler{now: func() time.Time { return clock }}, cache: &authCache{changed: clock}}
	p.view = users.View{Cluster: c, Etcd: root, Now: clock}
	p.view.Held = certs.Read(c, func(name string) *corev1.Secret { return made[name] })
	for _, look := range []struct {
		passes time.Duration
		effect bool // of a change just then
		want   time.Duration
	}{
		{0, false, time.Second},
		{time.Hour, true, time.Second},
		{time.Second / 4, false, time.Second * 3 / 4},
		{time.Second / 2, true, time.Second},
	} {
		clock = clock.Add(look.passes)
		p.cache.note(users.AddUser{User: "u"}, look.effect, clock)
		if err := p.run(t.Context()); err != nil || p.ofAuth.RetryAfter != look.want {
			t.Errorf("%+v: waits %s, %v", look, p.ofAuth.RetryAfter, err)
		}
		if got := p.pause(1); got != look.want {
			t.Errorf("%+v: looks again after %s", look, got)
		}
	}
}

// TestUsersArePaused: a Certificate that a policy changes back is asked for less and less often, and so is a cluster that does not answer;
// another user that waits is looked at as soon as the first one was.
func TestUsersArePaused(t *testing.T) {
	asks := func(name string) users.Decision {
		return users.Decision{Name: name, Operations: []users.Operation{users.RequestCertificate{}}}
	}
	silent := func(name string) users.Decision { return users.Decision{Name: name, Unreachable: true} }
	l := &authCache{}
	for _, look := range []struct {
		decisions []users.Decision
		atLeast   time.Duration
	}{
		{[]users.Decision{asks("a")}, issuedSoon},
		{[]users.Decision{asks("a")}, 2 * issuedSoon},
		{[]users.Decision{asks("a")}, 4 * issuedSoon},
		{[]users.Decision{asks("a"), asks("b")}, issuedSoon},
		{[]users.Decision{silent("a")}, unaskedAgain},
		{[]users.Decision{silent("a")}, 2 * unaskedAgain},
		{[]users.Decision{silent("a")}, 4 * unaskedAgain},
		{[]users.Decision{silent("a")}, slowestLook},
		{[]users.Decision{silent("a")}, slowestLook},
	} {
		p := &userRun{view: users.View{Cluster: &v1beta1.EtcdCluster{}}, ofUsers: look.decisions}
		if got := p.pause(l.times(p.blocked())); got < look.atLeast || got > look.atLeast*3/2 {
			t.Errorf("%+v: looks again after %s, want %s", look.decisions, got, look.atLeast)
		}
	}
}
