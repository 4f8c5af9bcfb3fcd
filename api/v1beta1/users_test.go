// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package v1beta1_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What is refused of users and roles, and what the refusal says.
func TestRefusedUsers(t *testing.T) {
	for name, c := range map[string]struct{ kind, bad, good, says string }{
		"user-root":     {"EtcdUser", "{cluster: a, userName: root}", "{cluster: a, userName: rooted}", "root is the user of the operator"},
		"role-root":     {"EtcdRole", "{cluster: a, roleName: root}", "{cluster: a, roleName: rooted}", "root is the role of the operator"},
		"user-nameless": {"EtcdUser", "{cluster: a, userName: '(password)'}", "{cluster: a, userName: Team-1/app@x}", "userName must begin"},
		"user-long": {
			"EtcdUser", "{cluster: a, userName: " + strings.Repeat("u", 65) + "}", "{cluster: a, userName: " + strings.Repeat("u", 64) + "}", "64",
		},
		"user-of-nothing": {"EtcdUser", "{roles: [r]}", "{cluster: a, roles: [r]}", "cluster"},
		"user-how":        {"EtcdUser", "{cluster: a, authentication: Token}", "{cluster: a, authentication: Password}", "Certificate"},
		"user-twice":      {"EtcdUser", "{cluster: a, roles: [r, r]}", "{cluster: a, roles: [r, s]}", "Duplicate"},
		"secret-name": {
			"EtcdUser", "{cluster: a, secret: {name: No_Name}}", "{cluster: a, secret: {name: cilium-etcd-secrets}}", "must be the name of a Secret",
		},
		"secret-of-cluster": {
			"EtcdUser", "{cluster: a, secret: {name: a-app}}", "{cluster: a, secret: {name: app-a}}", "must not begin with the name of the cluster",
		},
		"secret-of-another-cluster": {
			"EtcdUser", "{cluster: a, secret: {name: b-client-ca}}", "{cluster: a, secret: {name: b-client-ca-of-app}}",
			"must not end with -client-ca",
		},
		"secret-of-another-user": {
			"EtcdUser", "{cluster: a, secret: {name: b-user-app}}", "{cluster: a, secret: {name: user-app}}", "nor have -user-",
		},
		"secret-key": {
			"EtcdUser", "{cluster: a, secret: {keys: [{key: ..data, value: CA}]}}", "{cluster: a, secret: {keys: [{key: data.., value: CA}]}}",
			"must be the key of a Secret",
		},
		"secret-key-of-binding": {
			"EtcdUser", "{cluster: a, secret: {keys: [{key: tls.key, value: CA}]}}",
			"{cluster: a, secret: {keys: [{key: etcd-client.key, value: CA}]}}", "must not be a key of the Service Binding",
		},
		"secret-key-twice": {
			"EtcdUser", "{cluster: a, secret: {keys: [{key: K, value: CA}, {key: K, value: URL}]}}",
			"{cluster: a, secret: {keys: [{key: K, value: CA}, {key: L, value: URL}]}}", "Duplicate",
		},
		"secret-value": {
			"EtcdUser", "{cluster: a, secret: {keys: [{key: K, value: Token}]}}", "{cluster: a, secret: {keys: [{key: K, value: Address}]}}",
			"PrivateKey",
		},
		"secret-no-password": {
			"EtcdUser", "{cluster: a, secret: {keys: [{key: K, value: Password}]}}",
			"{cluster: a, authentication: Password, secret: {keys: [{key: K, value: Password}]}}", "the user has none",
		},
		"role-inverted": {
			"EtcdRole", "{cluster: a, permissions: [{access: Read, range: {from: b, to: a}}]}",
			"{cluster: a, permissions: [{access: Read, range: {from: a, to: b}}, {access: Write, range: {from: a}}]}", "range.to must come after",
		},
		"role-empty-range": {
			"EtcdRole", "{cluster: a, permissions: [{access: Read, range: {from: a, to: a}}]}",
			"{cluster: a, permissions: [{access: Read, range: {from: a, to: aa}}]}", "range.to must come after",
		},
		"role-of-two": {
			"EtcdRole", "{cluster: a, permissions: [{access: Read, key: k, prefix: p}]}",
			"{cluster: a, permissions: [{access: ReadWrite, prefix: ''}]}", "exactly one of key, prefix and range",
		},
		"role-of-none": {
			"EtcdRole", "{cluster: a, permissions: [{access: Read}]}", "{cluster: a, permissions: []}", "exactly one of key, prefix and range",
		},
		"role-how": {"EtcdRole", "{cluster: a, permissions: [{access: Admin, key: k}]}", "{cluster: a}", "ReadWrite"},
		"auth-plain": {
			"EtcdCluster", "{auth: {enabled: true}, tls: {mode: Disabled}}", "{auth: {enabled: true}}", "auth.enabled needs tls.mode Enabled",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := server.Create(t.Context(), ofKind(t, c.kind, name, c.bad), strict); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s is accepted, or refused without saying %q: %v", c.bad, c.says, err)
			}
			if err := server.Create(t.Context(), ofKind(t, c.kind, name, c.good), strict); err != nil {
				t.Errorf("%s is refused: %v", c.good, err)
			}
		})
	}
	for kind, good := range map[string]string{"EtcdUser": "{cluster: a, userName: app}", "EtcdRole": "{cluster: a, roleName: app}"} {
		for _, name := range []string{"root", strings.Repeat("n", 64)} {
			wantRefused(t, server.Create(t.Context(), ofKind(t, kind, name, "{cluster: a}"), strict), kind+" "+name)
		}
		wantAccepted(t, server.Create(t.Context(), ofKind(t, kind, "root", good), strict), kind+" of another name in etcd")
	}
}

