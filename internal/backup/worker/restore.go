package worker

import (
	"context"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/restore/datadir"
)

// restore makes the data directory of one member on its volume.
func restore(ctx context.Context, j job) (jobspec.Done, error) {
	o := j.Restore
	c, err := j.find(ctx, wanted{o.Path, o.ManifestSHA256, o.Identities, o.WithoutHash})
	if err != nil {
		return jobspec.Done{}, err
	}
	return jobspec.Done{Backup: &c.facts}, j.make(ctx, c, datadir.Options{
		Folder: j.Folders.Member, Name: o.DataDirectory, Member: o.Member, InitialCluster: o.InitialCluster, Token: o.Token, Minor: o.Minor,
		BumpRevision: o.Bump, MarkCompacted: o.Bump > 0, DropNoSpaceAlarm: true,
		Proven: o.Verified && o.ManifestSHA256 != "" && c.manifest != nil, // whose sha256 names the database that was tried
	}, "restoring the data of "+o.Member+"; the member is started next")
}
