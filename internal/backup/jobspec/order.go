// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jobspec is the language between the operator and the Jobs of backups: an order, which a Job gets as its
// one argument, and lines, which it writes to its standard output.
//
// It must never hold a key, a password or an identity: those are files in the Job's Pod. The spec of a store names their Secrets.
package jobspec

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// Verb is what a Job does.
type Verb string

const (
	// Check looks at a store, and at what lies in it.
	Check Verb = "check"
	// Backup writes a backup.
	Backup Verb = "backup"
	// Unpack makes a data directory that is thrown away of a backup: the first half of a trial.
	Unpack Verb = "unpack"
	// Verify asks the etcd that runs on that data directory: the second half.
	Verify Verb = "verify"
	// Restore makes the data directory of one member of a backup.
	Restore Verb = "restore"
	// Delete removes a backup from a store.
	Delete Verb = "delete"
	// Rescue copies the data of a member that does not run, for an etcd that is started on it: the first half of a backup of its volume,
	// of which Backup is the second.
	Rescue Verb = "rescue"
	// Write writes a key again and again, and measures how that goes, until it is stopped: for a drill.
	Write Verb = "write"
	// Follow keeps the continuous log of a cluster, until it is stopped.
	Follow Verb = "follow"
)

// Where a Job's Pod finds what is not in the order. Each is a folder, a key of a Secret is a file in it.
const (
	KeysFolder       = "/etc/etcd-operator/store"      // of the store, named as api/v1beta1.Key… says
	CAFolder         = "/etc/etcd-operator/ca"         // authorities of the store's endpoint; the file is CASource.KeyName of the store
	IdentitiesFolder = "/etc/etcd-operator/identities" // of age
	ClientFolder     = "/etc/etcd-operator/client"     // tls.crt, tls.key and ca.crt for the members
	VolumeFolder     = "/backups"                      // the volume of a store
	ScratchFolder    = "/scratch"                      // of a trial; its data directory is ScratchData
	MemberFolder     = "/var/lib/etcd"                 // the member's volume, in a restore
)

// ScratchData is the data directory of a trial, below ScratchFolder. ScratchFacts is the file beside it in which
// Unpack leaves what it has computed for Verify.
const (
	ScratchData  = "data"
	ScratchFacts = "facts.json"
)

// The etcd of a trial has one member, which cannot be reached from outside of its Pod.
const (
	TrialMember   = "trial"
	TrialAddress  = "127.0.0.1:2379"
	TrialEndpoint = "http://" + TrialAddress
	TrialPeerURL  = "http://127.0.0.1:2380"
)

// Order is what a Job is to do. The field that is named as the verb is set, and no other one.
type Order struct {
	Verb     Verb                        `json:"verb"`
	Store    v1beta1.EtcdBackupStoreSpec `json:"store,omitzero"`
	Allowed  []string                    `json:"allowed,omitempty"` // endpoints that tokens may be sent to (objectstore.Endpoints)
	Operator string                      `json:"operator"`          // its version

	Check   *CheckOrder   `json:"check,omitempty"`
	Backup  *BackupOrder  `json:"backup,omitempty"`
	Trial   *TrialOrder   `json:"trial,omitempty"` // of Unpack and of Verify
	Restore *RestoreOrder `json:"restore,omitempty"`
	Delete  *DeleteOrder  `json:"delete,omitempty"`
	Rescue  *RescueOrder  `json:"rescue,omitempty"`
	Write   *WriteOrder   `json:"write,omitempty"`
	Follow  *FollowOrder  `json:"follow,omitempty"`
	Locate  *LocateOrder  `json:"locate,omitempty"`
	Search  *SearchOrder  `json:"search,omitempty"`
	State   *StateOrder   `json:"state,omitempty"`
	Compare *CompareOrder `json:"compare,omitempty"`
	Apply   *ApplyOrder   `json:"apply,omitempty"`
	Revert  *RevertOrder  `json:"revert,omitempty"`
}

// Encode is the order as the argument of a Job. The same order is always the same text. It has no dollar sign: the kubelet replaces
// $(NAME) in arguments by a variable of the container, and $$ by $, so that a prefix of a store would be another one.
func (o Order) Encode() string {
	text, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("encode order: %v", err)) // Spec is the only part that could be no JSON, and was made by json.Marshal
	}
	return strings.ReplaceAll(string(text), "$", `\u0024`)
}

// CheckOrder is that of Check.
type CheckOrder struct {
	// Write says that writing is tried, too. Without it the store is only listed.
	Write bool `json:"write,omitempty"`
	// Sweep has what is left of torn uploads deleted, if nothing was written to them for SweepAfter.
	Sweep bool `json:"sweep,omitempty"`
	// Memory is what the last Check has said of foreign objects, and First the set of those that are opened first (archive.Look).
	Memory map[string][]byte `json:"memory,omitempty"`
	First  []byte            `json:"first,omitempty"`
}

// SweepAfter is how old what is left of a torn upload is when it is deleted. No Job of a backup lives as long.
const SweepAfter = 24 * time.Hour

