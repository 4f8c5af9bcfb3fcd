// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package users_test

import (
	"slices"
	"testing"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/users"
)

// TestRevisionIsAsEtcdCounts: one for each change that had an effect, and none for enabling authentication, as the conformance test of
// package etcd shows.
func TestRevisionIsAsEtcdCounts(t *testing.T) {
	s := &users.State{Auth: etcd.Auth{Revision: 7}, Users: map[string][]string{}, Roles: map[string][]etcd.Permission{}}
	for _, c := range []struct {
		operation users.Operation
		effect    bool
		want      uint64
	}{
		{users.AddRole{Role: "r"}, true, 8},
		{users.AddRole{Role: "r"}, false, 8},
		{users.AddUser{User: "u"}, true, 9},
		{users.GrantRole{User: "u", Role: "r"}, true, 10},
		{users.SetPassword{User: "u"}, true, 11},
		{users.EnableAuth{}, true, 11},
		{users.DisableAuth{}, true, 12},
		{users.DeleteRole{Role: "r"}, true, 13},
	} {
		if s.Apply(c.operation, c.effect); s.Revision != c.want {
			t.Errorf("after %s the revision is %d, want %d", c.operation, s.Revision, c.want)
		}
	}
	if roles := s.Users["u"]; len(roles) > 0 || s.Enabled {
		t.Errorf("the user still has %q, authentication is enabled: %t", roles, s.Enabled)
	}
}

// TestNames: all that is to be read, once, and root.
func TestNames(t *testing.T) {
	named := func(name string) v1beta1.EtcdUser {
		return v1beta1.EtcdUser{Spec: v1beta1.EtcdUserSpec{UserName: name}}
	}
	users, roles := users.Names([]v1beta1.EtcdUser{named("b"), named("a"), named("b")}, nil)
	if !slices.Equal(users, []string{"a", "b", "root"}) || !slices.Equal(roles, []string{"root"}) {
		t.Errorf("users %q, roles %q", users, roles)
	}
}
