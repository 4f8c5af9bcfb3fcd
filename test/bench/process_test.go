// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestOverwriteLeavesAllButTheFirstTwoPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	page := os.Getpagesize()
	if err := os.WriteFile(path, bytes.Repeat([]byte{7}, 4*page), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := overwrite(path); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := append(make([]byte, 2*page), bytes.Repeat([]byte{7}, 2*page)...)
	if !bytes.Equal(got, want) {
		t.Errorf("the file has %d bytes, of which %d are zero; want %d and %d", len(got), bytes.Count(got, []byte{0}), len(want), 2*page)
	}
}

func TestNobodyIsKilledForAPodThatIsElsewhere(t *testing.T) {
	if err := kill("00000000-no-such-pod"); err == nil {
		t.Error("a Pod without a process was killed")
	}
}
