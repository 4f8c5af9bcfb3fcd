// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

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
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/jobclient"
	"github.com/etcd-operator/etcd-operator/controllers/members"
	"github.com/etcd-operator/etcd-operator/internal/backup"
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
	tasks   *jobclient.Client
	asked   members.Finder
	image   *jobclient.OwnImage
	events  events.EventRecorder
	version string

	// installation is the Lease of this one: the reconciler of clusters writes down which installation manages each.
	installation string
	images       specs.Images
	limits       limits.Limits
	now          func() time.Time
	targets      targetFinder
}

// volumesLook is all that one look at a cluster whose volumes are filled has seen.
type volumesLook struct {
	restore.VolumesView
	image jobs.Image
}

// Reconcile looks at one cluster and takes one step towards volumes with the data.
func (r *VolumeRestoreReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return reconcileOnce[volumesLook, restore.VolumesStep](ctx, "restore", r, request.NamespacedName)
}

func (r *VolumeRestoreReconciler) plan(look volumesLook) (restore.VolumesStep, string) {
	return restore.NextOfVolumes(look.VolumesView)
}

// volumesEvery is how often volumes are looked at that block a name: they have no watch of ours.
const volumesEvery = 10 * time.Second

func (r *VolumeRestoreReconciler) again(look volumesLook, step restore.VolumesStep) time.Duration {
	wait, waits := step.(restore.VolumesWait)
	_, done := step.(restore.VolumesDone)
	switch {
	case done:
		return 0
	case !waits:
		return immediately
	case !wait.Until.IsZero():
		return until(wait.Until, look.Now)
	case len(look.Jobs) > 0 || look.Search.Exists:
		return progressEvery
	default:
		return volumesEvery
	}
}

// isOver says whether there is nothing to restore, or no longer.
func isOver(c *v1beta1.EtcdCluster) bool {
	s := c.Status.Restore
	return facts.IsLeftAlone(c) || s == nil && !restore.IsWanted(c) || s != nil && s.CompletedAt != nil
}

// isOurs says whether this installation manages the cluster, and has written down that volumes are being filled: an operator
// that knows nothing of restores leaves the cluster alone from then on. If not, a change of the status comes.
func (r *VolumeRestoreReconciler) isOurs(c *v1beta1.EtcdCluster) bool {
	recorded := c.Status.Format >= v1beta1.FormatRestoring || c.Status.Bootstrap != nil || c.Status.ClusterID != ""
	return recorded && c.Status.Operator == r.installation
}

// act carries out a step. The status is written by report.
func (r *VolumeRestoreReconciler) act(ctx context.Context, look volumesLook, step restore.VolumesStep) error {
	c := look.Cluster
	switch s := step.(type) {
	case restore.CreateVolumes:
		return forEach(s.Members, func(member string) error {
			err := r.client.Create(ctx, restore.NewVolume(c, member), client.FieldOwner(v1beta1.FieldOwner))
			if err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("create volume %s: %w", member, err)
			}
			return nil
		})
	case restore.CreateJobs:
		return forEach(s.Members, func(member string) error {
			claim := look.Claims[member]
			return r.tasks.Create(ctx, jobs.MadeFor(r.job(look, member), string(claim.UID)))
		})
	case restore.MarkVolumes:
		return forEach(s.Members, func(member string) error { return r.mark(ctx, look.Claims[member], s.ClusterID) })
	case restore.DeleteJob:
		return r.tasks.Remove(ctx, c.Namespace, jobs.RestoreName(s.Member), s.UID)
	case restore.FindTarget:
		return r.targets.create(ctx, c, clusterKind, c, look.Store, s, look.image)
	case restore.DropSearch:
		return r.targets.drop(ctx, c, clusterKind, s)
	case restore.VolumesRecord, restore.VolumesWait, restore.VolumesDone:
	}
	return nil
}

// forEach ends with the first error.
func forEach(members []string, do func(string) error) error {
	for _, member := range members {
		if err := do(member); err != nil {
			return err
		}
	}
	return nil
}

