// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jobclient makes, reads and deletes the Jobs of backups and restores, and reads what these need.
//
// It must never decide whether there is to be a Job.
package jobclient

import (
	"context"
	"fmt"
	"io"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
)

// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=get;create

// Logs opens the log of a container; only its last lines if a number is given.
type Logs func(ctx context.Context, namespace, pod, container string, last *int64) (io.ReadCloser, error)

// Client are the Jobs of backups: how they are made, read and deleted.
type Client struct {
	Client client.Client
	Live   client.Reader // what a cache may not have yet
	Logs   Logs
	Leads  func(context.Context) error // an error unless this operator holds the lease now; may be nil
}

// find reads a Job from the API server: a cache that is behind would have it made twice, or its answer read twice.
func (t *Client) find(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	var job batchv1.Job
	err := t.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &job)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("get Job %s: %w", name, err)
	}
	return &job, nil
}

// Leading is an error unless this operator leads now.
func (t *Client) Leading(ctx context.Context) error {
	if t.Leads == nil {
		return nil
	}
	return t.Leads(ctx)
}

// Create makes a Job, and the ServiceAccount that it runs under if that is ours. A Job of the name with the same owner is the one
// that was to be made. An operator that no longer leads makes none: the next one may have made it, read what it said and deleted it.
func (t *Client) Create(ctx context.Context, job *batchv1.Job) error {
	if err := t.Leading(ctx); err != nil {
		return err
	}
	if job.Spec.Template.Spec.ServiceAccountName == v1beta1.BackupServiceAccount {
		if err := t.ensureAccount(ctx, job.Namespace); err != nil {
			return err
		}
	}
	err := t.Client.Create(ctx, job, client.FieldOwner(v1beta1.FieldOwner))
	if !apierrors.IsAlreadyExists(err) {
		return wrapped("create Job "+job.Name, err)
	}
	there, err := t.find(ctx, job.Namespace, job.Name)
	if err != nil || there == nil {
		return err
	}
	if !metav1.IsControlledBy(there, &metav1.ObjectMeta{UID: job.OwnerReferences[0].UID}) {
		return fmt.Errorf("create Job %s: another object has one of this name: delete it", job.Name)
	}
	return nil
}

func (t *Client) ensureAccount(ctx context.Context, namespace string) error {
	account := jobs.ServiceAccount(namespace)
	var there corev1.ServiceAccount
	err := t.Live.Get(ctx, client.ObjectKeyFromObject(account), &there)
	if !apierrors.IsNotFound(err) {
		return wrapped("get ServiceAccount", err)
	}
	// No watch shows ServiceAccounts: a read would wait for this one.
	err = t.Client.Create(ctx, account, client.FieldOwner(v1beta1.FieldOwner), client.DisableReadYourWritesConsistency)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return wrapped("create ServiceAccount "+account.Name, err)
}

// Remove deletes the Job with this UID, and its Pod.
func (t *Client) Remove(ctx context.Context, namespace, name, uid string) error {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	only := client.Preconditions{UID: ptr.To(types.UID(uid))}
	err := t.Client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground), only)
	if apierrors.IsConflict(err) {
		return nil // another one has its name
	}
	return wrapped("delete Job "+name, client.IgnoreNotFound(err))
}

// wrapped puts before an error what was done; nil stays nil.
func wrapped(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
