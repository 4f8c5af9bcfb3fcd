// Package jobspec is the language between the operator and the Jobs of backups: an order, which a Job gets as its
// one argument, and lines, which it writes to its standard output.
//
// It must never hold a key, a password or an identity: those are files in the Job's Pod.
package jobspec

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
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
)

// Where a Job's Pod finds what is not in the order. Each is a folder, a key of a Secret is a file in it.
const (
	KeysFolder       = "/etc/etcd-operator/store"      // of the store, named as api/v1alpha1.Key… says
	CAFolder         = "/etc/etcd-operator/ca"         // authorities of the store's endpoint; the file is Store.CA
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
	Verb     Verb   `json:"verb"`
	Store    Store  `json:"store,omitzero"`
	Operator string `json:"operator"` // its version

	Check   *CheckOrder   `json:"check,omitempty"`
	Backup  *BackupOrder  `json:"backup,omitempty"`
	Trial   *TrialOrder   `json:"trial,omitempty"` // of Unpack and of Verify
	Restore *RestoreOrder `json:"restore,omitempty"`
	Delete  *DeleteOrder  `json:"delete,omitempty"`
	Rescue  *RescueOrder  `json:"rescue,omitempty"`
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

// Store is where the store is: one of the four.
type Store struct {
	S3     *S3     `json:"s3,omitempty"`
	GCS    *GCS    `json:"gcs,omitempty"`
	Azure  *Azure  `json:"azure,omitempty"`
	Volume *Volume `json:"volume,omitempty"`
	// CA is the name of the file in CAFolder; empty if none is given.
	CA string `json:"ca,omitempty"`
	// Keys says that KeysFolder has the keys. Without it the identity of the ServiceAccount is used.
	Keys bool `json:"keys,omitempty"`
	// Allowed are endpoints that may be sent tokens, besides those of the provider (store.Endpoints).
	Allowed []string `json:"allowed,omitempty"`
}

// S3 is a bucket, as store.S3 has it.
type S3 struct {
	Bucket    string     `json:"bucket"`
	Prefix    string     `json:"prefix,omitempty"`
	Endpoint  string     `json:"endpoint,omitempty"`
	Region    string     `json:"region,omitempty"`
	PathStyle bool       `json:"pathStyle,omitempty"`
	AES256    bool       `json:"aes256,omitempty"`
	KMS       bool       `json:"kms,omitempty"`
	KMSKey    string     `json:"kmsKey,omitempty"`
	LockMode  string     `json:"lockMode,omitempty"` // GOVERNANCE or COMPLIANCE; empty: none
	LockUntil *time.Time `json:"lockUntil,omitempty"`
}

// GCS is a bucket, as store.GCS has it.
type GCS struct {
	Bucket   string `json:"bucket"`
	Prefix   string `json:"prefix,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
}

// Azure is a container, as store.Azure has it.
type Azure struct {
	Container string `json:"container"`
	Prefix    string `json:"prefix,omitempty"`
	Account   string `json:"account"`
	Endpoint  string `json:"endpoint,omitempty"`
}

// Volume is a folder on the volume that is mounted at VolumeFolder.
type Volume struct {
	Path string `json:"path,omitempty"`
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
	ClusterID  string   `json:"clusterID"` // of etcd, in hexadecimal; a member of another cluster is refused
	Reason     string   `json:"reason,omitempty"`
	Members    []Member `json:"members"`
	Secure     bool     `json:"secure"` // ClientFolder has what TLS needs
	Recipients []string `json:"recipients,omitempty"`
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
	Bump           int64             `json:"bump,omitempty"` // what is added to the revision; 0 also keeps the history
}

// DeleteOrder is that of Delete.
type DeleteOrder struct {
	Path string `json:"path"`
	// ManifestSHA256 of the backup meant, or the sum of the database of another program that was tried: if another one lies there,
	// nothing is deleted. Empty: what lies there is deleted, which is right for what a failed upload has left.
	ManifestSHA256 string `json:"manifestSHA256,omitempty"`
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
	case o.Verb != Verify && o.Store.count() != 1: // a verification asks etcd, and no store
		return fmt.Sprintf("it names %d stores", o.Store.count())
	}
	return ""
}

func (s Store) count() int {
	count := 0
	for _, isGiven := range []bool{s.S3 != nil, s.GCS != nil, s.Azure != nil, s.Volume != nil} {
		if isGiven {
			count++
		}
	}
	return count
}
