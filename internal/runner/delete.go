package runner

import (
	"context"
	"errors"
	"io/fs"

	"github.com/etcd-operator/etcd-operator/internal/archive"
	"github.com/etcd-operator/etcd-operator/internal/store"
	"github.com/etcd-operator/etcd-operator/internal/task"
)

// remove deletes a backup, its manifest first: what is left of a deletion that was interrupted is no backup. It is success if
// nothing is there, or if another backup is. What somebody else has put beside the parts stays.
func remove(ctx context.Context, j job) (task.Done, error) {
	folder, _, ours := archive.ParseName(j.Delete.Path + "/manifest.json")
	if !ours {
		return task.Done{}, j.where.Delete(ctx, j.Delete.Path) // an object of another program
	}
	isAnother, err := j.isAnother(ctx, folder)
	if isAnother || err != nil {
		return task.Done{}, err
	}
	if err := j.where.Delete(ctx, folder.Manifest()); err != nil {
		return task.Done{}, err
	}
	var names []string
	for object, err := range j.where.List(ctx, folder.String()+"/") {
		if err != nil {
			return task.Done{}, err
		}
		if _, name, _ := archive.ParseName(object.Name); archive.IsPart(name) {
			names = append(names, object.Name)
		}
	}
	return task.Done{}, j.deleteAll(ctx, names)
}

// isAnother says whether the manifest that lies there is of another backup than the one that is meant. One that is damaged
// may be of any, and goes: the folder has the ID of the one that is meant.
func (j job) isAnother(ctx context.Context, folder archive.Folder) (bool, error) {
	if j.Delete.ManifestSHA256 == "" {
		return false, nil
	}
	m, err := archive.ReadManifest(ctx, j.where, folder)
	switch {
	case err == nil:
		return m.SHA256 != j.Delete.ManifestSHA256, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, store.TooLarge), as[*archive.CorruptError](err):
		return false, nil
	default:
		return false, err
	}
}