// report writes status.restore, and what Kubernetes does not let the operator do.
func (r *VolumeRestoreReconciler) report(ctx context.Context, look volumesLook, step restore.VolumesStep, failed error) error {
	if words := denial(failed); words != "" {
		problem := fmt.Sprintf("Kubernetes refuses to %s: %s; allow it; the operator tries again within a minute", step, words)
		return cmp.Or(r.write(ctx, look.Cluster, restore.Refused(look.VolumesView, problem)), errRefused)
	}
	switch s := step.(type) {
	case restore.VolumesRecord:
		if err := r.write(ctx, look.Cluster, s.Status); err != nil || s.Event == "" {
			return err
		}
		r.events.Eventf(look.Cluster, nil, corev1.EventTypeNormal, s.Event, "Restore", "%s", s.What)
	case restore.VolumesWait:
		return r.write(ctx, look.Cluster, s.Status)
	case restore.CreateVolumes, restore.CreateJobs, restore.MarkVolumes, restore.DeleteJob, restore.FindTarget, restore.DropSearch,
		restore.VolumesDone:
	}
	return failed
}

func (r *VolumeRestoreReconciler) write(ctx context.Context, c *v1beta1.EtcdCluster, status v1beta1.RestoreStatus) error {
	if c.Status.Restore != nil && equality.Semantic.DeepEqual(*c.Status.Restore, status) {
		return nil
	}
	c.Status.Restore = &status
	return reportStatus(ctx, r.client, c)
}

// job is what fills the volume of a member.
func (r *VolumeRestoreReconciler) job(look volumesLook, member string) *batchv1.Job {
	c, order := look.Cluster, r.order(look.VolumesView, member)
	if c.Status.Restore.VolumeSnapshot == nil {
		return jobs.Restore(c, look.Store, member, order, look.image)
	}
	order.Restore.Stopped = true
	rescue := jobspec.Order{
		Verb: jobspec.Rescue, Operator: r.version, Rescue: &jobspec.RescueOrder{DataDirectory: specs.DataDirectory, InPlace: true},
	}
	image := backup.JobBuilder{Images: r.images, Limits: r.limits}.EtcdImage(c.Status.Restore.Version, c)
	return jobs.RestoreSnapshot(c, member, rescue, order, image, look.image)
}

func (r *VolumeRestoreReconciler) order(view restore.VolumesView, member string) jobspec.Order {
	c, s := view.Cluster, view.Cluster.Status.Restore
	var store v1beta1.EtcdBackupStoreSpec
	if view.Store != nil {
		store = view.Store.Spec
	}
	return jobspec.Order{
		Verb: jobspec.Restore, Operator: r.version, Store: store,
		Restore: &jobspec.RestoreOrder{
			Target: restore.TargetOf(s),
			Path:   s.Path, ManifestSHA256: s.ManifestSHA256, Verified: s.Verified, Identities: s.Decryption != "",
			DataDirectory: specs.DataDirectory, Member: member, InitialCluster: peers(c), Token: restore.Token(c), Minor: version.MinorOf(s.Version),
			Bump: cmp.Or(s.Bump, datadir.Bump(s.Revision, 0)), // never without: revisions would come again
		},
	}
}

// mark writes on a volume whose data it has. The cluster adopts it by that, and a second Job never fills it again.
func (r *VolumeRestoreReconciler) mark(ctx context.Context, claim corev1.PersistentVolumeClaim, id string) error {
	before := client.MergeFromWithOptions(claim.DeepCopy(), client.MergeFromWithOptimisticLock{})
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, v1beta1.AnnotationClusterID, id)
	return wrapped("mark volume "+claim.Name, r.client.Patch(ctx, &claim, before, client.FieldOwner(v1beta1.FieldOwner)))
}

// SetupWithManager watches EtcdClusters, the Jobs that fill their volumes, the backups that they may wait for, and the EtcdRestores that
// may be deleted.
func (r *VolumeRestoreReconciler) SetupWithManager(manager ctrl.Manager) error {
	owners, done := jobclient.OwnersWhenDone(r.client, "EtcdCluster")
	return ctrl.NewControllerManagedBy(manager).For(&v1beta1.EtcdCluster{}).Owns(&batchv1.Job{}).
		Watches(&corev1.Pod{}, owners, done).
		Watches(&v1beta1.EtcdBackup{}, r.waiting()).
		Watches(&v1beta1.EtcdRestore{}, handler.EnqueueRequestsFromMapFunc(asked)).
		Named("restore").WithOptions(options()).Complete(r)
}

// asked finds the cluster of an EtcdRestore.
func asked(_ context.Context, object client.Object) []reconcile.Request {
	er, is := object.(*v1beta1.EtcdRestore)
	if !is {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: er.Namespace, Name: er.Spec.Cluster}}}
}

// waiting finds the clusters that wait for a backup.
func (r *VolumeRestoreReconciler) waiting() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		var all v1beta1.EtcdClusterList
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
