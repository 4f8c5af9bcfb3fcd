// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

func unpack(o jobspec.TrialOrder) jobspec.Order {
	return jobspec.Order{Verb: jobspec.Unpack, Trial: &o}
}

func restore(o jobspec.RestoreOrder) jobspec.Order {
	if o.Path == "" {
		o.Path = path
	}
	o.DataDirectory, o.InitialCluster = "data", map[string]string{"n1": "http://n1:2380", "n2": "http://n2:2380"}
	if o.Member == "" {
		o.Member = "n1"
	}
	return jobspec.Order{Verb: jobspec.Restore, Restore: &o}
}

// nothing is in a folder.
func (w *world) nothing(folder string) {
	w.Helper()
	entries, err := os.ReadDir(folder)
	must(w, err)
	for _, entry := range entries {
		w.Errorf("%s was left", entry.Name())
	}
}

func TestUnpack(t *testing.T) {
	w := newWorld(t)
	db := database(t, 50)
	m := w.backedUp("uid-1", db, func(j *archive.Job) {
		j.Complete = func(_ context.Context, m *archive.Manifest) error {
			m.Keys = new(int64(50))
			return nil
		}
	})
	w.does(unpack(jobspec.TrialOrder{Path: path, ManifestSHA256: m.SHA256, Minor: "3.6"}))
	facts := w.left()
	if facts["revision"] != 51.0 || facts["keys"] != 50.0 || facts["compact"] != -1.0 || facts["database"] != float64(len(db)) ||
		facts["clusterVersion"] != "3.6.0" || facts["hash"] == 0.0 {
		t.Errorf("%v", facts)
	}
}

// TestUnpackCompares: a manifest that says something else than the database is no proof of anything.
func TestUnpackCompares(t *testing.T) {
	for words, lie := range map[string]func(*archive.Manifest){
		"the restored database has revision 21, and it was 20":          func(m *archive.Manifest) { m.Revision-- },
		"the restored database has compacted revision -1, and it was 7": func(m *archive.Manifest) { m.CompactRevision = 7 },
		"the restored database has number of keys 20, and it was 21":    func(m *archive.Manifest) { m.Keys = new(int64(21)) },
		", and it was 7 when": func(m *archive.Manifest) {
			m.HashKV = &archive.HashKV{Hash: 7, Revision: m.Revision, CompactRevision: -1}
		},
	} {
		t.Run(words, func(t *testing.T) {
			w := newWorld(t)
			w.backedUp("uid-1", database(t, 20), func(j *archive.Job) {
				j.Complete = func(_ context.Context, m *archive.Manifest) error {
					lie(m)
					return nil
				}
			})
			w.fails(unpack(jobspec.TrialOrder{Path: path, Minor: "3.6"}), jobspec.Different, true, words)
		})
	}
	w := newWorld(t)
	w.backedUp("uid-1", database(t, 20), func(j *archive.Job) {
		j.Complete = func(_ context.Context, m *archive.Manifest) error {
			m.HashKV = &archive.HashKV{Hash: 7, Revision: m.Revision, CompactRevision: 3} // the member had compacted meanwhile
			return nil
		}
	})
	w.does(unpack(jobspec.TrialOrder{Path: path, Minor: "3.6"}))
}

// TestFault58Refused: whatever is wrong with a backup is found before a data directory is made.
func TestFault58Refused(t *testing.T) {
	part := path + "/000000.part"
	for name, c := range map[string]struct {
		harm   func(*world)
		order  jobspec.TrialOrder
		reason jobspec.Reason
		words  string
	}{
		"a part has another bit": {
			harm: func(w *world) {
				content, err := os.ReadFile(w.file(part))
				must(w, err)
				content[len(content)/2] ^= 1
				w.put(part, content)
			},
			reason: jobspec.Corrupt, words: part + " is corrupt: its sha256 is not the one in the manifest; restore another backup",
		},
		"a part is missing": {
			harm: func(w *world) { must(w, os.Remove(w.file(part))) }, reason: jobspec.Corrupt, words: part + " is not in the store",
		},
		"its database has another sum": {
			harm:   func(w *world) { w.reseal(func(m *archive.Manifest) { m.Database.SHA256 = strings.Repeat("ab", 32) }) },
			reason: jobspec.Corrupt, words: "the database has sha256",
		},
		"its database has another size": {
			harm: func(w *world) { w.reseal(func(m *archive.Manifest) { m.Database.Size -= 4096 }) }, reason: jobspec.Corrupt, words: "too long",
		},
		"the manifest is gone": {
			harm:   func(w *world) { must(w, os.Remove(w.file(path+"/manifest.json"))) },
			reason: jobspec.Corrupt, words: path + " is not in the store: it was deleted, or never was complete",
		},
		"another one lies there":  {order: jobspec.TrialOrder{ManifestSHA256: "1234"}, reason: jobspec.Corrupt, words: "it was replaced"},
		"etcd is too old":         {order: jobspec.TrialOrder{Minor: "3.5"}, reason: jobspec.WrongVersion, words: "run etcd 3.6 or the next"},
		"there are no identities": {order: jobspec.TrialOrder{Identities: true}, reason: jobspec.WrongKey, words: "age-keygen"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.backedUp("uid-1", database(t, 20), nil)
			if c.harm != nil {
				c.harm(w)
			}
			c.order.Path = path
			if c.order.Minor == "" {
				c.order.Minor = "3.6"
			}
			w.fails(unpack(c.order), c.reason, true, c.words)
			w.nothing(w.in.Folders.Scratch)
			for _, verified := range []bool{false, true} {
				w.fails(restore(jobspec.RestoreOrder{
					ManifestSHA256: c.order.ManifestSHA256, Minor: c.order.Minor, Identities: c.order.Identities, Verified: verified,
				}), c.reason, true, c.words)
				w.nothing(w.in.Folders.Member)
			}
		})
	}
}

