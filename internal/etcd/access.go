// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"
)

// Auth is what etcd says of its authentication.
type Auth struct {
	Enabled bool
	// Revision rises by one with each change of a user, a role, or what these may do, and when authentication is
	// disabled. A client that has read all of it at one revision need not read it again at the same.
	Revision uint64
}

// Permission lets keys be read or written: one key if End is empty, else those from Key up to End, which is not one of
// them. An End of one zero byte is the end of all keys.
type Permission struct {
	Read, Write bool
	Key, End    string
}

// NoEnd is the End of a range that has none, and the Key of one that begins with the first key.
const NoEnd = "\x00"

// Of is the permission without what it allows: etcd has one for each range.
func (p Permission) Of() Permission { return Permission{Key: p.Key, End: p.End} }

func (p Permission) String() string {
	switch {
	case p.Read && p.Write:
		return "read and write " + p.Keys()
	case p.Write:
		return "write " + p.Keys()
	default:
		return "read " + p.Keys()
	}
}

// Keys says which keys the permission is about.
func (p Permission) Keys() string {
	switch {
	case p.End == "":
		return fmt.Sprintf("key %q", p.Key)
	case p.Key == NoEnd && p.End == NoEnd:
		return "every key"
	case p.End == NoEnd:
		return fmt.Sprintf("keys from %q on", p.Key)
	default:
		return fmt.Sprintf("keys from %q up to %q", p.Key, p.End)
	}
}

// Access are the calls about users, roles and permissions. All of them need a quorum; while authentication is enabled, all but Auth
// need the role root, and etcd refuses requests of other clients at the moment of a change: they have to ask again. So
// change nothing that is as it is to be. A change says whether it had an effect: what is so already has none.
type Access interface {
	// Auth says whether authentication is enabled.
	Auth(ctx context.Context) (Auth, error)
	// EnableAuth lets only users in from now on. The user root must have the role root.
	EnableAuth(ctx context.Context) error
	// DisableAuth admits every client. Users and roles stay.
	DisableAuth(ctx context.Context) error

	// Users are the names of all users.
	Users(ctx context.Context) ([]string, error)
	// User are the roles of a user, sorted.
	User(ctx context.Context, user string) ([]string, error)
	// AddUser adds one without roles. Without a password it can never have one.
	AddUser(ctx context.Context, user, password string) (effect bool, err error)
	// SetPassword takes etcd tens of milliseconds of CPU, as AddUser with a password does. It has no effect on what a user
	// may do that was added without.
	SetPassword(ctx context.Context, user, password string) error
	// DeleteUser holds from the next request on.
	DeleteUser(ctx context.Context, user string) (effect bool, err error)
	GrantRole(ctx context.Context, user, role string) (effect bool, err error)
	RevokeRole(ctx context.Context, user, role string) (effect bool, err error)

	// Roles are the names of all roles.
	Roles(ctx context.Context) ([]string, error)
	// Role is what a role grants, sorted by key.
	Role(ctx context.Context, role string) ([]Permission, error)
	// AddRole adds one that grants nothing.
	AddRole(ctx context.Context, role string) (effect bool, err error)
	// DeleteRole takes it from all users that have it.
	DeleteRole(ctx context.Context, role string) (effect bool, err error)
	// Grant replaces what the role grants of the same range.
	Grant(ctx context.Context, role string, permission Permission) error
	// Revoke takes away what the role grants of exactly this range.
	Revoke(ctx context.Context, role string, permission Permission) (effect bool, err error)
}
