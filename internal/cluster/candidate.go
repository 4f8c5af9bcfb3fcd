// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// RestoreCandidate is the newest verified backup of the data that the cluster has, and the state of its restore if a person has
// asked for it by accepting the loss. It is looked for only while etcd's member list cannot be read with quorum, and has no Backup
// if there is none.
type RestoreCandidate struct {
	Backup    string // name of the EtcdBackup
	Revision  int64
	Begun     int64  // when it was begun, in seconds since 1970
	Encrypted bool   // it is encrypted: only a person can name the identities that open it
	Problem   string // why the cluster cannot be brought back to it, and what to do; empty if it can

	Request Request
}

// Request is the EtcdRestore that the operator makes when the loss was accepted by the name of a backup. It has no Name if none was.
type Request struct {
	Name    string
	Exists  bool
	Foreign bool   // one of that name exists that the operator has not made
	Ended   bool   // it was undone, and is never begun again
	Message string // why it has not begun; empty if it has, or says nothing
	Fills   bool   // volumes are being filled for it
}

// acceptsBackup is how a loss begins that is accepted by the name of a backup. No member's name has a slash.
const acceptsBackup = "backup/"

// String is what a user writes to accept the loss.
func (o RestoreCandidate) String() string {
	return fmt.Sprintf("%s%s@%d", acceptsBackup, o.Backup, o.Revision)
}

// maxRestoreName is the longest name of an EtcdRestore.
const maxRestoreName = 56

// AcceptedName is the name of the EtcdRestore for a loss that was accepted by the name of a backup; empty if it was accepted otherwise, or
// not at all. It is made once for each such loss, even if the spec changes otherwise. Another cluster of that name has another one.
func AcceptedName(cluster, uid, accepted string) string {
	if !strings.HasPrefix(accepted, acceptsBackup) {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s", uid, accepted))
	return shortName(cluster, "accepted-"+hex.EncodeToString(sum[:3]), maxRestoreName)
}
