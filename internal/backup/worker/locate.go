// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"
	"strconv"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/encryption"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	"github.com/etcd-operator/etcd-operator/internal/restore/target"
)

// locate finds the full backup and the revision that a target means.
func locate(ctx context.Context, j job) (jobspec.Done, error) {
	o := j.Locate
	bases, folder, err := basesOf(o.Backups)
	if err != nil {
		return jobspec.Done{}, err
	}
	logs, err := j.lineages(ctx, folder)
	if err != nil {
		return jobspec.Done{}, err
	}
	secret, err := j.identities(o.Identities)
	if err != nil {
		return jobspec.Done{}, err
	}
	history := target.New(bases, logs, target.Source{
		Identities: encryption.ParseIdentities(secret),
		Headers:    func(all []target.Segment) ([]log.Listed, error) { return j.listed(ctx, all) },
		Load:       func(object string) ([]byte, error) { return j.searched(ctx, object) },
	})
	if o.End != nil {
		history.Ends(o.End.Lineage, log.End{Revision: o.End.Revision, Until: o.End.Until})
	}
	p, err := history.Find(target.Target{Revision: o.Revision, Time: o.Time, Exclusive: o.Exclusive, BeforeDelete: o.BeforeDelete})
	if err != nil {
		return jobspec.Done{}, err
	}
	return jobspec.Done{Located: &jobspec.Located{
		Path: p.Base.Path, Lineage: p.Lineage, Revision: p.Revision, At: p.At, Size: p.Size, LeftRevision: p.Next.Revision, LeftAt: p.Next.Time,
	}}, nil
}

// basesOf are full backups, which must be of one cluster, and the folder that its log is in.
func basesOf(backups []jobspec.FullBackup) ([]target.Base, log.Folder, error) {
	var all []target.Base
	var of log.Folder
	for _, b := range backups {
		folder, _, ours := archive.ParseName(b.Path + "/manifest.json")
		id, err := strconv.ParseUint(b.ClusterID, 16, 64)
		in := log.Folder{Namespace: folder.Namespace, Cluster: folder.Cluster}
		if !ours || err != nil || of != (log.Folder{}) && in != of {
			return nil, of, &unclear{fmt.Sprintf("%s is no full backup of cluster %s that a log could follow", b.Path, of.Cluster)}
		}
		of = in
		all = append(all, target.Base{Path: b.Path, Revision: b.Revision, ClusterID: id, Finished: b.Finished})
	}
	return all, of, nil
}

// lineages lists the log of a cluster.
func (j job) lineages(ctx context.Context, of log.Folder) ([]target.Log, error) {
	if of == (log.Folder{}) {
		return nil, nil
	}
	var all []target.Log
	for object, err := range j.where.List(ctx, of.String()) { // which ends with a slash before the lineage
		if err != nil {
			return nil, fmt.Errorf("list the log: %w", err)
		}
		in, first, ok := log.ParseName(object.Name)
		if !ok || in.Namespace != of.Namespace || in.Cluster != of.Cluster {
			continue // something else
		}
		if n := len(all); n == 0 || all[n-1].Folder != in {
			all = append(all, target.Log{Folder: in})
		}
		newest := &all[len(all)-1]
		newest.Segments = append(newest.Segments, target.Segment{Object: object.Name, Size: object.Size, First: first})
		j.say.progress(0, 0, "looking through the names of the log")
	}
	return all, nil
}

// listed reads headers of segments, many at a time.
func (j job) listed(ctx context.Context, segments []target.Segment) ([]log.Listed, error) {
	all := make([]log.Listed, 0, len(segments))
	for _, s := range segments {
		all = append(all, log.Listed{Object: s.Object, Size: s.Size})
	}
	j.say.progress(0, 0, fmt.Sprintf("reading where %d segments of the log begin and end", len(all)))
	return all, j.headers(ctx, all)
}

func (j job) searched(ctx context.Context, object string) ([]byte, error) {
	j.say.progress(0, 0, "looking for the target in "+object)
	return j.where.Get(ctx, object, log.MaxStored)
}