// BackupOrder is that of Backup.
type BackupOrder struct {
	ID         string   `json:"id"` // UID of the EtcdBackup, with a number after it where a store keeps what an attempt has left
	Name       string   `json:"name"`
	Namespace  string   `json:"namespace"`
	Cluster    string   `json:"cluster"`
	ClusterUID string   `json:"clusterUID"`
	ClusterID  string   `json:"clusterID"`            // of etcd, in hexadecimal; a member of another cluster is refused
	Recoveries int64    `json:"recoveries,omitempty"` // of the EtcdCluster
	Reason     string   `json:"reason,omitempty"`
	Members    []Member `json:"members"`
	Secure     bool     `json:"secure"` // ClientFolder has what TLS needs
	Recipients []string `json:"recipients,omitempty"`
	// LockedUntil is until when what is written is locked, where the store locks; zero: it does not.
	LockedUntil time.Time `json:"lockedUntil,omitzero"`
	// Spec of the EtcdCluster, for a restore elsewhere.
	Spec json.RawMessage `json:"spec,omitempty"`
	// HashBelow is the size in bytes up to which the database's hash is asked of the member: it holds up
	// writes while it is computed. 0: never.
	HashBelow int64 `json:"hashBelow,omitempty"`
	// Quota of the members, in bytes: an upload that makes the database grow towards it is stopped. 0: it is not known.
	Quota int64 `json:"quota,omitempty"`
	// Stopped says that the member is an etcd in the Job's own Pod, which starts on what Rescue has copied of a member that does not run.
	Stopped bool `json:"stopped,omitempty"`
}

// RescueOrder is that of Rescue.
type RescueOrder struct {
	DataDirectory string `json:"dataDirectory"` // its name on the volume in MemberFolder
	// InPlace says that the volume is in ScratchFolder, and is thrown away: it was made of a VolumeSnapshot. Nothing is copied.
	InPlace bool `json:"inPlace,omitempty"`
}

// WriteOrder is that of Write.
type WriteOrder struct {
	Key     string        `json:"key"`     // that is written; it is bound to a lease, and deleted afterwards
	Members []Member      `json:"members"` // that may be asked to write it; the first one is the Service for clients
	Secure  bool          `json:"secure"`  // ClientFolder has what TLS needs
	Lasts   time.Duration `json:"lasts"`   // after which it ends by itself
}

// FollowGrace is how long Kubernetes waits for the process of Follow to end, which writes what it has.
const FollowGrace = 30 * time.Second

// FollowOrder is that of Follow.
type FollowOrder struct {
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster"`
	Lineage   string `json:"lineage"`   // of the history that is logged (log.Folder)
	ClusterID string `json:"clusterID"` // of etcd, in hexadecimal; a member of another cluster is refused
	// Base is the revision of the newest full backup of the lineage. The log begins after it, if there is none yet or if its end was
	// overtaken by a compaction.
	Base    int64    `json:"base"`
	Members []Member `json:"members"` // that may be read, one at a time
	Secure  bool     `json:"secure"`  // ClientFolder has what TLS needs
	// Recipients of age: only they can read the log; none: it is not encrypted.
	Recipients []string `json:"recipients,omitempty"`
	// Flush is after how long what has come is written, at the latest; SegmentSize how many bytes of changes are written at once.
	Flush       time.Duration `json:"flush"`
	SegmentSize int           `json:"segmentSize"`
	// Hash is how often a member is asked for the hash of all keys, which holds up writes. 0: never.
	Hash time.Duration `json:"hash,omitempty"`
	// HashBelow is the size in bytes up to which a database is hashed.
	HashBelow int64 `json:"hashBelow,omitempty"`
}

// What Rescue leaves below ScratchFolder, beside ScratchData and ScratchFacts: the certificates of the etcd that is started there, and
// those by which Backup is its root, whatever authentication the data has. They are made for one Pod, and are used nowhere else.
const (
	ScratchServer = "server"
	ScratchClient = "client"
)

// Member is one that may send a snapshot.
type Member struct {
	Name    string `json:"name"`
	ID      string `json:"id"`      // in hexadecimal
	Address string `json:"address"` // of clients: host:port
	Learner bool   `json:"learner,omitempty"`
}

// TrialOrder is that of Unpack and of Verify.
type TrialOrder struct {
	Path           string `json:"path"`                     // as in Found
	ManifestSHA256 string `json:"manifestSHA256,omitempty"` // of the backup meant; empty: whichever lies there
	Minor          string `json:"minor"`                    // of the etcd that runs in the Pod, such as 3.6
	Identities     bool   `json:"identities,omitempty"`     // IdentitiesFolder has some
	// Foreign says that another program made the backup; WithoutHash, that it has no sha256 at its end and is
	// taken even so.
	Foreign     bool `json:"foreign,omitempty"`
	WithoutHash bool `json:"withoutHash,omitempty"`
	// Stopped says that the etcd in the Pod runs on what Rescue has prepared of a VolumeSnapshot: Unpack has computed nothing, and it has the
	// revision Least at least.
	Stopped bool  `json:"stopped,omitempty"`
	Least   int64 `json:"least,omitempty"`
}

