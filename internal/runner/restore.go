package runner

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/etcd-operator/etcd-operator/internal/archive"
	"github.com/etcd-operator/etcd-operator/internal/datadir"
	"github.com/etcd-operator/etcd-operator/internal/task"
)

// restore makes the data directory of one member on its volume.
func restore(ctx context.Context, j job) (task.Done, error) {
	o := j.Restore
	m, err := j.read(ctx, o.Path, o.ManifestSHA256, o.Foreign)
	if err != nil {
		return task.Done{}, err
	}
	facts := factsOf(m)
	return task.Done{Backup: &facts}, j.make(ctx, m, o.Identities, datadir.Options{
		Folder: j.Folders.Member, Name: o.DataDirectory, Member: o.Member, InitialCluster: o.InitialCluster, Token: o.Token, Minor: o.Minor,
		BumpRevision: o.Bump, MarkCompacted: o.Bump > 0, DropNoSpaceAlarm: true,
	}, "restoring the data of "+o.Member)
}

// read reads the manifest of the backup that is meant.
func (j job) read(ctx context.Context, path, sum string, foreign bool) (archive.Manifest, error) {
	folder, _, ours := archive.ParseName(path + "/manifest.json")
	if foreign || !ours {
		return archive.Manifest{}, &unclear{fmt.Sprintf("%q is no backup of this operator's", path)}
	}
	m, err := archive.ReadManifest(ctx, j.where, folder)
	if err != nil {
		return archive.Manifest{}, err
	}
	if sum != "" && sum != m.SHA256 {
		return archive.Manifest{}, &archive.CorruptError{
			Object: folder.Manifest(), Problem: fmt.Sprintf("it has sha256 %s, and the one that is meant has %s: it was replaced", m.SHA256, sum),
		}
	}
	return m, nil
}

// make streams a backup into a data directory.
func (j job) make(ctx context.Context, m archive.Manifest, given bool, o datadir.Options, message string) error {
	secret, err := j.identities(given)
	if err != nil {
		return err
	}
	sum, err := hex.DecodeString(m.Database.SHA256)
	if err != nil {
		return fmt.Errorf("read manifest: %w", err)
	}
	o.Size = m.Database.Size
	copy(o.SHA256[:], sum)
	database, err := archive.Open(ctx, j.where, m, secret, func(p archive.Progress) { j.say.progress(p.Read, m.Database.Size, message) })
	if err != nil {
		return err
	}
	return errors.Join(datadir.Make(ctx, o, database), database.Close())
}

// remove deletes a backup, its manifest first: what is left of a deletion that was interrupted is no backup. It is success if
// nothing is there, or if another backup is.
func remove(ctx context.Context, j job) (task.Done, error) {
	folder, _, ours := archive.ParseName(j.Delete.Path + "/manifest.json")
	if !ours {
		return task.Done{}, j.where.Delete(ctx, j.Delete.Path) // an object of another program
	}
	if sum := j.Delete.ManifestSHA256; sum != "" {
		m, err := archive.ReadManifest(ctx, j.where, folder)
		if err == nil && m.SHA256 != sum {
			return task.Done{}, nil
		}
	}
	if err := j.where.Delete(ctx, folder.Manifest()); err != nil {
		return task.Done{}, err
	}
	return task.Done{}, j.clear(ctx, folder.String()+"/")
}
