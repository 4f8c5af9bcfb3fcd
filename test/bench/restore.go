package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Goals are the time of a restore over that of the disk alone.
const (
	restoreGoal      = 1.5
	restoreLargeGoal = 2.0
)

// restoreLarge times a cluster that begins with a backup of so many MiB, whose own cluster is gone: from when it is created until
// the first of its members has answered a linearizable read. The floor is the disk alone: the database is read where
// the store is, and written and synced where members have their data, three times at once.
func restoreLarge(name string, databaseMiB int, volume string, goal float64) func(context.Context, *bench) ([]row, error) {
	return func(ctx context.Context, b *bench) ([]row, error) {
		l, err := b.largeCluster(ctx, name, databaseMiB, volume)
		if err != nil {
			return nil, err
		}
		backup, err := b.verifiedBackup(ctx, l)
		if err != nil {
			return nil, err
		}
		database, err := b.keepDatabase(ctx, l, backup)
		if err != nil {
			return nil, err
		}
		if err := b.remove(ctx, l.cluster); err != nil {
			return nil, err
		}
		size := resource.MustParse(volume)
		measured, floors, err := b.inTurns(1,
			func(i int) (lap, error) {
				return b.restoreOurs(ctx, fmt.Sprintf("%s-to-%d", l.cluster, i), size, backup)
			},
			func(i int) (lap, error) {
				return b.copyFloor(ctx, b.floorOf(fmt.Sprintf("%s-floor-%d", l.cluster, i), size), database)
			})
		if err != nil {
			return nil, err
		}
		return []row{ratio(name, measured[0], floors[0], goal)}, b.removeStore(ctx, l.store)
	}
}

// verifiedBackup is one that an etcd was started on, as one restores.
func (b *bench) verifiedBackup(ctx context.Context, l *large) (finished, error) {
	l.backups++
	backup, err := b.createBackup(ctx, l.cluster, l.store, fmt.Sprintf("%s-%d", l.cluster, l.backups), true)
	if err != nil {
		return finished{}, err
	}
	if err := b.backupSays(ctx, v1beta1.ConditionVerified, backup); err != nil {
		return finished{}, err
	}
	return finished{object: backup}, b.quiet(ctx)
}

// keepDatabase puts the database beside the backups of its store.
func (b *bench) keepDatabase(ctx context.Context, l *large, backup finished) (string, error) {
	folder, err := workplaceOn(l.folder)
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "database")
	return path, b.saveSnapshot(ctx, l.cluster, backup.object.Status.Source, path)
}

func (b *bench) restoreOurs(ctx context.Context, name string, size resource.Quantity, backup finished) (lap, error) {
	if err := b.quiet(ctx); err != nil {
		return nil, err
	}
	c := b.threeMembers(name)
	c.Spec.Storage.Size = ptr.To(size)
	c.Spec.Bootstrap = &v1beta1.BootstrapSpec{Restore: &v1beta1.Restore{Backup: backup.object.Name}}
	took, err := timed(func() error {
		if err := b.client.Create(ctx, c); err != nil {
			return fmt.Errorf("create EtcdCluster: %w", err)
		}
		return b.firstRead(ctx, name, c.Size())
	})
	if err != nil {
		return nil, errors.Join(err, b.lastWords(ctx, name))
	}
	if err := b.holdsDocuments(ctx, name); err != nil {
		return nil, err
	}
	if err := b.calm(ctx, name, c.Size()); err != nil {
		return nil, err
	}
	return lap{took}, b.remove(ctx, name)
}

// firstRead waits until one of the members has answered a linearizable read.
func (b *bench) firstRead(ctx context.Context, cluster string, size int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	members := memberNames(cluster, size)
	answers := make(chan error, len(members))
	for _, member := range members {
		go func() { answers <- b.answerOf(ctx, cluster, member, "") }()
	}
	var all error
	for range members {
		err := <-answers
		if err == nil {
			return nil
		}
		all = errors.Join(all, err)
	}
	return all
}

// lastWords are what a cluster says that does not come.
func (b *bench) lastWords(ctx context.Context, cluster string) error {
	var found v1beta1.EtcdCluster
	if err := b.client.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: cluster}, &found); err != nil {
		return fmt.Errorf("get EtcdCluster: %w", err)
	}
	var said []string
	for _, c := range found.Status.Conditions {
		said = append(said, fmt.Sprintf("%s=%s (%s): %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return fmt.Errorf("EtcdCluster %s says: %s", cluster, strings.Join(said, "; "))
}

// holdsDocuments reads one document: a cluster that begins empty would be a fast one.
func (b *bench) holdsDocuments(ctx context.Context, cluster string) error {
	a, err := b.application(ctx, cluster)
	if err != nil {
		return err
	}
	defer a.close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err := a.etcd.Get(ctx, documentKey(1))
	if err != nil {
		return fmt.Errorf("read a document: %w", err)
	}
	if len(answer.Kvs) != 1 || string(answer.Kvs[0].Value) != document(1) {
		return fmt.Errorf("cluster %s was restored without the documents that were backed up", cluster)
	}
	return nil
}

// copyFloor copies the database to the volumes of three members that were made by hand, and do not run.
func (b *bench) copyFloor(ctx context.Context, f floor, database string) (lap, error) {
	if _, err := b.applyFloor(ctx, f, b.pause); err != nil {
		return nil, err
	}
	folders, err := b.stopFloor(ctx, f)
	if err != nil {
		return nil, err
	}
	if err := resting(ctx); err != nil {
		return nil, err
	}
	took, err := timed(func() error {
		return atOnce(folders, func(folder string) error { return copySynced(database, filepath.Join(folder, "copy")) })
	})
	if err != nil {
		return nil, err
	}
	return lap{took}, b.removeFloor(ctx, f)
}

// stopFloor deletes the Pods, and says where the volumes of their members are.
func (b *bench) stopFloor(ctx context.Context, f floor) ([]string, error) {
	pods, err := b.pods(ctx, f.Name)
	if err != nil {
		return nil, err
	}
	err = atOnce(pods, func(pod corev1.Pod) error {
		if err := b.client.Delete(ctx, &pod, client.GracePeriodSeconds(1)); err != nil {
			return fmt.Errorf("delete pod: %w", err)
		}
		return b.podGone(ctx, &pod)
	})
	var folders []string
	for _, member := range f.Members {
		folder, missing := b.folderOf(ctx, member)
		folders, err = append(folders, folder), errors.Join(err, missing)
	}
	return folders, err
}

// copySynced copies a file through memory, as a restore does, until it is on the disk.
func copySynced(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	defer source.Close() //nolint:errcheck // it is only read
	target, err := os.Create(to)
	if err != nil {
		return fmt.Errorf("create a copy: %w", err)
	}
	// Without their own ways to copy, which leave it to the kernel.
	_, err = io.CopyBuffer(struct{ io.Writer }{target}, struct{ io.Reader }{source}, make([]byte, mebibyte))
	if err := errors.Join(err, target.Sync(), target.Close()); err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	return nil
}