// reseal writes a manifest that lies, with a sha256 of its own that is right.
func (w *world) reseal(lie func(*archive.Manifest)) {
	w.Helper()
	folder := archive.Folder{Namespace: "default", Cluster: "example", ID: "uid-1"}
	m, err := archive.ReadManifest(w.Context(), w.open(), folder)
	must(w, err)
	lie(&m)
	content, err := m.Encode()
	must(w, err)
	w.put(folder.Manifest(), content)
}

// Only a Job that has an identity reads a backup that is encrypted.
func TestEncrypted(t *testing.T) {
	w := newWorld(t)
	right, err := age.GenerateX25519Identity()
	must(t, err)
	wrong, err := age.GenerateX25519Identity()
	must(t, err)
	w.backedUp("uid-1", database(t, 20), func(j *archive.Job) { j.Recipients = []string{right.Recipient().String()} })
	trial := unpack(jobspec.TrialOrder{Path: path, Minor: "3.6"})
	w.fails(trial, jobspec.WrongKey, true, "none was given, and it is encrypted to "+right.Recipient().String())
	trial.Trial.Identities = true
	for content, words := range map[string]string{
		wrong.String(): "it is encrypted to " + right.Recipient().String(),
		"nonsense":     "the identities cannot be read",
	} {
		must(t, os.WriteFile(filepath.Join(w.in.Folders.Identities, "identities"), []byte(content), 0o600))
		w.fails(trial, jobspec.WrongKey, true, words)
	}
	must(t, os.WriteFile(filepath.Join(w.in.Folders.Identities, "identities"), []byte("# mine\n"+right.String()+"\n"), 0o600))
	w.does(trial)
}

// TestRestoreTwice: a Job that comes again does nothing, and one for something else changes nothing.
func TestRestoreTwice(t *testing.T) {
	w := newWorld(t)
	w.backedUp("uid-1", database(t, 20), nil)
	for range 2 {
		if done := w.does(restore(jobspec.RestoreOrder{Token: "new", Minor: "3.6", Bump: 1000})); done.Backup == nil ||
			done.Backup.Revision != 21 {
			t.Errorf("%+v", done)
		}
	}
	before, err := os.ReadFile(filepath.Join(w.in.Folders.Member, "data", "member", "snap", "db"))
	must(t, err)
	for _, other := range []jobspec.RestoreOrder{
		{Token: "other", Minor: "3.6", Bump: 1000}, {Token: "new", Minor: "3.6"}, {Token: "new", Minor: "3.6", Bump: 1000, Member: "n2"},
	} {
		w.fails(restore(other), jobspec.NotEmpty, true, "nothing was changed")
	}
	after, err := os.ReadFile(filepath.Join(w.in.Folders.Member, "data", "member", "snap", "db"))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the data was changed: %v", err)
	}
	w.fails(jobspec.Order{Verb: jobspec.Restore, Restore: &jobspec.RestoreOrder{
		Path: path, DataDirectory: "../data", Member: "n1", InitialCluster: map[string]string{"n1": "http://n1:2380"}, Minor: "3.6",
	}}, jobspec.InternalFailure, false, "cannot be the name of a data directory")
}

