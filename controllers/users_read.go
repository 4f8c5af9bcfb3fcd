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

	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/users"
)

const (
	// askTimeout bounds a call about users and roles, which goes through the log of the cluster.
	askTimeout = 5 * time.Second
	// accessWorkers is how many users are read or changed at once: each change waits for the disks of a quorum, and they share a write.
	accessWorkers = 16
)

// authMember is who answers for a cluster, and what is known of it.
type authMember struct {
	member etcd.Client // nil: nobody
	ledger *authCache
}

// authCache is what is known of a cluster's users and roles. It stays right for as long as etcd says the same revision, which rises
// with each change, also by us: then nothing is read again.
type authCache struct {
	mutex  sync.Mutex
	state  *users.State
	listed struct{ users, roles map[string]bool } // all that there are
	row    struct {                               // of looks
		inTheWay string
		times    int
	}
}

// times is how many looks in a row, with this one, have found that in the way.
func (l *authCache) times(inTheWay string) int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if inTheWay != l.row.inTheWay {
		l.row.inTheWay, l.row.times = inTheWay, 0
	}
	l.row.times++
	return l.row.times
}

func (l *authCache) forget() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.state = nil
}

// note has a step done.
func (l *authCache) note(step users.Step, effect bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.state == nil {
		return // something has failed meanwhile: all of it is read again
	}
	l.state.Note(step, effect)
	switch s := step.(type) {
	case users.DeleteUser:
		delete(l.listed.users, s.User)
	case users.DeleteRole:
		delete(l.listed.roles, s.Role)
	case users.AddUser:
		l.listed.users[s.User] = true
	case users.AddRole:
		l.listed.roles[s.Role] = true
	case users.Grant, users.Revoke, users.GrantRole, users.RevokeRole, users.SetPassword, users.Inherit, users.EnableAuth,
		users.DisableAuth, users.Hold, users.LetGo, users.AskForCertificate, users.WriteSecret, users.TakeCharge, users.Settle,
		users.Release: // all are there as before
	}
}

// ask reads what etcd says of users and roles, if a member answers. That none does is a fact.
func (r *UsersReconciler) ask(ctx context.Context, name types.NamespacedName, view *users.View) authMember {
	c := view.Cluster
	switch {
	case c.Status.ClusterID == "":
		view.Unread = "its first members have not formed a cluster yet"
	case c.IsRestoring():
		view.Unread = "it is being restored"
	case c.Size() == 0:
		view.Unread = "it hibernates"
	default:
		view.Unread = "no member answers"
	}
	a := authMember{ledger: r.ledgerOf(name)}
	if c.Status.ClusterID == "" || c.IsRestoring() {
		a.ledger.forget()
		return a
	}
	member, auth, err := firstToAnswer(ctx, memberFinder{r.client, r.dialer}, c, etcd.Client.Auth)
	if auth.Enabled && !view.Held.Operator(c, view.Now).IsRoot() {
		a.ledger.forget() // etcd says of nothing else whether it takes the operator for root
	}
	if err == nil && member != nil {
		err = a.ledger.read(ctx, member, auth, view)
	}
	if err != nil {
		a.ledger.forget()
		if view.Shut = etcd.WantsRoot(err); view.Shut {
			view.Unread = "it does not take the operator for root"
		}
		log.FromContext(ctx).V(1).Info("could not ask about users", "because", err.Error())
	}
	if err != nil || member == nil {
		return a
	}
	a.member, view.Etcd, view.Unread = member, a.ledger.copy(), ""
	return a
}

// read brings the ledger to what etcd says at a revision: all of it if that is another one than expected, else only of whom nothing
// was asked before.
func (l *authCache) read(ctx context.Context, member etcd.Client, auth etcd.Auth, view *users.View) error {
	if l.state == nil || l.state.Auth != auth {
		allUsers, err := within(ctx, member.Users)
		if err != nil {
			return err
		}
		allRoles, err := within(ctx, member.Roles)
		if err != nil {
			return err
		}
		l.state = &users.State{Auth: auth, Users: map[string][]string{}, Roles: map[string][]etcd.Permission{}}
		l.listed.users, l.listed.roles = set(allUsers), set(allRoles)
	}
	wantedUsers, wantedRoles := users.Names(view.Users, view.Roles)
	err := fill(wantedUsers, l.listed.users, l.state.Users, func(name string) ([]string, error) {
		return within(ctx, func(ctx context.Context) ([]string, error) { return member.User(ctx, name) })
	})
	return errors.Join(err, fill(wantedRoles, l.listed.roles, l.state.Roles, func(name string) ([]etcd.Permission, error) {
		return within(ctx, func(ctx context.Context) ([]etcd.Permission, error) { return member.Role(ctx, name) })
	}))
}

// copy is the state for a plan: what is noted meanwhile does not change it.
func (l *authCache) copy() *users.State {
	return &users.State{Auth: l.state.Auth, Users: maps.Clone(l.state.Users), Roles: maps.Clone(l.state.Roles)}
}

func set(names []string) map[string]bool {
	all := map[string]bool{}
	for _, name := range names {
		all[name] = true
	}
	return all
}

// fill asks for each name that exists and of which nothing is known.
func fill[T any](names []string, exists map[string]bool, known map[string]T, ask func(name string) (T, error)) error {
	missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, is := known[name]
		return is || !exists[name]
	})
	var mutex sync.Mutex
	return inParallel(missing, func(name string) error {
		found, err := ask(name)
		if err != nil {
			return err
		}
		mutex.Lock()
		defer mutex.Unlock()
		known[name] = found
		return nil
	})
}

// objectTask is a task with its subject.
type objectTask struct {
	users.Task
	subject *subject
}

// about finds the subjects of all tasks before any is begun: a write changes the whole object that it is about.
func about(tasks []users.Task, find func(name string) *subject) []objectTask {
	all := make([]objectTask, 0, len(tasks))
	for _, t := range tasks {
		all = append(all, objectTask{t, find(t.Name)})
	}
	return all
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
