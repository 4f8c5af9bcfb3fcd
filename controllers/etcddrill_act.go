// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
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
	case drill.CreateCluster:
		return r.createCluster(ctx, look, s)
	case drill.DeleteCluster:
		return r.remove(ctx, &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: look.Drill.Namespace, Name: s.Name}}, s.UID)
	case drill.RemoveFinalizer:
		return r.letGo(ctx, look.Drill)
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

// letGo deletes the NetworkPolicy that an earlier version has made for the drill, and no other one.
func (r *EtcdDrillReconciler) letGo(ctx context.Context, d *v1beta1.EtcdDrill) error {
	if err := r.tasks.Leading(ctx); err != nil {
		return err
	}
	var policy networkingv1.NetworkPolicy
	err := r.tasks.Live.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: drill.PolicyName(d)}, &policy)
	if err == nil && metav1.IsControlledBy(&policy, d) {
		err = r.remove(ctx, &policy, string(policy.UID))
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("end isolation: %w", err)
	}
	controllerutil.RemoveFinalizer(d, v1beta1.FinalizerDrill)
	return wrapped("remove finalizer", client.IgnoreNotFound(r.client.Update(ctx, d, client.FieldOwner(v1beta1.FieldOwner))))
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