// Snapshots of other programs, packed or not.
func TestOfAnotherProgram(t *testing.T) {
	w := newWorld(t)
	db := database(t, 30)
	var packed bytes.Buffer
	pack := gzip.NewWriter(&packed)
	_, err := pack.Write(snapshotOf(db))
	must(t, err)
	must(t, pack.Close())
	w.put("plain.db", snapshotOf(db))
	w.put("old/v2/Full-00000000-00000900-1700000000.gz", packed.Bytes())
	w.put("copied.db", db)
	w.put("cut.db", snapshotOf(db)[:len(db)/2+7])
	w.put("readme.txt", bytes.Repeat([]byte("hello"), 1000))
	for _, name := range []string{"plain.db", "old/v2/Full-00000000-00000900-1700000000.gz"} {
		w.in.Folders.Scratch, w.in.Folders.Member = t.TempDir(), t.TempDir()
		w.does(unpack(jobspec.TrialOrder{Path: name, Minor: "3.6"}))
		if facts := w.left(); facts["revision"] != 31.0 || facts["keys"] != 30.0 || facts["database"] != float64(len(db)) {
			t.Errorf("%s: %v", name, facts)
		}
		if done := w.does(restore(jobspec.RestoreOrder{Path: name, Minor: "3.6"})); done.Backup.Database != int64(len(db)) {
			t.Errorf("%s: %+v", name, done.Backup)
		}
	}
	tried := fmt.Sprintf("%x", sha256.Sum256(db))
	w.in.Folders.Member = t.TempDir()
	w.does(restore(jobspec.RestoreOrder{Path: "copied.db", Minor: "3.6", ManifestSHA256: tried}))
	w.in.Folders.Member = t.TempDir()
	w.put("plain.db", snapshotOf(database(t, 31)))
	w.fails(restore(jobspec.RestoreOrder{Path: "plain.db", Minor: "3.6", ManifestSHA256: tried}), jobspec.Corrupt, true, "it was replaced")
	w.nothing(w.in.Folders.Member)
	w.in.Folders.Scratch = t.TempDir()
	w.fails(unpack(jobspec.TrialOrder{Path: "copied.db", Minor: "3.6"}), jobspec.Corrupt, true, "does not end with etcd's sha256")
	w.fails(unpack(jobspec.TrialOrder{Path: "cut.db", Minor: "3.6"}), jobspec.Corrupt, true, "ends too early")
	w.fails(unpack(jobspec.TrialOrder{Path: "readme.txt", Minor: "3.6"}), jobspec.Corrupt, true, "nor a snapshot of etcd")
	w.fails(unpack(jobspec.TrialOrder{Path: "nothing.db", Minor: "3.6"}), jobspec.Corrupt, true, "nothing.db is not in the store")
	w.nothing(w.in.Folders.Scratch)
	w.does(unpack(jobspec.TrialOrder{Path: "copied.db", Minor: "3.6", WithoutHash: true}))
}

// TestFault101TrialsShowMissingHashes: what is compressed shows only when it is read that it does not end with etcd's sha256.
func TestFault101TrialsTellOfMissingHashes(t *testing.T) {
	db := database(t, 20)
	for name, content := range map[string][]byte{
		"whole.db": snapshotOf(db), "copied.db": db, "whole.gz": zipped(snapshotOf(db)), "copied.gz": zipped(db),
	} {
		w := newWorld(t)
		w.put(name, content)
		w.does(unpack(jobspec.TrialOrder{Path: name, Minor: "3.6", WithoutHash: true, Foreign: true}))
		facts, err := os.ReadFile(filepath.Join(w.in.Folders.Scratch, jobspec.ScratchFacts))
		must(t, err)
		if said, want := strings.Contains(string(facts), `"noHash":true`), strings.HasPrefix(name, "copied"); said != want {
			t.Errorf("%s: %s", name, facts)
		}
	}
}

func zipped(content []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(content) // to memory
	_ = w.Close()
	return out.Bytes()
}

// TestToldToEnd: a Pod that is evicted says so, and what it did not do can be done by the next one.
func TestToldToEnd(t *testing.T) {
	w := newWorld(t)
	w.backedUp("uid-1", database(t, 20), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, order := range []jobspec.Order{
		check(jobspec.CheckOrder{}), restore(jobspec.RestoreOrder{Minor: "3.6"}), unpack(jobspec.TrialOrder{Path: path, Minor: "3.6"}),
	} {
		lines := w.saysWithin(ctx, order)
		if failed := lines[len(lines)-1].Failed; failed == nil || failed.Reason != jobspec.InternalFailure || failed.Final {
			t.Errorf("%s: %+v", order.Verb, lines)
		}
	}
	w.nothing(w.in.Folders.Member)
	w.does(restore(jobspec.RestoreOrder{Minor: "3.6"}))
}

// TestVerifyWithoutUnpack, or with what another version has left.
func TestVerifyWithoutFacts(t *testing.T) {
	w := newWorld(t)
	order := jobspec.Order{Verb: jobspec.Verify, Trial: &jobspec.TrialOrder{Path: path, Minor: "3.6"}}
	w.fails(order, jobspec.InternalFailure, false, "read facts of the trial")
	must(t, os.WriteFile(filepath.Join(w.in.Folders.Scratch, jobspec.ScratchFacts), []byte("{"), 0o600))
	w.fails(order, jobspec.InternalFailure, false, "read facts of the trial")
	w.backedUp("uid-1", database(t, 2), nil)
	w.in.Folders.Scratch = t.TempDir()
	w.does(unpack(jobspec.TrialOrder{Path: path, Minor: "3.6"}))
	w.in.Folders.Trial = "127.0.0.1:1"
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	lines := w.saysWithin(ctx, order)
	if failed := lines[len(lines)-1].Failed; failed == nil || failed.Final {
		t.Errorf("an etcd that does not start: %+v", lines)
	}
}
