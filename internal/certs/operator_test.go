// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certs_test

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

const year = 365 * 24 * time.Hour

// TestFault83Operator: the identity of the operator to etcd, for every state of the authority that it would sign by.
func TestFault83Operator(t *testing.T) {
	const byAuthority, byRoot, byMembers = "root by example-client-ca", "root by example-root", "etcd-server by example-member-tls"
	for _, test := range []struct {
		name   string
		auth   bool
		become func(c *v1beta1.EtcdCluster, secrets map[string]*corev1.Secret)
		at     time.Time
		want   string
	}{
		{"as made", false, nil, now, byAuthority},
		{"an authority that is gone", false, loses, now, byMembers},
		{"another one beside it", false, introduces, now, byMembers},
		{"one of root that was signed before", true, introduces, now, byRoot},
		{"it has ended", true, introduces, now.Add(2 * year), byMembers},
		{"a clock from before it begins", true, introduces, now.Add(-year), byMembers},
		{"one of another name in its place", true, func(c *v1beta1.EtcdCluster, secrets map[string]*corev1.Secret) {
			secrets["example-root"].Data = secrets["example-client"].Data
			introduces(c, secrets)
		}, now, byMembers},
		{"one of root by an authority that members do not trust", true, func(c *v1beta1.EtcdCluster, secrets map[string]*corev1.Secret) {
			secrets["example-root"] = makeAll(t, c)["example-root"]
			introduces(c, secrets)
		}, now, byMembers},
		{"an authority that members do not trust", false, func(c *v1beta1.EtcdCluster, secrets map[string]*corev1.Secret) {
			secrets["example-client-ca"] = makeAll(t, c)["example-client-ca"]
		}, now, byMembers},
		{"the next one signs", false, func(c *v1beta1.EtcdCluster, secrets map[string]*corev1.Secret) {
			introduces(c, secrets)
			turns(c, secrets, cluster.RotationStep{Stage: cluster.Switch})
		}, now, byAuthority},
		{"an authority that has ended", false, nil, now.Add(20 * year), byMembers},
		{"nothing that members trust", false, func(_ *v1beta1.EtcdCluster, secrets map[string]*corev1.Secret) {
			delete(secrets, "example-client-ca")
			delete(secrets, "example-member-tls")
		}, now, ""},
	} {
		c := example()
		c.Spec.Auth.Enabled = test.auth
		secrets := makeAll(t, c)
		if test.become != nil {
			test.become(c, secrets)
		}
		who := heldOf(c, secrets).Operator(c, test.at)
		if got := strings.TrimSuffix(who.Name+" by "+who.Source, " by "); got != test.want || who.IsRoot() != (who.Lacks == "") {
			t.Errorf("%s: the operator is %q, want %q (%s)", test.name, got, test.want, who.Lacks)
		}
		if who.IsRoot() && !who.Until.After(test.at) {
			t.Errorf("%s: until %s", test.name, who.Until)
		}
	}
}

func loses(_ *v1beta1.EtcdCluster, secrets map[string]*corev1.Secret) {
	delete(secrets, "example-client-ca")
}

func introduces(c *v1beta1.EtcdCluster, secrets map[string]*corev1.Secret) {
	loses(c, secrets)
	turns(c, secrets, cluster.RotationStep{Stage: cluster.Introduce, Because: certs.ByLoss})
}

// turns takes a pass, and has members mount what comes of it.
func turns(c *v1beta1.EtcdCluster, secrets map[string]*corev1.Secret, turn cluster.RotationStep) {
	for _, name := range []string{c.ClientCA(), specs.MemberSecret(c)} {
		held, made := heldOf(c, secrets), (*corev1.Secret)(nil)
		var err error
		if name == c.ClientCA() {
			made, err = held.Turn(rand.Reader, now.Add(time.Second), c, name, turn)
		} else {
			made, err = held.Make(rand.Reader, now.Add(time.Second), c, name)
		}
		if err != nil {
			panic(err)
		}
		secrets[name] = made
	}
}

// TestFault83WayBack: with a lost authority the operator also shows a certificate of root by the next one, which members accept that have
// restarted.
func TestFault83WayBack(t *testing.T) {
	c := example()
	secrets := makeAll(t, c)
	introduces(c, secrets)
	held := heldOf(c, secrets)
	ca, pairs, err := held.OperatorPairs(rand.Reader, now, c)
	if err != nil || !bytes.Equal(ca, secrets["example-member-tls"].Data[specs.ClientCAKey]) {
		t.Fatalf("members are known by others than they show: %v", err)
	}
	var names []string
	for _, pair := range pairs {
		name, _ := pair.CommonName()
		names = append(names, name)
	}
	if strings.Join(names, " ") != "root etcd-server" {
		t.Errorf("shows %q", names)
	}
	words := "it connects as etcd-server by Secret example-member-tls (authority"
	if message := held.Operator(c, now).ShutOut(c); !strings.Contains(message, words) {
		t.Errorf("says %q", message)
	}
}

// TestFault83ByHand: what the message asks for makes an authority by which the operator is root.
func TestFault83ByHand(t *testing.T) {
	c := example()
	secrets := makeAll(t, c)
	introduces(c, secrets)
	delete(secrets, "example-client-ca")
	delete(secrets, "example-member-tls")
	for _, name := range certs.Names(c) {
		if held := heldOf(c, secrets); held.Fault(c, name, now) != nil && held.CanMake(c, name, now) {
			made, err := held.Make(rand.Reader, now, c, name)
			if err != nil {
				t.Fatal(err)
			}
			secrets[name] = made
		}
	}
	if who := heldOf(c, secrets).Operator(c, now); !who.IsRoot() || len(faults(c, secrets, now)) > 0 {
		t.Errorf("the operator is %+v, and wrong are %v", who, faults(c, secrets, now))
	}
}
