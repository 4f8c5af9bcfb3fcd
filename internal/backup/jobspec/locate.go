// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobspec

import "time"

// Locate finds out which full backup and which revision a target means. Nothing is written.
const Locate Verb = "locate"

// LocateOrder is that of Locate. One of Revision, Time and BeforeDelete is set.
type LocateOrder struct {
	// Backups are those that may be restored, of one cluster, in any order. Some are newer than the target: they say from when on something
	// can be restored.
	Backups []FullBackup `json:"backups"`

	Revision     int64     `json:"revision,omitempty"`     // the last one that is restored
	Time         time.Time `json:"time,omitzero"`          // until when changes came that are restored, by the clock of the log's writer
	Exclusive    bool      `json:"exclusive,omitempty"`    // what came at just that time, or revision, is left out
	BeforeDelete string    `json:"beforeDelete,omitempty"` // the key whose newest deletion, and what came later, is left out

	// End is what the writer of the log has said of its end; nil: nothing is known. After its last change it is not known otherwise whether
	// nothing was written or nothing was logged.
	End *LogEnd `json:"end,omitempty"`

	Identities bool `json:"identities,omitempty"` // IdentitiesFolder has some, for segments that are encrypted
}

// LogEnd is up to where a lineage had everything at a time.
type LogEnd struct {
	Lineage  string    `json:"lineage"`
	Revision int64     `json:"revision"`
	Until    time.Time `json:"until"`
}

// FullBackup is one that a restore may begin with.
type FullBackup struct {
	Path      string    `json:"path"`
	Revision  int64     `json:"revision"`
	ClusterID string    `json:"clusterID"` // of etcd, in hexadecimal
	Finished  time.Time `json:"finished"`  // everything in it was written before
}

// Located is where a target is.
type Located struct {
	Path     string    `json:"path"`              // of the full backup
	Lineage  string    `json:"lineage,omitempty"` // of the log that leads on from it; empty: the backup itself is the target
	Revision int64     `json:"revision"`          // that is restored
	At       time.Time `json:"at,omitzero"`       // when its change came; zero: it is that of the backup
	Size     int64     `json:"size,omitempty"`    // bytes of changes that are replayed, before compression
	// LeftRevision and LeftAt are of the first change that is left out; 0 if the log ends before it.
	LeftRevision int64     `json:"leftRevision,omitempty"`
	LeftAt       time.Time `json:"leftAt,omitzero"`
}
