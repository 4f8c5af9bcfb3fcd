// Package crash says why an etcd container ended, from what Kubernetes keeps
// of it: the exit code, a reason, and the last 2048 bytes of its log.
//
// A member is replaced on the word of this package, so that it must never call
// data lost that may be good: it believes only etcd's own statements, in the
// very lines with which etcd ended, and anything else is Unknown. Each of the
// statements was provoked by damaging the data of real etcd 3.5, 3.6 and 3.7.
// Data of another member or cluster is no cause: etcd runs on it, and only its
// identity tells.
package crash

import (
	"slices"
	"strings"
)

// Cause is why etcd ended.
type Cause string

// The causes that can be told apart.
const (
	Unknown Cause = "Unknown"

	// OutOfMemory: the kernel ended it for using more memory than it may.
	OutOfMemory Cause = "OutOfMemory"
	// DiskFull: nothing more can be written to the volume.
	DiskFull Cause = "DiskFull"
	// Misconfigured: a flag that etcd does not know or accept.
	Misconfigured Cause = "Misconfigured"
	// TooOld: this etcd is of an older minor version than the cluster allows.
	TooOld Cause = "TooOld"
	// Removed: the other members say that it is not one of them any more.
	Removed Cause = "Removed"

	// Empty: there is no write-ahead log in the data directory. A learner that
	// has never started has none either, and ends this way while it reaches no
	// other member, or its list of members is old: it lost nothing. And etcd
	// cannot tell a log that is not there from a directory that it may not
	// read: keep the volume.
	Empty Cause = "Empty"
	// Corrupt: the write-ahead log or the database is damaged beyond what etcd
	// repairs, which is a log that ends in a torn record, or lacks entries that
	// the leader knows it had.
	Corrupt Cause = "Corrupt"
)

const (
	fatal    = 1 // the exit code after a line of level fatal
	panicked = 2 // and after a panic, which the Go runtime reports

	oomKilled = "OOMKilled"
)

// Why judges a container that ended, by the fields of its terminated state.
// The message is the end of its log, whose first line may be cut off.
func Why(exitCode int32, reason, message string) Cause {
	switch {
	case reason == oomKilled:
		return OutOfMemory
	case exitCode != fatal && exitCode != panicked:
		return Unknown // it was stopped from outside: what it said last is not why
	}
	log := read(message)
	if log.mentions("no space left on device") {
		return DiskFull
	}
	for _, s := range said {
		if log.mentions(s.words) {
			return s.cause
		}
	}
	if slices.ContainsFunc(mayPass, log.mentions) {
		return Unknown
	}
	return verdict(log, exitCode)
}

// verdict looks only at the statements with which etcd ended.
func verdict(log log, exitCode int32) Cause {
	for _, s := range final {
		if log.endsWith(s.words) {
			return s.cause
		}
	}
	if exitCode != panicked || !isTrace(log.trace) {
		return Unknown
	}
	for _, s := range checks {
		if strings.Contains(log.trace, "\n"+s.words) {
			return s.cause
		}
	}
	return Unknown
}

// statement is something etcd says, and what it means.
type statement struct {
	words string
	cause Cause
}

// said may stand in any of the last lines: nothing is replaced for it.
var said = []statement{
	{"flag provided but not defined: ", Misconfigured},
	{"failed to verify flags: ", Misconfigured},
	{`" for flag -`, Misconfigured},
	{"couldn't find local name ", Misconfigured},
	{"missing from --initial-advertise-peer-urls=", Misconfigured},
	{"invalid downgrade; server version is lower than determined cluster version", TooOld},
	{`discovery failed: version "`, TooOld}, // of the data, which is not supported
	{"the member has been permanently removed from the cluster", Removed},
}

// mayPass are errors of a machine whose data may be good: no statement after
// one of them proves anything.
var mayPass = []string{
	"permission denied",
	"input/output error",
	"read-only file system",
	"stale file handle",
	"stale NFS file handle",
	"too many open files",
	"cannot allocate memory",
	"SIGBUS", // a page of the database cannot be read: cut off, or a failing disk
}

// final must stand in a line of level fatal or panic, or in the panic itself.
var final = []statement{
	// etcd says these only after it found no write-ahead log: it wants to join
	// the others, or to found the cluster again.
	{"discovery failed: cannot fetch cluster info from peer urls: could not retrieve cluster information", Empty},
	{"discovery failed: error validating peerURLs ", Empty},
	{" has already been bootstrapped", Empty},
	{"Was the raft log corrupted, truncated, or lost?", Corrupt},
	// As leader it lacks entries that another member knows to be committed, and has no snapshot
	// either: it has formed a cluster without them. etcd 3.5 goes on.
	{"need non-empty snapshot", Corrupt},

	{"walpb: crc mismatch", Corrupt},
	{"wal: crc mismatch", Corrupt},
	{"wal: file not found", Corrupt},
	{"discovery failed: proto:", Corrupt}, // a record of the log does not parse; the space after it may be any
	{"failed to read WAL, cannot be repaired: unexpected EOF", Corrupt},
	{"cannot use none as id", Corrupt}, // the log does not begin with the member's identity

	{"failed to open database: invalid database", Corrupt},
	{"failed to open database: checksum error", Corrupt},
	{"failed to find database snapshot file (snap: snapshot file doesn't exist)", Corrupt},
	{"assertion failed: Page expected to be: ", Corrupt},
	{"freepages: failed to get all reachable pages (", Corrupt},
	{"failed to unmarshal mvccpb.KeyValue: proto:", Corrupt},
}

// checks are functions that only look, and panic over what they find. Often
// the trace of the panic is all that Kubernetes keeps.
var checks = []statement{
	// bbolt looks at every page while it opens the database.
	{"go.etcd.io/bbolt.(*Tx).checkBucket(", Corrupt},
	{"go.etcd.io/bbolt.(*Tx).recursivelyCheckBucket(", Corrupt},
	{"go.etcd.io/etcd/server/v3/etcdserver/version.MustDetectDowngrade(", TooOld},
}

// isTrace tells the trace of a panic, which ends with the place where its
// goroutine was made, from that of a failure of the runtime or a signal, which
// shows frame pointers, other goroutines or registers.
func isTrace(text string) bool {
	text = strings.TrimRight(text, "\n")
	last := text[strings.LastIndex(text, "\n")+1:]
	return strings.HasPrefix(last, "\t") && !strings.Contains(text, " fp=0x") && strings.Count(text, "\ngoroutine ") <= 1
}
