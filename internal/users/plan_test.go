// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package users_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/users"
)

// TestPlan runs the stories in testdata. A story has one command, settle, and lines of what happens, in their order:
//
//	cluster=gone|going|plain|paused|goes-on|silent|shut|answers|auth|no-auth|slow-heartbeats|brought-back|switches-authority|has-root
//	cluster=loses-authority|gets-another-authority|has-anothers-authority|has-issuer|has-another-issuer|lacks-cert-manager|has-cert-manager
//	role=NAME (as=ROLE) (ACCESS:key=K|prefix=P|range=F..T)…   user=NAME (as=USER) (password) (ROLE…)
//	delete-role=NAME, delete-user=NAME
//	by-hand=enable|disable|add-user|add-role|grant|revoke|let|delete-user|delete-role WORDS      with etcdctl
//	secret=NAME lost|label|password=P|spoilt       what becomes of the Secret of a user
//	issued=NAME well|by-another|to-another|to-holder|no-more    what the Secret has that others leave the certificate of a user in
//	fails=REASON|nothing    what was to be done for users and roles has failed
//	pass=DURATION
//	settle    do what is decided until nothing is left to do; so does the end of the story
//
// What is printed is each operation after the object that it is for, and at rest what conditions say, if it has changed, with the rules.
//
// If it fails, run with -rewrite and read the diff before you commit it.
func TestPlan(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w := newWorld(t)
			for line := range strings.SplitSeq(d.Input, "\n") {
				w.tell(strings.Fields(line))
			}
			w.settle()
			return w.out.String()
		})
	})
}

type world struct {
	t       *testing.T
	v       users.View
	state   *users.State
	names   int // of Secrets, as resourceVersion
	secrets map[string]*corev1.Secret
	issued  map[string]*corev1.Secret
	theirs  pki.Pair // the authority of others
	said    map[string]string
	out     strings.Builder
}

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func newWorld(t *testing.T) *world {
	t.Helper()
	c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns", UID: "u1"}}
	w := &world{
		t: t, state: &users.State{
			Auth: etcd.Auth{Revision: 1}, Users: map[string][]string{}, Roles: map[string][]etcd.Permission{},
		},
		secrets: map[string]*corev1.Secret{}, said: map[string]string{"clustera": "cluster a: unchanged (" + users.Otherwise + ")"},
		issued: map[string]*corev1.Secret{},
		v: users.View{
			Cluster: c, Now: start, Secrets: map[string]*corev1.Secret{}, Certificates: map[string]*unstructured.Unstructured{},
		},
	}
	w.v.Etcd = w.state
	held := certs.Read(c, func(string) *corev1.Secret { return nil })
	for _, name := range certs.Names(c) {
		secret, err := held.Make(rand.Reader, start, c, name)
		if err != nil {
			t.Fatal(err)
		}
		w.secrets[name] = secret
	}
	return w
}

