// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/jobclient"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/restore"
)

// targetFinder has Jobs look for the targets of restores.
type targetFinder struct {
	tasks   *jobclient.Client
	image   *jobclient.OwnImage
	version string
}

// create creates the Job that looks for a target. Its owner is the EtcdRestore, or the EtcdCluster that begins with it.
func (t targetFinder) create(
	ctx context.Context, by client.Object, kind string, c *v1beta1.EtcdCluster, store *v1beta1.EtcdBackupStore, s restore.FindTarget,
	image jobs.Image,
) error {
	order := jobspec.Order{Verb: jobspec.Locate, Operator: t.version, Store: store.Spec, Locate: &s.Order}
	return t.tasks.Create(ctx, jobs.MadeFor(jobs.Locate(by, kind, c, store, order, s.Decryption, image), s.For))
}

func (t targetFinder) observe(ctx context.Context, by client.Object, kind string) (jobs.Observed, error) {
	return t.tasks.Observe(ctx, by, jobs.LocateName(by.GetName(), kind))
}

func (t targetFinder) drop(ctx context.Context, by client.Object, kind string, s restore.DropSearch) error {
	return t.tasks.Remove(ctx, by.GetNamespace(), jobs.LocateName(by.GetName(), kind), s.UID)
}

// kinds of owners.
const (
	restoreKind = "EtcdRestore"
	clusterKind = "EtcdCluster"
)

// storeOf is the name of the store in which a backup lies; empty if there is no such backup.
func storeOf(all []v1beta1.EtcdBackup, name string) string {
	for i := range all {
		if all[i].Name == name {
			return all[i].Status.Store
		}
	}
	return ""
}

// search reads how far the Job is that looks for the target, until the restore has begun, or the one that a restore of a prefix waits for.
func (r *EtcdRestoreReconciler) search(ctx context.Context, view *restore.View) error {
	if verb := restore.TaskOf(view.Restore); verb != "" {
		_, view.NoImage = r.targets.image.Get(ctx)
		var err error
		view.Task, err = r.tasks.Observe(ctx, view.Restore, jobs.OnPrefixName(view.Restore, verb))
		return err
	}
	if !restore.NeedsSearch(*view) {
		return nil
	}
	_, view.NoImage = r.targets.image.Get(ctx)
	var err error
	view.Search, err = r.targets.observe(ctx, view.Restore, restoreKind)
	return err
}

func (r *EtcdRestoreReconciler) findTarget(ctx context.Context, view restore.View, s restore.FindTarget) error {
	image, _ := r.targets.image.Get(ctx)
	return r.targets.create(ctx, view.Restore, restoreKind, view.Cluster, view.Store, s, image)
}

// leastScratch is room for a database whose size is not known, in bytes.
const leastScratch = 64 << 20

// startTask creates the Job of a restore of a prefix.
func (r *EtcdRestoreReconciler) startTask(ctx context.Context, view restore.View, s restore.StartTask) error {
	image, _ := r.targets.image.Get(ctx)
	order := s.Order
	order.Operator, order.Store = r.targets.version, view.Store.Spec
	room := *resource.NewQuantity(max(s.Size, leastScratch), resource.BinarySI)
	return r.tasks.Create(ctx, jobs.MadeFor(jobs.OnPrefix(view.Restore, view.Cluster, view.Store, order, room, image), s.For))
}

func (r *EtcdRestoreReconciler) dropTask(ctx context.Context, view restore.View, s restore.DropTask) error {
	return r.tasks.Remove(ctx, view.Restore.Namespace, view.Task.Name, s.UID)
}

// search reads how far the Job is that looks for the target of a cluster that begins with it.
func (r *VolumeRestoreReconciler) search(ctx context.Context, view *restore.VolumesView) error {
	if c := view.Cluster; !restore.IsWanted(c) || c.Spec.Bootstrap.Restore.Target == nil || c.IsRestoring() {
		return nil
	}
	var err error
	view.Search, err = r.targets.observe(ctx, view.Cluster, clusterKind)
	return errors.Join(err, r.logged(ctx, view))
}

// logged reads the cluster whose log may lead to the target, which says up to where the log has everything.
func (r *VolumeRestoreReconciler) logged(ctx context.Context, view *restore.VolumesView) error {
	name := restore.LoggedBy(view.Cluster, view.Backups)
	if name == "" {
		return nil
	}
	var c v1beta1.EtcdCluster
	err := r.client.Get(ctx, client.ObjectKey{Namespace: view.Cluster.Namespace, Name: name}, &c)
	if err == nil {
		view.Logged = &c
	}
	return wrapped("get EtcdCluster "+name, client.IgnoreNotFound(err))
}
