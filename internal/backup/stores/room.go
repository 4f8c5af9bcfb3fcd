// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stores

import (
	"path"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

const (
	// most is of how many of the backups in one store EtcdBackups are made: the newest ones.
	most = 1000
	// each is how many of each cluster have one in any case, however new those of other clusters are: they may be all that is left of it.
	each = 5
	// limit is how many have one in any case, if there are very many clusters.
	limit = 3000
)

// source is what a backup is of. A cluster that has the name of an earlier one is another source.
type source struct{ namespace, cluster, uid, program string }

func sourceOf(f jobspec.Found) source {
	if f.Program != "" {
		return source{program: f.Program, namespace: path.Dir(f.Path)}
	}
	return source{namespace: f.Backup.Namespace, cluster: f.Backup.Cluster, uid: f.Backup.ClusterUID}
}

// isPersons says whether an EtcdBackup of a path was not made by this listing.
func (l *listing) isPersons(path string) bool {
	there := l.standing[path]
	return there != nil && (there.Spec.Found == "" || !isOurs(there))
}

// chosen are the paths of which there is to be an EtcdBackup beside those that people have made: the newest that can be restored of each
// cluster, first one of each, then two and so on, and then the newest of all.
func (l *listing) chosen() map[string]bool {
	rounds, rest := make([][]string, each), []string(nil)
	count := map[source]int{}
	for _, f := range l.found {
		round := each
		if from := sourceOf(f); f.Problem == "" {
			round = count[from]
			count[from]++
		}
		switch {
		case l.isPersons(f.Path) || len(f.Path) > longestPath:
		case round < each:
			rounds[round] = append(rounds[round], f.Path)
		default:
			rest = append(rest, f.Path)
		}
	}
	chosen := map[string]bool{}
	take := func(paths []string, room int) {
		for _, p := range paths[:min(len(paths), max(room-len(chosen), 0))] {
			chosen[p] = true
		}
	}
	for _, paths := range rounds {
		take(paths, limit)
	}
	take(rest, most)
	return chosen
}
