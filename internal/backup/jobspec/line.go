// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobspec

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Line is what a Job says, one JSON object a line. One of its fields is set. Done or Failed is the last line.
type Line struct {
	Progress *Progress `json:"progress,omitempty"`
	Found    *Found    `json:"found,omitempty"`
	Looked   *Looked   `json:"looked,omitempty"`
	Record   *Record   `json:"record,omitempty"`
	Done     *Done     `json:"done,omitempty"`
	Failed   *Failed   `json:"failed,omitempty"`
}

// Progress is how far a Job is. It comes at most once a second.
type Progress struct {
	Read    int64  `json:"read"`            // bytes of the database
	Total   int64  `json:"total,omitempty"` // 0: not known
	Rate    int64  `json:"rate,omitempty"`  // bytes a second, over the last seconds
	Message string `json:"message"`         // what is done now, and what comes next

	Writes *Writes `json:"writes,omitempty"` // of Write
	Follow *Logged `json:"follow,omitempty"` // of Follow
}

// Writes are what Write has measured since the first write was acknowledged.
type Writes struct {
	Acknowledged int64         `json:"acknowledged"`
	Failed       int64         `json:"failed"`     // among them those that were not acknowledged in time
	LongestGap   time.Duration `json:"longestGap"` // without an acknowledged write, the present one counted
}

// Logged is how far the log of a cluster is.
type Logged struct {
	Revision int64     `json:"revision"`          // the last that is in the store, all of it
	Until    time.Time `json:"until,omitzero"`    // everything that came until then is in the store; zero: not known yet
	Waiting  int64     `json:"waiting"`           // bytes of changes that have come, and are not in the store
	Segments int64     `json:"segments"`          // that this process has written
	Problem  string    `json:"problem,omitempty"` // what keeps the log from going on right now, and is tried again; empty: nothing
}

// Found is a backup that lies in a store.
type Found struct {
	Path    string `json:"path"`              // the folder, or the object if another program made it
	Program string `json:"program,omitempty"` // which made it, if it is another one
	Problem string `json:"problem,omitempty"` // why it cannot be restored, such as a manifest that is corrupt
	NoHash  bool   `json:"noHash,omitempty"`  // it is a snapshot that does not end with etcd's sha256
	Backup  Facts  `json:"backup"`            // what the manifest says, or the name of an object of another program
}

// Looked is what Check knows of objects that are no backups of this operator. A line has one of both, and as many lines as are needed.
type Looked struct {
	Memory map[string][]byte `json:"memory,omitempty"` // an archive.Memory, for the next Check
	Unseen []byte            `json:"unseen,omitempty"` // an archive.Names: what Waiting and Unread of Checked count
}

// Facts are what a manifest says.
type Facts struct {
	ID              string    `json:"id,omitempty"`
	Name            string    `json:"name,omitempty"`
	Namespace       string    `json:"namespace,omitempty"`
	Cluster         string    `json:"cluster,omitempty"`
	ClusterUID      string    `json:"clusterUID,omitempty"`
	ClusterID       string    `json:"clusterID,omitempty"`
	Reason          string    `json:"reason,omitempty"`
	Revision        int64     `json:"revision,omitempty"`
	Recoveries      int64     `json:"recoveries,omitempty"`
	CompactRevision int64     `json:"compactRevision,omitempty"`
	Keys            *int64    `json:"keys,omitempty"`
	Database        int64     `json:"database,omitempty"` // bytes
	Stored          int64     `json:"stored,omitempty"`   // bytes
	EtcdVersion     string    `json:"etcdVersion,omitempty"`
	StorageVersion  string    `json:"storageVersion,omitempty"`
	Encrypted       bool      `json:"encrypted,omitempty"`
	StartedAt       time.Time `json:"startedAt,omitzero"`
	FinishedAt      time.Time `json:"finishedAt,omitzero"`
	ManifestSHA256  string    `json:"manifestSHA256,omitempty"`
}

// Done is the end of a Job that carried out its order.
type Done struct {
	Check   *Checked  `json:"check,omitempty"`
	Backup  *Facts    `json:"backup,omitempty"`
	Source  string    `json:"source,omitempty"` // the member that sent the snapshot
	Trial   *Trial    `json:"trial,omitempty"`
	Locked  time.Time `json:"locked,omitzero"` // of Backup: until when the store keeps it
	Log     *Log      `json:"log,omitempty"`   // of Backup, of the volume of a member that does not run
	Writes  *Writes   `json:"writes,omitempty"`
	Reached *Reached  `json:"reached,omitempty"` // of Restore, to a target
	Located *Located  `json:"located,omitempty"`
	// Recorded is of Search and State. State says in Located which moment it is about.
	Recorded *Recorded `json:"recorded,omitempty"`
	Changes  *Changes  `json:"changes,omitempty"` // of Compare, Apply and Revert
	Left     string    `json:"left,omitempty"`    // of Delete: what stays, and why: another backup is there now; empty: nothing
}

