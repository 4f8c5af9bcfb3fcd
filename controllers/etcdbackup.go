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
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/jobclient"
	"github.com/etcd-operator/etcd-operator/controllers/members"
	"github.com/etcd-operator/etcd-operator/internal/backup"
	"github.com/etcd-operator/etcd-operator/internal/cluster/limits"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdbackups,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdbackups/status,verbs=update
// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdbackups/finalizers,verbs=update
// +kubebuilder:rbac:groups=snapshot.storage.k8s.io,resources=volumesnapshots,verbs=get;create;delete

// EtcdBackupReconciler reconciles EtcdBackups.
type EtcdBackupReconciler struct {
	client  client.Client
	tasks   *jobclient.Client
	image   *jobclient.OwnImage
	asked   members.Finder
	images  specs.Images
	limits  limits.Limits
	events  events.EventRecorder
	version string
	now     func() time.Time
}

// backupLook is all that one look at an EtcdBackup has seen, and what it means.
type backupLook struct {
	backup.Seen
	backup.View
}

// Reconcile looks at one backup and takes one step.
func (r *EtcdBackupReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return reconcileOnce[backupLook, backup.Step](ctx, "etcdbackup", r, request.NamespacedName)
}

func (r *EtcdBackupReconciler) plan(look backupLook) (backup.Step, string) {
	return backup.Next(look.View)
}

func (r *EtcdBackupReconciler) again(look backupLook, step backup.Step) time.Duration {
	switch about := backup.KindOf(step); {
	case !about.Rests:
		return immediately
	case about.Soon:
		return progressEvery
	default:
		return until(about.Until, look.View.Now)
	}
}

func (r *EtcdBackupReconciler) observe(ctx context.Context, key types.NamespacedName) (backupLook, error) {
	var b v1beta1.EtcdBackup
	if err := r.tasks.Live.Get(ctx, key, &b); err != nil {
		return backupLook{}, gone("get EtcdBackup", err)
	}
	seen, err := r.see(ctx, &b)
	return backupLook{seen, backup.Facts(seen)}, err
}

// see reads the cluster of the backup, its store, and what its Job says.
func (r *EtcdBackupReconciler) see(ctx context.Context, b *v1beta1.EtcdBackup) (backup.Seen, error) {
	seen := backup.Seen{Backup: b, Now: r.now()}
	if err := r.cluster(ctx, b, &seen); err != nil {
		return seen, err
	}
	var s v1beta1.EtcdBackupStore
	if name := backup.StoreName(b, seen.Cluster); name != "" {
		found, err := r.find(ctx, b.Namespace, name, &s)
		if err != nil {
			return seen, err
		}
		if found {
			seen.Store = &s
		}
	}
	if err := errors.Join(r.volume(ctx, b, &seen), r.snapshot(ctx, b, &seen)); err != nil || b.Status.Job == nil {
		return seen, err
	}
	if b.Status.Job.Name == backup.SnapshotName(b) {
		return seen, nil
	}
	var err error
	if seen.Job, err = r.tasks.Observe(ctx, b, b.Status.Job.Name); err != nil || b.DeletionTimestamp == nil || seen.Job.Exists {
		return seen, err
	}
	return seen, r.kept(ctx, b, &seen)
}

// kept reads what stays, from the API server, before the Job is created that deletes the rest: a cache may not show yet that there is
// another full backup, or another history.
func (r *EtcdBackupReconciler) kept(ctx context.Context, b *v1beta1.EtcdBackup, seen *backup.Seen) error {
	var c v1beta1.EtcdCluster
	err := r.tasks.Live.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: backup.ClusterName(b)}, &c)
	if err != nil {
		return wrapped("get EtcdCluster", client.IgnoreNotFound(err))
	}
	var all v1beta1.EtcdBackupList
	if err := r.tasks.Live.List(ctx, &all, client.InNamespace(b.Namespace)); err != nil {
		return fmt.Errorf("list EtcdBackups: %w", err)
	}
	seen.Present, seen.Kept = &c, all.Items
	return nil
}

// cluster reads the cluster that a backup is of, and its other backups if this one is to be made.
func (r *EtcdBackupReconciler) cluster(ctx context.Context, b *v1beta1.EtcdBackup, seen *backup.Seen) error {
	name := backup.ClusterName(b)
	if name == "" {
		return nil
	}
	var c v1beta1.EtcdCluster
	found, err := r.find(ctx, b.Namespace, name, &c)
	if err != nil {
		return err
	}
	if found {
		seen.Cluster = &c
	}
	if b.Spec.Found != "" {
		return nil
	}
	var from client.Reader = r.client
	if b.Status.Path == "" {
		from = r.tasks.Live // a cache that is behind would hide what the store has of this name
	}
	var all v1beta1.EtcdBackupList
	if err := from.List(ctx, &all, client.InNamespace(b.Namespace)); err != nil {
		return fmt.Errorf("list EtcdBackups: %w", err)
	}
	seen.Others = all.Items
	return nil
}

