// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package act carries out one step. Each step is safe to repeat: already there,
// already gone and already promoted are success.
//
// It must never decide: if an act needs an if about the cluster, the plan lacks a
// rule.
package act

import (
	"context"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// Members makes an etcd client for one member. The context bounds only the dialling.
type Members interface {
	Member(ctx context.Context, c *v1beta1.EtcdCluster, m cluster.Member) (etcd.Client, error)
	// Source is a client of a member of the cluster that is adopted, by its URL.
	Source(ctx context.Context, c *v1beta1.EtcdCluster, url string) (etcd.Client, error)
}

// Actor carries out steps. It holds no state of a cluster, so that one Actor serves all of them.
type Actor struct {
	Client client.Client // reads from the cache
	Live   client.Reader // reads from the API server itself
	Dialer Members
	Leads  func(ctx context.Context) error // an error unless this operator holds the lease now; may be nil
	Images specs.Images                    // the image that this operator takes for each version of etcd
	// Operator is the namespace of the operator's own Pods; empty if it runs outside of Kubernetes.
	Operator string
	Domain   string // of the Kubernetes cluster; empty if none is known
	Now      func() time.Time
	Later    func() time.Time // by whichever clock is ahead, this machine's or the API server's: certificates are made by it
	Random   io.Reader        // for keys and serial numbers of certificates

	asked time.Time    // when the members that the step is about were asked
	view  cluster.View // what they answered
}

// Do carries out one step on the cluster that the view is of, whose members were asked at that time. It is safe to repeat: already done
// is success. It never writes the status: the report writes what a step records.
func (a *Actor) Do(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, step plan.Step, asked time.Time) error {
	a.wake(ctx, c, v)
	one := *a
	one.asked, one.view = asked, v
	err := one.do(ctx, c, v, step)
	if v.Adoption.Held && c.DeletionTimestamp != nil && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return one.hold(ctx, c, plan.Hold{Adoption: true}) // its members cannot come back, and the namespace would never end
	}
	return err
}

func (a *Actor) do(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, step plan.Step) error {
	switch s := step.(type) {
	case plan.Record:
		return a.record(ctx, c, s)
	case plan.Apply:
		return a.applyAll(ctx, c, v, s)
	case plan.CreatePods:
		return a.createPods(ctx, c, v, s)
	case plan.DeletePods:
		return a.deletePods(ctx, c, v, s)
	case plan.MarkPods:
		return a.markPods(ctx, c, v, s)
	case plan.UpdateImage:
		return a.updateImage(ctx, c, v, s)
	case plan.ResizePod:
		return a.resize(ctx, c, v, s)
	case plan.AddLearner:
		return a.addLearner(ctx, c, v, s)
	case plan.UpdatePeerURLs:
		return a.updatePeerURLs(ctx, c, v, s)
	case plan.AdoptVolume:
		return a.adoptVolume(ctx, c, s)
	case plan.Promote:
		return a.promote(ctx, c, v, s)
	case plan.MoveLeader:
		return a.moveLeader(ctx, c, v, s)
	case plan.RemoveMember:
		return a.remove(ctx, c, v, s)
	case plan.RouteService:
		return a.routeService(ctx, c, s)
	case plan.ScaleStatefulSet:
		return a.scaleStatefulSet(ctx, c, s)
	case plan.Downgrade:
		return a.downgrade(ctx, c, v, s)
	case plan.Compact:
		return a.compact(ctx, c, v, s)
	case plan.DisarmAlarm:
		return a.disarm(ctx, c, v, s)
	case plan.Quarantine:
		return a.quarantine(ctx, c, s)
	case plan.LiftQuarantine:
		return a.liftQuarantine(ctx, c, s)
	case plan.DeleteVolume:
		return a.deleteVolume(ctx, c, s)
	case plan.CreateBackup:
		return a.createBackup(ctx, c, s)
	case plan.CreateRestore:
		return a.createRestore(ctx, c, s)
	case plan.Expire:
		return a.expire(ctx, c)
	case plan.Hold:
		return a.hold(ctx, c, s)
	case plan.Wait, plan.Refuse, plan.Done:
		return nil
	default:
		return fmt.Errorf("no act for step %T", step)
	}
}

