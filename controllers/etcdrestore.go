// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/jobclient"
	"github.com/etcd-operator/etcd-operator/controllers/members"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/cluster/limits"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/restore"
)

// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdrestores,verbs=get;list;watch
// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdrestores/status,verbs=update
// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdrestores/finalizers,verbs=update

// EtcdRestoreReconciler reconciles EtcdRestores. Of an EtcdCluster it writes what is to be restored, once it is confirmed, and nothing
// else.
type EtcdRestoreReconciler struct {
	client client.Client
	tasks  *jobclient.Client
	asked  members.Finder
	events events.EventRecorder
	now    func() time.Time

	// installation is the Lease of this one: the reconciler of clusters writes down which installation manages each.
	installation string
	limits       limits.Limits
	targets      targetFinder
}

// Reconcile looks at one restore and takes one step.
func (r *EtcdRestoreReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return reconcileOnce[restore.View, restore.Step](ctx, "etcdrestore", r, request.NamespacedName)
}

func (r *EtcdRestoreReconciler) plan(view restore.View) (restore.Step, string) {
	return restore.Next(view)
}

func (r *EtcdRestoreReconciler) again(view restore.View, step restore.Step) time.Duration {
	switch s := step.(type) {
	case restore.Wait:
		if view.Search.Exists && !view.Search.Ended || view.Task.Exists && !view.Task.Ended {
			return progressEvery
		}
		return until(s.Until, view.Now)
	case restore.Done:
		return 0
	case restore.BackUp, restore.Rescue, restore.FindTarget, restore.DropSearch, restore.StartTask, restore.DropTask:
		return lookAgain
	case restore.Record, restore.Begin:
	}
	return immediately
}

func (r *EtcdRestoreReconciler) observe(ctx context.Context, key types.NamespacedName) (restore.View, error) {
	er := &v1beta1.EtcdRestore{}
	view := restore.View{Restore: er, Now: r.now()}
	if err := r.tasks.Live.Get(ctx, key, er); err != nil {
		return view, gone("get EtcdRestore", err)
	}
	var backups v1beta1.EtcdBackupList
	var others v1beta1.EtcdRestoreList
	for _, list := range []client.ObjectList{&backups, &others} {
		if err := r.client.List(ctx, list, client.InNamespace(er.Namespace)); err != nil {
			return view, fmt.Errorf("list %T: %w", list, err)
		}
	}
	view.Backups = backups.Items
	view.Others = slices.DeleteFunc(others.Items, func(o v1beta1.EtcdRestore) bool {
		return o.Spec.Cluster != er.Spec.Cluster || o.UID == er.UID
	})
	if err := errors.Join(r.cluster(ctx, &view), r.store(ctx, &view), r.search(ctx, &view)); err != nil {
		return view, err
	}
	if restore.NeedsRevision(view) {
		r.revision(ctx, &view)
	}
	if c := view.Cluster; c != nil && c.Status.Operator != r.installation {
		return view, errNotOwner
	}
	return view, nil
}

// revision asks etcd which revision it has, by a read that needs a quorum: what the status of the cluster says may be minutes old. That
// none answers is a fact.
func (r *EtcdRestoreReconciler) revision(ctx context.Context, view *restore.View) {
	member, revision, err := members.FirstToAnswer(ctx, r.asked, view.Cluster, etcd.Client.Revision)
	switch {
	case err != nil:
		view.Unasked = shortened(err.Error())
	case member == nil:
		view.Unasked = "no member runs"
	default:
		view.Revision = revision
	}
}

// longestAnswer is how much of an error of etcd is reported.
const longestAnswer = 200

func shortened(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > longestAnswer {
		return string(runes[:longestAnswer]) + "…"
	}
	return text
}

