// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// restoreGoal is the time of a restore over that of the same by hand.
const restoreGoal = 1.0

// restoreLarge times a cluster that begins with a backup of so many MiB, whose own cluster is gone: from when it is created until
// the first of its members has answered a linearizable read. The floor is the same by hand.
func restoreLarge(name string, databaseMiB int, volume string) func(context.Context, *bench) ([]row, error) {
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
				return b.handFloor(ctx, b.floorOf(fmt.Sprintf("%s-floor-%d", l.cluster, i), size), database)
			})
		if err != nil {
			return nil, err
		}
		return []row{ratio(name, measured[0], floors[0], restoreGoal)}, b.removeStore(ctx, l.store)
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

// handFloor is what a person does by hand with the database beside the volumes of three members that do not run: etcdutl snapshot restore
// into each, all at once, and their Pods, until one of them has answered a linearizable read.
func (b *bench) handFloor(ctx context.Context, f floor, database string) (lap, error) {
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
	places := map[string]string{}
	for i, member := range f.Members {
		places[member] = filepath.Join(folders[i], "data")
		if err := os.RemoveAll(places[member]); err != nil {
			return nil, fmt.Errorf("delete what the floor began with: %w", err)
		}
	}
	took, err := timed(func() error {
		if err := atOnce(f.Members, func(member string) error { return f.restoreByHand(ctx, member, database, places[member]) }); err != nil {
			return err
		}
		if err := atOnce(f.Members, func(member string) error { return b.startFloor(ctx, f, member) }); err != nil {
			return err
		}
		return b.firstRead(ctx, f.Name, len(f.Members))
	})
	if err != nil {
		return nil, err
	}
	if err := b.holdsDocuments(ctx, f.Name); err != nil {
		return nil, err
	}
	return lap{took}, b.removeFloor(ctx, f)
}

// restoreByHand fills the data directory of a member with etcd's own program, as that of the user whom its Pod runs as.
func (f floor) restoreByHand(ctx context.Context, member, database, to string) error {
	url := func(member string) string {
		return fmt.Sprintf("https://%s.%s.%s.svc:2380", member, f.Name, f.Namespace)
	}
	var all []string
	for _, name := range f.Members {
		all = append(all, name+"="+url(name))
	}
	arguments := []string{
		"snapshot", "restore", database, "--data-dir=" + to, "--name=" + member, "--initial-cluster=" + strings.Join(all, ","),
		"--initial-cluster-token=" + f.Name, "--initial-advertise-peer-urls=" + url(member),
	}
	output, err := exec.CommandContext(ctx, "etcdutl", arguments...).CombinedOutput() //nolint:gosec // names of our own
	if err != nil {
		return fmt.Errorf("etcdutl snapshot restore: %w: %s", err, output)
	}
	const nonroot = 65532
	return filepath.WalkDir(to, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, nonroot, nonroot))
	})
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
