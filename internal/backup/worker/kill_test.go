// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/worker"
)

// asJob is a variable with the folders of a Job. A test process that has it carries out its argument, and is no test.
const asJob = "RUNNER_TEST_FOLDERS"

func TestMain(m *testing.M) {
	folders := os.Getenv(asJob)
	if folders == "" {
		os.Exit(m.Run())
	}
	in := worker.Environment{Out: os.Stdout, Getenv: func(string) string { return "" }}
	if err := json.Unmarshal([]byte(folders), &in.Folders); err != nil {
		panic(err)
	}
	// A second passes with each look at the clock, so that all progress is reported.
	began, looks := time.Now(), atomic.Int64{}
	in.Now = func() time.Time { return began.Add(time.Duration(looks.Add(1)) * time.Second) }
	os.Exit(worker.Main(context.Background(), os.Args[len(os.Args)-1:], in))
}

// killed runs a Job in a process of its own, and kills it after so many lines; false if it ended before.
func (w *world) killed(order jobspec.Order, after int) bool {
	w.Helper()
	folders, err := json.Marshal(w.in.Folders)
	must(w, err)
	process := exec.Command(os.Args[0], onVolume(order).Encode())
	process.Env = []string{asJob + "=" + string(folders)}
	out, err := process.StdoutPipe()
	must(w, err)
	must(w, process.Start())
	lines := bufio.NewScanner(out)
	var said bytes.Buffer
	for range after {
		if !lines.Scan() {
			break
		}
		said.Reset()
		fmt.Fprintln(&said, lines.Text())
	}
	line, ok := jobspec.Parse(said.Bytes())
	if isLast := ok && line.Progress == nil && line.Found == nil; !isLast {
		must(w, process.Process.Kill())
		_ = process.Wait() // it was killed
		return true
	}
	if line.Done == nil {
		w.Errorf("it failed before it was killed: %+v", line.Failed)
	}
	must(w, process.Wait())
	return false
}

// TestKilledDuringBackup at each line that it says: what is there is a whole backup or none, and the next Job makes one.
func TestKilledDuringBackup(t *testing.T) {
	t.Parallel()
	r := newRunning(t, "3.6.16", 1)
	client := r.client(r.cluster, "m1")
	for n := range 40 { // more than three parts of 8 MiB, which cannot be compressed
		value := make([]byte, 1<<20)
		_, _ = rand.Read(value) // it never fails
		_, err := client.Put(t.Context(), fmt.Sprint(n), string(value))
		must(t, err)
	}
	order := r.backup()
	isKilled, killed := true, 0
	for after := 1; isKilled; after++ {
		isKilled = r.killed(order, after)
		lines := r.says(check(jobspec.CheckOrder{}))
		if found := lines[0].Found; found != nil {
			r.isWhole(r.T)
			killed += count(isKilled)
		} else if !isKilled {
			t.Error("it was done, and there is no backup")
		}
		if after%3 == 0 { // what was killed is not always the first one
			r.does(remove(""))
		}
	}
	r.does(order)
	r.isWhole(t)
	for _, file := range r.stored(path) {
		t.Log(filepath.Base(file))
	}
	t.Logf("%d were killed after their manifest was written", killed)
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// isWhole reads all of the backup.
func (w *world) isWhole(t *testing.T) {
	t.Helper()
	scratch := t.TempDir()
	in := w.in
	w.in.Folders.Scratch = scratch
	w.does(unpack(jobspec.TrialOrder{Path: path, Minor: "3.6"}))
	w.in = in
	must(t, os.RemoveAll(scratch))
}

// TestKilledDuringRestore at each line: there is no data directory or a whole one, and the next Job does the rest.
func TestKilledDuringRestore(t *testing.T) {
	if testing.Short() {
		t.Skip("writes some hundred MB: run it without -short")
	}
	t.Parallel()
	w := newWorld(t)
	db := large(t)
	w.backedUp("uid-1", db, func(j *archive.Job) { j.PartSize = archive.DefaultPartSize })
	order := restore(jobspec.RestoreOrder{Minor: "3.6", Bump: 10, Token: "t"})
	for after, isKilled := 1, true; isKilled; after++ {
		w.in.Folders.Member = t.TempDir()
		isKilled = w.killed(order, after)
		_, err := os.Stat(filepath.Join(w.in.Folders.Member, "data"))
		if err != nil && !isKilled {
			t.Error("it was done, and there is no data directory")
		}
		w.does(order)
		entries, err := os.ReadDir(w.in.Folders.Member)
		if err != nil || len(entries) != 1 || entries[0].Name() != "data" {
			t.Errorf("killed after line %d: %v, %v", after, entries, err)
		}
		must(t, os.RemoveAll(w.in.Folders.Member))
	}
}

// large is a database of some parts.
func large(t *testing.T) []byte {
	t.Helper()
	return database(t, 60_000)
}

// TestKilledDuringCheck, and while a backup is deleted.
func TestKilledDuringCheckAndDelete(t *testing.T) {
	w := newWorld(t)
	db := database(t, 10)
	for _, id := range []string{"uid-1", "uid-2", "uid-3"} {
		w.backedUp(id, db, nil)
	}
	for after := 1; w.killed(check(jobspec.CheckOrder{Write: true}), after); after++ {
		if lines := w.says(check(jobspec.CheckOrder{Write: true})); lines[len(lines)-1].Done.Check.Backups != 3 {
			t.Errorf("%+v", lines)
		}
	}
	w.killed(remove(""), 1)
	w.does(remove(""))
	if lines := w.says(check(jobspec.CheckOrder{})); len(lines) != 3 || strings.Contains(lines[0].Found.Path, "uid-1") {
		t.Errorf("%+v", lines)
	}
}
