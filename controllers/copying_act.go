// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/copier"
	"github.com/etcd-operator/etcd-operator/controllers/members"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/copying"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// act carries the step out. What it records is written by report.
func (r *CopyReconciler) act(ctx context.Context, look *copyLook, step copying.Step) error {
	if copying.Rests(step) {
		return nil
	}
	if r.leads != nil {
		if err := r.leads(ctx); err != nil {
			return err
		}
	}
	if until := look.StopsUntil(); !until.IsZero() && !releases(step) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, max(until.Sub(r.now()), immediately))
		defer cancel()
	}
	look.copied = &copier.Copier{Source: look.source, Target: look.target, Changed: look.Target.Changed, Revision: look.Target.Revision}
	if look.Target.Mark != nil {
		look.copied.Mark = *look.Target.Mark
	}
	return r.do(ctx, look, step)
}

func releases(step copying.Step) bool {
	_, is := step.(copying.Release)
	return is
}

func (r *CopyReconciler) do(ctx context.Context, look *copyLook, step copying.Step) error {
	c := look.Cluster
	switch s := step.(type) {
	case copying.Begin:
		return look.copied.Begin(ctx, string(c.UID), look.Source.ClusterID, s.Revision, s.Again)
	case copying.ReadKeys:
		return unlessCompacted(look.copied.Read(ctx, copyFor))
	case copying.Follow:
		return unlessCompacted(look.copied.Follow(ctx, copyFor, 0))
	case copying.Drain:
		return unlessCompacted(look.copied.Follow(ctx, compareFor, s.To))
	case copying.Compare:
		return unlessCompacted(r.compare(ctx, look))
	case copying.StopWrites:
		return onMember(ctx, look.source, copying.Alarm(c), etcd.Client.Raise)
	case copying.Release:
		if look.source == nil {
			return errors.New("the source cannot be asked to let writes go on: " + look.Source.Err)
		}
		return onMember(ctx, look.source, copying.Alarm(c), etcd.Client.Disarm)
	case copying.BindLeases:
		return r.bind(ctx, look)
	case copying.RouteService:
		return r.actor.Do(ctx, c, cluster.View{}, plan.RouteService{Name: s.Name}, r.now())
	case copying.RemoveMark:
		return onMember(ctx, look.target, []byte(copying.MarkKey), etcd.Client.Delete)
	case copying.Look, copying.RecordStop, copying.RecordSwitch, copying.RecordDone, copying.SetCondition, copying.RemoveCondition,
		copying.Done:
	}
	return nil
}

// onMember has a member do something, for some seconds.
func onMember[T any](ctx context.Context, member etcd.Client, what T, do func(etcd.Client, context.Context, T) error) error {
	_, err := members.Within(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, do(member, ctx, what) })
	return err
}

// unlessCompacted: the next look sees that the source no longer has the history, and begins again.
func unlessCompacted(err error) error {
	if errors.Is(err, etcd.ErrCompacted) {
		return nil
	}
	return err
}

// compare sums up both clusters at once.
func (r *CopyReconciler) compare(ctx context.Context, look *copyLook) error {
	ctx, cancel := context.WithTimeout(ctx, compareFor)
	defer cancel()
	begun := r.now()
	var both sync.WaitGroup
	var here, there copier.Sum
	var failed [2]error
	both.Go(func() { there, failed[0] = copier.SumOf(ctx, look.source, look.Target.Mark.Revision) })
	both.Go(func() { here, failed[1] = copier.SumOf(ctx, look.target, look.Target.Revision) })
	both.Wait()
	if err := errors.Join(failed[:]...); err != nil {
		return wrapped("compare the clusters", err)
	}
	look.compared = &v1beta1.CopyComparison{
		Equal: here == there, Keys: there.Keys, SHA256: hex.EncodeToString(there.SHA256[:]),
		SourceRevision: look.Target.Mark.Revision, TargetRevision: look.Target.Revision,
		Duration: metav1.Duration{Duration: r.now().Sub(begun).Round(time.Millisecond)}, Time: metav1.NewTime(r.now()),
	}
	return nil
}

func (r *CopyReconciler) bind(ctx context.Context, look *copyLook) (err error) {
	look.leases, look.leasedKeys, err = look.copied.Bind(ctx, look.Cluster.Status.Copy.Comparison.TargetRevision)
	return err
}

