// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"io"

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
	options := j.wanted()
	options.Proven = o.Verified && o.ManifestSHA256 != "" && c.manifest != nil // whose sha256 names the database that was tried
	message := "restoring the data of " + o.Member + "; the member is started next"
	if o.Target == nil {
		return jobspec.Done{Backup: &c.facts}, j.make(ctx, c, options, message)
	}
	if c.manifest == nil {
		return jobspec.Done{}, &unclear{"a log leads on from backups of this operator alone"}
	}
	way, err := j.replay(ctx, *c.manifest, *o.Target)
	if err != nil {
		return jobspec.Done{}, err
	}
	options.Log = way.log
	err = j.make(ctx, c, options, message)
	return jobspec.Done{Backup: &c.facts, Reached: way.reached()}, err
}

// wanted is the data directory that the order is about.
func (j job) wanted() datadir.Options {
	o := j.Restore
	return datadir.Options{
		Folder: j.Folders.Member, Name: o.DataDirectory, Member: o.Member, InitialCluster: o.InitialCluster, Token: o.Token, Minor: o.Minor,
		BumpRevision: o.Bump, MarkCompacted: o.Bump > 0, DropNoSpaceAlarm: true,
	}
}

// restoreRescued does the same of what the etcd in the Job's Pod sends, which runs on a volume made of a VolumeSnapshot: its snapshot has
// the writes, too, that the member had in its log alone.
func restoreRescued(ctx context.Context, j job) (jobspec.Done, error) {
	const sender = "the etcd that runs on the volume of the VolumeSnapshot"
	client, revision, err := j.rescued(ctx, j.ownAddress(), "waiting for etcd to start on that volume; its data is copied next")
	if err != nil {
		return jobspec.Done{}, &sourceError{sender, err}
	}
	sent, err := client.Snapshot(ctx)
	if err != nil {
		return jobspec.Done{}, &sourceError{sender, err}
	}
	c := content{size: sent.Size, facts: jobspec.Facts{Revision: revision, Database: sent.Size}}
	c.open = func(_ context.Context, message string) (io.ReadCloser, error) {
		return &progressReader{ReadCloser: sent, say: j.say, message: message, total: sent.Size}, nil
	}
	options := j.wanted()
	options.OwnSum = true
	return jobspec.Done{Backup: &c.facts}, j.make(ctx, c, options, "restoring the data of "+j.Restore.Member+"; the member is started next")
}
