// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Several EtcdClusters may have had one name: one was deleted and created again, or two Kubernetes back up into one bucket. The UID of the
// EtcdCluster distinguishes them, and is in each manifest.

// isItself says whether only backups of this very EtcdCluster are meant: it is brought back in place, and no other cluster is named.
func (w Request) isItself() bool { return w.InPlace && w.Restore.Cluster == "" }

// means says whether a backup is of the cluster that is meant.
func (w Request) means(b *v1beta1.EtcdBackup) bool {
	return sourceOf(b) == w.source() && (!w.isItself() || b.Status.ClusterUID == string(w.Cluster.UID))
}

// newest are the newest backups that are meant and not newer than requested: one of each EtcdCluster that has had the name.
func newest(want Request, all []v1beta1.EtcdBackup) []candidate {
	var found []candidate
	for _, c := range candidates(want, all) {
		if want.means(c.Backup) && !isNewer(c, want.At) {
			found = append(found, c)
		}
	}
	return firstOfEach(found)
}

// firstOfEach are the first ones of each EtcdCluster.
func firstOfEach(all []candidate) (first []candidate) {
	for _, c := range all {
		isSame := func(f candidate) bool { return f.Backup.Status.ClusterUID == c.Backup.Status.ClusterUID }
		if !slices.ContainsFunc(first, isSame) {
			first = append(first, c)
		}
	}
	return first
}

// ambiguous says that several EtcdClusters have had the name, and how one is chosen.
func ambiguous(want Request, found []candidate) string {
	return fmt.Sprintf("EtcdBackupStore %s has backups of %d EtcdClusters that had the name %s, one after the other or in several "+
		"Kubernetes: name the backup that you mean in %s; the newest of each: %s",
		want.Store, len(found), want.source(), want.field("backup"), describe(found))
}

// namesakes are the newest backups of other EtcdClusters that have had the name, where only one of this very EtcdCluster is meant.
func namesakes(want Request, all []v1beta1.EtcdBackup) string {
	var others []candidate
	for _, c := range candidates(want, all) {
		if want.isItself() && sourceOf(c.Backup) == want.source() && !want.means(c.Backup) {
			others = append(others, c)
		}
	}
	if len(others) == 0 {
		return ""
	}
	return fmt.Sprintf("EtcdBackupStore %s has no backup of this EtcdCluster %s that is complete, but of another EtcdCluster of the same "+
		"name: if its data is meant, name a backup in %s; the newest of each: %s",
		want.Store, want.source(), want.field("backup"), describe(firstOfEach(others)))
}

// describe names a few backups with what a person needs to choose one.
func describe(all []candidate) string {
	var said []string
	for _, c := range all {
		s := c.Backup.Status
		said = append(said, fmt.Sprintf("EtcdBackup %s of revision %d, begun at %s, of UID %s",
			c.Backup.Name, s.Revision, c.Time.UTC().Format(time.RFC3339), s.ClusterUID))
	}
	const most = 5
	if len(said) > most {
		said = append(said[:most], fmt.Sprintf("%d more", len(said)-most))
	}
	return strings.Join(said, "; ")
}
