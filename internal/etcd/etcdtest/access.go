// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdtest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// The calls about users, roles and permissions.
const (
	Auth        Call = "Auth"
	EnableAuth  Call = "EnableAuth"
	DisableAuth Call = "DisableAuth"
	Users       Call = "Users"
	User        Call = "User"
	AddUser     Call = "AddUser"
	SetPassword Call = "SetPassword"
	DeleteUser  Call = "DeleteUser"
	GrantRole   Call = "GrantRole"
	RevokeRole  Call = "RevokeRole"
	Roles       Call = "Roles"
	Role        Call = "Role"
	AddRole     Call = "AddRole"
	DeleteRole  Call = "DeleteRole"
	Grant       Call = "Grant"
	Revoke      Call = "Revoke"
)

// access are the users, roles and permissions. The fake enforces none of them.
type access struct {
	etcd.Auth
	users map[string]*user
	roles map[string]map[etcd.Permission]etcd.Permission // by range
	calls map[Call]int
}

type user struct {
	roles    map[string]bool
	password string
	certain  bool // it can have no password
}

func newAccess() access {
	return access{
		Auth:  etcd.Auth{Revision: 1},
		users: map[string]*user{}, roles: map[string]map[etcd.Permission]etcd.Permission{}, calls: map[Call]int{},
	}
}

// Calls is how often a call about users, roles or permissions was made, whatever its result.
func (c *Cluster) Calls(call Call) int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.access.calls[call]
}

// Password is that of a user; empty for one that has none, and for a user that does not exist.
func (c *Cluster) Password(name string) string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if u := c.access.users[name]; u != nil {
		return u.password
	}
	return ""
}

// ask is a call about users, roles or permissions; alter is one that changes them, if effect says so.
func (c *client) ask(ctx context.Context, call Call, effect func(a *access) error) error {
	return c.cluster.do(ctx, c.name, call, func(*member) error {
		c.cluster.access.calls[call]++
		return effect(&c.cluster.access)
	})
}

func (c *client) alter(ctx context.Context, call Call, what string, effect func(a *access) (bool, error)) (did bool, err error) {
	err = c.ask(ctx, call, func(a *access) error {
		did, err = effect(a)
		if did && err == nil {
			a.Revision++
			c.cluster.did("%s", what)
		}
		return err
	})
	return did && err == nil, err
}

var (
	errNoUser = errors.New("user name not found")
	errNoRole = errors.New("role name not found")
	errRoot   = errors.New("invalid auth management")
)

func (c *client) Auth(ctx context.Context) (auth etcd.Auth, err error) {
	err = c.ask(ctx, Auth, func(a *access) error {
		auth = a.Auth
		return nil
	})
	return auth, err
}

func (c *client) EnableAuth(ctx context.Context) error {
	return c.ask(ctx, EnableAuth, func(a *access) error {
		root := a.users["root"]
		switch {
		case a.Enabled:
			return nil
		case root == nil:
			return errors.New("root user does not exist")
		case !root.roles["root"]:
			return errors.New("root user does not have root role")
		}
		a.Enabled = true
		c.cluster.did("enable authentication")
		return nil
	})
}

func (c *client) DisableAuth(ctx context.Context) error {
	_, err := c.alter(ctx, DisableAuth, "disable authentication", func(a *access) (bool, error) {
		was := a.Enabled
		a.Enabled = false
		return was, nil
	})
	return err
}

func (c *client) Users(ctx context.Context) (names []string, err error) {
	err = c.ask(ctx, Users, func(a *access) error {
		names = slices.Sorted(maps.Keys(a.users))
		return nil
	})
	return names, err
}

func (c *client) User(ctx context.Context, name string) (roles []string, err error) {
	err = c.ask(ctx, User, func(a *access) error {
		u := a.users[name]
		if u == nil {
			return errNoUser
		}
		roles = slices.Sorted(maps.Keys(u.roles))
		return nil
	})
	return roles, err
}

func (c *client) AddUser(ctx context.Context, name, password string) (bool, error) {
	return c.alter(ctx, AddUser, "add user "+name, func(a *access) (bool, error) {
		if a.users[name] != nil {
			return false, nil
		}
		a.users[name] = &user{roles: map[string]bool{}, password: password, certain: password == ""}
		return true, nil
	})
}

