// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/cache"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/cluster/observe"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/secrets"
	"github.com/etcd-operator/etcd-operator/internal/users"
)

// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdusers;etcdroles,verbs=list;watch;patch
// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdusers/status;etcdroles/status,verbs=update
// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdusers/finalizers,verbs=update

// UsersReconciler reconciles all EtcdUsers and EtcdRoles of one EtcdCluster at once, and its authentication: what etcd says of a thousand
// users is read once. Of the status of an EtcdCluster it writes auth and the condition AuthEnabled and nothing else.
type UsersReconciler struct {
	client     client.Client
	remembered *cache.Secrets
	live       client.Reader
	dialer     observe.Members
	events     events.EventRecorder
	leads      func(context.Context) error // an error unless this operator holds the lease now; may be nil

	// installation is the Lease of this one: the reconciler of clusters writes down which installation manages each.
	installation string
	now          func() time.Time
	random       io.Reader

	mutex sync.Mutex
	known map[types.NamespacedName]*authCache
}

const (
	// unaskedAgain is the pause after a cluster could not be asked, or a problem was found whose end no watch reports.
	unaskedAgain = 15 * time.Second
	// issuedSoon is the pause after cert-manager was asked for a certificate, which takes it a second or two.
	issuedSoon = 3 * time.Second
	// slowestLook is the longest pause while a problem persists: each is twice as long as the one before.
	slowestLook = 2 * time.Minute
)

// usersStep is all that one look does for the roles and users of a cluster. What is done for its authentication depends on what became of
// them (users.DecideAuth).
type usersStep struct{ ofRoles, ofUsers []users.Decision }

func (s usersStep) String() string {
	operations := 0
	for _, d := range slices.Concat(s.ofRoles, s.ofUsers) {
		operations += len(d.Operations)
	}
	return fmt.Sprintf("%d operations for %d roles and %d users", operations, len(s.ofRoles), len(s.ofUsers))
}

// Reconcile looks at the users and roles of one cluster, and does all that there is to do.
func (r *UsersReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return reconcileOnce[*userRun, usersStep](ctx, "users", r, request.NamespacedName)
}

// plan decides about each role and user. Each operation is logged with the rule that decided it.
func (r *UsersReconciler) plan(p *userRun) (usersStep, string) {
	ofRoles, ofUsers := users.Decide(p.view)
	return usersStep{ofRoles, ofUsers}, "of each role and user"
}

// act does all operations. Each object says how it is as soon as its own are done: those of a thousand users take minutes.
func (r *UsersReconciler) act(ctx context.Context, p *userRun, step usersStep) error {
	p.ofRoles, p.ofUsers = step.ofRoles, step.ofUsers
	err := p.run(ctx)
	for i := range p.view.Users {
		r.remembered.Rest(&p.view.Users[i], err == nil && !p.taken.Load() && !p.ofUsers[i].Retry)
	}
	return err
}

// report has nothing left to write: see act.
func (r *UsersReconciler) report(_ context.Context, _ *userRun, _ usersStep, failed error) error {
	return unlessRefused(failed)
}

func (r *UsersReconciler) again(p *userRun, _ usersStep) time.Duration {
	times := 1
	if p.view.Cluster != nil {
		times = p.cache.times(p.blocked())
	}
	return p.pause(times)
}

// pause is how long until the next look after so many that have all found the same problem. No watch reports what is changed in etcd
// by other means; that a cluster answers, or wakes, its status reports.
func (p *userRun) pause(times int) time.Duration {
	unreachable, waits := p.any(isUnreachable), p.taken.Load() || p.any(isRetry)
	switch {
	case p.ofAuth.RetryAfter > 0:
		return p.ofAuth.RetryAfter
	case p.any(users.Decision.Requests) && !p.taken.Load():
		return spread(min(issuedSoon<<min(times-1, 8), slowestLook))
	case unreachable && p.view.Cluster.Size() == 0 && !waits:
		return spread(rare)
	case unreachable || waits:
		return spread(min(unaskedAgain<<min(times-1, 8), slowestLook))
	case p.view.Cluster == nil || !p.view.Cluster.IsSecure() || p.view.Cluster.IsGoing():
		return 0
	}
	return spread(rare)
}

