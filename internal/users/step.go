package users

import (
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// Step is one thing to do. The set is closed, and String is the sentence that people read in logs and tests.
//
//sumtype:decl
type Step interface {
	fmt.Stringer
	step()
}

type (
	// Hold puts the finalizer on the object, before etcd has what it stands for.
	Hold struct{}
	// LetGo takes the finalizer off the object.
	LetGo struct{ Because string }
	// AskForCertificate has cert-manager issue the certificate of a user.
	AskForCertificate struct{}
	// WriteSecret makes the Secret of a user as it is to be.
	WriteSecret struct{ Because string }

	// AddRole adds a role that grants nothing.
	AddRole struct{ Role string }
	// DeleteRole deletes a role, and takes it from all users.
	DeleteRole struct{ Role string }
	// Grant lets a role do with a range of keys what the permission says, and no more.
	Grant struct {
		Role       string
		Permission etcd.Permission
	}
	// Revoke takes away what a role may do with exactly that range.
	Revoke struct {
		Role       string
		Permission etcd.Permission
	}

	// AddUser adds a user without roles, with the password of its Secret if it is to have one.
	AddUser struct {
		User         string
		WithPassword bool
	}
	// SetPassword tells etcd the password of the user's Secret.
	SetPassword struct{ User string }
	// Inherit writes down that the operator added a user, for another EtcdUser that stood for it.
	Inherit struct{ User, From string }
	// DeleteUser deletes a user: its next request is refused.
	DeleteUser struct{ User string }
	// GrantRole gives a role to a user.
	GrantRole struct{ User, Role string }
	// RevokeRole takes a role from a user.
	RevokeRole struct{ User, Role string }

	// TakeCharge writes down that authentication is enabled because the spec says so.
	TakeCharge struct{}
	// Settle waits so long, until all members that keep up know of the last change of a user or role.
	Settle struct{ For time.Duration }
	// EnableAuth lets users in only.
	EnableAuth struct{}
	// DisableAuth lets everybody in.
	DisableAuth struct{}
	// Release writes down that authentication is no business of the operator's any more.
	Release struct{}
)

func (Hold) step()              {}
func (LetGo) step()             {}
func (AskForCertificate) step() {}
func (WriteSecret) step()       {}
func (AddRole) step()           {}
func (DeleteRole) step()        {}
func (Grant) step()             {}
func (Revoke) step()            {}
func (AddUser) step()           {}
func (SetPassword) step()       {}
func (Inherit) step()           {}
func (DeleteUser) step()        {}
func (GrantRole) step()         {}
func (RevokeRole) step()        {}
func (TakeCharge) step()        {}
func (Settle) step()            {}
func (EnableAuth) step()        {}
func (DisableAuth) step()       {}
func (Release) step()           {}

func (Hold) String() string              { return "put the finalizer on the object" }
func (s LetGo) String() string           { return "take the finalizer off the object: " + s.Because }
func (AskForCertificate) String() string { return "ask cert-manager for the certificate" }
func (s WriteSecret) String() string     { return "write the secret: " + s.Because }
func (s AddRole) String() string         { return "add role " + s.Role }
func (s DeleteRole) String() string      { return "delete role " + s.Role }
func (s Grant) String() string           { return fmt.Sprintf("let role %s %s", s.Role, s.Permission) }

func (s Revoke) String() string {
	return fmt.Sprintf("forbid role %s %s", s.Role, s.Permission.Keys())
}

func (s AddUser) String() string {
	if s.WithPassword {
		return "add user " + s.User + " with its password"
	}
	return "add user " + s.User
}
func (s SetPassword) String() string { return "set the password of user " + s.User }
func (s Inherit) String() string     { return "take over user " + s.User + " from EtcdUser " + s.From }
func (s DeleteUser) String() string  { return "delete user " + s.User }
func (s GrantRole) String() string   { return "grant role " + s.Role + " to user " + s.User }
func (s RevokeRole) String() string  { return "revoke role " + s.Role + " from user " + s.User }
func (TakeCharge) String() string    { return "write down that the spec enables authentication" }
func (s Settle) String() string {
	return fmt.Sprintf("wait %s, until all members know of the users", s.For)
}
func (EnableAuth) String() string  { return "enable authentication" }
func (DisableAuth) String() string { return "disable authentication" }
func (Release) String() string     { return "write down that the spec enables authentication no longer" }

// Task is what there is to do about one object, step by step, and what is then true of it.
type Task struct {
	Name  string // of the object
	Steps []Step
	Then  Verdict // its condition; without a reason nothing is said
}

// Work is all that there is to do: first roles, then users, then authentication. The tasks of one list do not depend on each other.
type Work struct {
	Roles, Users []Task
	Auth         Task
}