// What would leave something behind in etcd cannot be changed.
func TestWhatStaysOfUsers(t *testing.T) {
	for name, c := range map[string]struct{ kind, from, bad, good string }{
		"user-cluster": {"EtcdUser", "{cluster: a}", "{cluster: b}", "{cluster: a, roles: [r]}"},
		"user-name":    {"EtcdUser", "{cluster: a, userName: u}", "{cluster: a, userName: v}", "{cluster: a, userName: u, roles: [r]}"},
		"user-named":   {"EtcdUser", "{cluster: a}", "{cluster: a, userName: v}", "{cluster: a, roles: [r]}"},
		"user-unnamed": {"EtcdUser", "{cluster: a, userName: u}", "{cluster: a}", "{cluster: a, userName: u, roles: [r]}"},
		"user-how":     {"EtcdUser", "{cluster: a}", "{cluster: a, authentication: Password}", "{cluster: a, authentication: Certificate}"},
		"user-secret": {
			"EtcdUser", "{cluster: a, secret: {name: s}}", "{cluster: a, secret: {name: t}}",
			"{cluster: a, secret: {name: s, keys: [{key: K, value: URL}]}}",
		},
		"user-secret-named": {
			"EtcdUser", "{cluster: a}", "{cluster: a, secret: {name: t}}", "{cluster: a, secret: {keys: [{key: K, value: URL}]}}",
		},
		"user-secret-unnamed": {"EtcdUser", "{cluster: a, secret: {name: s}}", "{cluster: a}", "{cluster: a, secret: {name: s}, roles: [r]}"},
		"role-cluster":        {"EtcdRole", "{cluster: a}", "{cluster: b}", "{cluster: a, permissions: [{access: Read, key: k}]}"},
		"role-name":           {"EtcdRole", "{cluster: a, roleName: r}", "{cluster: a}", "{cluster: a, roleName: r, permissions: []}"},
	} {
		t.Run(name, func(t *testing.T) {
			object := ofKind(t, c.kind, "stays-"+name, c.from)
			if err := server.Create(t.Context(), object, strict); err != nil {
				t.Fatal(err)
			}
			spec := func(text string) any { return ofKind(t, c.kind, "", text).Object["spec"] }
			bad := object.DeepCopy()
			bad.Object["spec"] = spec(c.bad)
			if err := server.Update(t.Context(), bad, strict); err == nil || !strings.Contains(err.Error(), "cannot be changed") {
				t.Errorf("%s is accepted, or refused without a reason: %v", c.bad, err)
			}
			good := object.DeepCopy()
			good.Object["spec"] = spec(c.good)
			if err := server.Update(t.Context(), good, strict); err != nil {
				t.Errorf("%s is refused: %v", c.good, err)
			}
		})
	}
}

// Authentication may be turned on and off on a cluster that there is.
func TestAuthMayBeSwitched(t *testing.T) {
	create(t, "switched", "{}")
	wantAccepted(t, tryUpdate(t, "switched", "{auth: {enabled: true}}"), "turning it on")
	c := ofKind(t, "EtcdUser", "defaulted", "{cluster: switched}")
	if err := server.Create(t.Context(), c, strict); err != nil {
		t.Fatal(err)
	}
	if how, _, _ := unstructured.NestedString(c.Object, "spec", "authentication"); how != "Certificate" {
		t.Errorf("the default is %q", how)
	}
}
