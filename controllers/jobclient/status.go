// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// Observe looks at the Job of that name as its owner sees it. That what it said cannot be read is a fact, and no error.
func (t *Client) Observe(ctx context.Context, owner client.Object, name string) (jobs.Observed, error) {
	job, err := t.find(ctx, owner.GetNamespace(), name)
	if err != nil || job == nil {
		return jobs.Observed{}, err
	}
	var said jobs.Output
	if metav1.IsControlledBy(job, owner) {
		if said, err = t.output(ctx, job); err != nil {
			said.Unread = err.Error()
		}
	}
	return jobs.Observe(job, owner, said), nil
}

// output is how far a Job is, and what it says.
func (t *Client) output(ctx context.Context, job *batchv1.Job) (jobs.Output, error) {
	var o jobs.Output
	o.Ended, o.EndedAt, o.Trouble = endOf(job)
	pod, err := t.podOf(ctx, job, o.Ended)
	if err != nil || pod == nil {
		if o.Ended && o.Trouble == "" {
			o.Trouble = "its Pod is gone, and its log with it"
		}
		return o, err
	}
	if pod.DeletionTimestamp != nil {
		o.Due = pod.DeletionTimestamp.Time // with the time that it has to end
	}
	if at, done := doneAt(pod); done && !o.Ended {
		o.Ended, o.EndedAt = true, at
	}
	if trouble := podFailureReason(pod); trouble != "" {
		o.Trouble = trouble
	}
	for _, container := range speaking(pod) {
		if err := t.read(ctx, pod, container, &o); err != nil {
			return o, err
		}
		if o.Failed() != nil {
			break
		}
	}
	return o, nil
}

// speaking are the names of the containers that have begun and say something: etcd does not speak our language.
func speaking(pod *corev1.Pod) []string {
	var names []string
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		begun := status.State.Running != nil || status.State.Terminated != nil
		if begun && status.Name != "etcd" {
			names = append(names, status.Name)
		}
	}
	return names
}

// read adds what a container said. Of one that runs only its last line counts.
func (t *Client) read(ctx context.Context, pod *corev1.Pod, container string, o *jobs.Output) error {
	var last *int64
	if !o.Ended {
		last = ptr.To[int64](1)
	}
	stream, err := t.Logs(ctx, pod.Namespace, pod.Name, container, last)
	if apierrors.IsNotFound(err) || apierrors.IsBadRequest(err) {
		return nil // the container or its log is gone
	}
	if err != nil {
		return fmt.Errorf("read log of %s: %w", pod.Name, err)
	}
	lines, progress, err := jobspec.ReadLog(stream)
	if err = errors.Join(err, stream.Close()); err != nil {
		return fmt.Errorf("read log of %s: %w", pod.Name, err)
	}
	if progress != nil {
		o.Progress = *progress
	}
	if o.Ended {
		o.Lines = append(o.Lines, lines...)
	}
	return nil
}

// endOf says whether a Job has ended, and why if it failed.
func endOf(job *batchv1.Job) (bool, time.Time, string) {
	for _, c := range job.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == batchv1.JobComplete:
			return true, c.LastTransitionTime.Time, ""
		case c.Type == batchv1.JobFailed:
			return true, c.LastTransitionTime.Time, c.Reason + ": " + c.Message
		}
	}
	return false, time.Time{}, ""
}

// doneAt is when the last container of a Pod that is to end has ended, if all have, and well: its Job has succeeded then, and says
// so a second or two later.
func doneAt(pod *corev1.Pod) (at time.Time, done bool) {
	statuses := pod.Status.ContainerStatuses
	for _, status := range statuses {
		ended := status.State.Terminated
		if ended == nil || ended.ExitCode != 0 {
			return time.Time{}, false
		}
		if ended.FinishedAt.After(at) {
			at = ended.FinishedAt.Time
		}
	}
	return at, len(statuses) > 0 && len(statuses) == len(pod.Spec.Containers)
}

// OwnersWhenDone finds the owner of the Job of a Pod that is done, for the controller of that kind.
func OwnersWhenDone(reader client.Reader, kind string) (handler.EventHandler, builder.WatchesOption) {
	owner := func(ctx context.Context, object client.Object) []reconcile.Request {
		key := client.ObjectKey{Namespace: object.GetNamespace(), Name: object.GetLabels()[batchv1.JobNameLabel]}
		var job batchv1.Job
		if err := reader.Get(ctx, key, &job); err != nil {
			return nil // the Job is gone, or its own news are to come
		}
		owner := metav1.GetControllerOf(&job)
		if owner == nil || owner.Kind != kind || !metav1.IsControlledBy(object, &job) {
			return nil
		}
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: key.Namespace, Name: owner.Name}}}
	}
	done := predicate.NewPredicateFuncs(func(object client.Object) bool {
		pod, is := object.(*corev1.Pod)
		if !is || pod.Labels[v1beta1.LabelTask] == "" {
			return false
		}
		_, done := doneAt(pod)
		return done
	})
	return handler.EnqueueRequestsFromMapFunc(owner), builder.WithPredicates(done)
}

// podOf is the newest Pod of a Job; nil if there is none. Of a Job that has ended it is read from the API server: a cache that has
// yet to see it would lose what it said.
func (t *Client) podOf(ctx context.Context, job *batchv1.Job, hasEnded bool) (*corev1.Pod, error) {
	reader := client.Reader(t.Client)
	if hasEnded {
		reader = t.Live
	}
	var pods corev1.PodList
	named := client.MatchingLabels{batchv1.JobNameLabel: job.Name}
	if err := reader.List(ctx, &pods, client.InNamespace(job.Namespace), named); err != nil {
		return nil, fmt.Errorf("list Pods of Job %s: %w", job.Name, err)
	}
	var newest *corev1.Pod
	for i, pod := range pods.Items {
		if metav1.IsControlledBy(&pod, job) && (newest == nil || pod.CreationTimestamp.After(newest.CreationTimestamp.Time)) {
			newest = &pods.Items[i]
		}
	}
	return newest, nil
}
