// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/plugin/progress"
)

const (
	// quietFor is for how many looks nothing is shown: most searches end before.
	quietFor = 3
	// deletedWithin is how long the API server may take to delete the Job at the end, also after Ctrl-C.
	deletedWithin = 10 * time.Second
)

// jobReader hands on what a Job finds, while it runs.
type jobReader struct {
	*app
	k     *Kubernetes
	job   *batchv1.Job
	see   func(jobspec.Record) error
	shown display
	loud  atomic.Bool // it takes longer than a few seconds

	last   int64 // number of the last record
	done   *jobspec.Done
	failed *jobspec.Failed
	broken error // of a record: it cannot be written, or one before it was lost
}

// carryOut creates a Job, hands on its records, and deletes it, whatever happens. nil: it was not waited for.
func (a *app) carryOut(ctx context.Context, k *Kubernetes, job *batchv1.Job, limit time.Duration, see func(jobspec.Record) error,
) (*jobspec.Done, error) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	if err := k.Create(ctx, job); err != nil {
		return nil, fmt.Errorf("create a Job that reads the log: %w", err)
	}
	r := &jobReader{app: a, k: k, job: job, see: see, shown: display{app: a}}
	defer r.remove(ctx)
	defer r.shown.end()
	defer time.AfterFunc(quietFor*a.Look, func() { r.loud.Store(true) }).Stop()
	for {
		err := r.look(ctx)
		switch {
		case r.done != nil && err == nil:
			return r.done, nil
		case ctx.Err() != nil:
			r.shown.end()
			a.stop(ctx, limit, fmt.Sprintf("Job %s is deleted, and what was found until now is incomplete", job.Name))
			return nil, nil //nolint:nilnil // it was not waited for
		case err != nil:
			return nil, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(a.Look):
		}
	}
}

// remove deletes the Job and its Pod, with what was found in its log.
func (r *jobReader) remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deletedWithin)
	defer cancel()
	err := r.k.Delete(ctx, r.job, client.PropagationPolicy(metav1.DeletePropagationBackground),
		client.Preconditions{UID: ptr.To(r.job.UID)})
	if client.IgnoreNotFound(err) != nil {
		r.note("Job %s is not deleted: %v; until it is, what was found is in the log of its Pod", r.job.Name, err)
	}
}

// look reads what the Job says, until it ends or its log breaks off. An error is final.
func (r *jobReader) look(ctx context.Context) error {
	var job batchv1.Job
	if err := r.k.Get(ctx, client.ObjectKeyFromObject(r.job), &job); err != nil {
		return r.unlessPassing(fmt.Errorf("get Job %s: %w", r.job.Name, err))
	}
	pod, err := r.pod(ctx)
	if err != nil {
		return r.unlessPassing(fmt.Errorf("list Pods: %w", err))
	}
	problem, hasEnded := jobFailure(&job)
	state := stateOfPod(pod)
	if !state.hasBegun {
		if hasEnded {
			return fmt.Errorf("no Pod of Job %s has begun: %s", job.Name, cmp.Or(state.trouble, problem))
		}
		r.show(progress.Progress{Message: "waiting for the Pod of Job " + job.Name + ": " + cmp.Or(state.trouble, "it starts")})
		return nil
	}
	if err := r.read(ctx, pod); err != nil {
		return r.unlessPassing(fmt.Errorf("read the log of Pod %s: %w", pod.Name, err))
	}
	return r.outcome(state, problem)
}

// outcome is what the Job has said at its end.
func (r *jobReader) outcome(state podState, problem string) error {
	switch f := r.failed; {
	case r.broken != nil:
		return r.broken
	case f != nil && f.Reason == jobspec.UnsupportedJobSpec:
		return fmt.Errorf("image %s does not know what this version of kubectl etcd asks of it: %s; update the operator, or give --image",
			r.job.Spec.Template.Spec.Containers[0].Image, f.Message)
	case f != nil && f.Reason == jobspec.WrongKey:
		return fmt.Errorf("%s: --decryption names it, in namespace %s", f.Message, r.job.Namespace)
	case f != nil:
		return errors.New(f.Message)
	case r.done != nil && (r.done.Recorded == nil || r.done.Recorded.Records != r.last):
		return lost(r.last)
	case r.done == nil && state.hasEnded:
		return fmt.Errorf("the Pod of Job %s ended without saying why: %s", r.job.Name, cmp.Or(state.trouble, problem, "nothing is known"))
	}
	return nil // the log broke off, and is read again
}

