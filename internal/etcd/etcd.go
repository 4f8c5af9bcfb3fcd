// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package etcd talks to one etcd member at a time and says what it answered.
//
// It is narrow on purpose: our own small types, and the few calls that an
// operator needs. It must never let an etcdserverpb type out, never spread a
// call over several members, never repeat a call that changes the cluster, and
// never decide anything: it reports, and the planner judges.
//
// It calls gRPC directly, not through clientv3.Client. That one dials again for
// every status, and repeats reads up to a hundred times while a member answers
// "unavailable", which is what a learner of etcd 3.5 always answers.
package etcd

import (
	"context"
	"errors"
	"io"
)

var (
	// ErrNotReady means that etcd refuses for now and had no effect: ask again.
	// The learner is not in sync, there is a learner already, or the members
	// have not been connected to each other for the five seconds that etcd
	// wants to see before it changes membership.
	ErrNotReady = errors.New("etcd refuses for now")

	// ErrLearner means that the member asked is a learner, and learners only
	// answer Status and Snapshot: ask a voter.
	ErrLearner = errors.New("a learner does not serve this call")
)

// Member is one entry of the member list.
type Member struct {
	ID         uint64
	Name       string // empty until it has started for the first time
	PeerURLs   []string
	ClientURLs []string
	Learner    bool
}

// Status is what a member says about itself.
type Status struct {
	ClusterID, MemberID                   uint64
	LeaderID                              uint64 // 0: it knows no leader
	Version                               string
	DBSize                                int64 // bytes of the database file
	DBSizeInUse                           int64 // bytes of it that hold data: the rest is what a defragmentation gives back
	Revision                              int64
	RaftTerm, RaftIndex, RaftAppliedIndex uint64
	Learner                               bool
	StorageVersion                        string // "3.6.0": the oldest etcd that can read the data; before etcd 3.6 always empty
	Downgrade                             string // "3.5" while going down to it is allowed; before etcd 3.6 always empty
	Alarms                                []Alarm
	Errors                                []string // no leader, and raised alarms
}

// Alarm is one that etcd has raised.
type Alarm struct {
	MemberID uint64 // for which it was raised; 0 if etcd does not know which member is at fault
	Kind     string // NOSPACE or CORRUPT
}

// KeyValue is a key and its value.
type KeyValue struct{ Key, Value []byte }

// Hash is the sum of a member's keys, up to one revision.
type Hash struct {
	Sum       uint32
	Compacted int64 // revision up to which the member has no history, which the sum depends on
}

// Snapshot is a member's database on its way, and then the sha256 of it, in 32 bytes. It is good only if it ends
// with io.EOF, and if that sum is right.
//
// The member keeps every page that is freed while the snapshot is read, so that its database grows: read it
// without pauses.
type Snapshot struct {
	io.ReadCloser
	Size           int64  // bytes, with the sum
	StorageVersion string // "3.6.0": the oldest etcd that can read it; empty before etcd 3.6 and in a cluster's first seconds
}

// Client talks to one member. Every call ends with its context, and fails
// quickly when nothing listens at the member's address. But a member that
// starts listens before it has found a leader and serves, and one that was
// lost with its node does not refuse: always set a deadline. Calls that would
// change nothing, because the change is made already, succeed.
type Client interface {
	Access
	Data
	// Members is the list as this member knows it, sorted by ID. It does not
	// wait for a leader, so it may be old.
	Members(ctx context.Context) ([]Member, error)
	// Status is local too, and with Snapshot the only call that a learner answers.
	Status(ctx context.Context) (Status, error)
	// Read reads linearizably: success proves that a quorum works.
	Read(ctx context.Context) error
	// Revision reads in the same way, and is the revision that the cluster's data has then:
	// no write that was acknowledged before is newer. It is 0 if etcd keeps it from the
	// reader.
	Revision(ctx context.Context) (int64, error)
	// Count is how many keys there are at a revision. It is linearizable, and fails for a revision that was
	// compacted or is not written yet.
	Count(ctx context.Context, revision int64) (int64, error)
	// CountPrefix is how many keys begin with a prefix at a revision; 0: as they are. It is linearizable, and ErrCompacted if the revision
	// was.
	CountPrefix(ctx context.Context, prefix []byte, revision int64) (int64, error)
	// PutMissing puts those of the keys that do not exist, all in one transaction, and says how many these were and what
	// revision the data then has. etcd takes at most as many keys as its --max-txn-ops, less one, and none twice.
	PutMissing(ctx context.Context, keys []KeyValue) (put int, revision int64, err error)
	// WriteEntry writes an entry to the raft log that changes no data: it asks for
	// alarms, which etcd answers through the log. It needs a quorum. What alarms
	// there are, Status.Errors lists.
	WriteEntry(ctx context.Context) error
	// HashKV is the sum of all keys up to that revision. Like Status it is the member's own
	// word. It reads the whole database, and fails for a revision that the member has compacted
	// or does not have yet.
	HashKV(ctx context.Context, revision int64) (Hash, error)
	// Prefixes are by what keys begin with, the one with the most data first, as this member has them, by a sample of the first keys
	// of each; whole is false if there are more. It costs some hundred small reads.
	Prefixes(ctx context.Context) (all []Prefix, whole bool, err error)
	// Compact drops the history up to a revision, and returns once the member has done so, which may take long: it goes on if the
	// context ends. A revision that was compacted before is no error.
	Compact(ctx context.Context, revision int64) error
	// Disarm ends one alarm. It needs a quorum.
	Disarm(ctx context.Context, alarm Alarm) error
	// Snapshot begins one; the context must last until it was read. A learner serves it, too. It is what
	// the member has applied, which may be less than others have: Revision proves the least that it holds.
	Snapshot(ctx context.Context) (Snapshot, error)
	// AddLearner adds a learner that will be found at any of these URLs. A member that
	// has the first one already is returned as it is, voter or learner.
	AddLearner(ctx context.Context, peerURLs ...string) (Member, error)
	// UpdatePeerURLs has the others find a member at any of these URLs. They use them at once, and the member itself restarts not.
	UpdatePeerURLs(ctx context.Context, id uint64, peerURLs ...string) error
	// Promote makes a voter of a learner. Ask the leader: a follower passes
	// the request on in a busy loop until the leader accepts it.
	Promote(ctx context.Context, id uint64) error
	// Remove takes a member off the list; the member then stops by itself.
	Remove(ctx context.Context, id uint64) error
	// MoveLeader must be asked of the leader.
	MoveLeader(ctx context.Context, to uint64) error
	// Downgrade allows members to run the next older minor version, such as
	// "3.5": each may once its Status names it under Downgrade and StorageVersion,
	// some seconds later. Ask a member that does not run it yet: only etcd 3.6
	// and newer report that it is allowed already. It is ErrNotReady while
	// the version of the cluster is not that of this member, because it still
	// rises, or because another member runs the older version and holds it
	// down, and while an earlier downgrade is not over. Never ask etcd 3.5 this:
	// it does it, and does not answer.
	Downgrade(ctx context.Context, to string) error
	// CancelDowngrade ends what Downgrade began: members that run the older
	// version stay, and may be upgraded. etcd does so itself some seconds after
	// the last member runs the older version.
	CancelDowngrade(ctx context.Context) error
	// DowngradeEnabled says whether a downgrade is allowed. It needs a quorum, and is the only
	// way to ask etcd 3.5; Status reports it for newer ones.
	DowngradeEnabled(ctx context.Context) (bool, error)
}
