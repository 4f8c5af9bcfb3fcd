// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster/crash"
)

// entry is a line as etcd's logger writes it.
func entry(level, message, err string) string {
	return `{"level":"` + level + `","ts":"2026-11-20T17:16:25.544592Z","caller":"etcdmain/etcd.go:204","msg":"` + message +
		`","error":"` + err + `","stacktrace":"go.etcd.io/etcd/server/v3/etcdmain.Main\n\truntime/proc.go:290"}` + "\n"
}

const notOpened = "panic: failed to open database" + trace

const trace = "\n\ngoroutine 1 [running]:\nmain.main()\n\tgo.etcd.io/etcd/server/v3@v3.5.35/main.go:31 +0x28\n"

var fence = entry("fatal", "discovery failed",
	"cannot fetch cluster info from peer urls: could not retrieve cluster information from the given URLs")

func TestWhy(t *testing.T) {
	tests := []struct {
		name    string
		code    int32
		message string
		want    crash.Cause
	}{
		{"3.5 reads a damaged record", 1, entry("fatal", "discovery failed", "walpb: crc mismatch"), crash.Corrupt},
		{"3.7 does", 1, entry("fatal", "discovery failed", "walpb: crc mismatch: expected: 20bc6c0d computed: b1b947a5: "+
			"in file '0000000000000000-0000000000000000.wal' at position: 32832"), crash.Corrupt},
		{"3.5 between two files", 1, entry("fatal", "discovery failed", "wal: crc mismatch"), crash.Corrupt},
		{"3.6 parses a damaged record", 1, entry("fatal", "discovery failed", "proto: illegal wireType 7"), crash.Corrupt},
		{"3.7 does, with another space", 1, entry("fatal", "discovery failed", "proto:\u00a0cannot parse invalid data"), crash.Corrupt},
		{"a file of the log is lost", 1, entry("fatal", "failed to open WAL", "openAtIndex failed: [openAtIndex] "+
			"selectWALFiles failed: wal: file not found which matches the snapshot index '0'"), crash.Corrupt},
		{"a file in the middle is torn", 1, entry("fatal", "failed to read WAL, cannot be repaired", "unexpected EOF: [wal] "+
			"max entry size limit exceeded"), crash.Corrupt},
		{"a file is empty", 2, "panic: cannot use none as id" + trace, crash.Corrupt},
		{"entries are lost", 2, "panic: tocommit(382) is out of range [lastIndex(191)]. " +
			"Was the raft log corrupted, truncated, or lost?" + trace, crash.Corrupt},
		{"all are", 2, "panic: tocommit(382) is out of range [lastIndex(0)]. " +
			"Was the raft log corrupted, truncated, or lost?" + trace, crash.Corrupt},
		{"as a leader it has fewer than another", 2, "panic: need non-empty snapshot" + trace, crash.Corrupt},
		{"no database", 2, entry("panic", "failed to open database", "invalid database") + notOpened, crash.Corrupt},
		{"its roots", 2, entry("panic", "failed to open database", "checksum error") + notOpened, crash.Corrupt},
		{"its keys", 2, "panic: freepages: failed to get all reachable pages (key[13]=(hex)a5 on leaf page(2) needs to be < than " +
			"key of the next element in ancestor (hex)0e5f. Pages stack: [19 2])" + trace, crash.Corrupt},
		{"a value", 1, entry("fatal", "failed to unmarshal mvccpb.KeyValue", "proto: KeyValue: illegal tag -549672994"), crash.Corrupt},

		{"fence", 1, fence, crash.Empty},
		{"founding again", 1, entry("fatal", "discovery failed", "member c812f07c6af04897 has already been bootstrapped"), crash.Empty},
		{"joining with an old list", 1, entry("fatal", "discovery failed",
			"error validating peerURLs {ClusterID:3509914658aed214 Members:[] RemovedMemberIDs:[]}: member count is unequal"), crash.Empty},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := crash.Why(test.code, "Error", test.message); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// What may pass, or was not said by etcd, or not as its last word.
func TestDoubtIsUnknown(t *testing.T) {
	corrupt := entry("fatal", "discovery failed", "walpb: crc mismatch")
	if crash.Why(1, "Error", corrupt) != crash.Corrupt {
		t.Fatal("the examples below prove nothing")
	}
	tests := []struct {
		name    string
		code    int32
		message string
	}{
		{"nothing", 1, ""},
		{"killed, whatever it said", 137, corrupt},
		{"terminated, whatever it said", 143, corrupt},
		{"ended well, whatever it said", 0, corrupt},
		{"no permission", 1, entry("fatal", "discovery failed", "open /var/lib/etcd/data/member/wal: permission denied")},
		{"no permission, before", 1, entry("warn", "cannot read", "open /var/lib/etcd/data/member/wal: permission denied") + fence},
		{"the disk fails", 1, entry("fatal", "failed to read WAL, cannot be repaired", "read 0.wal: input/output error")},
		{"the disk fails, before", 1, entry("warn", "cannot read", "readdirent: input/output error") + fence},
		{"the disk fails, in a panic", 2, entry("warn", "cannot read", "readdirent: input/output error") +
			entry("panic", "failed to open database", "invalid database") + notOpened},
		{"disk full", 1, entry("fatal", "failed to read WAL, cannot be repaired",
			"write /var/lib/etcd/data/member/wal/0.tmp: no space left on device")},
		{"disk full, then another word", 2, entry("warn", "failed to create backup file", "no space left on device") +
			entry("fatal", "failed to read WAL, cannot be repaired", "unexpected EOF")},
		{"unknown flag", 2, "flag provided but not defined: -nonsense\nUsage:\n\n  etcd [flags]\n"},
		{"value of a flag", 2, `invalid value "abc" for flag -heartbeat-interval: parse error` + "\nUsage:\n"},
		{"flags together", 1, entry("warn", "failed to verify flags",
			"--election-timeout[1000ms] should be at least as 5 times as --heartbeat-interval[1000ms]")},
		{"not in its own list", 1, entry("fatal", "discovery failed",
			`couldn't find local name \"m1\" in the initial cluster configuration`)},
		{"data of a newer version", 1, entry("fatal", "discovery failed", `version \"3.7.0\" is not supported`)},
		{"removed", 1, entry("warn", "server error", "the member has been permanently removed from the cluster") +
			entry("fatal", "listener failed", "server is stopping")},
		{"address in use", 1, entry("fatal", "discovery failed", "listen tcp 127.0.0.1:2380: bind: address already in use")},
		{"no certificate", 1, entry("fatal", "discovery failed", "open /etc/etcd-tls/peer.crt: no such file or directory")},
		{"not repaired", 1, entry("fatal", "failed to repair WAL", "unexpected EOF")},
		{"repaired", 1, entry("info", "repaired WAL", "unexpected EOF") + entry("fatal", "listener failed", "server is stopping")},
		{"an old snapshot file is damaged", 1, entry("warn", "failed to read a snap file", "snap: crc mismatch") +
			entry("fatal", "discovery failed", "listen tcp 127.0.0.1:2380: bind: address already in use")},
		{"another cluster answers", 1, entry("warn", "request cluster ID mismatch", "") +
			entry("fatal", "listener failed", "server is stopping")},
		{"database locked", 2, entry("panic", "failed to open database", "timeout") + notOpened},
		{"database of another format", 2, entry("panic", "failed to open database", "version mismatch") + notOpened},
		{"the cause is cut off", 2, `cause","error":"x"}` + "\npanic: failed to recover v3 backend from snapshot" + trace},
		{"a client's key", 1, `{"level":"warn","msg":"apply request took too long","request":"put:<key:\"walpb: crc mismatch\">"}` + "\n" +
			entry("fatal", "listener failed", "server is stopping")},
		{"a client's key, cut off", 2, `key:\"cannot use none as id\">"}` + "\n" + "panic: boom" + trace},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := crash.Why(test.code, "Error", test.message); got != crash.Unknown {
				t.Errorf("got %s, want %s", got, crash.Unknown)
			}
		})
	}
}

func TestFault24OutOfMemory(t *testing.T) {
	for _, code := range []int32{137, 1} {
		if got := crash.Why(code, "OOMKilled", fence); got != crash.Unknown {
			t.Errorf("exit code %d: got %s", code, got)
		}
	}
}

// The last 2048 bytes that real processes left behind, where these do not hold
// the first words of a panic. The name of each file begins with what it shows.
func TestWhatKubernetesKeeps(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("found no files (%v)", err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			message, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code := int32(2)
			if name == "unknown-too-old-3.5.35.txt" {
				code = 1
			}
			want, _, _ := strings.Cut(name, "-")
			if got := crash.Why(code, "Error", string(message)); strings.ToLower(string(got)) != want {
				t.Errorf("got %s", got)
			}
		})
	}
}
