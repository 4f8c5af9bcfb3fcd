package controllers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/jobs"
	"github.com/etcd-operator/etcd-operator/internal/task"
)

// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=get;create

// logs opens the log of a container; only its last lines if a number is given.
type logs func(ctx context.Context, namespace, pod, container string, last *int64) (io.ReadCloser, error)

// tasks are the Jobs of backups: how they are made, read and deleted.
type tasks struct {
	client client.Client
	live   client.Reader // what a cache may not have yet
	logs   logs
	leads  func(context.Context) error // an error unless this operator holds the lease now; may be nil
}

// outcome is how far a Job is.
type outcome struct {
	Ended    bool
	EndedAt  time.Time
	Progress task.Progress // of the last line that tells it
	Lines    []task.Line   // of a Job that has ended: all but progress, the last of which is Done or Failed if it came to that
	Trouble  string        // why its Pod does not run, or how it ended, in the words of Kubernetes
}

// end is the last line, if it is one that ends a Job.
func (o outcome) end() task.Line {
	if len(o.Lines) == 0 {
		return task.Line{}
	}
	return o.Lines[len(o.Lines)-1]
}

// find reads a Job from the API server: a cache that is behind would have it made twice, or its answer read twice.
func (t *tasks) find(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	var job batchv1.Job
	err := t.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &job)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("get Job %s: %w", name, err)
	}
	return &job, nil
}

// leading is an error unless this operator leads now.
func (t *tasks) leading(ctx context.Context) error {
	if t.leads == nil {
		return nil
	}
	return t.leads(ctx)
}

// create makes a Job, and the ServiceAccount that it runs under if that is ours. A Job of the name with the same owner is the one
// that was to be made. An operator that no longer leads makes none: the next one may have made it, read what it said and deleted it.
func (t *tasks) create(ctx context.Context, job *batchv1.Job) error {
	if err := t.leading(ctx); err != nil {
		return err
	}
	if job.Spec.Template.Spec.ServiceAccountName == v1alpha1.BackupServiceAccount {
		if err := t.ensureAccount(ctx, job.Namespace); err != nil {
			return err
		}
	}
	err := t.client.Create(ctx, job, client.FieldOwner(v1alpha1.FieldOwner))
	if !apierrors.IsAlreadyExists(err) {
		return wrapped("create Job "+job.Name, err)
	}
	there, err := t.find(ctx, job.Namespace, job.Name)
	if err != nil || there == nil {
		return err
	}
	if !metav1.IsControlledBy(there, owning(job)) {
		return fmt.Errorf("create Job %s: another object has one of this name: delete it", job.Name)
	}
	return nil
}

// owning is the owner of a Job as an object.
func owning(job *batchv1.Job) metav1.Object {
	return &metav1.ObjectMeta{UID: job.OwnerReferences[0].UID}
}

func (t *tasks) ensureAccount(ctx context.Context, namespace string) error {
	account := jobs.ServiceAccount(namespace)
	var there corev1.ServiceAccount
	err := t.live.Get(ctx, client.ObjectKeyFromObject(account), &there)
	if !apierrors.IsNotFound(err) {
		return wrapped("get ServiceAccount", err)
	}
	// No watch shows ServiceAccounts: a read would wait for this one.
	err = t.client.Create(ctx, account, client.FieldOwner(v1alpha1.FieldOwner), client.DisableReadYourWritesConsistency)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return wrapped("create ServiceAccount "+account.Name, err)
}

// remove deletes the Job with this UID, and its Pod.
func (t *tasks) remove(ctx context.Context, namespace, name, uid string) error {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	only := client.Preconditions{UID: ptr.To(types.UID(uid))}
	err := t.client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground), only)
	if apierrors.IsConflict(err) {
		return nil // another one has its name
	}
	return wrapped("delete Job "+name, client.IgnoreNotFound(err))
}

func wrapped(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// look says how far a Job is. A Job that has ended without its log being read is one that failed.
func (t *tasks) look(ctx context.Context, job *batchv1.Job) (outcome, error) {
	var o outcome
	o.Ended, o.EndedAt, o.Trouble = endOf(job)
	pod, err := t.podOf(ctx, job, o.Ended)
	if err != nil || pod == nil {
		if o.Ended && o.Trouble == "" {
			o.Trouble = "its Pod is gone, and with it what it said"
		}
		return o, err
	}
	if trouble := troubleOf(pod); trouble != "" {
		o.Trouble = trouble
	}
	for _, container := range speaking(pod) {
		if err := t.read(ctx, pod, container, &o); err != nil {
			return o, err
		}
		if o.end().Failed != nil {
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
func (t *tasks) read(ctx context.Context, pod *corev1.Pod, container string, o *outcome) error {
	var last *int64
	if !o.Ended {
		last = ptr.To[int64](1)
	}
	stream, err := t.logs(ctx, pod.Namespace, pod.Name, container, last)
	if apierrors.IsNotFound(err) || apierrors.IsBadRequest(err) {
		return nil // the container or its log is gone
	}
	if err != nil {
		return fmt.Errorf("read log of %s: %w", pod.Name, err)
	}
	lines, progress, err := parse(stream)
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

// longestLine is that of a manifest's facts, with a long reason.
const longestLine = 1 << 20

func parse(stream io.Reader) (lines []task.Line, progress *task.Progress, err error) {
	scanner := bufio.NewScanner(stream)
	scanner.Buffer(nil, longestLine)
	for scanner.Scan() {
		line, ok := task.Parse(scanner.Bytes())
		switch {
		case ok && line.Progress != nil:
			progress = line.Progress
		case ok:
			lines = append(lines, line)
		}
	}
	return lines, progress, scanner.Err()
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

// podOf is the newest Pod of a Job; nil if there is none. Of a Job that has ended it is read from the API server: a cache that has
// yet to see it would lose what it said.
func (t *tasks) podOf(ctx context.Context, job *batchv1.Job, hasEnded bool) (*corev1.Pod, error) {
	reader := client.Reader(t.client)
	if hasEnded {
		reader = t.live
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
