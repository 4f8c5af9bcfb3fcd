// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package users_test

import (
	"crypto/rand"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/users"
)

// apply changes etcd.
func (w *world) apply(o users.Operation) {
	before := w.state.Revision
	if w.state.Apply(o, changesEtcd(o)); w.state.Revision != before {
		w.v.Changed = w.v.Now
	}
}

func changesEtcd(o users.Operation) bool {
	switch o.(type) {
	case users.AddFinalizer, users.RemoveFinalizer, users.WriteSecret, users.RequestCertificate, users.AdoptUser, users.RecordManaged,
		users.RecordUnmanaged:
		return false
	}
	return true
}

// settle does what is decided until nothing is left to do.
func (w *world) settle() {
	for range 5 {
		if w.v.Cluster != nil {
			w.v.Held = certs.Read(w.v.Cluster, func(name string) *corev1.Secret { return w.secrets[name] })
			w.v.Held.Issued = w.issued
		}
		ofRoles, ofUsers := users.Decide(w.v)
		did := w.do("role", ofRoles)
		did = w.do("user", ofUsers) || did
		var ofAuth []users.Decision
		if w.v.Cluster != nil {
			ofAuth = []users.Decision{users.DecideAuth(w.v)}
		}
		did = w.do("cluster", ofAuth) || did
		w.v.Users = slices.DeleteFunc(w.v.Users, func(u v1beta1.EtcdUser) bool { return gone(&u) })
		w.v.Roles = slices.DeleteFunc(w.v.Roles, func(r v1beta1.EtcdRole) bool { return gone(&r) })
		if !did {
			w.rest("role", ofRoles)
			w.rest("user", ofUsers)
			w.rest("cluster", ofAuth)
			return
		}
	}
	w.out.WriteString("never settles\n")
}

func gone(o metav1.Object) bool {
	return o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0
}

// do does what is decided for all objects of a kind, and says whether there was anything to do.
func (w *world) do(kind string, decisions []users.Decision) (did bool) {
	for _, d := range decisions {
		for _, operation := range d.Operations {
			fmt.Fprintf(&w.out, "%s: %s (%s)\n", d.Name, operation, d.Rule)
			w.apply(operation)
			w.doFor(d.Name, operation)
		}
		if d.RetryAfter > 0 {
			fmt.Fprintf(&w.out, "%s: look again after %s (%s)\n", d.Name, d.RetryAfter, d.Rule)
			w.v.Now = w.v.Now.Add(d.RetryAfter)
		}
		did = did || d.RetryAfter > 0 || len(d.Operations) > 0
		w.setCondition(kind, d)
	}
	return did
}

func (w *world) setCondition(kind string, d users.Decision) {
	if d.Condition.Reason == "" {
		return
	}
	condition := metav1.Condition{Type: v1beta1.ConditionReady, Status: d.Condition.Status, Reason: d.Condition.Reason}
	for i := range w.v.Roles {
		if r := &w.v.Roles[i]; kind == "role" && r.Name == d.Name {
			meta.SetStatusCondition(&r.Status.Conditions, condition)
		}
	}
	for i := range w.v.Users {
		if u := &w.v.Users[i]; kind == "user" && u.Name == d.Name {
			meta.SetStatusCondition(&u.Status.Conditions, condition)
		}
	}
	if condition.Type = v1beta1.ConditionAuthEnabled; kind == "cluster" {
		meta.SetStatusCondition(&w.v.Cluster.Status.Conditions, condition)
	}
}

// doFor does what is not done in etcd. Roles and users have different names in stories.
func (w *world) doFor(name string, operation users.Operation) {
	for i := range w.v.Roles {
		if r := &w.v.Roles[i]; r.Name == name {
			setFinalizers(r, operation)
		}
	}
	for i := range w.v.Users {
		if u := &w.v.Users[i]; u.Name == name {
			setFinalizers(u, operation)
			w.doForUser(u, operation)
		}
	}
	switch operation.(type) {
	case users.RecordManaged:
		w.v.Cluster.Status.Auth = &v1beta1.AuthStatus{Managed: true}
	case users.RecordUnmanaged:
		w.v.Cluster.Status.Auth = nil
	}
}

func setFinalizers(o metav1.Object, operation users.Operation) {
	switch operation.(type) {
	case users.AddFinalizer:
		o.SetFinalizers([]string{v1beta1.FinalizerAccess})
	case users.RemoveFinalizer:
		o.SetFinalizers(nil)
	}
}

func (w *world) doForUser(u *v1beta1.EtcdUser, operation users.Operation) {
	switch operation.(type) {
	case users.WriteSecret:
		w.names++
		made := must(w.v.Held.MakeUser(rand.Reader, w.v.Now, w.v.Cluster, u, w.v.Secrets[u.Name]))
		made.ResourceVersion = fmt.Sprint(w.names)
		if before := w.v.Secrets[u.Name]; before != nil {
			u.Status.PasswordVersion = users.KeptVersion(w.v.Cluster, u.Status.PasswordVersion, before, made)
		}
		w.v.Secrets[u.Name] = made
	case users.RequestCertificate:
		w.v.Certificates[u.Name] = specs.UserCertificate(w.v.Cluster, u)
	case users.AddUser, users.SetPassword, users.AdoptUser:
		u.Status.PasswordVersion = users.NoPasswordVersion(w.v.Cluster)
		if u.HasPassword() {
			u.Status.PasswordVersion = users.PasswordVersion(w.v.Cluster, w.v.Secrets[u.Name])
		}
	}
}

// rest prints what conditions say and which rules decide, if it has changed.
func (w *world) rest(kind string, decisions []users.Decision) {
	for _, d := range decisions {
		says := "unchanged"
		if c := d.Condition; c.Reason != "" {
			says = fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
		}
		said := fmt.Sprintf("%s %s: %s (%s)", kind, d.Name, says, d.Rule)
		if w.said[kind+d.Name] != said {
			w.said[kind+d.Name] = said
			fmt.Fprintf(&w.out, "    %s\n", said)
		}
	}
}
