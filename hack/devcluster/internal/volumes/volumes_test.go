// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package volumes_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/volumes"
)

// A volume is mounted, grows in use, and leaves neither a device nor a file.
func TestVolumeComesAndGoes(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	if _, err := exec.LookPath("mkfs.xfs"); err != nil {
		t.Skip("needs mkfs.xfs")
	}
	s := volumes.Store{Dir: t.TempDir()}
	t.Cleanup(func() { _ = s.Delete("pv") }) // after a failure only
	for range 2 {
		if err := s.Create(t.Context(), "pv", 64<<20); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(s.Dir, "pv.img")
	if found := devices(t, file); len(found) != 1 {
		t.Errorf("devices of the volume: %v", found)
	}
	if ahead := readAheadOf(t, file); ahead != "128" {
		t.Errorf("it reads %s KiB ahead, want what Linux does by default", ahead)
	}
	if err := os.WriteFile(filepath.Join(s.Path("pv"), "content"), make([]byte, 1<<20), 0o600); err != nil {
		t.Error(err)
	}
	if err := s.Grow(t.Context(), "pv", 128<<20); err != nil {
		t.Error(err)
	}
	if err := s.Delete("pv"); err != nil {
		t.Fatal(err)
	}
	if found := devices(t, file); len(found) != 0 {
		t.Errorf("devices are left: %v", found)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file is left: %v", err)
	}
}

// A copy of a volume has what was synced when the snapshot was taken, and is mounted beside it.
func TestSnapshotOfAVolume(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	if _, err := exec.LookPath("mkfs.xfs"); err != nil {
		t.Skip("needs mkfs.xfs")
	}
	s := volumes.Store{Dir: t.TempDir()}
	t.Cleanup(func() { // after a failure only
		_ = s.Delete("pv")
		_ = s.Delete("copy")
	})
	if err := s.Create(t.Context(), "pv", 64<<20); err != nil {
		t.Fatal(err)
	}
	content := filepath.Join(s.Path("pv"), "content")
	if err := os.WriteFile(content, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	taken := filepath.Join(t.TempDir(), "taken.img")
	if err := s.Snapshot(t.Context(), "pv", taken); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(content, []byte("after"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Copy(t.Context(), taken, "copy", 96<<20); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(s.Path("copy"), "content")); string(text) != "before" {
		t.Errorf("%q, %v", text, err)
	}
	for _, name := range []string{"pv", "copy"} {
		if err := s.Delete(name); err != nil {
			t.Error(err)
		}
	}
}

func devices(t *testing.T, file string) []string {
	t.Helper()
	out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "losetup", "--noheadings", "--output=NAME,DIO", "--associated",
		file).Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", out)
	return strings.Fields(strings.ReplaceAll(strings.TrimSpace(string(out)), " ", "/"))
}

func readAheadOf(t *testing.T, file string) string {
	t.Helper()
	found := devices(t, file)
	if len(found) == 0 {
		t.Fatal("no device")
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(found[0], "/dev/"), "/")
	text, err := os.ReadFile(filepath.Join("/sys/block", name, "queue/read_ahead_kb"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
