// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package encryption_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/etcd-operator/etcd-operator/internal/backup/encryption"
)

// TestEachRecipientReads what was encrypted to several, and nobody else does.
func TestEachRecipientReads(t *testing.T) {
	a, b, other := key(t), key(t), key(t)
	names := []string{a.Recipient().String(), b.Recipient().String()}
	to, err := encryption.ParseRecipients(names)
	if err != nil || len(to.Names()) != 2 {
		t.Fatalf("%v: %v", to.Names(), err)
	}
	sealed := encrypted(t, to, "content")
	if bytes.Contains(sealed, []byte("content")) {
		t.Error("it can be read")
	}
	for _, c := range []struct{ identities, problem string }{
		{a.String(), ""},
		{"# mine\n" + b.String() + "\n", ""},
		{other.String() + "\n" + a.String(), ""},
		{other.String(), "it is encrypted to " + names[0]},
		{" \n", "none was given"},
		{"nonsense", "cannot be read"},
	} {
		identities := encryption.ParseIdentities([]byte(c.identities))
		beginnings := []string{names[0][:20], names[1][:20]}
		if err := identities.Check(beginnings); (err == nil) != (c.problem == "") || err != nil && !errors.Is(err, encryption.ErrWrongKey) {
			t.Errorf("beforehand: %v; want %q", err, c.problem)
		}
		opened, err := identities.Decrypt(bytes.NewReader(sealed), names)
		if c.problem != "" {
			if !errors.Is(err, encryption.ErrWrongKey) || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%v; want %q", err, c.problem)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(opened); err != nil || string(got) != "content" {
			t.Errorf("%q: %v", got, err)
		}
	}
}

// TestHybridIdentity is found by how its recipient begins, too.
func TestHybridIdentity(t *testing.T) {
	mine, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	identities := encryption.ParseIdentities([]byte(mine.String()))
	if err := identities.Check([]string{"age1other", mine.Recipient().String()[:20]}); err != nil {
		t.Error(err)
	}
	if err := identities.Check([]string{key(t).Recipient().String()}); !errors.Is(err, encryption.ErrWrongKey) {
		t.Error(err)
	}
}

// TestNobody: without recipients nothing is encrypted.
func TestNobody(t *testing.T) {
	to, err := encryption.ParseRecipients(nil)
	if err != nil || len(to.Names()) > 0 {
		t.Fatalf("%v: %v", to.Names(), err)
	}
	if got := encrypted(t, to, "content"); string(got) != "content" {
		t.Errorf("%q", got)
	}
}

func TestWrongRecipients(t *testing.T) {
	good := key(t).Recipient().String()
	for name, texts := range map[string][]string{
		"nonsense": {"age1x"}, "empty": {""}, "a comment": {good, "# mine"}, "two in one": {good + "\n" + good}, "an identity": {key(t).String()},
	} {
		if _, err := encryption.ParseRecipients(texts); !errors.Is(err, encryption.ErrWrongRecipient) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func key(t *testing.T) *age.X25519Identity {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func encrypted(t *testing.T, to encryption.Recipients, content string) []byte {
	t.Helper()
	var sealed bytes.Buffer
	w, err := to.Encrypt(&sealed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return sealed.Bytes()
}
