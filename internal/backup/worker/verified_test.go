// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
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
	// No trial passes such a database. That this one is taken shows that its pages are not read again.
	order := restoring(m.SHA256)
	order.Restore.Verified = true
	w.does(order)
}

// TestVerifiedStillChecksAllThatIsRead: the database is not hashed once more, so that what is read must be right on all of its way. Each
// part is compared with the manifest that was tried, and what they unpack to with the checksum that zstd has written behind it.
func TestVerifiedStillChecksAllThatIsRead(t *testing.T) {
	w := newWorld(t)
	m := w.backedUp("uid-1", database(t, 2000), nil)
	last := &m.Parts[len(m.Parts)-1]
	content, err := os.ReadFile(w.file(path + "/" + last.Name))
	must(t, err)
	content[len(content)-1] ^= 1 // of the checksum, which ends the frame
	w.put(path+"/"+last.Name, content)
	order := restoring(m.SHA256)
	order.Restore.Verified = true
	w.fails(order, jobspec.Corrupt, true, "its sha256 is not the one in the manifest")
	w.nothing(w.in.Folders.Member)

	sum := sha256.Sum256(content)
	last.SHA256 = hex.EncodeToString(sum[:])
	w.reseal(func(there *archive.Manifest) { there.Parts = m.Parts })
	again, err := archive.ReadManifest(t.Context(), w.open(), m.Folder())
	must(t, err)
	order.Restore.ManifestSHA256 = again.SHA256
	w.fails(order, jobspec.Corrupt, true, "its parts cannot be decoded")
	w.nothing(w.in.Folders.Member)
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
