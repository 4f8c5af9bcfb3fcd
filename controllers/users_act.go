package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/users"
)

// userRun carries out all that one look has found to do.
type userRun struct {
	*UsersReconciler
	view  users.View
	asked authMember
	work  users.Work
	taken atomic.Bool // a Secret of somebody else has the name of one of ours

	asking sync.Mutex
	led    time.Time // when this replica was found to hold the lease
}

// leadsFor is how long a replica that held the lease takes it for granted in a pass, which takes minutes for a thousand users.
const leadsFor = 2 * time.Second

// stillLeads is an error unless this replica holds the lease.
func (p *userRun) stillLeads(ctx context.Context) error {
	if p.leads == nil {
		return nil
	}
	p.asking.Lock()
	defer p.asking.Unlock()
	if age := p.now().Sub(p.led); age >= 0 && age < leadsFor {
		return nil
	}
	if err := p.leads(ctx); err != nil {
		return err
	}
	p.led = p.now()
	return nil
}

// subject is what a task is about: one object, its conditions, and the Secret of a user.
type subject struct {
	object     client.Object
	conditions *[]metav1.Condition
	condition  string // its type
	observed   *int64 // the generation that the status is about; nil of an EtcdCluster, whose status is another's
	user       *v1alpha1.EtcdUser
	secret     *corev1.Secret
	untouched  client.Object // as it was read
}

// run does roles before users, which have them, and users before authentication, which lets only them in. What has failed
// keeps authentication disabled, so that no user is shut out who is to be let in; it does not keep it enabled.
func (p *userRun) run(ctx context.Context) error {
	err := inParallel(about(p.work.Roles, p.role), func(t objectTask) error { return p.do(ctx, t.subject, t.Task) })
	err = errors.Join(err, inParallel(about(p.work.Users, p.user), func(t objectTask) error { return p.do(ctx, t.subject, t.Task) }))
	if isOutdated(err) || p.view.Cluster == nil {
		return err
	}
	auth, c := p.work.Auth, p.view.Cluster
	if err != nil {
		auth = auth.After(err)
	}
	return errors.Join(err, p.do(ctx, &subject{
		object: c, conditions: &c.Status.Conditions, condition: v1alpha1.ConditionAuthEnabled, untouched: c.DeepCopy(),
	}, auth))
}

func (p *userRun) tasks() []users.Task {
	return slices.Concat(p.work.Roles, p.work.Users, []users.Task{p.work.Auth})
}

// waits says whether something waits for what no watch tells.
func (p *userRun) waits() bool {
	return p.taken.Load() || slices.ContainsFunc(p.tasks(), func(t users.Task) bool { return t.Then.Again })
}

// isUnread says whether something waits until the cluster can be asked.
func (p *userRun) isUnread() bool {
	return slices.ContainsFunc(p.tasks(), func(t users.Task) bool { return t.Then.Unread })
}

// inTheWay is the same for looks that have found the same in the way.
func (p *userRun) inTheWay() string {
	var all []string
	for _, t := range p.tasks() {
		asks := slices.Contains(t.Steps, users.Step(users.AskForCertificate{}))
		if t.Then.Again || t.Then.Unread || asks {
			all = append(all, fmt.Sprint(t.Name, t.Then.Reason, asks))
		}
	}
	return strings.Join(all, " ")
}

func (p *userRun) role(name string) *subject {
	for i := range p.view.Roles {
		if r := &p.view.Roles[i]; r.Name == name {
			before := r.DeepCopy()
			r.Status.Role = r.Role()
			return &subject{
				object: r, conditions: &r.Status.Conditions, condition: v1alpha1.ConditionReady, observed: &r.Status.ObservedGeneration,
				untouched: before,
			}
		}
	}
	return nil
}

func (p *userRun) user(name string) *subject {
	for i := range p.view.Users {
		if u := &p.view.Users[i]; u.Name == name {
			return &subject{
				object: u, conditions: &u.Status.Conditions, condition: v1alpha1.ConditionReady, observed: &u.Status.ObservedGeneration,
				user: u, secret: p.view.Secrets[name], untouched: u.DeepCopy(),
			}
		}
	}
	return nil
}

// do takes the steps of one task, and then says what is true.
func (p *userRun) do(ctx context.Context, s *subject, t users.Task) error {
	var done []string
	var failed error
	for _, step := range t.Steps {
		if failed = p.take(ctx, s, step); failed != nil {
			failed = fmt.Errorf("%s: %w", s.object.GetName(), failed)
			break
		}
		log.FromContext(ctx).Info("did "+step.String(), "object", s.object.GetName())
		done = append(done, step.String())
	}
	if isOutdated(failed) {
		return failed
	}
	return p.report(ctx, s, t.Then, done, failed)
}

