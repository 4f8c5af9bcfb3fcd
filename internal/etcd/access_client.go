// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/authpb"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

func (c *client) Auth(ctx context.Context) (Auth, error) {
	response, err := c.access.AuthStatus(ctx, &etcdserverpb.AuthStatusRequest{})
	if err != nil {
		return Auth{}, failed("get status of authentication", err)
	}
	return Auth{Enabled: response.GetEnabled(), Revision: response.GetAuthRevision()}, nil
}

func (c *client) EnableAuth(ctx context.Context) error {
	_, err := c.access.AuthEnable(ctx, &etcdserverpb.AuthEnableRequest{})
	return changed("enable authentication", err, nil)
}

func (c *client) DisableAuth(ctx context.Context) error {
	_, err := c.access.AuthDisable(ctx, &etcdserverpb.AuthDisableRequest{})
	return changed("disable authentication", err, rpctypes.ErrAuthNotEnabled)
}

func (c *client) Users(ctx context.Context) ([]string, error) {
	response, err := c.access.UserList(ctx, &etcdserverpb.AuthUserListRequest{})
	if err != nil {
		return nil, failed("list users", err)
	}
	return response.GetUsers(), nil
}

func (c *client) User(ctx context.Context, user string) ([]string, error) {
	response, err := c.access.UserGet(ctx, &etcdserverpb.AuthUserGetRequest{Name: user})
	if err != nil {
		return nil, failed("get user "+user, err)
	}
	return slices.Sorted(slices.Values(response.GetRoles())), nil
}

func (c *client) AddUser(ctx context.Context, user, password string) (bool, error) {
	_, err := c.access.UserAdd(ctx, &etcdserverpb.AuthUserAddRequest{
		Name: user, Password: password, Options: &authpb.UserAddOptions{NoPassword: password == ""},
	})
	return err == nil, changed("add user "+user, err, rpctypes.ErrUserAlreadyExist)
}

func (c *client) SetPassword(ctx context.Context, user, password string) error {
	_, err := c.access.UserChangePassword(ctx, &etcdserverpb.AuthUserChangePasswordRequest{Name: user, Password: password})
	return changed("set the password of user "+user, err, nil)
}

func (c *client) DeleteUser(ctx context.Context, user string) (bool, error) {
	_, err := c.access.UserDelete(ctx, &etcdserverpb.AuthUserDeleteRequest{Name: user})
	return err == nil, changed("delete user "+user, err, rpctypes.ErrUserNotFound)
}

// GrantRole has an effect whenever it succeeds, as far as etcd says.
func (c *client) GrantRole(ctx context.Context, user, role string) (bool, error) {
	_, err := c.access.UserGrantRole(ctx, &etcdserverpb.AuthUserGrantRoleRequest{User: user, Role: role})
	return err == nil, changed("grant role "+role+" to user "+user, err, nil)
}

func (c *client) RevokeRole(ctx context.Context, user, role string) (bool, error) {
	_, err := c.access.UserRevokeRole(ctx, &etcdserverpb.AuthUserRevokeRoleRequest{Name: user, Role: role})
	return err == nil, changed("revoke role "+role+" from user "+user, err, rpctypes.ErrRoleNotGranted)
}

func (c *client) Roles(ctx context.Context) ([]string, error) {
	response, err := c.access.RoleList(ctx, &etcdserverpb.AuthRoleListRequest{})
	if err != nil {
		return nil, failed("list roles", err)
	}
	return response.GetRoles(), nil
}

func (c *client) Role(ctx context.Context, role string) ([]Permission, error) {
	response, err := c.access.RoleGet(ctx, &etcdserverpb.AuthRoleGetRequest{Role: role})
	if err != nil {
		return nil, failed("get role "+role, err)
	}
	var all []Permission
	for _, p := range response.GetPerm() {
		all = append(all, Permission{
			Read: p.GetPermType() != authpb.WRITE, Write: p.GetPermType() != authpb.READ, Key: string(p.GetKey()), End: string(p.GetRangeEnd()),
		})
	}
	slices.SortFunc(all, func(a, b Permission) int { return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.End, b.End)) })
	return all, nil
}

func (c *client) AddRole(ctx context.Context, role string) (bool, error) {
	_, err := c.access.RoleAdd(ctx, &etcdserverpb.AuthRoleAddRequest{Name: role})
	return err == nil, changed("add role "+role, err, rpctypes.ErrRoleAlreadyExist)
}

func (c *client) DeleteRole(ctx context.Context, role string) (bool, error) {
	_, err := c.access.RoleDelete(ctx, &etcdserverpb.AuthRoleDeleteRequest{Role: role})
	return err == nil, changed("delete role "+role, err, rpctypes.ErrRoleNotFound)
}

func (c *client) Grant(ctx context.Context, role string, p Permission) error {
	kind := authpb.READWRITE
	switch {
	case !p.Write:
		kind = authpb.READ
	case !p.Read:
		kind = authpb.WRITE
	}
	_, err := c.access.RoleGrantPermission(ctx, &etcdserverpb.AuthRoleGrantPermissionRequest{
		Name: role, Perm: &authpb.Permission{PermType: kind, Key: []byte(p.Key), RangeEnd: []byte(p.End)},
	})
	return changed("grant role "+role+" permission to "+p.String(), err, nil)
}

func (c *client) Revoke(ctx context.Context, role string, p Permission) (bool, error) {
	_, err := c.access.RoleRevokePermission(ctx, &etcdserverpb.AuthRoleRevokePermissionRequest{
		Role: role, Key: []byte(p.Key), RangeEnd: []byte(p.End),
	})
	return err == nil, changed("revoke permission on "+p.Keys()+" from role "+role, err, rpctypes.ErrPermissionNotGranted)
}

// changed is the error of a change; none if etcd says by the given one that there was nothing to change.
func changed(verb string, err, already error) error {
	if err == nil || already != nil && is(err, already) {
		return nil
	}
	return failed(verb, err)
}