// cluster reads from the API server what the plan of a restore is made of.
func (r *EtcdRestoreReconciler) cluster(ctx context.Context, view *restore.View) error {
	var c v1beta1.EtcdCluster
	err := r.tasks.Live.Get(ctx, client.ObjectKey{Namespace: view.Restore.Namespace, Name: view.Restore.Spec.Cluster}, &c)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get EtcdCluster: %w", err)
	}
	view.Cluster, view.Paused, view.Forbidden = &c, facts.Paused(&c), r.limits.Forbidden(&c)
	if view.Restore.Spec.IsPartial() || !restore.MayBegin(view.Restore) {
		return nil
	}
	var all corev1.PersistentVolumeClaimList
	if err := r.tasks.Live.List(ctx, &all, client.InNamespace(c.Namespace)); err != nil {
		return fmt.Errorf("list volumes: %w", err)
	}
	for i := range all.Items {
		claim := &all.Items[i]
		if cluster.Serial(c.Name, claim.Name) < 0 {
			continue
		}
		view.Volumes = append(view.Volumes, restore.Volume{
			Name: claim.Name, Quarantined: claim.Labels[v1beta1.LabelQuarantined] != "", Foreign: specs.Foreign(&c, claim) != "",
		})
	}
	slices.SortFunc(view.Volumes, func(a, b restore.Volume) int {
		return cluster.Serial(c.Name, a.Name) - cluster.Serial(c.Name, b.Name)
	})
	return nil
}

func (r *EtcdRestoreReconciler) store(ctx context.Context, view *restore.View) error {
	name := view.Restore.Spec.Store
	if name == "" && (view.Restore.Spec.Target != nil || view.Restore.Spec.IsPartial()) {
		name = storeOf(view.Backups, view.Restore.Spec.Backup)
	}
	if name == "" {
		return nil
	}
	var store v1beta1.EtcdBackupStore
	err := r.client.Get(ctx, client.ObjectKey{Namespace: view.Restore.Namespace, Name: name}, &store)
	if apierrors.IsNotFound(err) {
		return nil
	}
	view.Store = &store
	return wrapped("get EtcdBackupStore", err)
}

// act carries out a step. The status of the EtcdRestore is written by report.
func (r *EtcdRestoreReconciler) act(ctx context.Context, view restore.View, step restore.Step) error {
	switch s := step.(type) {
	case restore.BackUp:
		return r.backUp(ctx, view, s)
	case restore.Rescue:
		return r.rescue(ctx, view, s)
	case restore.Begin:
		return r.begin(ctx, view, s)
	case restore.FindTarget:
		return r.findTarget(ctx, view, s)
	case restore.DropSearch:
		return r.targets.drop(ctx, view.Restore, restoreKind, s)
	case restore.StartTask:
		return r.startTask(ctx, view, s)
	case restore.DropTask:
		return r.dropTask(ctx, view, s)
	case restore.Record, restore.Wait, restore.Done:
	}
	return nil
}

func (r *EtcdRestoreReconciler) report(ctx context.Context, view restore.View, step restore.Step, failed error) error {
	before := view.Restore.Status.Phase
	switch s := step.(type) {
	case restore.Record:
		if err := r.write(ctx, view.Restore, s.Status); err != nil {
			return err
		}
		r.emit(view.Restore, s.Event, s.What)
	case restore.Wait:
		if err := r.write(ctx, view.Restore, s.Status); err != nil || s.Status.Phase == before {
			return err
		}
		r.emit(view.Restore, "Restore"+string(s.Status.Phase), s.Status.Message)
	case restore.BackUp, restore.Rescue, restore.Begin, restore.FindTarget, restore.DropSearch, restore.StartTask, restore.DropTask,
		restore.Done:
	}
	return failed
}

// backUp creates the safety backup. It stays when the restore is deleted: it may be all that is left of the data.
func (r *EtcdRestoreReconciler) backUp(ctx context.Context, view restore.View, s restore.BackUp) error {
	if err := r.tasks.Leading(ctx); err != nil {
		return err
	}
	b := &v1beta1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: view.Restore.Namespace, Annotations: map[string]string{
			v1beta1.AnnotationReason: "restore", v1beta1.AnnotationRestore: string(view.Restore.UID), v1beta1.AnnotationPreview: s.Preview,
		}},
		Spec: v1beta1.EtcdBackupSpec{
			Cluster: view.Cluster.Name, Store: s.Store, VolumeSnapshot: s.Snapshot, DeletionPolicy: v1beta1.RetainBackup,
		},
	}
	if len(s.Recipients) > 0 {
		b.Spec.Encryption, b.Spec.Decryption = &v1beta1.BackupEncryption{Recipients: s.Recipients}, view.Restore.Spec.Decryption
	}
	err := r.client.Create(ctx, b, client.FieldOwner(v1beta1.FieldOwner))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create EtcdBackup %s: %w", s.Name, err)
	}
	return nil
}

