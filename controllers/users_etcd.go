// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	"github.com/etcd-operator/etcd-operator/controllers/members"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/users"
)

// changeEtcd carries out an operation in etcd, and notes it.
func (p *userRun) changeEtcd(ctx context.Context, t *target, operation users.Operation) error {
	ctx, cancel := context.WithTimeout(ctx, members.Timeout)
	defer cancel()
	effect, err := p.call(ctx, t, operation)
	if err != nil {
		p.cache.forget() // it may have had an effect
		return err
	}
	p.cache.note(operation, effect, p.now())
	return nil
}

// call calls etcd, and says whether that has had an effect.
func (p *userRun) call(ctx context.Context, t *target, operation users.Operation) (bool, error) {
	switch o := operation.(type) {
	case users.AddRole:
		return p.member.AddRole(ctx, o.Role)
	case users.DeleteRole:
		return p.member.DeleteRole(ctx, o.Role)
	case users.GrantPermission:
		return true, p.member.Grant(ctx, o.Role, o.Permission)
	case users.RevokePermission:
		return p.member.Revoke(ctx, o.Role, o.Permission)
	case users.AddUser, users.SetPassword:
		return p.changeUser(ctx, t, o)
	case users.DeleteUser:
		return p.member.DeleteUser(ctx, o.User)
	case users.GrantRole:
		return p.member.GrantRole(ctx, o.User, o.Role)
	case users.RevokeRole:
		return p.member.RevokeRole(ctx, o.User, o.Role)
	case users.EnableAuth:
		return true, p.member.EnableAuth(ctx)
	case users.DisableAuth:
		return true, p.member.DisableAuth(ctx)
	case users.AddFinalizer, users.RemoveFinalizer, users.RequestCertificate, users.WriteSecret, users.AdoptUser, users.RecordManaged,
		users.RecordUnmanaged: // not done in etcd
	}
	return false, nil
}

// changeUser adds a user or sets its password, and remembers which that was. A user that is there although it was not when users were
// read may be of the other kind, and have any password: it is looked at again.
func (p *userRun) changeUser(ctx context.Context, t *target, operation users.Operation) (bool, error) {
	version := users.NoPasswordVersion(p.view.Cluster)
	var password string
	if t.user != nil && t.user.HasPassword() {
		if t.secret == nil || !certs.IsPassword(t.secret.Data[specs.PasswordKey]) {
			return false, fmt.Errorf("secret %s has no password", t.user.Secret())
		}
		version, password = users.PasswordVersion(p.view.Cluster, t.secret), string(t.secret.Data[specs.PasswordKey])
	}
	if add, adds := operation.(users.AddUser); adds {
		added, err := p.member.AddUser(ctx, add.User, password)
		switch {
		case err != nil || t.user == nil: // root, which has every right however it was added
			return added, err
		case !added:
			return false, fmt.Errorf("user %s was added by other means at this moment", add.User)
		}
	} else if err := p.member.SetPassword(ctx, t.user.User(), password); err != nil {
		return false, err
	}
	t.user.Status.PasswordVersion = version
	return true, nil
}
