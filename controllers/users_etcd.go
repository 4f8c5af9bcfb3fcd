package controllers

import (
	"context"
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/access"
	"github.com/etcd-operator/etcd-operator/internal/build"
	"github.com/etcd-operator/etcd-operator/internal/trust"
)

// tell takes a step in etcd, and notes it.
func (p *pass) tell(ctx context.Context, s *subject, step access.Step) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	effect, err := p.change(ctx, s, step)
	if err != nil {
		p.asked.ledger.forget() // it may have had an effect
		return err
	}
	p.asked.ledger.note(step, effect)
	return nil
}

// change is the call for a step, and whether it has had an effect.
func (p *pass) change(ctx context.Context, s *subject, step access.Step) (bool, error) {
	member := p.asked.member
	switch step := step.(type) {
	case access.AddRole:
		return member.AddRole(ctx, step.Role)
	case access.DeleteRole:
		return member.DeleteRole(ctx, step.Role)
	case access.Grant:
		return true, member.Grant(ctx, step.Role, step.Permission)
	case access.Revoke:
		return member.Revoke(ctx, step.Role, step.Permission)
	case access.AddUser, access.SetPassword:
		return p.changeUser(ctx, s, step)
	case access.DeleteUser:
		return member.DeleteUser(ctx, step.User)
	case access.GrantRole:
		return member.GrantRole(ctx, step.User, step.Role)
	case access.RevokeRole:
		return member.RevokeRole(ctx, step.User, step.Role)
	case access.EnableAuth:
		return true, member.EnableAuth(ctx)
	case access.DisableAuth:
		return true, member.DisableAuth(ctx)
	case access.Hold, access.LetGo, access.AskForCertificate, access.WriteSecret, access.TakeCharge, access.Settle,
		access.Inherit, access.Release: // not done in etcd
	}
	return false, nil
}

// changeUser adds a user or tells its password, and remembers which that was. A user that is there although it was not when users were
// read may be of the other kind, and have any password: it is looked at again.
func (p *pass) changeUser(ctx context.Context, s *subject, step access.Step) (bool, error) {
	version := access.NoPasswordVersion(p.view.Cluster)
	var password string
	if s.user != nil && s.user.HasPassword() {
		if s.secret == nil || !trust.IsPassword(s.secret.Data[build.PasswordKey]) {
			return false, fmt.Errorf("secret %s has no password", s.user.Secret())
		}
		version, password = access.PasswordVersion(p.view.Cluster, s.secret), string(s.secret.Data[build.PasswordKey])
	}
	if add, adds := step.(access.AddUser); adds {
		added, err := p.asked.member.AddUser(ctx, add.User, password)
		switch {
		case err != nil || s.user == nil: // root, which has every right however it was added
			return added, err
		case !added:
			return false, fmt.Errorf("user %s was added by somebody else at this moment", add.User)
		}
	} else if err := p.asked.member.SetPassword(ctx, s.user.User(), password); err != nil {
		return false, err
	}
	s.user.Status.PasswordVersion = version
	return true, nil
}

func sleep(ctx context.Context, lasts time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(lasts):
		return nil
	}
}
