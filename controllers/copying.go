// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/copier"
	"github.com/etcd-operator/etcd-operator/controllers/members"
	"github.com/etcd-operator/etcd-operator/internal/cluster/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/copying"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// CopyReconciler copies a running cluster of etcd into an EtcdCluster, and sends its clients there. Of the status of an EtcdCluster it
// writes copy and the condition Copied and nothing else.
type CopyReconciler struct {
	client client.Client
	live   client.Reader
	asked  members.Finder
	source sources
	actor  *act.Actor
	events events.EventRecorder
	leads  func(context.Context) error // an error unless this operator holds the lease now; may be nil

	installation string
	now          func() time.Time
}

// sources finds a member of a running cluster that is copied, by its URL.
type sources interface {
	Copied(ctx context.Context, c *v1beta1.EtcdCluster, url string) (etcd.Client, error)
}

const (
	// copyFor is for how long one look reads or follows the source.
	copyFor = 5 * time.Second
	// compareFor is how long a comparison may take that stops no writes.
	compareFor = 30 * time.Minute
)

// SetupWithManager watches the EtcdClusters that a running cluster is to be copied into.
func (r *CopyReconciler) SetupWithManager(manager ctrl.Manager) error {
	copies := func(object client.Object) bool {
		c, is := object.(*v1beta1.EtcdCluster)
		return is && (c.Copies() != nil || !c.WantsCopy() && meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionCopied) != nil)
	}
	changes := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return copies(e.ObjectNew) && concernsContent(e) }}
	how := options()
	how.ReconciliationTimeout = compareFor + patience
	err := ctrl.NewControllerManagedBy(manager).
		For(&v1beta1.EtcdCluster{}, builder.WithPredicates(predicate.NewPredicateFuncs(copies), changes)).
		Named("copies").WithOptions(how).Complete(r)
	return wrapped("set up the controller of copies", err)
}

// copyLook is what one look at a copy has seen, by which clients, and what it has done.
type copyLook struct {
	copying.View
	source, target etcd.Client
	copied         *copier.Copier
	compared       *v1beta1.CopyComparison
	leases         int32
	leasedKeys     int64
}

// Reconcile looks at one copy, and takes one step.
func (r *CopyReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return reconcileOnce[*copyLook, copying.Step](ctx, "copies", r, request.NamespacedName)
}

// observe reads the EtcdCluster as it is now: a cache may not show yet that the switch is decided.
func (r *CopyReconciler) observe(ctx context.Context, key types.NamespacedName) (*copyLook, error) {
	c := &v1beta1.EtcdCluster{}
	if err := r.client.Get(ctx, key, c); err != nil {
		return nil, gone("get EtcdCluster", err)
	}
	if c.Status.Operator != r.installation || facts.IsLeftAlone(c) {
		return nil, errIdle
	}
	look := &copyLook{View: copying.View{Cluster: c, Now: r.now(), Paused: facts.Paused(c)}}
	step, _ := copying.Next(look.View)
	if _, asks := step.(copying.Look); !asks {
		return look, nil
	}
	uid := c.UID
	if err := r.live.Get(ctx, key, c); err != nil || c.UID != uid || c.Copies() == nil {
		return nil, cmp.Or(gone("get EtcdCluster", err), errIdle)
	}
	look.Paused = facts.Paused(c)
	var err error
	if look.Services, err = r.services(ctx, c); err != nil {
		return nil, err
	}
	r.askTarget(ctx, look)
	r.askSource(ctx, look)
	return look, nil
}

func (r *CopyReconciler) services(ctx context.Context, c *v1beta1.EtcdCluster) ([]copying.Service, error) {
	var all []copying.Service
	for _, name := range c.Copies().Services {
		service := &corev1.Service{}
		err := r.live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, service)
		switch {
		case apierrors.IsNotFound(err):
			all = append(all, copying.Service{Name: name, Missing: true})
		case err != nil:
			return nil, wrapped("get Service "+name, err)
		default:
			all = append(all, copying.ServiceOf(c, service))
		}
	}
	return all, nil
}

