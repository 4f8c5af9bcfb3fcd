// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/jobclient"
	"github.com/etcd-operator/etcd-operator/controllers/members"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/drill"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcddrills,verbs=get;list;watch;update
// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdclusters,verbs=create;delete
// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcddrills/status,verbs=update
// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcddrills/finalizers,verbs=update

// EtcdDrillReconciler reconciles EtcdDrills. Of an EtcdCluster it deletes the Pods and volumes that a drill is to disturb, and repairs
// nothing.
type EtcdDrillReconciler struct {
	client  client.Client
	tasks   *jobclient.Client
	image   *jobclient.OwnImage
	asked   members.Finder
	events  events.EventRecorder
	version string
	now     func() time.Time

	// installation is the Lease of this one: the reconciler of clusters writes down which installation manages each.
	installation string
}

// drillEvery is how often it is looked whether a cluster has recovered: the times of a drill are as exact as that.
const drillEvery = 500 * time.Millisecond

// drillLook is all that one look at an EtcdDrill has seen, and what it means.
type drillLook struct {
	drill.Seen
	drill.View
}

// Reconcile looks at one drill and takes one step.
func (r *EtcdDrillReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return reconcileOnce[drillLook, drill.Step](ctx, "etcddrill", r, request.NamespacedName)
}

func (r *EtcdDrillReconciler) plan(look drillLook) (drill.Step, string) { return drill.Next(look.View) }

func (r *EtcdDrillReconciler) again(look drillLook, step drill.Step) time.Duration {
	switch s := step.(type) {
	case drill.Wait:
		if s.Until.IsZero() {
			return drillEvery
		}
		return until(s.Until, look.View.Now)
	case drill.Disrupt, drill.CreateCluster, drill.DeleteCluster:
		return lookAgain
	case drill.Done:
		return 0
	case drill.Record, drill.Finish, drill.CreateJob, drill.DeleteJob, drill.RemoveFinalizer:
	}
	return immediately
}

func (r *EtcdDrillReconciler) observe(ctx context.Context, key types.NamespacedName) (drillLook, error) {
	d := &v1beta1.EtcdDrill{}
	if err := r.tasks.Live.Get(ctx, key, d); err != nil {
		return drillLook{}, gone("get EtcdDrill", err)
	}
	seen, err := r.see(ctx, d)
	return drillLook{seen, drill.Facts(seen)}, err
}

// see reads the cluster and its members; before the failure also what may have to be waited for, and all of that from the API server.
func (r *EtcdDrillReconciler) see(ctx context.Context, d *v1beta1.EtcdDrill) (drill.Seen, error) {
	seen := drill.Seen{Drill: d, Now: r.now()}
	if err := r.cluster(ctx, &seen); err != nil {
		return seen, err
	}
	if !d.HasEnded() && seen.Cluster != nil {
		if err := r.others(ctx, &seen); err != nil {
			return seen, err
		}
	}
	err := r.restored(ctx, &seen)
	if err != nil {
		return seen, err
	}
	if d.Status.Job != nil && drill.ReadsJob(d, seen.Now) {
		seen.Job, err = r.tasks.Observe(ctx, d, d.Status.Job.Name)
	}
	if seen.Cluster != nil && drill.NeedsLeader(seen) {
		seen.Leader = r.leader(ctx, seen.Cluster)
	}
	return seen, err
}

func (r *EtcdDrillReconciler) cluster(ctx context.Context, seen *drill.Seen) error {
	var c v1beta1.EtcdCluster
	err := r.tasks.Live.Get(ctx, client.ObjectKey{Namespace: seen.Drill.Namespace, Name: seen.Drill.Spec.Cluster}, &c)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("get EtcdCluster: %w", err)
	case c.Status.Operator != r.installation || facts.IsLeftAlone(&c) && c.DeletionTimestamp == nil:
		return errNotOwner
	}
	seen.Cluster, seen.Paused = &c, facts.Paused(&c)
	return nil
}