// observe reads all that there is. A cluster that another installation manages, or none yet, is left alone.
func (r *UsersReconciler) observe(ctx context.Context, name types.NamespacedName) (*userRun, error) {
	p := &userRun{UsersReconciler: r, view: users.View{Now: r.now(), Secrets: map[string]*corev1.Secret{}}}
	view := &p.view
	var c v1beta1.EtcdCluster
	err := r.client.Get(ctx, name, &c)
	switch {
	case err == nil:
		view.Cluster, view.Paused, p.cache = &c, facts.Paused(&c) != "", r.cacheOf(name)
		if c.Status.Operator != r.installation || !c.IsGoing() && facts.IsLeftAlone(&c) {
			return nil, errIdle
		}
	case apierrors.IsNotFound(err):
		r.forget(name)
	default:
		return nil, fmt.Errorf("get EtcdCluster %s: %w", name.Name, err)
	}
	if err := r.objects(ctx, name, view); err != nil {
		return nil, err
	}
	if view.Cluster == nil || c.IsGoing() || !c.IsSecure() || view.Paused {
		return p, nil
	}
	if err := r.secrets(ctx, view); err != nil {
		return nil, err
	}
	p.ask(ctx)
	return p, nil
}

// objects reads the users and roles that name the cluster.
func (r *UsersReconciler) objects(ctx context.Context, name types.NamespacedName, view *users.View) error {
	var users v1beta1.EtcdUserList
	if err := r.client.List(ctx, &users, client.InNamespace(name.Namespace)); err != nil {
		return fmt.Errorf("list EtcdUsers: %w", err)
	}
	var roles v1beta1.EtcdRoleList
	if err := r.client.List(ctx, &roles, client.InNamespace(name.Namespace)); err != nil {
		return fmt.Errorf("list EtcdRoles: %w", err)
	}
	view.Users = slices.DeleteFunc(users.Items, func(u v1beta1.EtcdUser) bool { return u.Spec.Cluster != name.Name })
	view.Roles = slices.DeleteFunc(roles.Items, func(e v1beta1.EtcdRole) bool { return e.Spec.Cluster != name.Name })
	return nil
}

// secrets reads the Secrets of the users, and those of the authority that signs their certificates.
func (r *UsersReconciler) secrets(ctx context.Context, view *users.View) error {
	c := view.Cluster
	var err error
	if view.Held, err = secrets.Held(ctx, r.client, c, r.ofOperator(c)...); err != nil {
		return err
	}
	if len(view.Users) == 0 {
		return nil
	}
	var mutex sync.Mutex
	err = inParallel(view.Users, func(u v1beta1.EtcdUser) error {
		r.remembered.Look(&u, u.Secret())
		secret, err := r.secret(ctx, &u, u.Secret())
		if secret != nil && metav1.IsControlledBy(secret, &u) {
			mutex.Lock()
			defer mutex.Unlock()
			view.Secrets[u.Name] = secret
		}
		return err
	})
	if err != nil || c.CertificateSecrets() == nil {
		return err
	}
	return r.issued(ctx, view)
}

// ofOperator are the Secrets by which the operator identifies itself to etcd. Before authentication is enabled a Secret that is only
// remembered does not count, for dialling either: an authority that is gone meanwhile would lock the operator out.
func (r *UsersReconciler) ofOperator(c *v1beta1.EtcdCluster) []string {
	names := []string{c.ClientCA(), specs.MemberSecret(c), c.RootSecret()}
	if c.HasAuth() && !meta.IsStatusConditionTrue(c.Status.Conditions, v1beta1.ConditionAuthEnabled) {
		r.remembered.Forget(c.Namespace, names...)
	}
	return names
}

// secret reads a Secret in the namespace of a user; nil if there is none.
func (r *UsersReconciler) secret(ctx context.Context, u *v1beta1.EtcdUser, name string) (*corev1.Secret, error) {
	var secret corev1.Secret
	err := r.client.Get(ctx, client.ObjectKey{Namespace: u.Namespace, Name: name}, &secret)
	switch {
	case err == nil:
		return &secret, nil
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // as said above
	default:
		return nil, fmt.Errorf("get secret %s: %w", name, err)
	}
}

// errSecretTaken says that there is a Secret of the name that is not of the EtcdUser.
var errSecretTaken = errors.New("there is a Secret of this name that is not of this EtcdUser: delete that, or create another EtcdUser")
