// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
)

// Goals of backups: seconds until a small one is verified, the time of a large one over that of its slowest stage (0.8 of
// its rate), the memory of the process in MiB, and how much slower writes are meanwhile.
const (
	smallBackupGoal = 8
	stageGoal       = 1.25
	backupMiB       = 96
	foregroundGoal  = 2
)

// backupSmall times a backup of a cluster without much in it: from when it is created until it is verified, that is restored into
// another etcd, which has answered. A first one is thrown away.
func backupSmall(ctx context.Context, b *bench) ([]row, error) {
	const cluster, store = "backup-small", "backup-small-store"
	if _, err := b.apply(ctx, b.threeMembers(cluster)); err != nil {
		return nil, err
	}
	if err := b.newStore(ctx, store); err != nil {
		return nil, err
	}
	var complete, verified sample
	for i := range b.n + 1 {
		took, err := b.verifyOnce(ctx, cluster, store, fmt.Sprintf("%s-%d", cluster, i))
		if err != nil {
			return nil, err
		}
		b.progress("%d of %d: complete and verified after %s", i, b.n, took)
		if i > 0 {
			complete.seconds(took[0])
			verified.seconds(took[1])
		}
	}
	rows := []row{
		alone("backup-small", "s", verified.median(), atMost(smallBackupGoal), verified),
		alone("backup-small-complete", "s", complete.median(), nil, complete),
	}
	if err := b.removeStore(ctx, store); err != nil {
		return nil, err
	}
	return rows, b.remove(ctx, cluster)
}

func (b *bench) verifyOnce(ctx context.Context, cluster, store, name string) (lap, error) {
	if err := b.quiet(ctx); err != nil {
		return nil, err
	}
	begin := time.Now()
	backup, err := b.createBackup(ctx, cluster, store, name, true)
	if err != nil {
		return nil, err
	}
	if err := b.backupSays(ctx, v1beta1.ConditionComplete, backup); err != nil {
		return nil, err
	}
	complete := time.Since(begin)
	err = b.backupSays(ctx, v1beta1.ConditionVerified, backup)
	return lap{complete, time.Since(begin)}, err
}

func (b *bench) createBackup(ctx context.Context, cluster, store, name string, verify bool) (*v1beta1.EtcdBackup, error) {
	backup := &v1beta1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.namespace},
		Spec:       v1beta1.EtcdBackupSpec{Cluster: cluster, Store: store, Verify: ptr.To(verify), DeletionPolicy: v1beta1.RetainBackup},
	}
	if err := b.client.Create(ctx, backup); err != nil {
		return nil, fmt.Errorf("create EtcdBackup: %w", err)
	}
	return backup, nil
}

// backupSays waits for a condition of a backup, and reads the backup. One that has failed is not waited for.
func (b *bench) backupSays(ctx context.Context, kind string, backup *v1beta1.EtcdBackup) error {
	return b.says(ctx, kind, backup, func() ([]metav1.Condition, error) {
		if backup.Status.Phase == v1beta1.BackupFailed {
			return backup.Status.Conditions, errors.New("the backup has failed")
		}
		if meta.IsStatusConditionFalse(backup.Status.Conditions, v1beta1.ConditionVerified) {
			return backup.Status.Conditions, errors.New("the trial of the backup has failed")
		}
		return backup.Status.Conditions, nil
	})
}

// A large is a cluster with a large database, and a store whose volume is on this machine.
type large struct {
	cluster, store string
	folder         string // where the volume of the store is mounted
	backups        int    // that were made
}

// largeCluster makes a cluster with a database of so many MiB. That the volume can be found is known before it is filled.
func (b *bench) largeCluster(ctx context.Context, name string, databaseMiB int, volume string) (*large, error) {
	l := &large{cluster: strings.ToLower(name), store: strings.ToLower(name) + "-store"}
	if err := b.newStore(ctx, l.store); err != nil {
		return nil, err
	}
	var err error
	if l.folder, err = b.folderOf(ctx, l.store); err != nil {
		return nil, err
	}
	c := b.threeMembers(l.cluster)
	c.Spec.Storage.Size = ptr.To(resource.MustParse(volume))
	if _, err := b.apply(ctx, c); err != nil {
		return nil, err
	}
	return l, b.fillWithDocuments(ctx, l.cluster, databaseMiB)
}

// A finished is a backup that is complete.
type finished struct {
	object   *v1beta1.EtcdBackup
	manifest archive.Manifest
	peak     float64 // memory of its process at most, in MiB
}

// took is what status.startedAt and status.finishedAt say in whole seconds: the manifest has fractions.
func (f finished) took() time.Duration { return f.manifest.FinishedAt.Sub(f.manifest.StartedAt) }

// back makes a backup, which is not verified, and follows the process that writes it.
func (b *bench) back(ctx context.Context, l *large) (finished, error) {
	if err := b.quiet(ctx); err != nil {
		return finished{}, err
	}
	l.backups++
	backup, err := b.createBackup(ctx, l.cluster, l.store, fmt.Sprintf("%s-%d", l.cluster, l.backups), false)
	if err != nil {
		return finished{}, err
	}
	end := followPeak(ctx, string(backup.UID))
	err = b.backupSays(ctx, v1beta1.ConditionComplete, backup)
	f := finished{object: backup, peak: end()}
	if err != nil {
		return finished{}, err
	}
	if f.peak == 0 {
		return finished{}, fmt.Errorf("the process of EtcdBackup %s was not seen on this machine", backup.Name)
	}
	if f.manifest, err = l.manifest(f.object); err != nil {
		return finished{}, err
	}
	b.progress("%s: %d MiB of the database are %d MiB in the store after %s; %.1f MiB of memory", backup.Name,
		f.manifest.Database.Size/mebibyte, f.manifest.StoredBytes/mebibyte, f.took().Round(10*time.Millisecond), f.peak)
	return f, b.quiet(ctx)
}

// stored is where a backup lies on this machine.
func (l *large) stored(name string) string { return filepath.Join(l.folder, backupsFolder, name) }

func (l *large) manifest(backup *v1beta1.EtcdBackup) (archive.Manifest, error) {
	folder := archive.Folder{Namespace: backup.Namespace, Cluster: backup.Spec.Cluster, ID: string(backup.UID)}
	text, err := os.ReadFile(l.stored(folder.Manifest()))
	if err != nil {
		return archive.Manifest{}, fmt.Errorf("read the manifest of EtcdBackup %s: %w", backup.Name, err)
	}
	m, err := archive.ParseManifest(folder, text)
	if err != nil {
		return archive.Manifest{}, fmt.Errorf("read the manifest of EtcdBackup %s: %w", backup.Name, err)
	}
	return m, nil
}

// forget makes room for the next backup: what is stored goes first, so that no list of the store finds it again.
func (b *bench) forget(ctx context.Context, l *large, f finished) error {
	if err := os.RemoveAll(l.stored(f.manifest.Folder().String())); err != nil {
		return fmt.Errorf("remove what is stored: %w", err)
	}
	return b.deleted(ctx, f.object)
}