func (w *world) tell(words []string) {
	if len(words) == 0 {
		return
	}
	key, value, _ := strings.Cut(words[0], "=")
	if key == "settle" {
		w.settle()
		return
	}
	fmt.Fprintf(&w.out, "> %s\n", strings.Join(words, " "))
	rest := words[1:]
	switch key {
	case "cluster":
		w.cluster(value)
	case "role":
		role := w.role(value, rest)
		w.v.Roles = append(slices.DeleteFunc(w.v.Roles, func(r v1beta1.EtcdRole) bool { return r.Name == value }), role)
	case "user":
		user := w.user(value, rest)
		w.v.Users = append(slices.DeleteFunc(w.v.Users, func(u v1beta1.EtcdUser) bool { return u.Name == value }), user)
	case "delete-role", "delete-user":
		w.remove(key, value)
	case "by-hand":
		w.byHand(value, rest)
	case "secret":
		w.secret(value, rest[0])
	case "issued":
		w.issue(value, rest[0])
	case "fails":
		w.v.Failed = nil
		if value != "nothing" {
			w.v.Failed = errors.New(strings.Join(append([]string{value}, rest...), " "))
		}
	case "pass":
		w.v.Now = w.v.Now.Add(must(time.ParseDuration(value)))
	default:
		w.t.Fatalf("unknown word %q", key)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func (w *world) cluster(value string) {
	switch value {
	case "gone":
		w.v.Cluster = nil
	case "brought-back":
		w.v.Cluster.Status.ClusterID = "another"
	case "slow-heartbeats":
		w.v.Cluster.Spec.Etcd.HeartbeatInterval.Duration = 5 * time.Second
	case "going":
		w.v.Cluster.DeletionTimestamp = &metav1.Time{Time: start}
	case "plain":
		w.v.Cluster.Spec.TLS.Mode = v1beta1.TLSDisabled
	case "paused", "goes-on":
		w.v.Paused = value == "paused"
	case "silent":
		w.v.Etcd, w.v.Unreachable = nil, "no member answers"
	case "shut":
		w.v.Etcd, w.v.NotRoot = nil, true
	case "answers":
		w.v.Etcd, w.v.Unreachable, w.v.NotRoot = w.state, "", false
	case "switches-authority": // members have restarted for the next one
		w.secrets["a-client-ca"] = must(w.v.Held.Turn(rand.Reader, w.v.Now, w.v.Cluster, "a-client-ca",
			cluster.RotationStep{Stage: cluster.Switch}))
		w.v.Held = certs.Read(w.v.Cluster, func(name string) *corev1.Secret { return w.secrets[name] })
		w.secrets["a-member-tls"] = must(w.v.Held.Make(rand.Reader, w.v.Now, w.v.Cluster, "a-member-tls"))
	case "has-root":
		w.v.Cluster.Spec.Auth.Enabled = true
		w.v.Held = certs.Read(w.v.Cluster, func(name string) *corev1.Secret { return w.secrets[name] })
		w.secrets["a-root"] = must(w.v.Held.Make(rand.Reader, w.v.Now, w.v.Cluster, "a-root"))
	case "loses-authority":
		delete(w.secrets, "a-client-ca")
	case "gets-another-authority": // members do not trust it yet, and the key of the one before is gone
		delete(w.secrets, "a-client-ca")
		held := certs.Read(w.v.Cluster, func(name string) *corev1.Secret { return w.secrets[name] })
		w.secrets["a-client-ca"] = must(held.Turn(rand.Reader, w.v.Now.Add(time.Second), w.v.Cluster, "a-client-ca",
			cluster.RotationStep{Stage: cluster.Introduce, Because: certs.ByLoss}))
	case "has-anothers-authority":
		w.v.Cluster.Spec.TLS.SecretRefs = &v1beta1.SecretRefs{}
		w.becomesTheirs()
	case "has-issuer":
		w.v.Cluster.Spec.TLS.IssuerRef = &v1beta1.IssuerRef{Name: "corp"}
		w.becomesTheirs()
	case "has-another-issuer":
		w.v.Cluster.Spec.TLS.IssuerRef.Name = "other"
	case "lacks-cert-manager":
		w.v.NoCertManager = "Kubernetes knows no Certificates"
	case "has-cert-manager":
		w.v.NoCertManager = ""
	case "auth", "no-auth":
		w.v.Cluster.Spec.Auth.Enabled = value == "auth"
	default:
		w.t.Fatalf("unknown state %q", value)
	}
}

func (w *world) becomesTheirs() {
	data := w.secrets["a-client-ca"].Data
	w.theirs = pki.Pair{CertPEM: data["tls.crt"], KeyPEM: data["tls.key"]}
	data["tls.key"], data["of-others"] = nil, []byte("tls.crt")
}

// issue leaves the certificate of a user in a Secret, as others do.
func (w *world) issue(name, how string) {
	if how == "no-more" {
		delete(w.issued, name)
		return
	}
	ca, i := w.theirs, slices.IndexFunc(w.v.Users, func(u v1beta1.EtcdUser) bool { return u.Name == name })
	r := pki.Request{CommonName: w.v.Users[i].User(), Client: true, Lifetime: 90 * 24 * time.Hour}
	if w.v.Users[i].HasPassword() {
		r.CommonName, r.Organization, r.DNSNames = "", "test", []string{"app.example"}
	}
	switch how {
	case "by-another":
		ca = must(pki.NewCA(rand.Reader, start, "other", time.Hour))
	case "to-another":
		r.CommonName = "other"
	case "to-holder": // of a password, as earlier releases asked for it
		r.CommonName = "(password)"
	}
	pair := must(pki.Issue(rand.Reader, w.v.Now, ca, r))
	w.issued[name] = &corev1.Secret{Data: map[string][]byte{corev1.TLSCertKey: pair.CertPEM, corev1.TLSPrivateKeyKey: pair.KeyPEM}}
}

func (w *world) meta(name string, old metav1.ObjectMeta) metav1.ObjectMeta {
	if old.Name != "" {
		return old
	}
	w.names++
	return metav1.ObjectMeta{
		Name: name, Namespace: "ns", UID: "uid", CreationTimestamp: metav1.NewTime(start.Add(time.Duration(w.names) * time.Second)),
	}
}

func (w *world) role(name string, words []string) v1beta1.EtcdRole {
	r := v1beta1.EtcdRole{Spec: v1beta1.EtcdRoleSpec{Cluster: "a"}}
	for _, old := range w.v.Roles {
		if old.Name == name {
			r.ObjectMeta, r.Status = old.ObjectMeta, old.Status
		}
	}
	r.ObjectMeta = w.meta(name, r.ObjectMeta)
	for _, word := range words {
		if role, is := strings.CutPrefix(word, "as="); is {
			r.Spec.RoleName = role
			continue
		}
		how, what, _ := strings.Cut(word, ":")
		kind, key, _ := strings.Cut(what, "=")
		p := v1beta1.EtcdPermission{Access: v1beta1.EtcdAccess(how)}
		switch kind {
		case "key":
			p.Key = &key
		case "prefix":
			p.Prefix = &key
		case "range":
			from, to, _ := strings.Cut(key, "..")
			p.Range = &v1beta1.EtcdKeyRange{From: from, To: to}
		}
		r.Spec.Permissions = append(r.Spec.Permissions, p)
	}
	return r
}

func (w *world) user(name string, words []string) v1beta1.EtcdUser {
	u := v1beta1.EtcdUser{Spec: v1beta1.EtcdUserSpec{Cluster: "a", Authentication: v1beta1.CertificateAuthentication}}
	for _, old := range w.v.Users {
		if old.Name == name {
			u.ObjectMeta, u.Status = old.ObjectMeta, old.Status
		}
	}
	u.ObjectMeta = w.meta(name, u.ObjectMeta)
	for _, word := range words {
		if user, is := strings.CutPrefix(word, "as="); is {
			u.Spec.UserName = user
		} else if word == "password" {
			u.Spec.Authentication = v1beta1.PasswordAuthentication
		} else {
			u.Spec.Roles = append(u.Spec.Roles, word)
		}
	}
	return u
}

func (w *world) remove(key, name string) {
	for i := range w.v.Roles {
		if key == "delete-role" && w.v.Roles[i].Name == name {
			w.v.Roles[i].DeletionTimestamp = &metav1.Time{Time: w.v.Now}
		}
	}
	for i := range w.v.Users {
		if key == "delete-user" && w.v.Users[i].Name == name {
			w.v.Users[i].DeletionTimestamp = &metav1.Time{Time: w.v.Now}
		}
	}
}

func (w *world) byHand(what string, words []string) {
	all := map[string]func() users.Operation{
		"enable":      func() users.Operation { return users.EnableAuth{} },
		"disable":     func() users.Operation { return users.DisableAuth{} },
		"add-user":    func() users.Operation { return users.AddUser{User: words[0]} },
		"add-role":    func() users.Operation { return users.AddRole{Role: words[0]} },
		"grant":       func() users.Operation { return users.GrantRole{User: words[0], Role: words[1]} },
		"revoke":      func() users.Operation { return users.RevokeRole{User: words[0], Role: words[1]} },
		"delete-user": func() users.Operation { return users.DeleteUser{User: words[0]} },
		"delete-role": func() users.Operation { return users.DeleteRole{Role: words[0]} },
		"let": func() users.Operation {
			return users.GrantPermission{Role: words[0], Permission: etcd.Permission{Read: true, Write: true, Key: words[1]}}
		},
	}
	w.apply(all[what]())
}

func (w *world) secret(name, what string) {
	secret := w.v.Secrets[name]
	if what == "lost" {
		delete(w.v.Secrets, name)
		return
	}
	w.names++
	secret.ResourceVersion = fmt.Sprint(w.names)
	switch key, password, _ := strings.Cut(what, "="); key {
	case "password":
		secret.Data[specs.PasswordKey] = []byte(password)
	case "spoilt":
		secret.Data[corev1.TLSCertKey] = []byte("garbage")
	}
}
