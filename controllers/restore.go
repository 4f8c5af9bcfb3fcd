package controllers

import (
	"cmp"
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/cluster/limits"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
	"github.com/etcd-operator/etcd-operator/internal/restore"
	"github.com/etcd-operator/etcd-operator/internal/restore/datadir"
)

// VolumeRestoreReconciler fills the volumes of clusters that begin with a backup, or are brought back to one. It writes status.restore
// and nothing else of an EtcdCluster.
type VolumeRestoreReconciler struct {
	client  client.Client
	tasks   *tasks
	image   *ownImage
	events  events.EventRecorder
	version string

	// installation is the Lease of this one: the reconciler of clusters writes down which installation looks after each.
	installation string
	limits       limits.Limits
	now          func() time.Time
}

// Reconcile looks at one cluster and takes one step towards volumes with the data.
func (r *VolumeRestoreReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var c v1alpha1.EtcdCluster
	if err := r.client.Get(ctx, request.NamespacedName, &c); err != nil {
		return ctrl.Result{}, wrapped("get EtcdCluster", client.IgnoreNotFound(err))
	}
	if !isOver(&c) {
		if err := r.tasks.live.Get(ctx, request.NamespacedName, &c); err != nil {
			return ctrl.Result{}, wrapped("get EtcdCluster", client.IgnoreNotFound(err))
		}
	}
	if isOver(&c) || !r.isOurs(&c) {
		return ctrl.Result{}, nil
	}
	image, view, err := r.observe(ctx, &c)
	if err != nil {
		return ctrl.Result{}, err
	}
	step, rule := restore.NextOfVolumes(view)
	log.FromContext(ctx).V(1).Info("planned "+step.String(), "rule", rule)
	result, err := r.act(ctx, view, image, step)
	if words := denial(err); words != "" {
		return r.refused(ctx, view, step, words)
	}
	return result, err
}

// isOver says whether there is nothing to restore, or no longer.
func isOver(c *v1alpha1.EtcdCluster) bool {
	s := c.Status.Restore
	return facts.IsLeftAlone(c) || s == nil && !restore.IsWanted(c) || s != nil && s.CompletedAt != nil
}

// isOurs says whether this installation looks after the cluster, and has written down that volumes are being filled: an operator
// that knows nothing of restores leaves the cluster alone from then on. If not, a change of the status comes.
func (r *VolumeRestoreReconciler) isOurs(c *v1alpha1.EtcdCluster) bool {
	told := c.Status.Format >= v1alpha1.FormatRestoring || c.Status.Bootstrap != nil || c.Status.ClusterID != ""
	return told && c.Status.Operator == r.installation
}

func (r *VolumeRestoreReconciler) act(
	ctx context.Context, view restore.VolumesView, image jobs.Image, step restore.VolumesStep,
) (ctrl.Result, error) {
	c := view.Cluster
	again := ctrl.Result{RequeueAfter: time.Millisecond}
	switch s := step.(type) {
	case restore.VolumesRecord:
		return again, r.report(ctx, c, s.Status, s)
	case restore.CreateVolumes:
		for _, member := range s.Members {
			err := r.client.Create(ctx, restore.NewVolume(c, member), client.FieldOwner(v1alpha1.FieldOwner))
			if err != nil && !apierrors.IsAlreadyExists(err) {
				return again, fmt.Errorf("create volume %s: %w", member, err)
			}
		}
	case restore.CreateJobs:
		for _, member := range s.Members {
			job := jobs.Restore(c, view.Store, member, r.order(view, member), image)
			claim := view.Claims[member]
			if err := r.tasks.create(ctx, jobs.ForVolume(job, string(claim.UID))); err != nil {
				return again, err
			}
		}
	case restore.MarkVolume:
		return again, r.mark(ctx, view.Claims[s.Member], s.ClusterID)
	case restore.DeleteJob:
		return again, r.tasks.remove(ctx, c.Namespace, jobs.RestoreName(s.Member), s.UID)
	case restore.VolumesWait:
		return r.until(s.Until, view), r.report(ctx, c, s.Status, restore.VolumesRecord{})
	case restore.VolumesDone:
		return ctrl.Result{}, nil
	}
	return again, nil
}

// refused says in the status what Kubernetes does not let the operator do.
func (r *VolumeRestoreReconciler) refused(
	ctx context.Context, view restore.VolumesView, step restore.VolumesStep, words string,
) (ctrl.Result, error) {
	problem := fmt.Sprintf("Kubernetes refuses to %s: %s; allow it; the operator tries again within a minute", step, words)
	return ctrl.Result{RequeueAfter: retryRefused}, r.report(ctx, view.Cluster, restore.Refused(view, problem), restore.VolumesRecord{})
}

