package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/drill"
)

// act carries out a step. Record and Finish are part of the report.
func (r *EtcdDrillReconciler) act(ctx context.Context, look drillLook, step drill.Step) error {
	switch s := step.(type) {
	case drill.CreateJob:
		return r.createJob(ctx, look, s)
	case drill.DeleteJob:
		return r.tasks.Remove(ctx, look.Drill.Namespace, s.Name, s.UID)
	case drill.Disrupt:
		return r.disrupt(ctx, look.Drill.Namespace, s)
	case drill.CreatePress:
		return r.createPress(ctx, look, s)
	case drill.Isolate:
		return r.isolate(ctx, look, s.Target)
	case drill.Release:
		return r.release(ctx, look.Drill, look.Policy, s.Targets)
	case drill.CreateCluster:
		return r.createCluster(ctx, look, s)
	case drill.DeleteCluster:
		return r.remove(ctx, &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: look.Drill.Namespace, Name: s.Name}}, s.UID)
	case drill.AddFinalizer:
		controllerutil.AddFinalizer(look.Drill, v1beta1.FinalizerDrill)
		return wrapped("add finalizer", r.client.Update(ctx, look.Drill, client.FieldOwner(v1beta1.FieldOwner)))
	case drill.RemoveFinalizer:
		controllerutil.RemoveFinalizer(look.Drill, v1beta1.FinalizerDrill)
		return wrapped("remove finalizer", client.IgnoreNotFound(r.client.Update(ctx, look.Drill, client.FieldOwner(v1beta1.FieldOwner))))
	case drill.Record, drill.Finish, drill.Wait, drill.Done:
	}
	return nil
}

func (r *EtcdDrillReconciler) createJob(ctx context.Context, look drillLook, s drill.CreateJob) error {
	image, why := r.image.Get(ctx)
	if why != "" {
		return fmt.Errorf("create Job %s: %s", s.Name, why)
	}
	order := jobspec.Order{Verb: jobspec.Write, Operator: r.version, Write: drill.Order(look.Drill, look.Seen.Cluster)}
	return r.tasks.Create(ctx, jobs.Write(look.Drill, look.Seen.Cluster, s.Name, order, image))
}

func (r *EtcdDrillReconciler) createPress(ctx context.Context, look drillLook, s drill.CreatePress) error {
	image, why := r.image.Get(ctx)
	if why != "" {
		return fmt.Errorf("create Job %s: %s", s.Name, why)
	}
	order := jobspec.Order{Verb: jobspec.Press, Operator: r.version, Press: drill.PressOrder(look.Drill)}
	return r.tasks.Create(ctx, jobs.Press(look.Drill, look.Seen.Cluster, s.Name, s.Target.Member, order, image))
}

// createCluster creates the throw-away cluster. One that is there is looked at again.
func (r *EtcdDrillReconciler) createCluster(ctx context.Context, look drillLook, s drill.CreateCluster) error {
	if err := r.tasks.Leading(ctx); err != nil {
		return err
	}
	made := drill.RestoredCluster(look.Drill, look.Seen.Cluster, s.Backup)
	return wrapped("create EtcdCluster "+s.Name, r.client.Create(ctx, made, client.FieldOwner(v1beta1.FieldOwner)))
}

// leastGrace in seconds is the shortest for which Kubernetes keeps a Pod until its containers have ended: without it, another Pod could
// write to the volume beside them.
const leastGrace = 1

// disrupt deletes volumes first: a volume goes with the Pod that uses it, and no Pod begins with one that is being deleted. All Pods are
// deleted at once.
func (r *EtcdDrillReconciler) disrupt(ctx context.Context, namespace string, s drill.Disrupt) error {
	if err := r.tasks.Leading(ctx); err != nil {
		return err
	}
	for _, t := range s.Targets {
		if t.VolumeUID != "" {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: t.Member}}
			if err := r.remove(ctx, claim, t.VolumeUID); err != nil {
				return err
			}
		}
	}
	ended := make(chan error, len(s.Targets))
	for _, t := range s.Targets {
		go func() {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: t.Member}}
			ended <- r.remove(ctx, pod, t.PodUID, client.GracePeriodSeconds(leastGrace))
		}()
	}
	var all error
	for range s.Targets {
		all = errors.Join(all, <-ended)
	}
	return all
}

// isolate creates the policy before the Pod gets the label: with the label, the policy of the cluster does not select the Pod.
func (r *EtcdDrillReconciler) isolate(ctx context.Context, look drillLook, t v1beta1.DrillTarget) error {
	d := look.Drill
	if err := r.tasks.Leading(ctx); err != nil {
		return err
	}
	err := r.client.Create(ctx, drill.IsolationPolicy(d), client.FieldOwner(v1beta1.FieldOwner))
	if err != nil && !(apierrors.IsAlreadyExists(err) && look.Isolation.HasPolicy) {
		return fmt.Errorf("create NetworkPolicy: %w", err)
	}
	return r.label(ctx, d.Namespace, t, ptr.To(drill.IsolatedLabel(d)))
}

// release takes the label away before the policy, and both are no error if they are gone.
func (r *EtcdDrillReconciler) release(
	ctx context.Context, d *v1beta1.EtcdDrill, policy *networkingv1.NetworkPolicy, targets []v1beta1.DrillTarget,
) error {
	for _, t := range targets {
		if err := r.label(ctx, d.Namespace, t, nil); err != nil {
			return err
		}
	}
	if policy == nil || !metav1.IsControlledBy(policy, d) {
		return nil
	}
	return r.remove(ctx, policy, string(policy.UID))
}

// label sets the label of isolated members on the Pod with that UID; nil removes it.
func (r *EtcdDrillReconciler) label(ctx context.Context, namespace string, t v1beta1.DrillTarget, value *string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": t.PodUID, "labels": map[string]any{v1beta1.LabelIsolated: value},
	}})
	if err != nil {
		return fmt.Errorf("encode label: %w", err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: t.Member}}
	err = r.client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(v1beta1.FieldOwner))
	if apierrors.IsInvalid(err) {
		return nil // another Pod has its name: a UID cannot be changed
	}
	return wrapped("label Pod "+t.Member, client.IgnoreNotFound(err))
}

// remove deletes the object with this UID. One that is gone, or has become another one, is no error.
func (r *EtcdDrillReconciler) remove(ctx context.Context, object client.Object, uid string, options ...client.DeleteOption) error {
	options = append(options, client.Preconditions{UID: ptr.To(types.UID(uid))})
	err := r.client.Delete(ctx, object, options...)
	if apierrors.IsConflict(err) {
		return nil
	}
	return wrapped("delete "+object.GetName(), client.IgnoreNotFound(err))
}
