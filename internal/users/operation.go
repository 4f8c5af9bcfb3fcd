// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package users

import (
	"fmt"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// Operation is one thing to do. The set is closed, and String is the sentence that people read in logs, events and tests.
//
//sumtype:decl
type Operation interface {
	fmt.Stringer
	operation()
}

type (
	// AddFinalizer adds the finalizer to the object, before etcd has what it stands for.
	AddFinalizer struct{}
	// RemoveFinalizer removes the finalizer from the object.
	RemoveFinalizer struct{ Because string }
	// RequestCertificate has cert-manager issue the certificate of a user.
	RequestCertificate struct{}
	// WriteSecret makes the Secret of a user as it is to be.
	WriteSecret struct{ Because string }

	// AddRole adds a role that grants nothing.
	AddRole struct{ Role string }
	// DeleteRole deletes a role, and revokes it from all users.
	DeleteRole struct{ Role string }
	// GrantPermission grants a role what the permission says of a range of keys, and no more.
	GrantPermission struct {
		Role       string
		Permission etcd.Permission
	}
	// RevokePermission revokes what a role may do with exactly that range.
	RevokePermission struct {
		Role       string
		Permission etcd.Permission
	}

	// AddUser adds a user without roles, with the password of its Secret if it is to have one.
	AddUser struct {
		User         string
		WithPassword bool
	}
	// SetPassword sets the password of the user's Secret in etcd.
	SetPassword struct{ User string }
	// AdoptUser records that the operator added a user, for another EtcdUser that stood for it.
	AdoptUser struct{ User, From string }
	// DeleteUser deletes a user: its next request is refused.
	DeleteUser struct{ User string }
	// GrantRole grants a role to a user.
	GrantRole struct{ User, Role string }
	// RevokeRole revokes a role from a user.
	RevokeRole struct{ User, Role string }

	// RecordManaged records that authentication is enabled because the spec says so.
	RecordManaged struct{}
	// EnableAuth has etcd admit its users only.
	EnableAuth struct{}
	// DisableAuth has etcd admit everybody.
	DisableAuth struct{}
	// RecordUnmanaged records that the operator leaves authentication as it is.
	RecordUnmanaged struct{}
)

func (AddFinalizer) operation()       {}
func (RemoveFinalizer) operation()    {}
func (RequestCertificate) operation() {}
func (WriteSecret) operation()        {}
func (AddRole) operation()            {}
func (DeleteRole) operation()         {}
func (GrantPermission) operation()    {}
func (RevokePermission) operation()   {}
func (AddUser) operation()            {}
func (SetPassword) operation()        {}
func (AdoptUser) operation()          {}
func (DeleteUser) operation()         {}
func (GrantRole) operation()          {}
func (RevokeRole) operation()         {}
func (RecordManaged) operation()      {}
func (EnableAuth) operation()         {}
func (DisableAuth) operation()        {}
func (RecordUnmanaged) operation()    {}

func (AddFinalizer) String() string       { return "add the finalizer" }
func (o RemoveFinalizer) String() string  { return "remove the finalizer: " + o.Because }
func (RequestCertificate) String() string { return "request the certificate from cert-manager" }
func (o WriteSecret) String() string      { return "write the secret: " + o.Because }
func (o AddRole) String() string          { return "add role " + o.Role }
func (o DeleteRole) String() string       { return "delete role " + o.Role }

func (o GrantPermission) String() string {
	return fmt.Sprintf("grant role %s permission to %s", o.Role, o.Permission)
}

func (o RevokePermission) String() string {
	return fmt.Sprintf("revoke permission on %s from role %s", o.Permission.Keys(), o.Role)
}

func (o AddUser) String() string {
	if o.WithPassword {
		return "add user " + o.User + " with its password"
	}
	return "add user " + o.User
}

func (o SetPassword) String() string { return "set the password of user " + o.User }
func (o AdoptUser) String() string   { return "adopt user " + o.User + " from EtcdUser " + o.From }
func (o DeleteUser) String() string  { return "delete user " + o.User }
func (o GrantRole) String() string   { return "grant role " + o.Role + " to user " + o.User }
func (o RevokeRole) String() string  { return "revoke role " + o.Role + " from user " + o.User }
func (RecordManaged) String() string { return "record that spec.auth.enabled manages authentication" }
func (EnableAuth) String() string    { return "enable authentication" }
func (DisableAuth) String() string   { return "disable authentication" }
func (RecordUnmanaged) String() string {
	return "record that spec.auth.enabled manages authentication no longer"
}