// RestoreOrder is that of Restore.
type RestoreOrder struct {
	Path           string            `json:"path"`
	ManifestSHA256 string            `json:"manifestSHA256,omitempty"`
	Verified       bool              `json:"verified,omitempty"` // a trial has restored the backup with that manifest
	Identities     bool              `json:"identities,omitempty"`
	Foreign        bool              `json:"foreign,omitempty"`
	WithoutHash    bool              `json:"withoutHash,omitempty"`
	DataDirectory  string            `json:"dataDirectory"` // its name on the volume
	Member         string            `json:"member"`
	InitialCluster map[string]string `json:"initialCluster"` // peer URLs by name
	Token          string            `json:"token"`
	Minor          string            `json:"minor"`
	Stopped        bool              `json:"stopped,omitempty"` // the data is that of an etcd in the Pod, on what Rescue has prepared
	Bump           int64             `json:"bump,omitempty"`    // what is added to the revision; 0 also keeps the history
	Target         *TargetOrder      `json:"target,omitempty"`  // what the log of the cluster leads to after the backup; nil: the backup alone
}

// TargetOrder is what data is restored to by a log. Either Revision or Time is set.
type TargetOrder struct {
	Lineage  string    `json:"lineage"`
	Revision int64     `json:"revision,omitempty"` // the last one that is restored
	Time     time.Time `json:"time,omitzero"`      // until when changes came that are restored, by the clock of the log's writer
}

// DeleteOrder is that of Delete.
type DeleteOrder struct {
	Path string `json:"path"`
	// ManifestSHA256 of the backup meant, or the sum of the database of another program that was tried: if another one lies there,
	// nothing is deleted. Empty: what lies there is deleted, which is right for what a failed upload has left.
	ManifestSHA256 string `json:"manifestSHA256,omitempty"`
	// Log is what is kept of the log of its cluster, for the full backups that stay; nil: all of it.
	Log *log.Retained `json:"log,omitempty"`
}

// ParseOrder reads the argument of a Job. What it does not know it refuses: half of an order would be another one.
func ParseOrder(text string) (Order, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	var o Order
	if err := decoder.Decode(&o); err != nil {
		return Order{}, fmt.Errorf("read order: %w", err)
	}
	if decoder.More() {
		return Order{}, errors.New("read order: there is more than one")
	}
	if problem := o.Problem(); problem != "" {
		return Order{}, fmt.Errorf("read order: %s", problem)
	}
	return o, nil
}

// Problem says why the order cannot be carried out; empty if it can.
func (o Order) Problem() string {
	parts := []struct {
		isGiven bool
		verbs   []Verb
	}{
		{o.Check != nil, []Verb{Check}},
		{o.Backup != nil, []Verb{Backup}},
		{o.Trial != nil, []Verb{Unpack, Verify}},
		{o.Restore != nil, []Verb{Restore}},
		{o.Delete != nil, []Verb{Delete}},
		{o.Rescue != nil, []Verb{Rescue}},
		{o.Write != nil, []Verb{Write}},
		{o.Follow != nil, []Verb{Follow}},
		{o.Locate != nil, []Verb{Locate}},
		{o.Search != nil, []Verb{Search}},
		{o.State != nil, []Verb{State}},
		{o.Compare != nil, []Verb{Compare}},
		{o.Apply != nil, []Verb{Apply}},
		{o.Revert != nil, []Verb{Revert}},
	}
	known := false
	for _, part := range parts {
		isWanted := slices.Contains(part.verbs, o.Verb)
		known = known || isWanted
		if isWanted != part.isGiven {
			return fmt.Sprintf("it says %q, without what that needs or with what that does not need", o.Verb)
		}
	}
	switch {
	case !known:
		return fmt.Sprintf("%q is not known", o.Verb)
	case o.Restore != nil && o.Restore.Target != nil && (o.Restore.Stopped || o.Restore.Foreign):
		return "a log leads on from backups of this operator in a store alone"
	case o.Delete != nil && o.Delete.Log != nil && o.Delete.Log.Problem() != "":
		return o.Delete.Log.Problem()
	case o.Search != nil && o.Search.problem() != "":
		return o.Search.problem()
	case o.Compare != nil && o.Compare.problem() != "":
		return o.Compare.problem()
	case !o.needsNoStore() && storesIn(o.Store) != 1:
		return fmt.Sprintf("it names %d stores", storesIn(o.Store))
	}
	return ""
}

// needsNoStore says whether the order is about no store: beside some verbs, what is about a VolumeSnapshot.
func (o Order) needsNoStore() bool {
	isOfSnapshot := o.Rescue != nil && o.Rescue.InPlace || o.Restore != nil && o.Restore.Stopped
	return o.Verb == Verify || o.Verb == Write || isOfSnapshot
}

func storesIn(s v1beta1.EtcdBackupStoreSpec) int {
	count := 0
	for _, isGiven := range []bool{s.S3 != nil, s.GCS != nil, s.Azure != nil, s.Volume != nil} {
		if isGiven {
			count++
		}
	}
	return count
}
