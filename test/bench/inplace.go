// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// inPlaceGoal is for how many seconds at most clients are without etcd while it is restored in place, whatever its size.
const inPlaceGoal = 10

// restoreInPlace measures how long no write succeeds while a cluster with so many MiB of data goes back to a verified backup of itself.
func restoreInPlace(name string, databaseMiB int, volume string) func(context.Context, *bench) ([]row, error) {
	return func(ctx context.Context, b *bench) ([]row, error) {
		l, err := b.largeCluster(ctx, name, databaseMiB, volume)
		if err != nil {
			return nil, err
		}
		backup, err := b.verifiedBackup(ctx, l)
		if err != nil {
			return nil, err
		}
		restore, err := b.previewed(ctx, l.cluster, backup.object.Name)
		if err != nil {
			return nil, err
		}
		begun := time.Now()
		beats, err := b.pulse(ctx, l.cluster, func() error { return b.goBack(ctx, restore) })
		if err != nil {
			return nil, err
		}
		b.progress("%s: complete %s after its confirmation; %s", name, time.Since(begun).Round(100*time.Millisecond), beats)
		if err := b.holdsDocuments(ctx, l.cluster); err != nil {
			return nil, err
		}
		var gaps sample
		gaps.seconds(beats.Gap)
		if err := b.remove(ctx, l.cluster); err != nil {
			return nil, err
		}
		return []row{alone(name, "s", gaps.median(), atMost(inPlaceGoal), gaps)}, b.removeStore(ctx, l.store)
	}
}

// previewed makes an EtcdRestore, and waits for what it would do.
func (b *bench) previewed(ctx context.Context, cluster, backup string) (*v1beta1.EtcdRestore, error) {
	restore := &v1beta1.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Name: cluster, Namespace: b.namespace},
		Spec:       v1beta1.EtcdRestoreSpec{Cluster: cluster, Backup: backup},
	}
	if err := b.client.Create(ctx, restore); err != nil {
		return nil, fmt.Errorf("create EtcdRestore: %w", err)
	}
	return restore, poll(ctx, "a preview of EtcdRestore "+restore.Name, blink, patience, func() (bool, error) {
		err := b.client.Get(ctx, client.ObjectKeyFromObject(restore), restore)
		return restore.Status.Preview != nil && restore.Status.Preview.Confirm != "", err //nolint:wrapcheck // poll says of what
	})
}

// goBack confirms what a preview says last, as long as that changes, and waits until it is done.
func (b *bench) goBack(ctx context.Context, restore *v1beta1.EtcdRestore) error {
	return poll(ctx, "EtcdRestore "+restore.Name, blink, 3*patience, func() (bool, error) {
		if err := b.client.Get(ctx, client.ObjectKeyFromObject(restore), restore); err != nil {
			return false, err //nolint:wrapcheck // poll says of what
		}
		switch preview := restore.Status.Preview; {
		case restore.Status.Phase == v1beta1.RestoreComplete:
			return true, nil
		case restore.Status.Phase == v1beta1.RestorePreviewed && preview != nil && restore.Spec.Confirm != preview.Confirm:
			changed := restore.DeepCopy()
			changed.Spec.Confirm = preview.Confirm
			return false, b.client.Patch(ctx, changed, client.MergeFrom(restore)) //nolint:wrapcheck // poll says of what
		default:
			return false, nil
		}
	})
}
