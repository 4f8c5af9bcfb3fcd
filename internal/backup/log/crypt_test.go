// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package log_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/etcd-operator/etcd-operator/internal/backup/encryption"
	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// person has an identity.
type person struct {
	public, secret string
}

func newPerson(t testing.TB) person {
	t.Helper()
	key := must(age.GenerateX25519Identity())(t)
	return person{key.Recipient().String(), key.String()}
}

func to(t testing.TB, people ...person) encryption.Recipients {
	t.Helper()
	var names []string
	for _, p := range people {
		names = append(names, p.public)
	}
	return must(encryption.ParseRecipients(names))(t)
}

func of(people ...person) encryption.Identities {
	var text strings.Builder
	for _, p := range people {
		text.WriteString(p.secret + "\n")
	}
	return encryption.ParseIdentities([]byte(text.String()))
}

// sealed is a history in segments of so many batches, each of which the next of the recipients can read.
func sealed(t testing.TB, batches []log.Batch, each int, recipients ...encryption.Recipients) stored {
	t.Helper()
	s := stored{content: map[string][]byte{}}
	start := log.Start{Lineage: folder.Lineage, Writer: "w1", Base: base, First: log.Position{Revision: base + 1}}
	for n := 0; len(batches) > 0; n++ {
		size := min(each, len(batches))
		start.To = recipients[n%len(recipients)]
		segment := encode(t, start, batches[:size])
		s.add(segment)
		start, batches = log.Follows(segment.Header, "w1"), batches[size:]
	}
	return s
}

// TestRecipientsChange within a chain, and it is encrypted or not: it is proven without a key, and read by those who have all keys. Others
// get what is before the first segment that they cannot read, and no event of that.
func TestRecipientsChange(t *testing.T) {
	a, b, other := newPerson(t), newPerson(t), newPerson(t)
	batches := history(6, 30)
	s := sealed(t, batches, 3, to(t), to(t, a), to(t, a, b), to(t, b))
	if runs := must(log.Prove(folder, s.listed))(t); len(runs) != 1 {
		t.Errorf("%d runs", len(runs))
	}
	end := s.listed[len(s.listed)-1].Header.Last.Revision
	plan := must(log.Choose(folder, []log.Base{{Revision: base, Finished: noon}}, s.listed, log.Target{Revision: end}))(t)
	for _, c := range []struct {
		name       string
		identities encryption.Identities
		segments   int // that can be read
	}{
		{"both", of(a, b), len(s.listed)}, {"a", of(a), 3}, {"b", of(b), 1}, {"another", of(other), 1}, {"nobody", of(), 1},
	} {
		canRead := c.segments == len(s.listed)
		if err := plan.Readable(c.identities); (err == nil) != canRead || err != nil && !errors.Is(err, encryption.ErrWrongKey) {
			t.Errorf("%s, beforehand: %v", c.name, err)
		}
		var got []log.Event
		var err error
		for e, problem := range plan.Follow(c.identities).Events(s.load) {
			if err = problem; err == nil {
				got = append(got, e)
			}
		}
		if (err == nil) != (c.segments == len(s.listed)) || err != nil && !errors.Is(err, encryption.ErrWrongKey) {
			t.Errorf("%s: %v", c.name, err)
		}
		last := s.listed[c.segments-1].Header
		var want []log.Event
		for _, b := range batches {
			for _, e := range b.Events {
				if e.Revision <= last.Last.Revision && (last.Complete || e.Revision < last.Last.Revision) {
					want = append(want, e)
				}
			}
		}
		if !slices.EqualFunc(got, want, sameEvent) {
			t.Errorf("%s: %d events of %d", c.name, len(got), len(want))
		}
	}
}

// TestHeaderTellsNothing of keys and values: those of two histories that differ in these alone are the same but for sizes and sums of what
// is encrypted.
func TestHeaderTellsNothing(t *testing.T) {
	a := newPerson(t)
	batches := history(2, 4)
	s := sealed(t, batches, 4, to(t, a))
	for i := range batches {
		for n := range batches[i].Events {
			e := &batches[i].Events[n]
			if e.Key = []byte("other"); !e.Deleted {
				e.Value = []byte("thing")
			}
		}
	}
	is, was := sealed(t, batches, 4, to(t, a)).listed[0].Header, s.listed[0].Header
	for _, h := range []*log.Header{&is, &was} {
		h.Size, h.Stored, h.SHA256, h.Sum = 0, 0, "", ""
	}
	if !reflect.DeepEqual(is, was) {
		t.Errorf("%+v\n%+v", is, was)
	}
	if content := first(s); bytes.Contains(content, []byte("registry")) || bytes.Contains(content, []byte(a.public)) {
		t.Errorf("%s", content)
	}
	if got := was.Encryption.Recipients[0]; !strings.HasPrefix(a.public, got) || len(got) < 20 {
		t.Errorf("%q does not find %s", got, a.public)
	}
}

