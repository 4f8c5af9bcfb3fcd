// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package log

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Folder is where the segments of one lineage lie.
type Folder struct {
	Namespace, Cluster string
	// Lineage names one history of one cluster. A restore, and a recovery that may lose acknowledged writes, begin another one: the same
	// revisions may mean something else there. It is of a-z, 0-9 and '-'.
	Lineage string
}

// Root is where all lineages of a cluster lie, with a slash at its end.
func Root(namespace, cluster string) string { return "v1/" + namespace + "/" + cluster + "/log/" }

// String is the name of the folder, below that of the cluster's backups: v1/<namespace>/<cluster>/log/<lineage>. No backup lies there,
// as its folder is right below that of the cluster.
func (f Folder) String() string {
	return Root(f.Namespace, f.Cluster) + f.Lineage
}

// Lineage is the name of the history of a cluster since its n-th restore or recovery, from 0. The cluster ID is etcd's.
func Lineage(clusterID uint64, n int) string { return fmt.Sprintf("%016x-%d", clusterID, n) }

// Object is the whole name of the segment that begins at a place. Sorted as text, names have the order of the history.
func (f Folder) Object(first Position) string {
	return fmt.Sprintf("%s/%020d.%010d.segment", f, first.Revision, first.Sub)
}

// The parts of names: those of Kubernetes, and what Object makes.
var (
	nameOfKubernetes = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
	nameOfLineage    = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
	nameOfSegment    = regexp.MustCompile(`^([0-9]{20})\.([0-9]{10,19})\.segment$`)
)

// ParseName splits the whole name of a segment; not ok if it is none.
func ParseName(name string) (f Folder, first Position, ok bool) {
	parts := strings.Split(name, "/")
	if len(parts) != 6 || parts[0] != "v1" || parts[3] != "log" {
		return Folder{}, Position{}, false
	}
	f = Folder{Namespace: parts[1], Cluster: parts[2], Lineage: parts[4]}
	numbers := nameOfSegment.FindStringSubmatch(parts[5])
	if f.problem() != "" || numbers == nil {
		return Folder{}, Position{}, false
	}
	revision, errRevision := strconv.ParseInt(numbers[1], 10, 64)
	sub, errSub := strconv.ParseInt(numbers[2], 10, 64)
	first = Position{revision, sub}
	if errRevision != nil || errSub != nil || f.Object(first) != name {
		return Folder{}, Position{}, false
	}
	return f, first, true
}

// problem says why it is no folder; empty if it is one.
func (f Folder) problem() string {
	switch {
	case !nameOfKubernetes.MatchString(f.Namespace), !nameOfKubernetes.MatchString(f.Cluster):
		return fmt.Sprintf("no cluster is named %q in %q", f.Cluster, f.Namespace)
	case !nameOfLineage.MatchString(f.Lineage):
		return fmt.Sprintf("no lineage is named %q", f.Lineage)
	}
	return ""
}
