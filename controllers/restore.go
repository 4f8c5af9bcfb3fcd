package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
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
	"github.com/etcd-operator/etcd-operator/internal/build"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/datadir"
	"github.com/etcd-operator/etcd-operator/internal/jobs"
	"github.com/etcd-operator/etcd-operator/internal/judge"
	"github.com/etcd-operator/etcd-operator/internal/restore"
	"github.com/etcd-operator/etcd-operator/internal/task"
	"github.com/etcd-operator/etcd-operator/internal/version"
)

// Restore fills the volumes of clusters that begin with a backup, or are brought back to one. It writes status.restore and nothing
// else of an EtcdCluster.
type Restore struct {
	client  client.Client
	tasks   *tasks
	image   *ownImage
	events  events.EventRecorder
	version string

	// installation is the Lease of this one: the reconciler of clusters writes down which installation looks after each.
	installation string
	now          func() time.Time
}

// Reconcile looks at one cluster and takes one step towards volumes with the data.
func (r *Restore) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
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
	step := restore.Next(view)
	log.FromContext(ctx).V(1).Info("planned " + step.String())
	result, err := r.act(ctx, view, image, step)
	if words := denial(err); words != "" {
		return r.refused(ctx, view, step, words)
	}
	return result, err
}

// isOver says whether there is nothing to restore, or no longer.
func isOver(c *v1alpha1.EtcdCluster) bool {
	s := c.Status.Restore
	return judge.IsLeftAlone(c) || s == nil && !restore.IsWanted(c) || s != nil && s.CompletedAt != nil
}

// isOurs says whether this installation looks after the cluster, and has written down that volumes are being filled: an operator
// that knows nothing of restores leaves the cluster alone from then on. If not, a change of the status comes.
func (r *Restore) isOurs(c *v1alpha1.EtcdCluster) bool {
	told := c.Status.Format >= v1alpha1.FormatRestoring || c.Status.Bootstrap != nil || c.Status.ClusterID != ""
	return told && c.Status.Operator == r.installation
}

func (r *Restore) observe(ctx context.Context, c *v1alpha1.EtcdCluster) (jobs.Image, restore.View, error) {
	view := restore.View{
		Cluster: c, Paused: judge.Paused(c), Now: r.now(),
		Claims: map[string]corev1.PersistentVolumeClaim{}, Jobs: map[string]restore.Job{},
	}
	var image jobs.Image
	image, view.NoImage = r.image.get(ctx)
	if err := errors.Join(r.claims(ctx, &view), r.pods(ctx, &view), r.store(ctx, &view)); err != nil {
		return image, view, err
	}
	if c.Status.Restore == nil || c.Status.Restore.Path == "" {
		var all v1alpha1.EtcdBackupList
		err := r.client.List(ctx, &all, client.InNamespace(c.Namespace))
		view.Backups = all.Items
		return image, view, wrapped("list EtcdBackups", err)
	}
	id, err := clusterID(c)
	view.ClusterID = id
	return image, view, errors.Join(err, r.secret(ctx, &view), r.jobs(ctx, &view))
}

// claims reads all volumes whose names a member could have.
func (r *Restore) claims(ctx context.Context, view *restore.View) error {
	var all corev1.PersistentVolumeClaimList
	if err := r.tasks.live.List(ctx, &all, client.InNamespace(view.Cluster.Namespace)); err != nil {
		return fmt.Errorf("list volumes: %w", err)
	}
	for _, claim := range all.Items {
		if cluster.Serial(view.Cluster.Name, claim.Name) >= 0 {
			view.Claims[claim.Name] = claim
		}
	}
	return nil
}

// pods reads which members have Pods.
func (r *Restore) pods(ctx context.Context, view *restore.View) error {
	c := view.Cluster
	var all corev1.PodList
	if err := r.tasks.live.List(ctx, &all, client.InNamespace(c.Namespace), client.MatchingLabels(build.MemberSelector(c))); err != nil {
		return fmt.Errorf("list Pods: %w", err)
	}
	for _, pod := range all.Items {
		view.Pods = append(view.Pods, pod.Name)
	}
	return nil
}

// store reads the store of the backup, or the one that a backup is looked for in.
func (r *Restore) store(ctx context.Context, view *restore.View) error {
	var name string
	switch c := view.Cluster; {
	case c.Status.Restore != nil && c.Status.Restore.Path != "":
		name = c.Status.Restore.Store
	case restore.IsWanted(c):
		name = c.Spec.Bootstrap.Restore.Store
	}
	if name == "" {
		return nil
	}
	var store v1alpha1.EtcdBackupStore
	err := r.client.Get(ctx, client.ObjectKey{Namespace: view.Cluster.Namespace, Name: name}, &store)
	if apierrors.IsNotFound(err) {
		return nil
	}
	view.Store = &store
	return wrapped("get EtcdBackupStore", err)
}

// secret reads whether the Secret with identities is there, and nothing of what is in it: a Pod that lacks it does not say why it waits.
func (r *Restore) secret(ctx context.Context, view *restore.View) error {
	name := view.Cluster.Status.Restore.Decryption
	if name == "" {
		return nil
	}
	there := metav1.PartialObjectMetadata{}
	there.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := r.tasks.live.Get(ctx, client.ObjectKey{Namespace: view.Cluster.Namespace, Name: name}, &there)
	if apierrors.IsNotFound(err) {
		view.NoSecret = name
		return nil
	}
	return wrapped("get Secret "+name, err)
}

