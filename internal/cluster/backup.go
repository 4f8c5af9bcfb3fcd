// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// What waits for a backup, beside minor versions of etcd.
const (
	BeforeHibernation = "hibernation"
	BeforeDeletion    = "deletion"
)

// Awaited is a backup that something waits for. It has its name in the record before it exists, so that it is made once.
type Awaited struct {
	Name   string
	Before string // a minor version of etcd, BeforeHibernation or BeforeDeletion
	Done   bool   // it is good, or was when it was looked at
}

// Backup is what is known of it now, and of what may wait.
type Backup struct {
	Before string // what must not happen before; empty if nothing does
	Exists bool   // the one in the record
	Good   bool   // it is verified, or complete if it is not to be verified
	Failed bool   // it never will be
	Why    string // why it is not good, in its own words

	Held     bool // the EtcdCluster stays, if it is deleted, until it is let go
	Leaving  bool // it is being deleted
	Cascades bool // Kubernetes deletes what it owns first, its Pods too
	Orphans  bool // Kubernetes has what it owns stay
}

// Backed is what the backup of the record was made for, and is good for.
func (r Record) Backed() string {
	if !r.Awaited.Done {
		return ""
	}
	return r.Awaited.Before
}

// AwaitedName is the name of a backup that this is to wait for. Another spec, and another cluster of that name, has another one.
func (v View) AwaitedName() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", v.UID, v.Generation))
	suffix := "before-" + v.Backup.Before
	if v.Backup.Before == BeforeDeletion {
		suffix = "final"
	}
	return BackupName(v.Name, suffix+"-"+hex.EncodeToString(sum[:3]))
}

// maxBackupName is what fits into the value of a label.
const maxBackupName = 63

// BackupName is the name of a backup that the operator makes of a cluster: that of the cluster, shortened if it has to be, and a suffix
// that makes it unique.
func BackupName(cluster, suffix string) string { return shortName(cluster, suffix, maxBackupName) }

func shortName(cluster, suffix string, most int) string {
	if name := cluster + "-" + suffix; len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(cluster))
	suffix = hex.EncodeToString(sum[:3]) + "-" + suffix
	return strings.TrimRight(cluster[:most-1-len(suffix)], "-") + "-" + suffix
}
