// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crash says why an etcd container ended, from what Kubernetes keeps
// of it: the exit code, a reason, and the last 2048 bytes of its log.
//
// A member is replaced on the word of this package, so that it must never call
// data lost that may be good: it believes only etcd's own statements, in the
// very lines with which etcd ended, and anything else is Unknown. Each of the
// statements was provoked by damaging the data of real etcd 3.5, 3.6 and 3.7.
// Data of another member or cluster is no cause: etcd runs on it, and only its
// identity shows it.
package crash

import (
	"slices"
	"strings"
)

// Cause is why etcd ended.
type Cause string

// The causes that can be distinguished.
const (
	Unknown Cause = "Unknown"

	// Empty: there is no write-ahead log in the data directory. A learner that
	// has never started has none either, and ends this way while it reaches no
	// other member, or its list of members is old: it lost nothing. And etcd
	// cannot distinguish a log that is not there from a directory that it may not
	// read: keep the volume.
	Empty Cause = "Empty"
	// Corrupt: the write-ahead log or the database is damaged beyond what etcd
	// repairs, which is a log that ends in a torn record, or lacks entries that
	// the leader knows it had.
	Corrupt Cause = "Corrupt"
	// Differs: etcd has compared its data with that of its peers before it served, and some have other data. That proves nothing about
	// whose data is the good one.
	Differs Cause = "Differs"
)

const (
	fatal    = 1 // the exit code after a line of level fatal
	panicked = 2 // and after a panic, which the Go runtime reports
)

// Why judges a container that ended, by the fields of its terminated state.
// The message is the end of its log, whose first line may be cut off.
func Why(exitCode int32, reason, message string) Cause {
	log := read(message)
	switch {
	case reason == "OOMKilled" || exitCode != fatal && exitCode != panicked:
		return Unknown // it was stopped from outside: what it said last is not why
	case slices.ContainsFunc(mayPass, log.mentions):
		return Unknown
	case log.endsWith(differs):
		return Differs
	case slices.ContainsFunc(emptied, log.endsWith):
		return Empty
	case slices.ContainsFunc(corrupt, log.endsWith):
		return Corrupt
	case exitCode == panicked && slices.ContainsFunc(checks, log.panickedIn):
		return Corrupt
	default:
		return Unknown
	}
}

// mayPass are words of another cause, or of an error of a machine whose data may
// be good: no statement beside them proves anything.
var mayPass = []string{
	"flag provided but not defined: ",
	"failed to verify flags: ",
	`" for flag -`,
	"couldn't find local name ",
	"missing from --initial-advertise-peer-urls=",
	"invalid downgrade; server version is lower than determined cluster version",
	`discovery failed: version "`, // of the data, which is not supported
	"the member has been permanently removed from the cluster",

	"no space left on device",
	"permission denied",
	"input/output error",
	"read-only file system",
	"stale file handle",
	"stale NFS file handle",
	"too many open files",
	"cannot allocate memory",
	"SIGBUS", // a page of the database cannot be read: cut off, or a failing disk
}

// emptied must stand in a line of level fatal or panic, or in the panic itself.
// etcd says these only after it found no write-ahead log: it wants to join the
// others, or to found the cluster again.
var emptied = []string{
	"discovery failed: cannot fetch cluster info from peer urls: could not retrieve cluster information",
	"discovery failed: error validating peerURLs ",
	" has already been bootstrapped",
}

// differs is what etcd ends with if its initial corruption check (InitialCheck in its corrupt.go) finds other data.
const differs = " found data inconsistency with peers"

// corrupt must stand there, too.
var corrupt = []string{
	"Was the raft log corrupted, truncated, or lost?",
	// As leader it lacks entries that another member knows to be committed, and has no snapshot
	// either: it has formed a cluster without them. etcd 3.5 goes on.
	"need non-empty snapshot",

	"walpb: crc mismatch",
	"wal: crc mismatch",
	"wal: file not found",
	"discovery failed: proto:", // a record of the log does not parse; the space after it may be any
	"failed to read WAL, cannot be repaired: unexpected EOF",
	"cannot use none as id", // the log does not begin with the member's identity

	"failed to open database: invalid database",
	"failed to open database: checksum error",
	"failed to find database snapshot file (snap: snapshot file doesn't exist)",
	"assertion failed: Page expected to be: ",
	"freepages: failed to get all reachable pages (",
	"failed to unmarshal mvccpb.KeyValue: proto:",
}

// checks are functions that look at every page while bbolt opens the database,
// and panic over what they find. Often the trace of the panic is all that
// Kubernetes keeps.
var checks = []string{
	"go.etcd.io/bbolt.(*Tx).checkBucket(",
	"go.etcd.io/bbolt.(*Tx).recursivelyCheckBucket(",
}

// isTrace distinguishes the trace of a panic, which ends with the place where its
// goroutine was made, from that of a failure of the runtime or a signal, which
// shows frame pointers, other goroutines or registers.
func isTrace(text string) bool {
	text = strings.TrimRight(text, "\n")
	last := text[strings.LastIndex(text, "\n")+1:]
	return strings.HasPrefix(last, "\t") && !strings.Contains(text, " fp=0x") && strings.Count(text, "\ngoroutine ") <= 1
}
