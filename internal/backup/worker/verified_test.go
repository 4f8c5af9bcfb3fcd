package worker_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// TestVerifiedIsAboutOneBackup: the pages of a database that was damaged when it was backed up are checked, unless a trial has restored the
// backup with that very manifest.
func TestVerifiedIsAboutOneBackup(t *testing.T) {
	w := newWorld(t)
	m := w.backedUp("uid-1", withTwoKeysAlike(t, database(t, 2000)), nil)
	for name, c := range map[string]struct {
		sum      string
		verified bool
	}{"never tried": {m.SHA256, false}, "whichever lies there": {"", true}} {
		t.Log(name)
		order := restoring(c.sum)
		order.Restore.Verified = c.verified
		w.fails(order, jobspec.Corrupt, true, "out of order")
		w.nothing(w.in.Folders.Member)
	}
	// No trial passes such a database. That this one is taken shows that its pages are not read again; its hashes are right.
	order := restoring(m.SHA256)
	order.Restore.Verified = true
	w.does(order)
}

func restoring(sum string) jobspec.Order {
	return jobspec.Order{Verb: jobspec.Restore, Restore: &jobspec.RestoreOrder{
		Path: path, ManifestSHA256: sum, DataDirectory: "data", Member: "m1", Token: "t", Minor: "3.7",
		InitialCluster: map[string]string{"m1": "http://127.0.0.1:2380"}, Bump: 1000,
	}}
}

// withTwoKeysAlike has one revision under the name of an earlier one.
func withTwoKeysAlike(t *testing.T, db []byte) []byte {
	t.Helper()
	name := func(revision uint64) []byte { return append(binary.BigEndian.AppendUint64(nil, revision), '_') }
	changed := bytes.ReplaceAll(db, name(1000), name(9))
	if bytes.Equal(changed, db) {
		t.Fatal("the revision is not there")
	}
	return changed
}