// Reached is where a restore by a log has ended.
type Reached struct {
	Revision int64     `json:"revision"`
	At       time.Time `json:"at,omitzero"` // when its last change came; zero: it is that of the backup
	// LeftRevision and LeftAt are of the first change after it that is known, which was left out; 0 if there is none.
	LeftRevision int64     `json:"leftRevision,omitempty"`
	LeftAt       time.Time `json:"leftAt,omitzero"`
}

// Log is how far the log of a member reaches that does not run.
type Log struct {
	Term  uint64 `json:"term"`
	Index uint64 `json:"index"`
}

// Checked is what Check found.
type Checked struct {
	Skew    time.Duration `json:"skew,omitempty"` // by which the store's clock is ahead
	Backups int           `json:"backups"`
	Stored  int64         `json:"stored"` // bytes of all of them
	Swept   int           `json:"swept,omitempty"`
	Unknown int           `json:"unknown,omitempty"` // objects that are no backup
	// Waiting is how many foreign objects were not looked at yet, Unread how many could not be read, and Trouble why not one of these.
	Waiting int    `json:"waiting,omitempty"`
	Unread  int    `json:"unread,omitempty"`
	Trouble string `json:"trouble,omitempty"`

	Kept string `json:"kept,omitempty"` // why the store does not delete, in its words; empty if it does
}

// Trial is what etcd said of a backup, and how long it took.
type Trial struct {
	Revision int64         `json:"revision"`
	Keys     int64         `json:"keys"`
	Database int64         `json:"database"` // bytes
	Took     time.Duration `json:"took"`     // from the first byte of the store to the last answer
	// Facts of a backup of another program, which has no manifest: the version of the cluster, and the sha256 of the database.
	ClusterVersion string `json:"clusterVersion,omitempty"`
	SHA256         string `json:"sha256,omitempty"`
	NoHash         bool   `json:"noHash,omitempty"` // it does not end with etcd's sha256
}

// Reason is why a Job failed, in one word.
type Reason string

const (
	StoreFailed        Reason = "StoreFailed"        // the store; Kind of the message says how
	MemberFailed       Reason = "MemberFailed"       // no member could be asked, or the snapshot broke off
	Corrupt            Reason = "Corrupt"            // what lies in the store is not what was written
	WrongKey           Reason = "WrongKey"           // no identity decrypts it, or none was given
	Different          Reason = "Different"          // the etcd of the trial has other data than the manifest says
	NoRoom             Reason = "NoRoom"             // on the volume
	NotEmpty           Reason = "NotEmpty"           // there is a data directory already, of something else
	WrongVersion       Reason = "WrongVersion"       // the database needs a newer etcd
	NewerFormat        Reason = "NewerFormat"        // a newer operator wrote it
	StoreLocked        Reason = "StoreLocked"        // by object lock
	AuthEnabled        Reason = "AuthEnabled"        // etcd asks for a user
	SnapshotFailed     Reason = "SnapshotFailed"     // the VolumeSnapshot, or nobody has taken it
	UnsupportedJobSpec Reason = "UnsupportedJobSpec" // a bug, or an operator of another version
	Fenced             Reason = "Fenced"             // another process writes the same log
	Overtaken          Reason = "Overtaken"          // what follows the end of the log was compacted
	NotReached         Reason = "NotReached"         // the backup and the log do not lead to the target
	SetBack            Reason = "SetBack"            // the cluster has another history than the log
	Outdated           Reason = "Outdated"           // what was compared is not what there is now
	InternalFailure    Reason = "InternalFailure"    // what no other word fits
)

// Failed is the end of a Job that did not.
type Failed struct {
	Reason  Reason `json:"reason"`
	Message string `json:"message"` // what happened, in the words of the store or of etcd, and what to do
	// Final says that another try fails in the same way, until a person changes something.
	Final bool `json:"final,omitempty"`

	Until time.Time `json:"until,omitzero"` // of StoreLocked: when the lock ends
	Kind  string    `json:"kind,omitempty"` // of StoreFailed: how, such as "wrong region" (store.Kind)
}

// Write writes a line. Foreign text that is longer than it ever should be, such as a manifest's name, is shortened.
func (l Line) Write(to io.Writer) error {
	text, err := json.Marshal(l)
	if len(text) > longestLine {
		text, err = json.Marshal(l.shortened())
	}
	if err != nil {
		return fmt.Errorf("encode line: %w", err)
	}
	if _, err := to.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("write line: %w", err)
	}
	return nil
}

// Parse reads a line. What is none, such as what a crash prints, is not ok.
func Parse(text []byte) (l Line, ok bool) {
	if err := json.Unmarshal(text, &l); err != nil {
		return Line{}, false
	}
	return l, l != Line{}
}
