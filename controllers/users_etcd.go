package controllers

import (
	"context"
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/users"
)

// tell takes a step in etcd, and notes it.
func (p *userRun) tell(ctx context.Context, s *subject, step users.Step) error {
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
func (p *userRun) change(ctx context.Context, s *subject, step users.Step) (bool, error) {
	member := p.asked.member
	switch step := step.(type) {
	case users.AddRole:
		return member.AddRole(ctx, step.Role)
	case users.DeleteRole:
		return member.DeleteRole(ctx, step.Role)
	case users.Grant:
		return true, member.Grant(ctx, step.Role, step.Permission)
	case users.Revoke:
		return member.Revoke(ctx, step.Role, step.Permission)
	case users.AddUser, users.SetPassword:
		return p.changeUser(ctx, s, step)
	case users.DeleteUser:
		return member.DeleteUser(ctx, step.User)
	case users.GrantRole:
		return member.GrantRole(ctx, step.User, step.Role)
	case users.RevokeRole:
		return member.RevokeRole(ctx, step.User, step.Role)
	case users.EnableAuth:
		return true, member.EnableAuth(ctx)
	case users.DisableAuth:
		return true, member.DisableAuth(ctx)
	case users.Hold, users.LetGo, users.AskForCertificate, users.WriteSecret, users.TakeCharge, users.Settle,
		users.Inherit, users.Release: // not done in etcd
	}
	return false, nil
}

// changeUser adds a user or tells its password, and remembers which that was. A user that is there although it was not when users were
// read may be of the other kind, and have any password: it is looked at again.
func (p *userRun) changeUser(ctx context.Context, s *subject, step users.Step) (bool, error) {
	version := users.NoPasswordVersion(p.view.Cluster)
	var password string
	if s.user != nil && s.user.HasPassword() {
		if s.secret == nil || !certs.IsPassword(s.secret.Data[specs.PasswordKey]) {
			return false, fmt.Errorf("secret %s has no password", s.user.Secret())
		}
		version, password = users.PasswordVersion(p.view.Cluster, s.secret), string(s.secret.Data[specs.PasswordKey])
	}
	if add, adds := step.(users.AddUser); adds {
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