// askTarget asks a member of this cluster how far the copy is.
func (r *CopyReconciler) askTarget(ctx context.Context, look *copyLook) {
	look.Target = &copying.Target{}
	if look.Cluster.Status.ClusterID == "" {
		look.Target.Err = "it has not formed"
		return
	}
	member, item, err := members.FirstToAnswer(ctx, r.asked, look.Cluster, func(m etcd.Client, ctx context.Context) (etcd.Item, error) {
		return m.Get(ctx, []byte(copying.MarkKey))
	})
	keys := int64(0)
	switch {
	case err == nil && member == nil:
		err = errors.New("no member runs")
	case err == nil && item.Changed == 0:
		keys, err = members.Within(ctx, func(ctx context.Context) (int64, error) { return member.Count(ctx, 0) })
	}
	if err != nil {
		look.Target.Err = err.Error()
		return
	}
	look.target, look.Target.Keys, look.Target.Revision, look.Target.Changed = member, keys, item.Revision, item.Changed
	if item.Changed > 0 {
		mark := copying.ParseMark(item.Value)
		look.Target.Mark = &mark
	}
}

// askSource asks the first member of the source that answers with a quorum.
func (r *CopyReconciler) askSource(ctx context.Context, look *copyLook) {
	look.Source = &copying.Source{}
	var failed error
	for _, url := range look.Cluster.Copies().Endpoints {
		member, err := r.source.Copied(ctx, look.Cluster, url)
		var seen copying.Source
		if err == nil {
			seen, err = members.Within(ctx, func(ctx context.Context) (copying.Source, error) { return askedSource(ctx, member, look.Target.Mark) })
		}
		if err == nil {
			look.source, look.Source = member, &seen
			break
		}
		failed = errors.Join(failed, err)
	}
	if look.source == nil {
		look.Source.Err = failed.Error()
		return
	}
	if look.Cluster.Status.Copy == nil {
		look.Source.Users, look.Source.Roles = usersIn(ctx, look.source)
	}
}

// askedSource is what a member of the source answers. Its revision is read last: it is not older than its alarms.
func askedSource(ctx context.Context, member etcd.Client, mark *copying.Mark) (copying.Source, error) {
	status, err := member.Status(ctx)
	if err != nil {
		return copying.Source{}, err
	}
	theirs, err := member.Get(ctx, []byte(copying.MarkKey))
	if err != nil {
		return copying.Source{}, err
	}
	seen := copying.SourceOf(status, theirs)
	if mark != nil {
		_, err = member.Page(ctx, nil, max(mark.Read, mark.Revision), 1)
		seen.Compacted = errors.Is(err, etcd.ErrCompacted)
	}
	return seen, nil
}

// usersIn are how many users and roles there are; nil if that is not shown.
func usersIn(ctx context.Context, member etcd.Client) (users, roles *int32) {
	count := func(list func(context.Context) ([]string, error)) *int32 {
		names, err := members.Within(ctx, list)
		if err != nil {
			return nil
		}
		n := int32(len(names)) //nolint:gosec // the length of an answer is limited
		return &n
	}
	return count(member.Users), count(member.Roles)
}

func (r *CopyReconciler) plan(look *copyLook) (copying.Step, string) { return copying.Next(look.View) }

// again looks again at once while there is something to copy: no watch of Kubernetes reports it.
func (r *CopyReconciler) again(_ *copyLook, step copying.Step) time.Duration {
	switch s := step.(type) {
	case copying.Done, copying.RemoveCondition, copying.RecordDone:
		return 0
	case copying.SetCondition:
		if s.Again {
			return spread(copyFor)
		}
		return 0
	case copying.Look, copying.Begin, copying.ReadKeys, copying.Follow, copying.Compare, copying.RecordStop, copying.StopWrites, copying.Drain,
		copying.Release, copying.RecordSwitch, copying.BindLeases, copying.RouteService, copying.RemoveMark:
	}
	return immediately
}