func (r *Restore) jobs(ctx context.Context, view *restore.View) error {
	s := view.Cluster.Status.Restore
	members := s.Members
	if s.Undo {
		members = s.SetAside
	}
	for _, member := range members {
		job, err := r.tasks.find(ctx, view.Cluster.Namespace, jobs.RestoreName(member))
		if err != nil {
			return err
		}
		if job != nil {
			view.Jobs[member] = r.listen(ctx, view.Cluster, job)
		}
	}
	return nil
}

// listen reads what a Job says, if it is ours. That it cannot be read is a fact.
func (r *Restore) listen(ctx context.Context, c *v1alpha1.EtcdCluster, job *batchv1.Job) restore.Job {
	if !metav1.IsControlledBy(job, c) {
		return restore.Job{Object: job}
	}
	o, err := r.tasks.look(ctx, job)
	said := restore.Job{Object: job, Ended: o.Ended, EndedAt: o.EndedAt, End: o.end(), Progress: o.Progress, Trouble: o.Trouble}
	if err != nil {
		said.Unread = err.Error()
	}
	return said
}

// clusterID follows from the first members and the token.
func clusterID(c *v1alpha1.EtcdCluster) (string, error) {
	id, err := datadir.ClusterID(peers(c), restore.Token(c))
	if err != nil {
		return "", fmt.Errorf("derive the cluster's ID: %w", err)
	}
	return strconv.FormatUint(id, 16), nil
}

func peers(c *v1alpha1.EtcdCluster) map[string]string {
	urls := map[string]string{}
	for _, member := range c.Status.Restore.Members {
		urls[member] = build.PeerURL(c, member)
	}
	return urls
}

func (r *Restore) act(ctx context.Context, view restore.View, image jobs.Image, step restore.Step) (ctrl.Result, error) {
	c := view.Cluster
	again := ctrl.Result{RequeueAfter: time.Millisecond}
	switch s := step.(type) {
	case restore.Record:
		return again, r.report(ctx, c, s.Status, s)
	case restore.CreateVolumes:
		for _, member := range s.Members {
			err := r.client.Create(ctx, restore.Volume(c, member), client.FieldOwner(v1alpha1.FieldOwner))
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
	case restore.Wait:
		return r.until(s.Until, view), r.report(ctx, c, s.Status, restore.Record{})
	case restore.Done:
		return ctrl.Result{}, nil
	}
	return again, nil
}

// refused says in the status what Kubernetes does not let the operator do.
func (r *Restore) refused(ctx context.Context, view restore.View, step restore.Step, words string) (ctrl.Result, error) {
	problem := fmt.Sprintf("Kubernetes refuses to %s: %s; allow it; the operator tries again within a minute", step, words)
	return ctrl.Result{RequeueAfter: retryRefused}, r.report(ctx, view.Cluster, restore.Refused(view, problem), restore.Record{})
}

// retryRefused is how long what Kubernetes has refused is left alone.
const retryRefused = 30 * time.Second

// until looks again when a Job's log may say more, or when a pause is over.
func (r *Restore) until(due time.Time, view restore.View) ctrl.Result {
	switch {
	case !due.IsZero():
		return ctrl.Result{RequeueAfter: max(due.Sub(view.Now), time.Millisecond)}
	case len(view.Jobs) > 0:
		return ctrl.Result{RequeueAfter: progressEvery}
	}
	return ctrl.Result{RequeueAfter: 10 * time.Second} // volumes that are in the way have no watch of ours
}

func (r *Restore) order(view restore.View, member string) task.Order {
	c, s := view.Cluster, view.Cluster.Status.Restore
	return task.Order{
		Verb: task.Restore, Operator: r.version, Store: jobs.Store(view.Store.Spec, time.Time{}),
		Restore: &task.RestoreOrder{
			Path: s.Path, ManifestSHA256: s.ManifestSHA256, Identities: s.Decryption != "", DataDirectory: build.DataDirectory,
			Member: member, InitialCluster: peers(c), Token: restore.Token(c), Minor: version.MinorOf(s.Version),
			Bump: cmp.Or(s.Bump, datadir.Bump(s.Revision, 0)), // never without: revisions would come again
		},
	}
}

// mark writes on a volume whose data it has. The cluster adopts it by that, and a second Job never fills it again.
func (r *Restore) mark(ctx context.Context, claim corev1.PersistentVolumeClaim, id string) error {
	before := client.MergeFromWithOptions(claim.DeepCopy(), client.MergeFromWithOptimisticLock{})
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, v1alpha1.AnnotationClusterID, id)
	return wrapped("mark volume "+claim.Name, r.client.Patch(ctx, &claim, before, client.FieldOwner(v1alpha1.FieldOwner)))
}

func (r *Restore) report(ctx context.Context, c *v1alpha1.EtcdCluster, status v1alpha1.RestoreStatus, said restore.Record) error {
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

// SetupWithManager watches EtcdClusters, the Jobs that fill their volumes, and the backups that they may wait for.
func (r *Restore) SetupWithManager(manager ctrl.Manager) error {
	owners, done := ownersWhenDone(r.client, "EtcdCluster")
	return ctrl.NewControllerManagedBy(manager).For(&v1alpha1.EtcdCluster{}).Owns(&batchv1.Job{}).
		Watches(&corev1.Pod{}, owners, done).
		Watches(&v1alpha1.EtcdBackup{}, r.waiting()).Named("restore").WithOptions(options()).Complete(r)
}

// waiting finds the clusters that wait for a backup.
func (r *Restore) waiting() handler.EventHandler {
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
