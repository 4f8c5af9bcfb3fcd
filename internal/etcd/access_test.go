// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"crypto/rand"
	"slices"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// accessIsManaged makes users and roles and takes them away again, each twice, and counts what has an effect: so much
// the revision rises.
func accessIsManaged(t *testing.T, one etcd.Client) {
	ctx := t.Context()
	began := must(one.Auth(ctx))(t)
	if began.Enabled {
		t.Error("authentication is enabled before it was requested")
	}
	refused(t, "enabling without root", one.EnableAuth(ctx))
	want(t, "disabling what is disabled", one.DisableAuth(ctx), nil)
	effects := rolesAreManaged(t, one) + usersAreManaged(t, one)
	for _, c := range []change{
		{"delete user", func() (bool, error) { return one.DeleteUser(ctx, "app") }, true},
		{"delete user again", func() (bool, error) { return one.DeleteUser(ctx, "app") }, false},
		{"delete role", func() (bool, error) { return one.DeleteRole(ctx, "app") }, true},
		{"delete role again", func() (bool, error) { return one.DeleteRole(ctx, "app") }, false},
	} {
		effects += c.do(t)
	}
	if users, roles := must(one.Users(ctx))(t), must(one.Roles(ctx))(t); !slices.Equal(users, []string{"other"}) || len(roles) > 0 {
		t.Errorf("left are users %q and roles %q", users, roles)
	}
	if _, err := one.DeleteUser(ctx, "other"); err != nil {
		t.Error(err)
	}
	if now := must(one.Auth(ctx))(t); now.Revision != began.Revision+uint64(effects)+1 {
		t.Errorf("%d changes had an effect, and the revision went from %d to %d", effects+1, began.Revision, now.Revision)
	}
}

// change is a call and whether it has an effect.
type change struct {
	name   string
	call   func() (bool, error)
	effect bool
}

func (c change) do(t *testing.T) int {
	t.Helper()
	effect, err := c.call()
	if err != nil || effect != c.effect {
		t.Errorf("%s: effect %t, want %t: %v", c.name, effect, c.effect, err)
	}
	if effect {
		return 1
	}
	return 0
}

// always is a call that has an effect whenever it succeeds.
func always(call func() error) func() (bool, error) {
	return func() (bool, error) {
		err := call()
		return err == nil, err
	}
}

func rolesAreManaged(t *testing.T, one etcd.Client) (effects int) {
	ctx := t.Context()
	all := etcd.Permission{Read: true, Key: etcd.NoEnd, End: etcd.NoEnd}
	prefix := etcd.Permission{Read: true, Write: true, Key: "/a/", End: "/a0"}
	key := etcd.Permission{Write: true, Key: "/b"}
	for _, c := range []change{
		{"add role", func() (bool, error) { return one.AddRole(ctx, "app") }, true},
		{"add role again", func() (bool, error) { return one.AddRole(ctx, "app") }, false},
		{"grant every key", always(func() error { return one.Grant(ctx, "app", all) }), true},
		{"grant a key", always(func() error { return one.Grant(ctx, "app", key) }), true},
		{"grant a prefix", always(func() error { return one.Grant(ctx, "app", etcd.Permission{Read: true, Key: "/a/", End: "/a0"}) }), true},
		{"grant more of the prefix", always(func() error { return one.Grant(ctx, "app", prefix) }), true},
		{"revoke every key", func() (bool, error) { return one.Revoke(ctx, "app", all) }, true},
		{"revoke every key again", func() (bool, error) { return one.Revoke(ctx, "app", all) }, false},
	} {
		effects += c.do(t)
	}
	if got := must(one.Role(ctx, "app"))(t); !slices.Equal(got, []etcd.Permission{prefix, key}) {
		t.Errorf("the role may %v", got)
	}
	_, err := one.Role(ctx, "missing")
	refused(t, "a role that is not there", err)
	refused(t, "an inverted range", one.Grant(ctx, "app", etcd.Permission{Read: true, Key: "b", End: "a"}))
	refused(t, "granting to no role", one.Grant(ctx, "missing", key))
	return effects
}

