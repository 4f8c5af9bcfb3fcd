// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
)

func onVolume(mount, path string) objectstore.Config {
	return objectstore.Config{Spec: v1beta1.EtcdBackupStoreSpec{Volume: &v1beta1.VolumeStore{Path: path}}, Mount: mount}
}

func TestVolume(t *testing.T) {
	folder := t.TempDir()
	conforms(t, func(t *testing.T, prefix string) objectstore.Store {
		return open(t, onVolume(folder, prefix))
	})
}

func TestVolumeThatIsNotMounted(t *testing.T) {
	_, err := objectstore.Open(t.Context(), onVolume(filepath.Join(t.TempDir(), "nothing"), ""))
	wantKind(t, err, objectstore.NoBucket)
}

func TestVolumeHasNoFileInAFoldersPlace(t *testing.T) {
	s := open(t, onVolume(t.TempDir(), ""))
	put(t, s, "a/b", "content")
	wantKind(t, s.Put(t.Context(), "a", []byte("content")), objectstore.Exists)
	wantContent(t, s, "a/b", "content")
}

// A Pod that shares the volume may have made a symbolic link. Nothing outside of the volume is read, written or deleted.
func TestVolumeNeverLeavesItsFolder(t *testing.T) {
	folder, outside := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "a"), []byte("secret"), 0o600))
	must(t, os.Symlink(outside, filepath.Join(folder, "link")))
	must(t, os.Symlink(filepath.Join(outside, "a"), filepath.Join(folder, "file")))
	s := open(t, onVolume(folder, ""))
	for _, name := range []string{"link/a", "file"} {
		if content, err := s.Get(t.Context(), name, 10); err == nil {
			t.Errorf("%s: read %q", name, content)
		}
	}
	if err := s.Put(t.Context(), "link/b", []byte("content")); err == nil {
		t.Error("written outside")
	}
	if err := s.Delete(t.Context(), "link/a"); err == nil {
		t.Error("deleted outside")
	}
	wantNames(t, s, "")
	if content, err := os.ReadFile(filepath.Join(outside, "a")); err != nil || string(content) != "secret" {
		t.Errorf("%q, %v", content, err)
	}
	if _, err := os.Stat(filepath.Join(outside, "b")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A writer that died leaves a file that is no object. It is removed a day later; one that is being written stays.
func TestVolumeRemovesWhatWritersLeft(t *testing.T) {
	folder := t.TempDir()
	unfinished := filepath.Join(folder, "unfinished~")
	must(t, os.Mkdir(unfinished, 0o700))
	old, young := filepath.Join(unfinished, "OLD"), filepath.Join(unfinished, "YOUNG")
	for file, age := range map[string]time.Duration{old: 25 * time.Hour, young: 23 * time.Hour} {
		must(t, os.WriteFile(file, []byte("half"), 0o600))
		must(t, os.Chtimes(file, time.Time{}, time.Now().Add(-age)))
	}
	s := open(t, onVolume(folder, ""))
	wantNames(t, s, "")
	wantFolders(t, s, "")
	put(t, s, "a", "content")
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old one is there: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(unfinished); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestVolumeThatIsFull(t *testing.T) {
	folder := mounted(t, "size=1m")
	s := open(t, onVolume(folder, ""))
	put(t, s, "a", "content")
	wantKind(t, s.Put(t.Context(), "b", noise(2<<20)), objectstore.Full)
	wantNames(t, s, "", "a")
	must(t, s.Delete(t.Context(), "a"))
	must(t, s.Put(t.Context(), "b", noise(1<<19))) // what did not fit has left no file
}

func TestVolumeThatIsReadOnly(t *testing.T) {
	folder := mounted(t, "size=1m")
	s := open(t, onVolume(folder, ""))
	put(t, s, "a", "content")
	must(t, syscall.Mount("tmpfs", folder, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, "size=1m"))
	wantContent(t, s, "a", "content")
	wantKind(t, s.Put(t.Context(), "b", []byte("content")), objectstore.Forbidden)
	wantKind(t, s.Delete(t.Context(), "a"), objectstore.Forbidden)
	report := objectstore.Check(t.Context(), s, time.Now)
	if !report.Reachable || report.Writable || report.OK() {
		t.Errorf("%+v", report)
	}
}

// mounted is a volume of one MiB, which root alone can have.
func mounted(t *testing.T, options string) string {
	t.Helper()
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, options); err != nil {
		t.Skipf("a small volume must be mounted for this test, which takes root: %v", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(folder, syscall.MNT_DETACH)) })
	return folder
}
