package controllers

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/backupstore"
	"github.com/etcd-operator/etcd-operator/internal/jobs"
	"github.com/etcd-operator/etcd-operator/internal/task"
)

// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdbackupstores,verbs=get;list;watch
// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdbackupstores/status,verbs=get;update
// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdbackupstores/finalizers,verbs=update

// EtcdBackupStore reconciles EtcdBackupStores.
type EtcdBackupStore struct {
	client  client.Client
	tasks   *tasks
	image   *ownImage
	events  events.EventRecorder
	version string
	now     func() time.Time
}

// Reconcile looks at one store and takes one step.
func (r *EtcdBackupStore) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var store v1alpha1.EtcdBackupStore
	if err := r.tasks.live.Get(ctx, request.NamespacedName, &store); err != nil {
		return ctrl.Result{}, wrapped("get EtcdBackupStore", client.IgnoreNotFound(err))
	}
	image, view, err := r.observe(ctx, store)
	if err != nil {
		return ctrl.Result{}, err
	}
	step := backupstore.Next(view)
	log.FromContext(ctx).V(1).Info("planned " + step.String())
	switch s := step.(type) {
	case backupstore.CreateJob:
		order := task.Order{Verb: task.Check, Operator: r.version, Store: jobs.Store(store.Spec, time.Time{}), Check: &s.Order}
		return ctrl.Result{}, r.tasks.create(ctx, jobs.Check(&store, backupstore.JobName(&store), order, image))
	case backupstore.DeleteJob:
		return ctrl.Result{}, r.tasks.remove(ctx, store.Namespace, backupstore.JobName(&store), s.UID)
	case backupstore.Record:
		if err := r.apply(ctx, s); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{RequeueAfter: time.Millisecond}, r.report(ctx, &store, s.Status)
	case backupstore.Wait:
		return r.until(s.Until, view), r.report(ctx, &store, s.Status)
	}
	return ctrl.Result{}, nil
}

// until looks again while a Job's Pod does not run: no watch tells of the log.
func (r *EtcdBackupStore) until(due time.Time, view backupstore.View) ctrl.Result {
	switch {
	case !due.IsZero():
		return ctrl.Result{RequeueAfter: max(due.Sub(view.Now), time.Millisecond)}
	case view.Job.Exists:
		return ctrl.Result{RequeueAfter: 5 * time.Second}
	}
	return ctrl.Result{}
}

func (r *EtcdBackupStore) observe(ctx context.Context, store v1alpha1.EtcdBackupStore) (jobs.Image, backupstore.View, error) {
	view := backupstore.View{Store: store, Now: r.now()}
	var image jobs.Image
	image, view.NoImage = r.image.get(ctx)
	job, err := r.tasks.find(ctx, store.Namespace, backupstore.JobName(&store))
	if err != nil || job == nil {
		return image, view, err
	}
	view.Job = backupstore.Job{Exists: true, UID: string(job.UID), Deleting: !job.DeletionTimestamp.IsZero()}
	o, err := r.tasks.look(ctx, job)
	if err != nil {
		return image, view, err
	}
	view.Job.Ended, view.Job.Lines, view.Job.Trouble = o.Ended, o.Lines, o.Trouble
	if !o.Ended {
		return image, view, nil
	}
	var all v1alpha1.EtcdBackupList
	if err := r.tasks.live.List(ctx, &all, client.InNamespace(store.Namespace)); err != nil {
		return image, view, fmt.Errorf("list EtcdBackups: %w", err)
	}
	view.Backups = all.Items
	return image, view, nil
}

// apply makes the EtcdBackups of a store what lies in it.
func (r *EtcdBackupStore) apply(ctx context.Context, s backupstore.Record) error {
	for i := range s.Create {
		err := r.client.Create(ctx, &s.Create[i], client.FieldOwner(v1alpha1.FieldOwner))
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create EtcdBackup %s: %w", s.Create[i].Name, err)
		}
	}
	for i := range s.Update {
		if err := r.client.Update(ctx, &s.Update[i], client.FieldOwner(v1alpha1.FieldOwner)); err != nil {
			return fmt.Errorf("update EtcdBackup %s: %w", s.Update[i].Name, err)
		}
	}
	for i := range s.Delete {
		if err := r.client.Delete(ctx, &s.Delete[i], client.Preconditions{UID: &s.Delete[i].UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete EtcdBackup %s: %w", s.Delete[i].Name, err)
		}
	}
	return nil
}

// report writes the status if it has changed, and tells of a store that became usable, or is no longer.
func (r *EtcdBackupStore) report(ctx context.Context, store *v1alpha1.EtcdBackupStore, status v1alpha1.EtcdBackupStoreStatus) error {
	if equality.Semantic.DeepEqual(store.Status, status) {
		return nil
	}
	before := meta.FindStatusCondition(store.Status.Conditions, v1alpha1.ConditionReady)
	store.Status = status
	if err := r.client.Status().Update(ctx, store, client.FieldOwner(v1alpha1.FieldOwner)); err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	after := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if after == nil || before != nil && before.Reason == after.Reason && before.Status == after.Status {
		return nil
	}
	kind := "Normal"
	if after.Status == metav1.ConditionFalse {
		kind = "Warning"
	}
	r.events.Eventf(store, nil, kind, after.Reason, "Check", "%s", after.Message)
	return nil
}

// SetupWithManager watches EtcdBackupStores and the Jobs that look at them.
func (r *EtcdBackupStore) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).For(&v1alpha1.EtcdBackupStore{}).Owns(&batchv1.Job{}).
		Named("etcdbackupstore").WithOptions(options()).Complete(r)
}
