// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-operator/etcd-operator/controllers/members"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/users"
)

// accessWorkers is how many users are read or changed at once: each change waits for the disks of a quorum, and they share a write.
const accessWorkers = 16

// authCache is what etcd said of a cluster's users and roles. It stays right for as long as etcd says the same revision, which rises
// with each change, also by us: then nothing is read again.
type authCache struct {
	mutex   sync.Mutex
	state   *users.State
	changed time.Time // when it was last found to be another one, or changed by us

	blocked string // what the last look found in the way
	looks   int    // in a row that have found that
}

// times is how many looks in a row, with this one, have found that problem.
func (l *authCache) times(blocked string) int {
	if blocked != l.blocked {
		l.blocked, l.looks = blocked, 0
	}
	l.looks++
	return l.looks
}

func (l *authCache) forget() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.state = nil
}

// note has an operation done in etcd.
func (l *authCache) note(operation users.Operation, effect bool, now time.Time) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if effect {
		l.changed = now
	}
	if l.state != nil { // else something has failed meanwhile: all of it is read again
		l.state.Apply(operation, effect)
	}
}

// ask reads what etcd says of users and roles, if a member answers. That none does is a fact.
func (p *userRun) ask(ctx context.Context) {
	c, view := p.view.Cluster, &p.view
	switch {
	case c.Status.ClusterID == "":
		view.Unreachable = "its first members have not formed a cluster yet"
	case c.IsRestoring():
		view.Unreachable = "it is being restored"
	case c.Size() == 0:
		view.Unreachable = "it hibernates"
	default:
		view.Unreachable = "no member answers"
	}
	if c.Status.ClusterID == "" || c.IsRestoring() {
		p.cache.forget()
		return
	}
	member, auth, err := members.FirstToAnswer(ctx, members.Finder{Client: p.client, Dialer: p.dialer}, c, etcd.Client.Auth)
	if auth.Enabled && !view.Held.Operator(c, view.Now).IsRoot() {
		p.cache.forget() // etcd says of nothing else whether it takes the operator for root
	}
	if err == nil && member != nil {
		err = p.cache.read(ctx, member, auth, p)
	}
	if err != nil {
		p.cache.forget()
		if view.NotRoot = etcd.WantsRoot(err); view.NotRoot {
			view.Unreachable = "it does not accept the operator as root"
		}
		log.FromContext(ctx).V(1).Info("could not ask about users", "because", err.Error())
		return
	}
	if member != nil {
		p.member, view.Etcd, view.Unreachable = member, p.cache.copy(), ""
	}
}

// read brings the cache to what etcd says at a revision: all of it if that is another one than expected, else only what was not asked for
// before.
func (l *authCache) read(ctx context.Context, member etcd.Client, auth etcd.Auth, p *userRun) error {
	if l.state == nil || l.state.Auth != auth {
		allUsers, err := members.Within(ctx, member.Users)
		if err != nil {
			return err
		}
		allRoles, err := members.Within(ctx, member.Roles)
		if err != nil {
			return err
		}
		l.state = &users.State{Auth: auth, Users: namesOnly[string](allUsers), Roles: namesOnly[etcd.Permission](allRoles)}
		l.changed = p.now()
	}
	wantedUsers, wantedRoles := users.Names(p.view.Users, p.view.Roles)
	err := fill(wantedUsers, l.state.Users, func(name string) ([]string, error) {
		return members.Within(ctx, func(ctx context.Context) ([]string, error) { return member.User(ctx, name) })
	})
	return errors.Join(err, fill(wantedRoles, l.state.Roles, func(name string) ([]etcd.Permission, error) {
		return members.Within(ctx, func(ctx context.Context) ([]etcd.Permission, error) { return member.Role(ctx, name) })
	}))
}

// copy is the state for decisions: what is noted meanwhile does not change it.
func (l *authCache) copy() *users.State {
	return &users.State{Auth: l.state.Auth, Users: maps.Clone(l.state.Users), Roles: maps.Clone(l.state.Roles)}
}

// namesOnly has what there is, and nothing that was read of it.
func namesOnly[T any](names []string) map[string][]T {
	all := map[string][]T{}
	for _, name := range names {
		all[name] = nil
	}
	return all
}

// fill asks for each name that exists and that was not read.
func fill[T any](names []string, known map[string][]T, ask func(name string) ([]T, error)) error {
	missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		has, exists := known[name]
		return !exists || has != nil
	})
	var mutex sync.Mutex
	return inParallel(missing, func(name string) error {
		found, err := ask(name)
		if err != nil {
			return err
		}
		mutex.Lock()
		defer mutex.Unlock()
		known[name] = append([]T{}, found...)
		return nil
	})
}

// forget drops what is known of a cluster that is gone.
func (r *UsersReconciler) forget(name types.NamespacedName) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.known, name)
}

// cacheOf is what is known of a cluster. One reconcile of it runs at a time.
func (r *UsersReconciler) cacheOf(name types.NamespacedName) *authCache {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.known == nil {
		r.known = map[types.NamespacedName]*authCache{}
	}
	if r.known[name] == nil {
		r.known[name] = &authCache{}
	}
	return r.known[name]
}

// inParallel does something for each, for a few at a time, and returns all errors in the order of what they are about.
func inParallel[T any](all []T, do func(T) error) error {
	errs := make([]error, len(all))
	places := make(chan struct{}, accessWorkers)
	var wait sync.WaitGroup
	for i, one := range all {
		places <- struct{}{}
		wait.Go(func() {
			defer func() { <-places }()
			errs[i] = do(one)
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}