func (c *client) SetPassword(ctx context.Context, name, password string) error {
	_, err := c.alter(ctx, SetPassword, "set the password of user "+name, func(a *access) (bool, error) {
		u := a.users[name]
		if u == nil {
			return false, errNoUser
		}
		if !u.certain {
			u.password = password
		}
		return true, nil
	})
	return err
}

func (c *client) DeleteUser(ctx context.Context, name string) (bool, error) {
	return c.alter(ctx, DeleteUser, "delete user "+name, func(a *access) (bool, error) {
		if a.Enabled && name == "root" {
			return false, errRoot
		}
		_, was := a.users[name]
		delete(a.users, name)
		return was, nil
	})
}

func (c *client) GrantRole(ctx context.Context, name, role string) (bool, error) {
	return c.alter(ctx, GrantRole, "grant role "+role+" to user "+name, func(a *access) (bool, error) {
		u := a.users[name]
		switch {
		case u == nil:
			return false, errNoUser
		case a.roles[role] == nil && role != "root":
			return false, errNoRole
		case u.roles[role]:
			return false, nil
		}
		u.roles[role] = true
		return true, nil
	})
}

func (c *client) RevokeRole(ctx context.Context, name, role string) (bool, error) {
	return c.alter(ctx, RevokeRole, "revoke role "+role+" from user "+name, func(a *access) (bool, error) {
		u := a.users[name]
		switch {
		case u == nil:
			return false, errNoUser
		case a.Enabled && name == "root" && role == "root":
			return false, errRoot
		}
		was := u.roles[role]
		delete(u.roles, role)
		return was, nil
	})
}

func (c *client) Roles(ctx context.Context) (names []string, err error) {
	err = c.ask(ctx, Roles, func(a *access) error {
		names = slices.Sorted(maps.Keys(a.roles))
		return nil
	})
	return names, err
}

func (c *client) Role(ctx context.Context, role string) (all []etcd.Permission, err error) {
	err = c.ask(ctx, Role, func(a *access) error {
		if a.roles[role] == nil {
			return errNoRole
		}
		all = slices.SortedFunc(maps.Values(a.roles[role]), func(x, y etcd.Permission) int {
			return strings.Compare(x.Key+"\x00"+x.End, y.Key+"\x00"+y.End)
		})
		return nil
	})
	return all, err
}

func (c *client) AddRole(ctx context.Context, role string) (bool, error) {
	return c.alter(ctx, AddRole, "add role "+role, func(a *access) (bool, error) {
		if a.roles[role] != nil {
			return false, nil
		}
		a.roles[role] = map[etcd.Permission]etcd.Permission{}
		return true, nil
	})
}

func (c *client) DeleteRole(ctx context.Context, role string) (bool, error) {
	return c.alter(ctx, DeleteRole, "delete role "+role, func(a *access) (bool, error) {
		if a.Enabled && role == "root" {
			return false, errRoot
		}
		_, was := a.roles[role]
		delete(a.roles, role)
		for _, u := range a.users {
			delete(u.roles, role)
		}
		return was, nil
	})
}

func (c *client) Grant(ctx context.Context, role string, p etcd.Permission) error {
	_, err := c.alter(ctx, Grant, "grant role "+role+" permission to "+p.String(), func(a *access) (bool, error) {
		if a.roles[role] == nil {
			return false, errNoRole
		}
		if p.Key == "" || p.End != "" && p.End != etcd.NoEnd && p.End <= p.Key {
			return false, errRoot
		}
		a.roles[role][p.Of()] = p
		return true, nil
	})
	return err
}

func (c *client) Revoke(ctx context.Context, role string, p etcd.Permission) (bool, error) {
	return c.alter(ctx, Revoke, "revoke permission on "+p.Keys()+" from role "+role, func(a *access) (bool, error) {
		if a.roles[role] == nil {
			return false, errNoRole
		}
		_, was := a.roles[role][p.Of()]
		delete(a.roles[role], p.Of())
		return was, nil
	})
}
