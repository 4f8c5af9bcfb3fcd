package worker

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// TestPressFills: on a file system of 8 MiB nothing is left while it lasts, also of what becomes free meanwhile, and all of it afterwards.
func TestPressFills(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mount("drill", folder, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("only root may mount a file system: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(folder, 0) })
	other := filepath.Join(folder, "other")
	if err := os.WriteFile(other, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- press(ctx, folder, jobspec.PressOrder{Fill: true, Lasts: time.Minute}) }()
	free := func() uint64 {
		var is syscall.Statfs_t
		if err := syscall.Statfs(folder, &is); err != nil {
			t.Fatal(err)
		}
		return is.Bavail * uint64(is.Bsize)
	}
	isFull := func(what string) {
		t.Helper()
		for range 500 {
			if free() == 0 {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("%s: %d bytes are free", what, free())
	}
	isFull("at first")
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	isFull("what became free")
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if left := free(); left != 8<<20 {
		t.Errorf("%d bytes are free afterwards", left)
	}
}

// TestPressKeepsBusy until its time is up, and leaves no file.
func TestPressKeepsBusy(t *testing.T) {
	folder := t.TempDir()
	begun := time.Now()
	if err := press(t.Context(), folder, jobspec.PressOrder{Lasts: 200 * time.Millisecond}); err != nil {
		t.Error(err)
	}
	if time.Since(begun) < 200*time.Millisecond {
		t.Error("it has ended before")
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) > 0 {
		t.Errorf("%v, %v", files, err)
	}
	if err := press(t.Context(), filepath.Join(folder, "none"), jobspec.PressOrder{Lasts: time.Minute}); err == nil {
		t.Error("there is no such folder")
	}
}
