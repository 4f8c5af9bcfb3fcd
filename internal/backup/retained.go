// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/continuous"
	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// retained is what stays of the log of a cluster when a full backup of it is deleted: what leads on from those that stay, so
// that whatever a restore has found, or is about to find, is there as long as its full backup. nil: all of it, because it is not known
// which history is the present one, or what one of the backups is of.
func retained(seen Seen, path string) *log.Retained {
	c := seen.Present
	folder, _, isOurs := archive.ParseName(path + "/manifest.json")
	isListed := slices.ContainsFunc(seen.Kept, func(o v1beta1.EtcdBackup) bool { return o.UID == seen.Backup.UID })
	if c == nil || !isOurs || !isListed || folder.Namespace != c.Namespace || folder.Cluster != c.Name {
		return nil
	}
	r := &log.Retained{Namespace: c.Namespace, Cluster: c.Name, Lineage: continuous.Lineage(c)}
	own, ids, isKnown := keptOf(seen, folder)
	if r.Lineage == "" || !isKnown {
		return nil
	}
	var kept []log.KeptFrom
	for _, b := range own {
		for _, lineage := range continuous.Lineages(c, b.Status.ClusterID) {
			kept = append(kept, log.KeptFrom{Lineage: lineage, Base: b.Status.Revision})
		}
	}
	r.From = log.KeepFrom(kept)
	if id := idOf(seen.Backup); id != "" && !slices.Contains(ids, id) {
		r.Gone = id
	}
	return r
}

// keptOf are the full backups that stay, of this very EtcdCluster, and the IDs that etcd had in all that stay. Which lineages there are of
// an ID that another EtcdCluster of the name has had is not known. Nothing is known where one of them does not say what it is of.
func keptOf(seen Seen, folder archive.Folder) (own []*v1beta1.EtcdBackup, ids []string, isKnown bool) {
	var foreign []string
	for i := range seen.Kept {
		b := &seen.Kept[i]
		in, _, isOurs := archive.ParseName(b.Status.Path + "/manifest.json")
		isGoing := b.DeletionTimestamp != nil && b.Spec.DeletionPolicy == v1beta1.DeleteBackup
		if !isOurs || in.Namespace != folder.Namespace || in.Cluster != folder.Cluster || isGoing ||
			!meta.IsStatusConditionTrue(b.Status.Conditions, v1beta1.ConditionComplete) {
			continue
		}
		id := idOf(b)
		if id == "" || b.Status.Revision < 1 {
			return nil, nil, false
		}
		ids = append(ids, id)
		if b.Status.ClusterUID == string(seen.Present.UID) {
			own = append(own, b)
		} else {
			foreign = append(foreign, id)
		}
	}
	own = slices.DeleteFunc(own, func(b *v1beta1.EtcdBackup) bool { return slices.Contains(foreign, idOf(b)) })
	return own, ids, true
}

// idOf is etcd's ID of the cluster of a backup, as lineages have it; empty if it is not known.
func idOf(b *v1beta1.EtcdBackup) string {
	id, err := strconv.ParseUint(b.Status.ClusterID, 16, 64)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%016x", id)
}