// others reads what belongs to the cluster. After the failure a cache is soon enough: what is deleted has its UID in the status.
func (r *EtcdDrillReconciler) others(ctx context.Context, seen *drill.Seen) error {
	var drills v1beta1.EtcdDrillList
	var backups v1beta1.EtcdBackupList
	var restores v1beta1.EtcdRestoreList
	var from client.Reader = r.client
	here := client.InNamespace(seen.Drill.Namespace)
	if seen.Drill.Status.StartedAt == nil {
		from = r.tasks.Live
	}
	parts, err := r.parts(ctx, from, seen.Cluster)
	if err != nil {
		return err
	}
	if seen.Drill.Status.StartedAt == nil {
		for _, list := range []client.ObjectList{&drills, &backups, &restores} {
			if err := from.List(ctx, list, here); err != nil {
				return fmt.Errorf("list %T: %w", list, err)
			}
		}
	}
	seen.Pods, seen.Claims = parts.Pods, parts.Claims
	seen.Drills, seen.Backups, seen.Restores = drills.Items, backups.Items, restores.Items
	return nil
}

// parts reads the Pods and volumes of members.
func (r *EtcdDrillReconciler) parts(ctx context.Context, from client.Reader, c *v1beta1.EtcdCluster) (drill.Parts, error) {
	var pods corev1.PodList
	var claims corev1.PersistentVolumeClaimList
	for _, list := range []client.ObjectList{&pods, &claims} {
		if err := from.List(ctx, list, client.InNamespace(c.Namespace), client.MatchingLabels(specs.MemberSelector(c))); err != nil {
			return drill.Parts{}, fmt.Errorf("list %T: %w", list, err)
		}
	}
	return drill.Parts{Pods: pods.Items, Claims: claims.Items}, nil
}

// leader is the member that leads, by the word of one that has just read with quorum. That none answers is a fact.
func (r *EtcdDrillReconciler) leader(ctx context.Context, c *v1beta1.EtcdCluster) string {
	_, id, err := members.FirstToAnswer(ctx, r.asked, c, func(member etcd.Client, ctx context.Context) (uint64, error) {
		if err := member.Read(ctx); err != nil {
			return 0, err
		}
		status, err := member.Status(ctx)
		return status.LeaderID, err
	})
	if err != nil || id == 0 {
		return ""
	}
	return strconv.FormatUint(id, 16)
}

func (r *EtcdDrillReconciler) report(ctx context.Context, look drillLook, step drill.Step, failed error) error {
	d := look.Drill
	if _, removed := step.(drill.RemoveFinalizer); removed { // the object may be gone
		return failed
	}
	before := d.Status
	after := drill.Report(look.View, d.Generation, step, failed)
	if d.Status = after; !equality.Semantic.DeepEqual(before, after) {
		if err := reportStatus(ctx, r.client, d); err != nil {
			return errors.Join(failed, err)
		}
	}
	for _, event := range drill.Events(before, after, step, failed) {
		r.events.Eventf(d, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
		if c := look.Seen.Cluster; c != nil && event.OfCluster {
			r.events.Eventf(c, d, event.Type, event.Reason, event.Action, "%s", event.Note)
		}
	}
	return failed
}

// SetupWithManager watches EtcdDrills, their Jobs, their clusters, and the drills and backups that they wait for.
func (r *EtcdDrillReconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).For(&v1beta1.EtcdDrill{}).Owns(&batchv1.Job{}).
		Watches(&v1beta1.EtcdCluster{}, r.concerned()).
		Watches(&v1beta1.EtcdDrill{}, r.concerned()).
		Watches(&v1beta1.EtcdBackup{}, r.concerned()).
		Named("etcddrill").WithOptions(options()).Complete(r)
}

// concerned finds the drills that have not ended and may wait for what has changed.
func (r *EtcdDrillReconciler) concerned() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		var all v1beta1.EtcdDrillList
		if err := r.client.List(ctx, &all, aboutOrBeside(object)...); err != nil {
			return nil
		}
		_, isCluster := object.(*v1beta1.EtcdCluster)
		var requests []reconcile.Request
		for i := range all.Items {
			d := &all.Items[i]
			if d.HasEnded() || isCluster && d.Spec.Cluster != object.GetName() || d.UID == object.GetUID() {
				continue
			}
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(d)})
		}
		return requests
	})
}
