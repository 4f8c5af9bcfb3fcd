// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package v1beta1_test

import (
	"crypto/rand"
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/schedule"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/users"
)

// ofUsers is the cluster of all users, with an authority.
var ofUsers = func() (c v1beta1.EtcdCluster, held certs.KeyMaterial) {
	c.Name, c.Namespace = "a", "default"
	ca, err := pki.NewCA(rand.Reader, time.Now(), "a clients", v1beta1.DefaultAuthorityLifetime)
	if err != nil {
		panic(err)
	}
	return c, certs.Read(&c, func(name string) *corev1.Secret {
		if name != c.ClientCA() {
			return nil
		}
		return &corev1.Secret{Data: map[string][]byte{"ca.crt": ca.CertPEM, "tls.crt": ca.CertPEM, "tls.key": ca.KeyPEM}}
	})
}

// madeOfUser looks at what is made of a user that was accepted: a Secret with a certificate of exactly that common name, and steps
// about that user and no other.
func madeOfUser(t *testing.T, u *v1beta1.EtcdUser) error {
	t.Helper()
	c, held := ofUsers()
	u.UID = "u"
	secret, err := held.MakeUser(rand.Reader, time.Now(), &c, u, nil)
	if err != nil {
		t.Errorf("user %q: %v", u.User(), err)
		return nil
	}
	pair, err := pki.Pair{CertPEM: secret.Data["tls.crt"], KeyPEM: secret.Data["tls.key"]}.TLSCertificate()
	if err != nil || pair.Leaf.Subject.CommonName != u.User() || u.User() == v1beta1.RootUser || !utf8.ValidString(u.User()) {
		t.Errorf("user %q: the certificate is of %q, %v", u.User(), pair.Leaf.Subject.CommonName, err)
	}
	c.Status.ClusterID = "c1"
	c.Name = u.Spec.Cluster
	_, decisions := users.Decide(users.View{
		Cluster: &c, Users: []v1beta1.EtcdUser{*u}, Held: held, Now: time.Now(), Etcd: &users.State{Users: map[string][]string{}},
	})
	for _, decision := range decisions {
		for _, operation := range decision.Operations {
			if add, is := operation.(users.AddUser); is && add.User != u.User() {
				t.Errorf("user %q: %s", u.User(), add)
			}
		}
	}
	if len(validation.IsDNS1123Label(u.Spec.Cluster)) > 0 {
		return nil // there is no such cluster, which the status says, and nothing is made
	}
	return tryAll(t, secret)
}

// madeOfRole checks the ranges of keys that are sent to etcd: those that were written, and never more.
func madeOfRole(t *testing.T, r *v1beta1.EtcdRole) {
	t.Helper()
	c, _ := ofUsers()
	c.Name, c.Status.ClusterID = r.Spec.Cluster, "c1"
	decisions, _ := users.Decide(users.View{
		Cluster: &c, Roles: []v1beta1.EtcdRole{*r}, Now: time.Now(), Etcd: &users.State{Roles: map[string][]etcd.Permission{}},
	})
	for _, operation := range decisions[0].Operations {
		grant, is := operation.(users.GrantPermission)
		if !is {
			continue
		}
		if grant.Role != r.Role() || grant.Role == v1beta1.RootUser {
			t.Errorf("role %q: %s", r.Role(), grant)
		}
		if !slices.ContainsFunc(r.Spec.Permissions, func(p v1beta1.EtcdPermission) bool { return says(p, grant.Permission) }) {
			t.Errorf("role %q: the spec has no %q to %q", r.Role(), grant.Permission.Key, grant.Permission.End)
		}
	}
}

// says is whether a permission of a spec is about exactly that range of etcd
// (https://etcd.io/docs/v3.6/op-guide/authentication/rbac/).
func says(p v1beta1.EtcdPermission, of etcd.Permission) bool {
	switch {
	case p.Key != nil:
		return of.Key == *p.Key && of.End == ""
	case p.Range != nil && p.Range.To != "":
		return of.Key == p.Range.From && of.End == p.Range.To && of.Key < of.End
	case p.Range != nil:
		return of.Key == p.Range.From && of.End == etcd.NoEnd
	case *p.Prefix == "":
		return of.Key == etcd.NoEnd && of.End == etcd.NoEnd
	default:
		last := len(of.Key) - 1
		return of.Key == *p.Prefix && len(of.End) == len(of.Key) && of.End[:last] == of.Key[:last] && of.End[last] == of.Key[last]+1
	}
}

// scheduled looks at a schedule that was accepted: what cannot be read is said, and what can names a backup as one can be named.
func scheduled(t *testing.T, c *v1beta1.EtcdCluster) {
	t.Helper()
	step, _ := schedule.Next(schedule.View{
		Cluster: "a", Created: time.Now().Add(-400 * 24 * time.Hour), Now: time.Now(),
		Schedule: c.Spec.Backup.Schedule, TimeZone: c.Spec.Backup.TimeZone,
	})
	switch s := step.(type) {
	case schedule.Create:
		if len(validation.IsDNS1123Subdomain(s.Name)) > 0 {
			t.Errorf("schedule %q makes EtcdBackup %q", c.Spec.Backup.Schedule, s.Name)
		}
	case schedule.Rest:
		if s.Reason != "" && s.Reason != schedule.ScheduleUnclear {
			t.Errorf("schedule %q: %s", c.Spec.Backup.Schedule, s)
		}
	case schedule.Delete:
		t.Errorf("schedule %q deletes", c.Spec.Backup.Schedule)
	}
}