// volume reads the volume of a member that is backed up, and whether that runs, from the API server.
func (r *EtcdBackupReconciler) volume(ctx context.Context, b *v1beta1.EtcdBackup, seen *backup.Seen) error {
	if b.Spec.Volume == "" {
		return nil
	}
	key := client.ObjectKey{Namespace: b.Namespace, Name: b.Spec.Volume}
	var claim corev1.PersistentVolumeClaim
	err := r.tasks.Live.Get(ctx, key, &claim)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get volume: %w", err)
	}
	if err == nil {
		seen.Volume = &claim
	}
	var pod corev1.Pod
	err = r.tasks.Live.Get(ctx, key, &pod)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get Pod: %w", err)
	}
	if err == nil {
		seen.Pod = &pod
	}
	return nil
}

func (r *EtcdBackupReconciler) find(ctx context.Context, namespace, name string, object client.Object) (bool, error) {
	err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, wrapped("get "+name, err)
}

// act carries out a step. Record is part of the report.
func (r *EtcdBackupReconciler) act(ctx context.Context, look backupLook, step backup.Step) error {
	b := look.Backup
	switch s := step.(type) {
	case backup.CreateJob:
		image, why := r.image.Get(ctx)
		if why != "" {
			return fmt.Errorf("create Job %s: %s", s.Name, why)
		}
		job, err := backup.JobBuilder{Image: image, Images: r.images, Limits: r.limits, Version: r.version}.Job(look.Seen, look.View, s)
		if err != nil {
			return err
		}
		return r.tasks.Create(ctx, job)
	case backup.DeleteJob:
		return r.tasks.Remove(ctx, b.Namespace, s.Name, s.UID)
	case backup.CreateSnapshot:
		return r.takeSnapshot(ctx, look.View, s)
	case backup.DeleteSnapshot:
		return r.deleteSnapshot(ctx, b.Namespace, s)
	case backup.AddFinalizer:
		controllerutil.AddFinalizer(b, v1beta1.FinalizerBackup)
		return wrapped("add finalizer", r.client.Update(ctx, b, client.FieldOwner(v1beta1.FieldOwner)))
	case backup.Mark:
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, v1beta1.AnnotationUpload, s.Upload)
		return wrapped("mark EtcdBackup", r.client.Update(ctx, b, client.FieldOwner(v1beta1.FieldOwner)))
	case backup.RemoveFinalizer:
		controllerutil.RemoveFinalizer(b, v1beta1.FinalizerBackup)
		if err := r.client.Update(ctx, b, client.FieldOwner(v1beta1.FieldOwner)); err != nil {
			return wrapped("remove finalizer", client.IgnoreNotFound(err))
		}
		r.emit(b, backup.Events(b.Status, b.Status, step, nil))
	case backup.Record, backup.Wait, backup.Refuse, backup.Done:
	}
	return nil
}

func (r *EtcdBackupReconciler) report(ctx context.Context, look backupLook, step backup.Step, failed error) error {
	if _, removed := step.(backup.RemoveFinalizer); removed {
		return failed
	}
	b := look.Backup
	before := b.Status
	after := backup.Report(look.View, b.Generation, b.Annotations[v1beta1.AnnotationReason], step, failed)
	if b.Status = after; !equality.Semantic.DeepEqual(before, after) {
		if err := reportStatus(ctx, r.client, b); err != nil {
			return errors.Join(failed, err)
		}
	}
	r.emit(b, backup.Events(before, after, step, failed))
	return failed
}

func (r *EtcdBackupReconciler) emit(b *v1beta1.EtcdBackup, all []backup.Event) {
	for _, event := range all {
		r.events.Eventf(b, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
	}
}

// SetupWithManager watches EtcdBackups, their Jobs, and what they wait for.
func (r *EtcdBackupReconciler) SetupWithManager(manager ctrl.Manager) error {
	owners, done := jobclient.OwnersWhenDone(r.client, "EtcdBackup")
	return ctrl.NewControllerManagedBy(manager).For(&v1beta1.EtcdBackup{}).Owns(&batchv1.Job{}).
		Watches(&corev1.Pod{}, owners, done).
		Watches(&v1beta1.EtcdBackupStore{}, r.waiting()).
		Watches(&v1beta1.EtcdCluster{}, r.waiting()).
		Named("etcdbackup").WithOptions(options()).Complete(r)
}

// waiting finds the backups that may wait for a store or a cluster: those that have something left to do.
func (r *EtcdBackupReconciler) waiting() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		var all v1beta1.EtcdBackupList
		if err := r.client.List(ctx, &all, aboutOrBeside(object)...); err != nil {
			return nil
		}
		var requests []reconcile.Request
		for i := range all.Items {
			b := &all.Items[i]
			name := object.GetName()
			concerned := backup.ClusterName(b) == name || b.Spec.Store == name || b.Status.Store == name
			if concerned && (b.Status.Phase != v1beta1.BackupComplete || !b.DeletionTimestamp.IsZero()) {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
			}
		}
		return requests
	})
}