func usersAreManaged(t *testing.T, one etcd.Client) (effects int) {
	ctx := t.Context()
	for _, c := range []change{
		{"add user", func() (bool, error) { return one.AddUser(ctx, "app", "") }, true},
		{"add user again", func() (bool, error) { return one.AddUser(ctx, "app", "") }, false},
		{"add user with password", func() (bool, error) { return one.AddUser(ctx, "other", "first") }, true},
		{"set password", always(func() error { return one.SetPassword(ctx, "other", "second") }), true},
		{"set password of one that has none", always(func() error { return one.SetPassword(ctx, "app", "second") }), true},
		{"grant role", func() (bool, error) { return one.GrantRole(ctx, "app", "app") }, true},
	} {
		effects += c.do(t)
	}
	if got := must(one.User(ctx, "app"))(t); !slices.Equal(got, []string{"app"}) {
		t.Errorf("the user has roles %q", got)
	}
	for _, c := range []change{
		{"revoke role", func() (bool, error) { return one.RevokeRole(ctx, "app", "app") }, true},
		{"revoke role again", func() (bool, error) { return one.RevokeRole(ctx, "app", "app") }, false},
	} {
		effects += c.do(t)
	}
	_, err := one.User(ctx, "missing")
	refused(t, "a user that is not there", err)
	_, err = one.GrantRole(ctx, "app", "missing")
	refused(t, "granting a role that is not there", err)
	refused(t, "the password of no user", one.SetPassword(ctx, "missing", "x"))
	return effects
}

// TestAuthenticationByCertificate: with TLS, a client with a certificate with the common name of a user is that user, root may do
// everything before and after, and a deleted user loses access at once, on the connection that it has.
func TestAuthenticationByCertificate(t *testing.T) {
	t.Parallel()
	w := newRealWorld(t, "m1")
	w.start(t, "m1")
	root := w.client(t, "m1")
	eventually(t, "m1 to serve", func() error { return root.Read(t.Context()) })
	app, stranger := w.as(t, "app"), w.as(t, "etcd-operator")
	for _, do := range []func(context.Context) error{
		func(ctx context.Context) error { return second(root.AddUser(ctx, "root", "")) },
		func(ctx context.Context) error { return second(root.AddRole(ctx, "root")) },
		func(ctx context.Context) error { return second(root.GrantRole(ctx, "root", "root")) },
		func(ctx context.Context) error { return second(root.AddUser(ctx, "app", "")) },
		root.EnableAuth,
		root.EnableAuth,
		root.Read,
	} {
		if err := do(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if auth := must(root.Auth(t.Context()))(t); !auth.Enabled {
		t.Error("authentication is not enabled")
	}
	_, err := app.Users(t.Context())
	want(t, "what only root may ask", err, rpctypes.ErrPermissionDenied)
	want(t, "counting keys by a user that may read none", second(app.Count(t.Context(), 0)), rpctypes.ErrPermissionDenied)
	if _, err := stranger.Snapshot(t.Context()); !etcd.WantsRoot(err) {
		t.Errorf("the snapshot of a stranger: %v", err)
	}
	must(root.AddRole(t.Context(), "app"))(t)
	want(t, "granting", root.Grant(t.Context(), "app", etcd.Permission{Read: true, Key: etcd.NoEnd, End: etcd.NoEnd}), nil)
	must(root.GrantRole(t.Context(), "app", "app"))(t)
	want(t, "counting keys by a user that may read all", second(app.Count(t.Context(), 0)), nil)
	must(root.DeleteUser(t.Context(), "app"))(t)
	want(t, "counting keys by a user that was deleted", second(app.Count(t.Context(), 0)), rpctypes.ErrPermissionDenied)
	_, err = root.DeleteUser(t.Context(), "root")
	refused(t, "deleting root", err)
	snapshot := must(root.Snapshot(t.Context()))(t)
	_ = snapshot.Close()
	want(t, "disabling", root.DisableAuth(t.Context()), nil)
	want(t, "counting keys by a stranger", second(stranger.Count(t.Context(), 0)), nil)
}

// as is a client whose certificate has that common name.
func (w *realWorld) as(t *testing.T, name string) etcd.Client {
	t.Helper()
	pair := must(pki.Issue(rand.Reader, time.Now(), w.ca, pki.Request{CommonName: name, Client: true, Lifetime: time.Hour}))(t)
	target := w.target(t, "m1")
	target.TLS = must(pki.ClientConfig(w.ca.CertPEM, pair))(t)
	return must(w.pool.Client(owner, target))(t)
}

func second[T any](_ T, err error) error { return err }