// rescue creates backups of the volumes of old members. They stay, as a safety backup does.
func (r *EtcdRestoreReconciler) rescue(ctx context.Context, view restore.View, s restore.Rescue) error {
	if err := r.tasks.Leading(ctx); err != nil {
		return err
	}
	for name, volume := range s.Volumes {
		b := &v1beta1.EtcdBackup{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: view.Restore.Namespace, Annotations: map[string]string{
				v1beta1.AnnotationReason: "undo", v1beta1.AnnotationRestore: string(view.Restore.UID),
			}},
			Spec: v1beta1.EtcdBackupSpec{
				Cluster: view.Cluster.Name, Volume: volume, Store: s.Store, Verify: ptr.To(false), DeletionPolicy: v1beta1.RetainBackup,
			},
		}
		if len(s.Recipients) > 0 {
			b.Spec.Encryption = &v1beta1.BackupEncryption{Recipients: s.Recipients}
		}
		err := r.client.Create(ctx, b, client.FieldOwner(v1beta1.FieldOwner))
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create EtcdBackup %s: %w", name, err)
		}
	}
	return nil
}

// begin writes the plan into the status of the cluster. The API server refuses it if the cluster has changed since it was read, so
// that of two restores one begins.
func (r *EtcdRestoreReconciler) begin(ctx context.Context, view restore.View, s restore.Begin) error {
	if err := r.tasks.Leading(ctx); err != nil {
		return err
	}
	c := view.Cluster
	c.Status.Restore = &s.Plan
	c.Status.NextSerial = max(c.Status.NextSerial, s.NextSerial)
	if c.IsRestoring() {
		c.Status.Format = max(c.Status.Format, restore.FormatOf(s.Plan))
	}
	if err := writeStatus(ctx, r.client, c); err != nil {
		return err
	}
	r.events.Eventf(c, view.Restore, corev1.EventTypeNormal, "RestorePlanned", "Restore", "%s", s.What)
	return nil
}

func (r *EtcdRestoreReconciler) write(ctx context.Context, er *v1beta1.EtcdRestore, status v1beta1.EtcdRestoreStatus) error {
	if equality.Semantic.DeepEqual(er.Status, status) {
		return nil
	}
	er.Status = status
	return reportStatus(ctx, r.client, er)
}

func (r *EtcdRestoreReconciler) emit(er *v1beta1.EtcdRestore, event, what string) {
	r.events.Eventf(er, nil, corev1.EventTypeNormal, event, "Restore", "%s", what)
}

// SetupWithManager watches EtcdRestores, their Jobs and clusters, and the backups that they restore or wait for.
func (r *EtcdRestoreReconciler) SetupWithManager(manager ctrl.Manager) error {
	owners, done := jobclient.OwnersWhenDone(r.client, restoreKind)
	return ctrl.NewControllerManagedBy(manager).For(&v1beta1.EtcdRestore{}).Owns(&batchv1.Job{}).
		Watches(&corev1.Pod{}, owners, done).
		Watches(&v1beta1.EtcdCluster{}, r.concerned()).
		Watches(&v1beta1.EtcdBackup{}, r.concerned()).
		Watches(&v1beta1.EtcdRestore{}, r.concerned()).
		Named("etcdrestore").WithOptions(options()).Complete(r)
}

// concerned finds the restores that have not ended and may wait for what has changed.
func (r *EtcdRestoreReconciler) concerned() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		var all v1beta1.EtcdRestoreList
		if err := r.client.List(ctx, &all, aboutOrBeside(object)...); err != nil {
			return nil
		}
		_, isCluster := object.(*v1beta1.EtcdCluster)
		var requests []reconcile.Request
		for i := range all.Items {
			er := &all.Items[i]
			ended := er.Status.Phase == v1beta1.RestoreUndone || er.Status.Phase == v1beta1.RestoreComplete && !er.Spec.Undo
			if ended || isCluster && er.Spec.Cluster != object.GetName() || er.UID == object.GetUID() {
				continue
			}
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(er)})
		}
		return requests
	})
}