// take takes one step.
func (p *userRun) take(ctx context.Context, s *subject, step users.Step) error {
	if err := p.stillLeads(ctx); err != nil {
		return err
	}
	switch step := step.(type) {
	case users.Hold:
		return p.hold(ctx, s, true)
	case users.LetGo:
		return p.hold(ctx, s, false)
	case users.AskForCertificate:
		return p.ask(ctx, s)
	case users.WriteSecret:
		return p.writeSecret(ctx, s)
	case users.TakeCharge:
		p.view.Cluster.Status.Auth = &v1alpha1.AuthStatus{Managed: true}
		return p.writeStatus(ctx, s)
	case users.Settle:
		return sleep(ctx, step.For)
	case users.Inherit:
		s.user.Status.PasswordVersion = users.NoPasswordVersion(p.view.Cluster) // written with the condition
	case users.Release:
		p.view.Cluster.Status.Auth = nil // written with the condition
	case users.AddRole, users.DeleteRole, users.Grant, users.Revoke, users.AddUser, users.SetPassword, users.DeleteUser,
		users.GrantRole, users.RevokeRole, users.EnableAuth, users.DisableAuth:
		return p.tell(ctx, s, step)
	}
	return nil
}

// hold puts the finalizer on an object, or takes it off.
func (p *userRun) hold(ctx context.Context, s *subject, held bool) error {
	before, _ := s.object.DeepCopyObject().(client.Object)
	status := s.object.DeepCopyObject()
	if held {
		controllerutil.AddFinalizer(s.object, v1alpha1.FinalizerAccess)
	} else {
		controllerutil.RemoveFinalizer(s.object, v1alpha1.FinalizerAccess)
	}
	unchanged := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := p.client.Patch(ctx, s.object, unchanged, client.FieldOwner(v1alpha1.FieldOwner))
	keepStatus(s.object, status) // the answer has what the API server knows of it
	if !held {
		err = client.IgnoreNotFound(err)
	}
	return wrapped("patch the finalizers", err)
}

// keepStatus gives an object the status that it had.
func keepStatus(object client.Object, had any) {
	switch o := object.(type) {
	case *v1alpha1.EtcdUser:
		if was, is := had.(*v1alpha1.EtcdUser); is {
			o.Status = was.Status
		}
	case *v1alpha1.EtcdRole:
		if was, is := had.(*v1alpha1.EtcdRole); is {
			o.Status = was.Status
		}
	}
}

// writeSecret makes the Secret of a user, or changes the one that there is.
func (p *userRun) writeSecret(ctx context.Context, s *subject) error {
	made, err := p.view.Held.MakeUser(p.random, p.view.Now, p.view.Cluster, s.user, s.secret)
	switch {
	case err != nil:
		return fmt.Errorf("make secret %s: %w", s.user.Secret(), err)
	case s.secret != nil:
		return p.changeSecret(ctx, s, made)
	}
	err = p.client.Create(ctx, made, client.FieldOwner(v1alpha1.FieldOwner))
	if apierrors.IsAlreadyExists(err) {
		return p.findSecret(ctx, s)
	}
	s.secret = made
	return wrapped("create secret "+made.Name, err)
}

// findSecret is about a Secret that is there, although none was when it was read last.
func (p *userRun) findSecret(ctx context.Context, s *subject) error {
	var there corev1.Secret
	if err := p.live.Get(ctx, client.ObjectKey{Namespace: s.user.Namespace, Name: s.user.Secret()}, &there); err != nil {
		return fmt.Errorf("get secret %s: %w", s.user.Secret(), err)
	}
	if !metav1.IsControlledBy(&there, s.user) {
		return errSecretTaken
	}
	s.secret = &there
	return p.writeSecret(ctx, s)
}

func (p *userRun) changeSecret(ctx context.Context, s *subject, made *corev1.Secret) error {
	changed := s.secret.DeepCopy()
	changed.Data = made.Data
	changed.Labels = map[string]string{}
	maps.Copy(changed.Labels, s.secret.Labels)
	maps.Copy(changed.Labels, made.Labels)
	for name, value := range made.Annotations { // since when it is as it is: what relies on it waits for applications
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, name, value)
	}
	unchanged := client.MergeFromWithOptions(s.secret, client.MergeFromWithOptimisticLock{})
	before := s.secret
	s.secret = changed
	if err := p.client.Patch(ctx, changed, unchanged, client.FieldOwner(v1alpha1.FieldOwner)); err != nil {
		return fmt.Errorf("patch secret %s: %w", changed.Name, err)
	}
	s.user.Status.PasswordVersion = users.KeptVersion(p.view.Cluster, s.user.Status.PasswordVersion, before, changed)
	return nil
}
