// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkGiB makes a data directory of a database of 1 GiB, beside what a plain copy of it costs on
// the same disk. Each runs in a process of its own, whose memory is reported; file pages are a part of it,
// which the kernel takes back at will.
func BenchmarkGiB(b *testing.B) {
	path := gibibyte(b)
	file := must(os.Open(path))(b)
	sum := sha256.New()
	size := must(io.Copy(sum, file))(b)
	o := Options{
		Name: "data", Member: "m1", InitialCluster: map[string]string{"m1": "http://127.0.0.1:2380"}, Token: "one",
		Minor: "3.7", Size: size, SHA256: [32]byte(sum.Sum(nil)), BumpRevision: 1000, MarkCompacted: true,
	}
	b.Run("copy", func(b *testing.B) {
		for b.Loop() {
			plainCopy(b, path)
		}
	})
	for name, what := range map[string]order{"make": {}, "inspect": {Inspect: true}, "check": {Check: true}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				what.Options, what.Database = o, path
				what.Options.Folder = b.TempDir()
				measured(b, what)
			}
		})
	}
}

// measured runs a process, and reports its memory and the room that it takes on the disk beyond the database.
func measured(b *testing.B, what order) {
	b.Helper()
	process := run(b, what)
	if err := process.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- process.Wait() }()
	var all, own, room int64
	for running := true; running; {
		select {
		case err := <-ended:
			if running = false; err != nil {
				b.Fatal(err)
			}
		case <-time.After(5 * time.Millisecond):
			all = max(all, memoryOf(process.Process.Pid, "VmRSS:"))
			own = max(own, memoryOf(process.Process.Pid, "RssAnon:"))
			room = max(room, roomOf(what.Options.Folder))
		}
	}
	b.ReportMetric(float64(all)/1024, "MiB-memory")
	b.ReportMetric(float64(own)/1024, "MiB-without-file-pages")
	if !what.Inspect && !what.Check {
		b.ReportMetric(float64(room-what.Options.Size)/1e6, "MB-beyond-the-database")
	}
	if err := os.RemoveAll(filepath.Join(what.Options.Folder, what.Options.Name)); err != nil {
		b.Fatal(err)
	}
}

// memoryOf reads a line of what the kernel says of a process, in KiB; 0 once it has ended.
func memoryOf(pid int, name string) (kibibytes int64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), name)
	_, _ = fmt.Sscan(rest, &kibibytes) // it stays 0
	return kibibytes
}

// roomOf is what the files of a folder take on the disk.
func roomOf(folder string) (total int64) {
	_ = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // files come and go meanwhile
		}
		if status, err := entry.Info(); err == nil {
			total += status.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return nil
	})
	return total
}

func plainCopy(b *testing.B, path string) {
	b.Helper()
	from := must(os.Open(path))(b)
	to := must(os.Create(filepath.Join(b.TempDir(), "db")))(b)
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, buffer))
	if err == nil {
		err = to.Sync()
	}
	if err != nil {
		b.Fatal(err)
	}
	_, _ = from.Close(), to.Close() // they are read and synced
}

// gibibyte makes a database of 700,000 keys, of which a tenth was changed after a compaction.
func gibibyte(b *testing.B) string {
	b.Helper()
	return database(b, func(s etcdStore) {
		value := string(make([]byte, 900))
		for i := range 700_000 {
			s.put(fmt.Sprintf("/registry/pods/namespace/%08d", i), value)
		}
		s.compactAt(b, s.Rev()-1)
		for i := range 70_000 {
			s.put(fmt.Sprintf("/registry/pods/namespace/%08d", i*10), value)
		}
	})
}
