// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"context"
	"errors"
	"testing"

	"filippo.io/age"

	"github.com/etcd-operator/etcd-operator/internal/backup/encryption"
	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	"github.com/etcd-operator/etcd-operator/internal/backup/log/writer"
)

// TestEncryptedLogGoesOn: each writer has other recipients, or none, and no identity. Together they write one chain, which those with all
// identities can read.
func TestEncryptedLogGoesOn(t *testing.T) {
	m, store := newMember(20), newMemory()
	keys := []*age.X25519Identity{must(age.GenerateX25519Identity())(t), must(age.GenerateX25519Identity())(t)}
	for n, names := range [][]string{
		nil, {keys[0].Recipient().String()}, {keys[1].Recipient().String(), keys[0].Recipient().String()}, {keys[1].Recipient().String()}, nil,
	} {
		c := config(store, m, string(rune('a'+n)))
		c.Recipients = must(encryption.ParseRecipients(names))(t)
		_, stop := started(t, c)
		m.write(30)
		store.written(t, m.revision())
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		listed := store.listed(t)
		if last := listed[len(listed)-1].Header; (last.Encryption != nil) != (len(names) > 0) {
			t.Errorf("%v: %+v", names, last)
		}
	}
	if runs := store.runs(t); len(runs) != 1 || runs[0].Last() != base+170 {
		t.Errorf("%+v", runs)
	}
	segments, want := store.listed(t), int64(base+170)
	plan := must(log.Choose(folder, []log.Base{{Revision: base}}, segments, log.Target{Revision: want}))(t)
	reading := plan.Follow(encryption.ParseIdentities([]byte(keys[0].String() + "\n" + keys[1].String())))
	for _, err := range reading.Events(func(name string) ([]byte, error) { return store.Get(t.Context(), name, 0) }) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if reading.Reached != want {
		t.Errorf("it reaches %d", reading.Reached)
	}
}

// TestEncryptedEndOfAnotherHistory: what the header has of the last event is compared. That its key or value is another one cannot be seen.
func TestEncryptedEndOfAnotherHistory(t *testing.T) {
	m, store := newMember(20), newMemory()
	key := must(age.GenerateX25519Identity())(t)
	encrypting := func(m *memory, from writer.Source, name string) writer.Config {
		c := config(m, from, name)
		c.Recipients = must(encryption.ParseRecipients([]string{key.Recipient().String()}))(t)
		return c
	}
	_, stop := started(t, encrypting(store, m, "a"))
	store.written(t, base+20)
	_ = stop() // its context ends
	last := &m.events[len(m.events)-1]
	for name, change := range map[string]func(){
		"another creation": func() { last.CreateRevision++ },
		"another version":  func() { last.Version++ },
		"another lease":    func() { last.Lease++ },
		"a deletion":       func() { last.Deleted = true },
	} {
		was := *last
		change()
		ended, _ := started(t, encrypting(store, m, "b"))
		if err := <-ended; !as[*writer.ForkedError](err) {
			t.Errorf("%s: %v", name, err)
		}
		*last = was
	}
	m.events = m.events[:15]
	ended, _ := started(t, encrypting(store, m, "c"))
	if err := <-ended; !as[*writer.AheadError](err) {
		t.Errorf("set back: %v", err)
	}
}
