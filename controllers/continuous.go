// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/jobclient"
	"github.com/etcd-operator/etcd-operator/internal/backup"
	"github.com/etcd-operator/etcd-operator/internal/backup/continuous"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
)

// ContinuousReconciler keeps the log that spec.backup.continuous of an EtcdCluster requests. It writes status.log and nothing else of an
// EtcdCluster.
type ContinuousReconciler struct {
	client  client.Client
	tasks   *jobclient.Client
	image   *jobclient.OwnImage
	events  events.EventRecorder
	version string

	// installation is the Lease of this one: the reconciler of clusters writes down which installation manages each.
	installation string
	now          func() time.Time
	off          func() time.Duration // by which the clock of this machine is ahead of the API server's; negative if it is behind
}

// logLook is all that one look at the log of a cluster has seen, and what it means.
type logLook struct {
	continuous.Seen
	continuous.View
	builder continuous.JobBuilder
	noImage string // why it is not known what Jobs run
}

// Reconcile looks at the log of one cluster and takes one step.
func (r *ContinuousReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return reconcileOnce[logLook, continuous.Step](ctx, "continuous", r, request.NamespacedName)
}

func (r *ContinuousReconciler) plan(look logLook) (continuous.Step, string) {
	return continuous.Next(look.View)
}

func (r *ContinuousReconciler) again(look logLook, step continuous.Step) time.Duration {
	rest, rests := step.(continuous.Rest)
	due := until(rest.Until, look.View.Now)
	switch {
	case !rests:
		return immediately
	case rest.Running && due > 0:
		return min(due, continuous.LookEvery)
	case rest.Running:
		return continuous.LookEvery
	}
	return due
}

func (r *ContinuousReconciler) observe(ctx context.Context, key types.NamespacedName) (logLook, error) {
	c := &v1beta1.EtcdCluster{}
	if err := r.client.Get(ctx, key, c); err != nil {
		return logLook{}, gone("get EtcdCluster", err)
	}
	if facts.IsLeftAlone(c) || c.Status.Operator != r.installation || !c.KeepsLog() && continuous.IsLeft(c.Status.Log) {
		return logLook{}, errIdle
	}
	look := logLook{Seen: continuous.Seen{Cluster: c, Paused: facts.Paused(c), Now: r.now().Add(-r.off())}}
	look.builder.Version = r.version
	look.builder.Image, look.noImage = r.image.Get(ctx)
	var err error
	if look.Seen.Job, err = r.tasks.Observe(ctx, c, jobs.FollowName(c.Name)); err == nil && c.KeepsLog() {
		err = errors.Join(r.store(ctx, &look.Seen), r.backups(ctx, &look.Seen), r.secret(ctx, &look.Seen))
	}
	look.View = look.builder.Facts(look.Seen)
	return look, err
}

func (r *ContinuousReconciler) store(ctx context.Context, seen *continuous.Seen) error {
	c := seen.Cluster
	var store v1beta1.EtcdBackupStore
	err := r.client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Spec.Backup.Store}, &store)
	if err == nil {
		seen.Store = &store
	}
	return wrapped("get EtcdBackupStore", client.IgnoreNotFound(err))
}

func (r *ContinuousReconciler) backups(ctx context.Context, seen *continuous.Seen) error {
	var all v1beta1.EtcdBackupList
	err := r.client.List(ctx, &all, client.InNamespace(seen.Cluster.Namespace))
	seen.Backups = all.Items
	return wrapped("list EtcdBackups", err)
}

// secret reads which version the Secret has by which members know who reads, and nothing of what is in it: a process reads it when it
// starts.
func (r *ContinuousReconciler) secret(ctx context.Context, seen *continuous.Seen) error {
	c := seen.Cluster
	name := c.ClientSecret()
	switch {
	case c.HasRootSecret():
		name = c.RootSecret()
	case !c.IsSecure():
		return nil
	}
	there := metav1.PartialObjectMetadata{}
	there.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := r.tasks.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &there)
	seen.Client = there.ResourceVersion
	return wrapped("get Secret "+name, client.IgnoreNotFound(err))
}

// act carries out a step. The status is written by report.
func (r *ContinuousReconciler) act(ctx context.Context, look logLook, step continuous.Step) error {
	c := look.Seen.Cluster
	switch s := step.(type) {
	case continuous.CreateJob:
		if look.noImage != "" {
			return fmt.Errorf("create Job %s: %s", s.Name, look.noImage)
		}
		return r.tasks.Create(ctx, look.builder.Job(look.Seen, look.View))
	case continuous.DeleteJob:
		return r.tasks.Remove(ctx, c.Namespace, s.Name, s.UID)
	case continuous.CreateBackup:
		if err := r.tasks.Leading(ctx); err != nil {
			return err
		}
		err := r.client.Create(ctx, continuous.NewFull(c, s.Name), client.FieldOwner(v1beta1.FieldOwner))
		if apierrors.IsAlreadyExists(err) {
			return nil // the next look shows whose it is
		}
		return wrapped("create EtcdBackup "+s.Name, err)
	case continuous.Record, continuous.Rest:
	}
	return nil
}

// report writes status.log if there is something new, and says what happened.
func (r *ContinuousReconciler) report(ctx context.Context, look logLook, step continuous.Step, failed error) error {
	c := look.Seen.Cluster
	after := continuous.Report(look.Seen, look.View, step, failed)
	if continuous.IsNews(c.Status.Log, after) {
		c.Status.Log = after
		if err := reportStatus(ctx, r.client, c); err != nil {
			return unlessRefused(errors.Join(err, failed))
		}
	}
	if s, records := step.(continuous.Record); records && s.Event != "" && failed == nil {
		kind := corev1.EventTypeNormal
		if s.Warns {
			kind = corev1.EventTypeWarning
		}
		r.events.Eventf(c, nil, kind, s.Event, "Log", "%s", continuous.Note(s))
	}
	return unlessRefused(failed)
}

// SetupWithManager watches EtcdClusters, the Jobs that keep their logs, their backups, and the stores of these.
func (r *ContinuousReconciler) SetupWithManager(manager ctrl.Manager) error {
	owners, done := jobclient.OwnersWhenDone(r.client, "EtcdCluster")
	return ctrl.NewControllerManagedBy(manager).For(&v1beta1.EtcdCluster{}).Owns(&batchv1.Job{}).
		Watches(&corev1.Pod{}, owners, done).
		Watches(&v1beta1.EtcdBackup{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
			name := backup.ClusterName(object.(*v1beta1.EtcdBackup))
			if name == "" {
				return nil
			}
			return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: object.GetNamespace(), Name: name}}}
		})).
		Watches(&v1beta1.EtcdBackupStore{}, clustersUsing(r.client)).Named("continuous").WithOptions(options()).Complete(r)
}
