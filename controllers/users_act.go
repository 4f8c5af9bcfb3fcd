// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/users"
)

// userRun is one look at the users of a cluster: what was read, what is decided, and the operations that follow.
type userRun struct {
	*UsersReconciler
	view   users.View
	member etcd.Client // that answers; nil: none does
	cache  *authCache  // nil: there is no cluster

	ofRoles, ofUsers []users.Decision
	ofAuth           users.Decision
	taken            atomic.Bool // a foreign Secret has the name of one of ours

	asking sync.Mutex
	led    time.Time // when this replica was found to hold the lease
}

// leadsFor is how long a replica that held the lease takes it for granted in a run, which takes minutes for a thousand users.
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

// target is the object that a decision is about.
type target struct {
	users.Decision
	object, read client.Object // as it is now, and as it was read or written last
	conditions   *[]metav1.Condition
	condition    string // its type
	observed     *int64 // the generation that the status is about; nil of an EtcdCluster, whose status is another's
	user         *v1beta1.EtcdUser
	secret       *corev1.Secret
}

// run does roles before users, which have them, and users before authentication, which admits only them. What has failed keeps
// authentication from being enabled, so that no user is locked out; it does not keep authentication from being disabled.
func (p *userRun) run(ctx context.Context) error {
	do := func(t *target) error { return p.do(ctx, t) }
	roles, all := p.targets()
	err := errors.Join(inParallel(roles, do), inParallel(all, do))
	c := p.view.Cluster
	if c == nil {
		return err
	}
	p.view.Failed, p.view.Changed, p.view.Now = err, p.cache.changed, p.now()
	p.ofAuth = users.DecideAuth(p.view)
	if isOutdated(err) {
		return err
	}
	ofAuth := do(&target{
		Decision: p.ofAuth, object: c, read: c.DeepCopy(), conditions: &c.Status.Conditions, condition: v1beta1.ConditionAuthEnabled,
	})
	return errors.Join(ofAuth, err) // the first one counts, and a conflict is looked at again at once
}

// targets are those of roles and users, before any operation is begun.
func (p *userRun) targets() (ofRoles, ofUsers []*target) {
	for i, d := range p.ofRoles {
		r := &p.view.Roles[i]
		ofRoles = append(ofRoles, &target{
			Decision: d, object: r, read: r.DeepCopy(), conditions: &r.Status.Conditions, condition: v1beta1.ConditionReady,
			observed: &r.Status.ObservedGeneration,
		})
		r.Status.Role = r.Role()
	}
	for i, d := range p.ofUsers {
		u := &p.view.Users[i]
		ofUsers = append(ofUsers, &target{
			Decision: d, object: u, read: u.DeepCopy(), conditions: &u.Status.Conditions, condition: v1beta1.ConditionReady,
			observed: &u.Status.ObservedGeneration, user: u, secret: p.view.Secrets[u.Name],
		})
	}
	return ofRoles, ofUsers
}

func (p *userRun) decisions() []users.Decision {
	return slices.Concat(p.ofRoles, p.ofUsers, []users.Decision{p.ofAuth})
}

func (p *userRun) any(is func(users.Decision) bool) bool {
	return slices.ContainsFunc(p.decisions(), is)
}

func isRetry(d users.Decision) bool       { return d.Retry }
func isUnreachable(d users.Decision) bool { return d.Unreachable }

// blocked is the same for looks that have found the same problem.
func (p *userRun) blocked() string {
	var all []string
	for _, d := range p.decisions() {
		if d.Retry || d.Unreachable || d.Requests() {
			all = append(all, fmt.Sprint(d.Name, d.Condition.Reason, d.Requests()))
		}
	}
	return strings.Join(all, " ")
}

// do carries out all operations for an object, and then says what is true.
func (p *userRun) do(ctx context.Context, t *target) error {
	var done []string
	for _, operation := range t.Operations {
		err := p.carryOut(ctx, t, operation)
		switch {
		case isOutdated(err):
			return fmt.Errorf("%s: %w", t.object.GetName(), err)
		case err != nil:
			return p.reportOn(ctx, t, done, fmt.Errorf("%s: %w", t.object.GetName(), err))
		}
		log.FromContext(ctx).Info("did "+operation.String(), "object", t.object.GetName(), "rule", t.Rule)
		done = append(done, operation.String())
	}
	return p.reportOn(ctx, t, done, nil)
}

func (p *userRun) carryOut(ctx context.Context, t *target, operation users.Operation) error {
	if err := p.stillLeads(ctx); err != nil {
		return err
	}
	switch o := operation.(type) {
	case users.AddFinalizer:
		return p.patchFinalizers(ctx, t, controllerutil.AddFinalizer)
	case users.RemoveFinalizer:
		return client.IgnoreNotFound(p.patchFinalizers(ctx, t, controllerutil.RemoveFinalizer))
	case users.RequestCertificate:
		return p.requestCertificate(ctx, t)
	case users.WriteSecret:
		return p.writeSecret(ctx, t)
	case users.RecordManaged:
		p.view.Cluster.Status.Auth = &v1beta1.AuthStatus{Managed: true}
		return p.writeStatus(ctx, t)
	case users.AdoptUser:
		t.user.Status.PasswordVersion = users.NoPasswordVersion(p.view.Cluster) // written with the condition
	case users.RecordUnmanaged:
		p.view.Cluster.Status.Auth = nil // written with the condition
	case users.AddRole, users.DeleteRole, users.GrantPermission, users.RevokePermission, users.AddUser, users.SetPassword, users.DeleteUser,
		users.GrantRole, users.RevokeRole, users.EnableAuth, users.DisableAuth:
		return p.changeEtcd(ctx, t, o)
	}
	return nil
}

// patchFinalizers changes the finalizers and leaves the status as it is here: the answer has what the API server knows of it.
func (p *userRun) patchFinalizers(ctx context.Context, t *target, change func(client.Object, string) bool) error {
	changed, _ := t.object.DeepCopyObject().(client.Object)
	change(changed, v1beta1.FinalizerAccess)
	unchanged := client.MergeFromWithOptions(t.object, client.MergeFromWithOptimisticLock{})
	if err := p.client.Patch(ctx, changed, unchanged, client.FieldOwner(v1beta1.FieldOwner)); err != nil {
		return wrapped("patch the finalizers", err)
	}
	t.object.SetFinalizers(changed.GetFinalizers())
	t.object.SetResourceVersion(changed.GetResourceVersion())
	return nil
}
