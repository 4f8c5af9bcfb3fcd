// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup"
	"github.com/etcd-operator/etcd-operator/internal/backup/schedule"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
)

// ScheduleReconciler makes the backups that spec.backup.schedule of an EtcdCluster requests, and deletes those that
// spec.backup.retention does not keep. It writes status.backup and nothing else of an EtcdCluster.
type ScheduleReconciler struct {
	client client.Client
	live   client.Reader
	events events.EventRecorder
	leads  func(context.Context) error // an error unless this operator holds the lease now; may be nil

	// installation is the Lease of this one: the reconciler of clusters writes down which installation manages each.
	installation string
	now          func() time.Time
	off          func() time.Duration // by which the clock of this machine is ahead of the API server's; negative if it is behind
}

// lookAtClock is how often the time is compared with the schedule at least: a clock may be changed meanwhile.
const lookAtClock = time.Hour

// scheduleLook is all that one look at the schedule of a cluster has seen, and what it means.
type scheduleLook struct {
	schedule.Seen
	schedule.View
}

// Reconcile looks at the schedule of one cluster and takes one step.
func (r *ScheduleReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return reconcileOnce[scheduleLook, schedule.Step](ctx, "schedule", r, request.NamespacedName)
}

func (r *ScheduleReconciler) plan(look scheduleLook) (schedule.Step, string) {
	return schedule.Next(look.View)
}

func (r *ScheduleReconciler) again(look scheduleLook, step schedule.Step) time.Duration {
	_, rests := step.(schedule.Rest)
	next := schedule.Coming(look.View)
	switch {
	case look.View.Schedule == "":
		return 0
	case !rests:
		return immediately
	case next.IsZero():
		return lookAtClock
	}
	return min(max(next.Sub(look.View.Now), time.Second), lookAtClock)
}

func (r *ScheduleReconciler) observe(ctx context.Context, key types.NamespacedName) (scheduleLook, error) {
	c := &v1beta1.EtcdCluster{}
	if err := r.client.Get(ctx, key, c); err != nil {
		return scheduleLook{}, gone("get EtcdCluster", err)
	}
	if c.DeletionTimestamp != nil || facts.IsLeftAlone(c) || c.Status.Operator != r.installation {
		return scheduleLook{}, errIdle
	}
	if c.Spec.Backup == nil {
		return scheduleLook{Seen: schedule.Seen{Cluster: c}}, nil
	}
	seen, err := r.see(ctx, c)
	return scheduleLook{seen, schedule.Facts(seen)}, err
}

// see reads the backups of the cluster, their store, and what else there is in the namespace.
func (r *ScheduleReconciler) see(ctx context.Context, c *v1beta1.EtcdCluster) (schedule.Seen, error) {
	seen := schedule.Seen{Cluster: c, Now: r.now().Add(-r.off())}
	var backups v1beta1.EtcdBackupList
	of := client.MatchingFields{v1beta1.FieldCluster: c.Name}
	if err := r.client.List(ctx, &backups, client.InNamespace(c.Namespace), of); err != nil {
		return seen, fmt.Errorf("list EtcdBackups: %w", err)
	}
	var clusters v1beta1.EtcdClusterList
	if err := r.client.List(ctx, &clusters, client.InNamespace(c.Namespace)); err != nil {
		return seen, fmt.Errorf("list EtcdClusters: %w", err)
	}
	var restores v1beta1.EtcdRestoreList
	if err := r.client.List(ctx, &restores, client.InNamespace(c.Namespace)); err != nil {
		return seen, fmt.Errorf("list EtcdRestores: %w", err)
	}
	seen.Backups, seen.Clusters, seen.Restores = backups.Items, clusters.Items, restores.Items
	var store v1beta1.EtcdBackupStore
	err := r.client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Spec.Backup.Store}, &store)
	if err == nil {
		seen.Store = &store
	}
	return seen, wrapped("get EtcdBackupStore", client.IgnoreNotFound(err))
}

func (r *ScheduleReconciler) act(ctx context.Context, look scheduleLook, step schedule.Step) error {
	c := look.Seen.Cluster
	if _, rests := step.(schedule.Rest); !rests && r.leads != nil {
		if err := r.leads(ctx); err != nil {
			return err
		}
	}
	switch s := step.(type) {
	case schedule.Create:
		return r.create(ctx, c, s)
	case schedule.Delete:
		return r.delete(ctx, c, s)
	case schedule.Rest:
	}
	return nil
}