// unseen is the option of a write to an object that lacks our labels: no watch shows it, and
// reads that wait for the operator's own writes would wait for this one until another comes.
const unseen = client.DisableReadYourWritesConsistency

func patchOptions(of client.Object) []client.PatchOption {
	how := []client.PatchOption{client.FieldOwner(v1beta1.FieldOwner)}
	if of.GetLabels()[specs.ManagedByLabel] != v1beta1.FieldOwner {
		how = append(how, unseen)
	}
	return how
}

// record marks one volume as one that holds data of the cluster that has formed, if the step
// says which, before the status says so.
func (a *Actor) record(ctx context.Context, c *v1beta1.EtcdCluster, s plan.Record) error {
	if s.On == "" {
		return nil
	}
	return a.changeVolume(ctx, c, s.On, func(claim *corev1.PersistentVolumeClaim) {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, v1beta1.AnnotationClusterID, s.Fact.ClusterID)
	})
}

// quarantine marks a removed member's volume.
func (a *Actor) quarantine(ctx context.Context, c *v1beta1.EtcdCluster, s plan.Quarantine) error {
	return a.changeVolume(ctx, c, s.Name, func(claim *corev1.PersistentVolumeClaim) {
		a.setAside(claim)
		if s.KeepFor > 0 {
			metav1.SetMetaDataAnnotation(&claim.ObjectMeta, v1beta1.AnnotationKeepFor, s.KeepFor.String())
		}
	})
}

// liftQuarantine makes a volume that was set aside a member's again.
func (a *Actor) liftQuarantine(ctx context.Context, c *v1beta1.EtcdCluster, s plan.LiftQuarantine) error {
	return a.changeVolume(ctx, c, s.Name, func(claim *corev1.PersistentVolumeClaim) {
		delete(claim.Labels, v1beta1.LabelQuarantined)
		delete(claim.Annotations, v1beta1.AnnotationQuarantinedAt)
		delete(claim.Annotations, v1beta1.AnnotationKeepFor)
	})
}

// setAside marks a volume, and since when it is marked.
func (a *Actor) setAside(claim *corev1.PersistentVolumeClaim) {
	metav1.SetMetaDataLabel(&claim.ObjectMeta, v1beta1.LabelQuarantined, "true")
	if claim.Annotations[v1beta1.AnnotationQuarantinedAt] == "" {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, v1beta1.AnnotationQuarantinedAt, a.Now().UTC().Format(time.RFC3339))
	}
}

// deleteVolume deletes one volume, and only the one that was observed. One that never held data
// must be found so by the API server itself, and not change before it is deleted.
func (a *Actor) deleteVolume(ctx context.Context, c *v1beta1.EtcdCluster, s plan.DeleteVolume) error {
	if err := a.fence(ctx, c); err != nil {
		return err
	}
	return a.inTime(ctx, c, s, func(ctx context.Context) error { return a.deleteClaim(ctx, c, s) })
}

func (a *Actor) deleteClaim(ctx context.Context, c *v1beta1.EtcdCluster, s plan.DeleteVolume) error {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: c.Namespace}}
	exactly := client.Preconditions{UID: ptr.To(types.UID(s.UID))}
	if s.Unused {
		if err := a.Live.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return fmt.Errorf("read volume %s: %w", s.Name, err)
		}
		if !specs.IsUnused(claim) {
			return ErrChanged
		}
		exactly.ResourceVersion = &claim.ResourceVersion
	}
	if err := client.IgnoreNotFound(a.Client.Delete(ctx, claim, exactly)); err != nil {
		return fmt.Errorf("delete volume %s: %w", s.Name, err)
	}
	return nil
}

func (a *Actor) changeVolume(ctx context.Context, c *v1beta1.EtcdCluster, name string, change func(*corev1.PersistentVolumeClaim)) error {
	var claim corev1.PersistentVolumeClaim
	if err := a.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &claim); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("get volume %s: %w", name, err)
	}
	changed := claim.DeepCopy()
	change(changed)
	unchanged := client.MergeFromWithOptions(&claim, client.MergeFromWithOptimisticLock{})
	if err := a.Client.Patch(ctx, changed, unchanged, patchOptions(changed)...); err != nil {
		return fmt.Errorf("change volume %s: %w", name, err)
	}
	return nil
}