// lost is about lines of a log that did not arrive.
func lost(last int64) error {
	return fmt.Errorf("what was found after number %d was lost on the way: the kubelet had begun another file of the log; ask for less, "+
		"with --limit, --since or a longer --prefix", last)
}

// read follows the log of a Pod from its beginning. What was seen before is passed over.
func (r *jobReader) read(ctx context.Context, pod *corev1.Pod) error {
	log, err := r.k.Logs(ctx, pod.Namespace, pod.Name, &corev1.PodLogOptions{Container: pod.Spec.Containers[0].Name, Follow: true})
	if err != nil {
		return err
	}
	return errors.Join(jobspec.ReadRecords(log, r.take), log.Close())
}

// take takes a line; no more are wanted after the last one.
func (r *jobReader) take(line jobspec.Line) (more bool) {
	switch {
	case line.Progress != nil:
		p := line.Progress
		r.show(progress.Progress{Read: p.Read, Total: p.Total, Percent: percent(p.Read, p.Total), Rate: p.Rate, Message: p.Message})
	case line.Record != nil && line.Record.Number <= r.last: // the log is read again
	case line.Record != nil && line.Record.Number > r.last+1:
		r.broken = lost(r.last)
	case line.Record != nil:
		r.shown.end()
		r.last, r.broken = line.Record.Number, r.see(*line.Record)
	default:
		r.done, r.failed = line.Done, line.Failed
	}
	return r.done == nil && r.failed == nil && r.broken == nil
}

func percent(read, total int64) int32 {
	if total <= 0 {
		return 0
	}
	return int32(min(100*read/total, 100)) //nolint:gosec // at most 100
}

// show shows progress, unless that is soon over, or would stand between the lines of a table.
func (r *jobReader) show(p progress.Progress) {
	if !r.loud.Load() || r.last > 0 && r.Width > 0 {
		return
	}
	p.What = "log of " + r.job.Labels[jobs.LabelRestores]
	r.shown.show(p)
}

// unlessPassing is nil for an error after which another try may succeed.
func (r *jobReader) unlessPassing(err error) error {
	if isFinal(err) && !apierrors.IsNotFound(err) {
		return err
	}
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: it was deleted meanwhile", err)
	}
	r.show(progress.Progress{Message: err.Error() + "; trying again"})
	return nil
}

// pod is the Pod of the Job; nil if there is none yet.
func (r *jobReader) pod(ctx context.Context) (*corev1.Pod, error) {
	var pods corev1.PodList
	if err := r.k.List(ctx, &pods, client.InNamespace(r.job.Namespace), client.MatchingLabels{batchv1.JobNameLabel: r.job.Name}); err != nil {
		return nil, err
	}
	return newestOf(slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return !metav1.IsControlledBy(&p, r.job) })), nil
}

// podState is how far a Pod is.
type podState struct {
	hasBegun, hasEnded bool
	trouble            string // why it does not run, or how it ended, in the words of Kubernetes
}

func stateOfPod(pod *corev1.Pod) (s podState) {
	if pod == nil {
		return s
	}
	if pod.Status.Reason != "" {
		s.trouble = pod.Status.Reason + ": " + pod.Status.Message
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			s.trouble = c.Message
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		waiting, ended := c.State.Waiting, c.State.Terminated
		s.hasBegun = s.hasBegun || c.State.Running != nil || ended != nil
		s.hasEnded = s.hasEnded || ended != nil
		switch {
		case waiting != nil:
			s.trouble = cmp.Or(waiting.Message, waiting.Reason)
		case ended != nil && ended.ExitCode != 0:
			s.trouble = fmt.Sprintf("code %d, %s", ended.ExitCode, ended.Reason)
		}
	}
	return s
}

// jobFailure says why a Job has failed, and whether it has ended.
func jobFailure(job *batchv1.Job) (why string, hasEnded bool) {
	for _, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobFailed || c.Type == batchv1.JobComplete) {
			return c.Reason + ": " + c.Message, true
		}
	}
	return "", false
}