// report writes the status, and an event when the reason of the condition has changed.
func (r *CopyReconciler) report(ctx context.Context, look *copyLook, step copying.Step, failed error) error {
	c, before := look.Cluster, look.Cluster.Status.DeepCopy()
	if _, looks := step.(copying.Look); looks {
		return failed
	}
	if c.Status.Copy == nil && c.WantsCopy() {
		c.Status.Copy = &v1beta1.CopyStatus{}
	}
	if failed == nil {
		r.record(look, step)
	}
	if look.copied != nil && c.Status.Copy != nil {
		progressOf(look, c.Status.Copy)
	}
	condition := conditionAfter(look, step, failed)
	if condition != nil {
		condition.Message, condition.ObservedGeneration = cut(condition.Message, 1024), c.Generation
		meta.SetStatusCondition(&c.Status.Conditions, *condition)
	}
	if _, removes := step.(copying.RemoveCondition); removes {
		meta.RemoveStatusCondition(&c.Status.Conditions, v1beta1.ConditionCopied)
	}
	if equality.Semantic.DeepEqual(before, &c.Status) {
		return failed
	}
	if err := r.write(ctx, c, before.Copy); err != nil {
		return cmp.Or(failed, err)
	}
	r.tell(c, before, condition)
	return failed
}

// write writes the status, also if another reconciler has written its part since the look: a comparison may take minutes. It is a conflict
// where what was asked for has changed.
func (r *CopyReconciler) write(ctx context.Context, c *v1beta1.EtcdCluster, before *v1beta1.CopyStatus) error {
	err := writeStatus(ctx, r.client, c)
	if !apierrors.IsConflict(err) {
		return client.IgnoreNotFound(err)
	}
	now := &v1beta1.EtcdCluster{}
	if failed := r.live.Get(ctx, client.ObjectKeyFromObject(c), now); failed != nil {
		return wrapped("get EtcdCluster", failed)
	}
	if now.UID != c.UID || now.Generation != c.Generation || !maps.Equal(now.Annotations, c.Annotations) ||
		!equality.Semantic.DeepEqual(now.Status.Copy, before) {
		return err
	}
	now.Status.Copy = c.Status.Copy
	if is := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionCopied); is != nil {
		meta.SetStatusCondition(&now.Status.Conditions, *is)
	}
	return writeStatus(ctx, r.client, now)
}

// record is what the step writes down.
func (r *CopyReconciler) record(look *copyLook, step copying.Step) {
	status, now := look.Cluster.Status.Copy, metav1.NewMicroTime(r.now())
	switch s := step.(type) {
	case copying.Begin:
		status.SourceID, status.Users, status.Roles = look.Source.ClusterID, look.Source.Users, look.Source.Roles
	case copying.Compare:
		if look.compared != nil {
			status.Comparison = look.compared
		}
	case copying.RecordStop:
		status.StoppedAt, status.Request, status.Failure, status.ReleasedAt = &now, s.Request, "", nil
	case copying.Release:
		if status.StoppedAt != nil {
			status.StoppedAt, status.ReleasedAt, status.Failure = nil, &now, cut(s.Because, 512)
		}
	case copying.RecordSwitch:
		status.SwitchedAt = &now
	case copying.BindLeases:
		status.Leases, status.LeasedKeys = look.leases, look.leasedKeys
	case copying.RecordDone:
		done := metav1.NewTime(now.Time)
		status.CompletedAt = &done
	case copying.Look, copying.ReadKeys, copying.Follow, copying.StopWrites, copying.Drain, copying.RouteService, copying.RemoveMark,
		copying.SetCondition, copying.RemoveCondition, copying.Done:
	}
	if copying.IsRouted(step) && status.StoppedFor == nil && status.StoppedAt != nil {
		status.StoppedFor = &metav1.Duration{Duration: now.Sub(status.StoppedAt.Time).Round(time.Millisecond)}
	}
}

// progressOf is how far the copy is after the step.
func progressOf(look *copyLook, status *v1beta1.CopyStatus) {
	mark := look.copied.Mark
	if mark.Cluster == "" || look.Cluster.HasSwitched() {
		return
	}
	status.Keys, status.Revision = mark.Keys, mark.Revision
	if mark.Whole && look.Source.Err == "" {
		status.Lag = max(look.Source.Revision-mark.Revision, 0)
	}
}

// conditionAfter is the condition after the step; nil: it stays.
func conditionAfter(look *copyLook, step copying.Step, failed error) *metav1.Condition {
	if failed != nil {
		if isOutdated(failed) {
			return nil
		}
		condition := copying.Failed(failed)
		return &condition
	}
	return copying.ConditionAfter(look.View, step)
}

// tell emits an event when the reason of the condition is another one.
func (r *CopyReconciler) tell(c *v1beta1.EtcdCluster, before *v1beta1.EtcdClusterStatus, now *metav1.Condition) {
	if now == nil {
		return
	}
	was := meta.FindStatusCondition(before.Conditions, v1beta1.ConditionCopied)
	if was != nil && was.Reason == now.Reason || now.Reason == v1beta1.ReasonWaitingForCluster {
		return
	}
	kind := corev1.EventTypeWarning
	switch now.Reason {
	case v1beta1.ReasonCopying, v1beta1.ReasonFollowing, v1beta1.ReasonReadyToSwitch, v1beta1.ReasonWritesStopped, v1beta1.ReasonSwitched:
		kind = corev1.EventTypeNormal
	}
	r.events.Eventf(c, nil, kind, now.Reason, "Copy", "%s", cut(now.Message, 900))
}
