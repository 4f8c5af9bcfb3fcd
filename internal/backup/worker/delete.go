// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
)

// remove deletes a backup, its manifest first: what is left of a deletion that was interrupted is no backup. It is success if
// nothing is there, and if another backup is, which stays. Foreign objects beside the parts stay.
func remove(ctx context.Context, j job) (jobspec.Done, error) {
	folder, _, ours := archive.ParseName(j.Delete.Path + "/manifest.json")
	if !ours && j.Delete.Log != nil {
		return jobspec.Done{}, &unclear{"a backup of another program has no log"}
	}
	if !ours {
		return j.removeForeign(ctx)
	}
	if kept := j.Delete.Log; kept != nil && (kept.Namespace != folder.Namespace || kept.Cluster != folder.Cluster) {
		return jobspec.Done{}, &unclear{"the log is not that of the cluster of the backup"}
	}
	another, err := j.another(ctx, folder)
	if another != "" || err != nil {
		return jobspec.Done{Left: another}, err
	}
	if err := j.where.Delete(ctx, folder.Manifest()); err != nil {
		return jobspec.Done{}, err
	}
	if err := j.removeParts(ctx, folder); err != nil || j.Delete.Log == nil {
		return jobspec.Done{}, err
	}
	return jobspec.Done{}, j.expire(ctx, *j.Delete.Log)
}

func (j job) removeParts(ctx context.Context, folder archive.Folder) error {
	var names []string
	for object, err := range j.where.List(ctx, folder.String()+"/") {
		if err != nil {
			return err
		}
		if _, name, _ := archive.ParseName(object.Name); archive.IsPart(name) {
			names = append(names, object.Name)
		}
	}
	return j.deleteAll(ctx, names)
}

// removeForeign deletes the snapshot of another program, which is read once if it was tried: only its content shows which one it is, and
// its program may have written another one under its name since.
func (j job) removeForeign(ctx context.Context) (jobspec.Done, error) {
	if j.Delete.ManifestSHA256 != "" {
		switch _, err := j.findForeign(ctx, wanted{path: j.Delete.Path, sum: j.Delete.ManifestSHA256}); {
		case as[*goneError](err):
			return jobspec.Done{}, nil
		case err != nil && failure(err).Reason == jobspec.Corrupt:
			return jobspec.Done{Left: fmt.Sprintf("%s stays: it is not the snapshot that was tried (%v)", j.Delete.Path, err)}, nil
		case err != nil:
			return jobspec.Done{}, err
		}
	}
	return jobspec.Done{}, j.where.Delete(ctx, j.Delete.Path)
}

// another says that the manifest that lies there is of another backup than the one that is meant; empty if it is not. One that is
// damaged may be of any, and is deleted: the folder has the ID of the one that is meant.
func (j job) another(ctx context.Context, folder archive.Folder) (string, error) {
	if j.Delete.ManifestSHA256 == "" {
		return "", nil
	}
	m, err := archive.ReadManifest(ctx, j.where, folder)
	switch {
	case err == nil && m.SHA256 != j.Delete.ManifestSHA256:
		return fmt.Sprintf("%s stays: its manifest is of another backup (sha256 %s, and the one that was to be deleted has %s)",
			j.Delete.Path, m.SHA256, j.Delete.ManifestSHA256), nil
	case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, objectstore.TooLarge), as[*archive.CorruptError](err):
		return "", nil
	default:
		return "", err
	}
}
