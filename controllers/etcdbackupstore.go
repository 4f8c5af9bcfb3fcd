// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/jobclient"
	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/stores"
)

// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdbackupstores,verbs=get;list;watch
// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdbackupstores/status,verbs=update
// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdbackupstores/finalizers,verbs=update

// EtcdBackupStoreReconciler reconciles EtcdBackupStores.
type EtcdBackupStoreReconciler struct {
	client  client.Client
	tasks   *jobclient.Client
	image   *jobclient.OwnImage
	events  events.EventRecorder
	version string
	now     func() time.Time
	memory  sync.Map // remembered, by name of a store
}

// storeLook is all that one look at an EtcdBackupStore has seen.
type storeLook struct {
	stores.View
	image jobs.Image
}

// Reconcile looks at one store and takes one step.
func (r *EtcdBackupStoreReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return reconcileOnce[storeLook, stores.Step](ctx, "etcdbackupstore", r, request.NamespacedName)
}

func (r *EtcdBackupStoreReconciler) plan(look storeLook) (stores.Step, string) {
	return stores.Next(look.View)
}

// startsSoon is how often a Job that does not run is looked at: no watch of ours reports why.
const startsSoon = 5 * time.Second

func (r *EtcdBackupStoreReconciler) again(look storeLook, step stores.Step) time.Duration {
	wait, waits := step.(stores.Wait)
	switch {
	case !waits:
		return immediately
	case wait.Until.IsZero() && look.Job.Exists:
		return startsSoon
	default:
		return until(wait.Until, look.Now)
	}
}

func (r *EtcdBackupStoreReconciler) observe(ctx context.Context, key types.NamespacedName) (storeLook, error) {
	var store v1beta1.EtcdBackupStore
	if err := r.tasks.Live.Get(ctx, key, &store); err != nil {
		if apierrors.IsNotFound(err) {
			r.memory.Delete(key)
		}
		return storeLook{}, gone("get EtcdBackupStore", err)
	}
	view := storeLook{View: stores.View{Store: store, Now: r.now(), Memory: r.recall(&store)}}
	view.image, view.NoImage = r.image.Get(ctx)
	var err error
	if view.Sources, err = r.tasks.Sources(ctx, &store); err != nil {
		return view, err
	}
	if view.Job, err = r.tasks.Observe(ctx, &store, stores.JobName(&store)); err != nil {
		return view, err
	}
	var from client.Reader = r.client
	if view.Job.Ended {
		from = r.tasks.Live // a cache that is behind would have objects made twice
	}
	var all v1beta1.EtcdBackupList
	if err := from.List(ctx, &all, client.InNamespace(store.Namespace)); err != nil {
		return view, fmt.Errorf("list EtcdBackups: %w", err)
	}
	view.Backups = all.Items
	return view, nil
}

// act carries out a step. The status is written by report.
func (r *EtcdBackupStoreReconciler) act(ctx context.Context, look storeLook, step stores.Step) error {
	store := &look.Store
	switch s := step.(type) {
	case stores.CreateJob:
		order := jobspec.Order{
			Verb: jobspec.Check, Operator: r.version, Store: store.Spec,
			Check: &jobspec.CheckOrder{Write: s.Asked.Try, Sweep: s.Asked.Try, Memory: s.Memory, First: s.First},
		}
		job := jobs.Check(store, stores.JobName(store), order, look.image)
		return r.tasks.Create(ctx, jobs.MadeFor(job, s.Asked.Encode()))
	case stores.DeleteJob:
		return r.tasks.Remove(ctx, store.Namespace, stores.JobName(store), s.UID)
	case stores.Record:
		if s.Memory != nil {
			r.memory.Store(client.ObjectKeyFromObject(store), remembered{store.UID, store.Generation, s.Memory})
		}
		return r.apply(ctx, s)
	case stores.Wait:
	}
	return nil
}

// remembered is what a Job has said of foreign objects in a store. It is not written down: a process that does not have it
// looks at them once more, some at each look.
type remembered struct {
	store      types.UID
	generation int64
	memory     archive.Memory
}