// create makes the backup. One that is there and was made for this cluster is the one that was to be made.
func (r *ScheduleReconciler) create(ctx context.Context, c *v1beta1.EtcdCluster, s schedule.Create) error {
	b := schedule.New(c, s)
	err := r.client.Create(ctx, b, client.FieldOwner(v1beta1.FieldOwner))
	switch {
	case err == nil:
		r.events.Eventf(c, b, corev1.EventTypeNormal, "BackupScheduled", "Backup", "%s", s)
		return nil
	case !apierrors.IsAlreadyExists(err):
		return wrapped("create EtcdBackup "+s.Name, err)
	}
	var there v1beta1.EtcdBackup
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(b), &there); err != nil {
		return wrapped("get EtcdBackup "+s.Name, client.IgnoreNotFound(err))
	}
	if there.Annotations[v1beta1.AnnotationClusterUID] != string(c.UID) {
		return fmt.Errorf("create EtcdBackup %s: there is one of this name that the schedule has not made; delete it or rename it", s.Name)
	}
	return nil
}

// delete deletes a backup with what is stored. It is said first. What has changed since it was looked at is not deleted.
func (r *ScheduleReconciler) delete(ctx context.Context, c *v1beta1.EtcdCluster, s schedule.Delete) error {
	var b v1beta1.EtcdBackup
	if err := r.live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: s.Name}, &b); err != nil {
		return wrapped("get EtcdBackup "+s.Name, client.IgnoreNotFound(err))
	}
	r.events.Eventf(c, &b, corev1.EventTypeNormal, "BackupExpired", "Backup", "%s", s)
	held := slices.Contains(b.Finalizers, v1beta1.FinalizerBackup)
	if b.Spec.DeletionPolicy != v1beta1.DeleteBackup || !held {
		b.Spec.DeletionPolicy = v1beta1.DeleteBackup
		controllerutil.AddFinalizer(&b, v1beta1.FinalizerBackup)
		if err := r.client.Update(ctx, &b, client.FieldOwner(v1beta1.FieldOwner)); err != nil {
			return wrapped("have the store delete EtcdBackup "+s.Name, err)
		}
	}
	exactly := client.Preconditions{UID: &b.UID, ResourceVersion: &b.ResourceVersion}
	return wrapped("delete EtcdBackup "+s.Name, client.IgnoreNotFound(r.client.Delete(ctx, &b, exactly)))
}

func (r *ScheduleReconciler) report(ctx context.Context, look scheduleLook, step schedule.Step, failed error) error {
	c := look.Seen.Cluster
	var status *v1beta1.ClusterBackups
	if c.Spec.Backup != nil {
		status = schedule.Report(look.Seen, look.View, step, failed)
	}
	if equality.Semantic.DeepEqual(c.Status.Backup, status) {
		return unlessRefused(failed)
	}
	c.Status.Backup = status
	return unlessRefused(errors.Join(reportStatus(ctx, r.client, c), failed))
}

// SetupWithManager watches EtcdClusters, their backups, and the stores of these.
func (r *ScheduleReconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).For(&v1beta1.EtcdCluster{}).
		Watches(&v1beta1.EtcdBackup{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
			name := backup.ClusterName(object.(*v1beta1.EtcdBackup))
			if name == "" {
				return nil
			}
			return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: object.GetNamespace(), Name: name}}}
		})).
		Watches(&v1beta1.EtcdBackupStore{}, clustersUsing(r.client)).Named("schedule").WithOptions(options()).Complete(r)
}

// clustersUsing finds the clusters whose backups are written to a store.
func clustersUsing(from client.Reader) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		var all v1beta1.EtcdClusterList
		if err := from.List(ctx, &all, client.InNamespace(object.GetNamespace())); err != nil {
			return nil
		}
		var requests []reconcile.Request
		for i := range all.Items {
			if c := &all.Items[i]; c.Spec.Backup != nil && c.Spec.Backup.Store == object.GetName() {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(c)})
			}
		}
		return requests
	})
}
