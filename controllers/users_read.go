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

	"github.com/etcd-operator/etcd-operator/internal/access"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

const (
	// askTimeout bounds a call about users and roles, which goes through the log of the cluster.
	askTimeout = 5 * time.Second
	// accessWorkers is how many users are read or changed at once: each change waits for the disks of a quorum, and they share a write.
	accessWorkers = 16
)

// respondent is who answers for a cluster, and what is known of it.
type respondent struct {
	member etcd.Client // nil: nobody
	ledger *ledger
}

// ledger is what is known of a cluster's users and roles. It stays right for as long as etcd says the same revision, which rises
// with each change, also by us: then nothing is read again.
type ledger struct {
	mutex  sync.Mutex
	state  *access.State
	listed struct{ users, roles map[string]bool } // all that there are
	row    struct {                               // of looks
		inTheWay string
		times    int
	}
}

// times is how many looks in a row, with this one, have found that in the way.
func (l *ledger) times(inTheWay string) int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if inTheWay != l.row.inTheWay {
		l.row.inTheWay, l.row.times = inTheWay, 0
	}
	l.row.times++
	return l.row.times
}

func (l *ledger) forget() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.state = nil
}

// note has a step done.
func (l *ledger) note(step access.Step, effect bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.state == nil {
		return // something has failed meanwhile: all of it is read again
	}
	l.state.Note(step, effect)
	switch s := step.(type) {
	case access.DeleteUser:
		delete(l.listed.users, s.User)
	case access.DeleteRole:
		delete(l.listed.roles, s.Role)
	case access.AddUser:
		l.listed.users[s.User] = true
	case access.AddRole:
		l.listed.roles[s.Role] = true
	case access.Grant, access.Revoke, access.GrantRole, access.RevokeRole, access.SetPassword, access.Inherit, access.EnableAuth,
		access.DisableAuth, access.Hold, access.LetGo, access.AskForCertificate, access.WriteSecret, access.TakeCharge, access.Settle,
		access.Release: // all are there as before
	}
}

// ask reads what etcd says of users and roles, if a member answers. That none does is a fact.
func (r *Users) ask(ctx context.Context, name types.NamespacedName, view *access.View) respondent {
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
	a := respondent{ledger: r.ledgerOf(name)}
	if c.Status.ClusterID == "" || c.IsRestoring() {
		a.ledger.forget()
		return a
	}
	member, auth, err := firstToAnswer(ctx, respondents{r.client, r.dialer}, c, etcd.Client.Auth)
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
func (l *ledger) read(ctx context.Context, member etcd.Client, auth etcd.Auth, view *access.View) error {
	if l.state == nil || l.state.Auth != auth {
		users, err := within(ctx, member.Users)
		if err != nil {
			return err
		}
		roles, err := within(ctx, member.Roles)
		if err != nil {
			return err
		}
		l.state = &access.State{Auth: auth, Users: map[string][]string{}, Roles: map[string][]etcd.Permission{}}
		l.listed.users, l.listed.roles = set(users), set(roles)
	}
	users, roles := access.Names(view.Users, view.Roles)
	err := fill(users, l.listed.users, l.state.Users, func(name string) ([]string, error) {
		return within(ctx, func(ctx context.Context) ([]string, error) { return member.User(ctx, name) })
	})
	return errors.Join(err, fill(roles, l.listed.roles, l.state.Roles, func(name string) ([]etcd.Permission, error) {
		return within(ctx, func(ctx context.Context) ([]etcd.Permission, error) { return member.Role(ctx, name) })
	}))
}

// copy is the state for a plan: what is noted meanwhile does not change it.
func (l *ledger) copy() *access.State {
	return &access.State{Auth: l.state.Auth, Users: maps.Clone(l.state.Users), Roles: maps.Clone(l.state.Roles)}
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

// errand is a task with its subject.
type errand struct {
	access.Task
	subject *subject
}

// about finds the subjects of all tasks before any is begun: a write changes the whole object that it is about.
func about(tasks []access.Task, find func(name string) *subject) []errand {
	all := make([]errand, 0, len(tasks))
	for _, t := range tasks {
		all = append(all, errand{t, find(t.Name)})
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