// recall is the memory of a store, if it is about the place that the spec names.
func (r *EtcdBackupStoreReconciler) recall(store *v1beta1.EtcdBackupStore) archive.Memory {
	if value, has := r.memory.Load(client.ObjectKeyFromObject(store)); has {
		if m, is := value.(remembered); is && m.store == store.UID && m.generation == store.Generation {
			return m.memory
		}
	}
	return nil
}

// apply makes the EtcdBackups of a store what lies in it.
func (r *EtcdBackupStoreReconciler) apply(ctx context.Context, s stores.Record) error {
	for i := range s.Create {
		// If something else has taken the name since, the next look chooses another one.
		if err := r.client.Create(ctx, &s.Create[i], client.FieldOwner(v1beta1.FieldOwner)); err != nil {
			return fmt.Errorf("create EtcdBackup %s: %w", s.Create[i].Name, err)
		}
	}
	for i := range s.Update {
		if err := r.client.Update(ctx, &s.Update[i], client.FieldOwner(v1beta1.FieldOwner)); err != nil {
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

// report writes the status if it has changed, and emits an event if the store became usable, or no longer is.
func (r *EtcdBackupStoreReconciler) report(ctx context.Context, look storeLook, step stores.Step, failed error) error {
	store := &look.Store
	status, has := statusOf(step)
	if failed != nil {
		return failed
	}
	if !has || equality.Semantic.DeepEqual(store.Status, status) {
		return nil
	}
	before := meta.FindStatusCondition(store.Status.Conditions, v1beta1.ConditionReady)
	store.Status = status
	if err := reportStatus(ctx, r.client, store); err != nil {
		return err
	}
	after := meta.FindStatusCondition(status.Conditions, v1beta1.ConditionReady)
	if after == nil || before != nil && before.Reason == after.Reason && before.Status == after.Status {
		return nil
	}
	kind := corev1.EventTypeNormal
	if after.Status == metav1.ConditionFalse {
		kind = corev1.EventTypeWarning
	}
	r.events.Eventf(store, nil, kind, after.Reason, "Check", "%s", stores.Note(after.Message))
	return nil
}

// statusOf is the status that a step wants, if it wants one.
func statusOf(step stores.Step) (v1beta1.EtcdBackupStoreStatus, bool) {
	switch s := step.(type) {
	case stores.Record:
		return s.Status, true
	case stores.Wait:
		return s.Status, true
	case stores.CreateJob, stores.DeleteJob:
	}
	return v1beta1.EtcdBackupStoreStatus{}, false
}

// SetupWithManager watches EtcdBackupStores, the Jobs that look at them, and the backups in them.
func (r *EtcdBackupStoreReconciler) SetupWithManager(manager ctrl.Manager) error {
	owners, done := jobclient.OwnersWhenDone(r.client, "EtcdBackupStore")
	return ctrl.NewControllerManagedBy(manager).For(&v1beta1.EtcdBackupStore{}).Owns(&batchv1.Job{}).
		Watches(&corev1.Pod{}, owners, done).
		Watches(&v1beta1.EtcdBackup{}, toStores(), builder.WithPredicates(usesStore())).
		Named("etcdbackupstore").WithOptions(options()).Complete(r)
}

// toStores finds the stores that a backup is about.
func toStores() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		b, is := object.(*v1beta1.EtcdBackup)
		if !is {
			return nil
		}
		var requests []reconcile.Request
		for _, name := range slices.Compact([]string{b.Spec.Store, b.Status.Store}) {
			if name != "" {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: b.Namespace, Name: name}})
			}
		}
		return requests
	})
}

// usesStore drops the events of a backup after which its store has nothing else in it: how far a Job is, for instance.
func usesStore() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, was := e.ObjectOld.(*v1beta1.EtcdBackup)
		after, is := e.ObjectNew.(*v1beta1.EtcdBackup)
		if !was || !is {
			return false
		}
		complete := func(b *v1beta1.EtcdBackup) bool {
			return meta.IsStatusConditionTrue(b.Status.Conditions, v1beta1.ConditionComplete)
		}
		return complete(before) != complete(after) || (before.Status.Job == nil) != (after.Status.Job == nil)
	}}
}