// TestDamageIsFoundBeforeDecryption, by anybody; and if the sums were made right, before an event is used.
func TestDamageIsFoundBeforeDecryption(t *testing.T) {
	a := newPerson(t)
	s := sealed(t, history(1, 3), 3, to(t, a))
	name, whole := s.listed[0].Object, first(s)
	head := int64(len(whole)) - s.listed[0].Header.Stored
	for n := range whole {
		content := bytes.Clone(whole)
		content[n] ^= 1
		if _, err := log.Parse(name, content); !errors.Is(err, log.Damaged) && !errors.Is(err, log.Newer) {
			t.Fatalf("flipped byte %d of %d: %v", n, len(whole), err)
		}
		if int64(n) < head {
			continue
		}
		for b, err := range must(log.Parse(name, resummed(t, s.listed[0].Header, content[head:])))(t).Batches(name, of(a)) {
			if len(b.Events) > 0 || !errors.Is(err, log.Damaged) && !errors.Is(err, encryption.ErrWrongKey) {
				t.Fatalf("flipped byte %d of %d with its sums: %d events, %v", n, len(whole), len(b.Events), err)
			}
		}
	}
	cut := whole[head : len(whole)-20]
	for b, err := range must(log.Parse(name, resummed(t, s.listed[0].Header, cut)))(t).Batches(name, of(a)) {
		if len(b.Events) > 0 || !errors.Is(err, log.Damaged) {
			t.Errorf("cut with its sums: %d events, %v", len(b.Events), err)
		}
	}
}

// resummed is a segment with that payload, and a header that names its sum.
func resummed(t *testing.T, h log.Header, payload []byte) []byte {
	t.Helper()
	sum := sha256.Sum256(payload)
	h.Stored, h.SHA256 = int64(len(payload)), hex.EncodeToString(sum[:])
	return append(must(h.Encode())(t), payload...)
}

// TestOutlineIsThatOfTheLastEvent: a writer compares it with the cluster.
func TestOutlineIsThatOfTheLastEvent(t *testing.T) {
	a := newPerson(t)
	for seed := range uint64(8) {
		batches := history(seed, 4)
		want := batches[3].Events[len(batches[3].Events)-1]
		want.Key, want.Value = nil, nil
		s := sealed(t, batches, 4, to(t, a))
		if got, isEncrypted := s.listed[0].Header.Outline(); !isEncrypted || !sameEvent(got, want) {
			t.Errorf("%+v, not %+v", got, want)
		}
		segment := must(log.Parse("a", first(s)))(t)
		segment.Header.Encryption = &log.Encryption{Format: "age", Recipients: []string{"age1"}, Last: log.Outline{Version: want.Version + 1}}
		var err error
		for _, err = range segment.Batches("a", of(a)) {
			if err != nil {
				break
			}
		}
		if !errors.Is(err, log.Damaged) {
			t.Errorf("another last event: %v", err)
		}
	}
	if _, isEncrypted := store(t, history(1, 3), 3).listed[0].Header.Outline(); isEncrypted {
		t.Error("it is not encrypted")
	}
}

// TestMostRecipients: as many as a backup may have, of the longest kind, for the largest segment.
func TestMostRecipients(t *testing.T) {
	var people []person
	for range 16 {
		key := must(age.GenerateHybridIdentity())(t)
		people = append(people, person{key.Recipient().String(), key.String()})
	}
	value := make([]byte, log.MaxSize-1000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(value) // it never fails
	start := log.Start{Lineage: folder.Lineage, Writer: "w", Base: base, First: log.Position{Revision: base + 1}, To: to(t, people...)}
	put := log.Event{Revision: base + 1, Key: []byte("k"), Value: value, CreateRevision: 1, Version: 1, Lease: -1}
	s := encode(t, start, []log.Batch{{Time: noon, Complete: true, Events: []log.Event{put}}})
	if head := int64(len(s.Content)) - s.Header.Stored; len(s.Content) > log.MaxStored || head > log.HeaderSize {
		t.Errorf("%d bytes, %d of them the header", len(s.Content), head)
	}
	for b, err := range must(log.Parse("a", s.Content))(t).Batches("a", of(people[15])) {
		if err != nil || !bytes.Equal(b.Events[0].Value, value) {
			t.Errorf("%d events: %v", len(b.Events), err)
		}
	}
}