// retryRefused is how long what Kubernetes has refused is left alone.
const retryRefused = 30 * time.Second

// until looks again when a Job's log may say more, or when a pause is over.
func (r *VolumeRestoreReconciler) until(due time.Time, view restore.VolumesView) ctrl.Result {
	switch {
	case !due.IsZero():
		return ctrl.Result{RequeueAfter: max(due.Sub(view.Now), time.Millisecond)}
	case len(view.Jobs) > 0:
		return ctrl.Result{RequeueAfter: progressEvery}
	}
	return ctrl.Result{RequeueAfter: 10 * time.Second} // volumes that are in the way have no watch of ours
}

func (r *VolumeRestoreReconciler) order(view restore.VolumesView, member string) jobspec.Order {
	c, s := view.Cluster, view.Cluster.Status.Restore
	return jobspec.Order{
		Verb: jobspec.Restore, Operator: r.version, Store: jobs.Store(view.Store.Spec, time.Time{}),
		Restore: &jobspec.RestoreOrder{
			Path: s.Path, ManifestSHA256: s.ManifestSHA256, Verified: s.Verified, Identities: s.Decryption != "",
			DataDirectory: specs.DataDirectory, Member: member, InitialCluster: peers(c), Token: restore.Token(c), Minor: version.MinorOf(s.Version),
			Bump: cmp.Or(s.Bump, datadir.Bump(s.Revision, 0)), // never without: revisions would come again
		},
	}
}

// mark writes on a volume whose data it has. The cluster adopts it by that, and a second Job never fills it again.
func (r *VolumeRestoreReconciler) mark(ctx context.Context, claim corev1.PersistentVolumeClaim, id string) error {
	before := client.MergeFromWithOptions(claim.DeepCopy(), client.MergeFromWithOptimisticLock{})
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, v1alpha1.AnnotationClusterID, id)
	return wrapped("mark volume "+claim.Name, r.client.Patch(ctx, &claim, before, client.FieldOwner(v1alpha1.FieldOwner)))
}

func (r *VolumeRestoreReconciler) report(
	ctx context.Context, c *v1alpha1.EtcdCluster, status v1alpha1.RestoreStatus, said restore.VolumesRecord,
) error {
	if c.Status.Restore == nil || !equality.Semantic.DeepEqual(*c.Status.Restore, status) {
		c.Status.Restore = &status
		if err := r.client.Status().Update(ctx, c, client.FieldOwner(v1alpha1.FieldOwner)); err != nil {
			return wrapped("write status", client.IgnoreNotFound(err))
		}
	}
	if said.Event != "" {
		r.events.Eventf(c, nil, corev1.EventTypeNormal, said.Event, "Restore", "%s", said.What)
	}
	return nil
}

// SetupWithManager watches EtcdClusters, the Jobs that fill their volumes, the backups that they may wait for, and the EtcdRestores that
// may be deleted.
func (r *VolumeRestoreReconciler) SetupWithManager(manager ctrl.Manager) error {
	owners, done := ownersWhenDone(r.client, "EtcdCluster")
	return ctrl.NewControllerManagedBy(manager).For(&v1alpha1.EtcdCluster{}).Owns(&batchv1.Job{}).
		Watches(&corev1.Pod{}, owners, done).
		Watches(&v1alpha1.EtcdBackup{}, r.waiting()).
		Watches(&v1alpha1.EtcdRestore{}, handler.EnqueueRequestsFromMapFunc(asked)).
		Named("restore").WithOptions(options()).Complete(r)
}

// asked finds the cluster of an EtcdRestore.
func asked(_ context.Context, object client.Object) []reconcile.Request {
	er, is := object.(*v1alpha1.EtcdRestore)
	if !is {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: er.Namespace, Name: er.Spec.Cluster}}}
}

// waiting finds the clusters that wait for a backup.
func (r *VolumeRestoreReconciler) waiting() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		var all v1alpha1.EtcdClusterList
		if err := r.client.List(ctx, &all, client.InNamespace(object.GetNamespace())); err != nil {
			return nil
		}
		var requests []reconcile.Request
		for i := range all.Items {
			if c := &all.Items[i]; restore.IsWanted(c) && (c.Status.Restore == nil || c.Status.Restore.Path == "") {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(c)})
			}
		}
		return requests
	})
}
