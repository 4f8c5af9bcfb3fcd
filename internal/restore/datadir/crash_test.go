// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// order is what a test asks of a process of its own.
type order struct {
	Options  Options
	Database string // path
	Die      int    // step at which the process kills itself; 0: never
	Inspect  bool   // the database, instead of making a data directory of it
	Check    bool   // the same
}

const orderVariable = "DATADIR_TEST_ORDER"

// TestInAProcess is the process that other tests kill, and whose memory benchmarks measure.
func TestInAProcess(t *testing.T) {
	given := os.Getenv(orderVariable)
	if given == "" {
		t.Skip("is run by other tests, in a process of its own")
	}
	var o order
	if err := json.Unmarshal([]byte(given), &o); err != nil {
		t.Fatal(err)
	}
	if o.Inspect {
		inspects(t, o.Database)
		return
	}
	if o.Check {
		if err := Check(t.Context(), o.Database, func(fault error) { t.Error(fault) }); err != nil {
			t.Fatal(err)
		}
		return
	}
	stream := must(os.Open(o.Database))(t)
	step := 0
	err := create(t.Context(), o.Options, stream, func(string) {
		if step++; step == o.Die {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // the signal is on its way
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func run(t testing.TB, o order) *exec.Cmd {
	t.Helper()
	process := exec.Command(os.Args[0], "-test.run=^TestInAProcess$", "-test.count=1")
	process.Env = append(os.Environ(), orderVariable+"="+string(must(json.Marshal(o))(t)))
	return process
}

func wasKilled(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

// TestKilledAtEveryStep: after each step of Make the process is killed. There is a complete data
// directory then or none, and the next Make ends with one.
func TestKilledAtEveryStep(t *testing.T) {
	if testing.Short() {
		t.Skip("kills some thirty processes, which -short leaves out")
	}
	path := many(t)
	kills := 0
	for step := 1; ; step++ {
		o := options(t, content(t, path))
		err := run(t, order{Options: o, Database: path, Die: step}).Run()
		if err == nil {
			break // there are no more steps
		}
		if !wasKilled(err) {
			t.Fatalf("step %d: %v", step, err)
		}
		kills++
		completeOrAbsent(t, o)
		makes(t, o, content(t, path))
		completeOrAbsent(t, o)
		restarts(t, o)
	}
	if kills < 20 {
		t.Errorf("it was killed at %d steps only", kills)
	}
	t.Logf("killed at each of %d steps", kills)
}

// TestKilledAtRandom: the same, at any moment, and several times before it may end.
func TestKilledAtRandom(t *testing.T) {
	if testing.Short() {
		t.Skip("kills some forty processes, which -short leaves out")
	}
	path := many(t)
	begin := time.Now()
	if err := run(t, order{Options: options(t, content(t, path)), Database: path}).Run(); err != nil {
		t.Fatal(err)
	}
	whole := time.Since(begin)
	random := rand.New(rand.NewPCG(1, 3))
	killed, absent := 0, 0
	for range 20 {
		o := options(t, content(t, path))
		for range 2 {
			process := run(t, order{Options: o, Database: path})
			if err := process.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(random.Int64N(int64(whole))))
			_ = process.Process.Kill() // it may have ended
			if wasKilled(process.Wait()) {
				killed++
			}
			if !completeOrAbsent(t, o) {
				absent++
			}
		}
		makes(t, o, content(t, path))
		if !completeOrAbsent(t, o) {
			t.Error("Make succeeded without a data directory")
		}
	}
	t.Logf("killed %d times of 40, %d times before the rename", killed, absent)
}

// completeOrAbsent says whether the data directory is there, and complete then.
func completeOrAbsent(t *testing.T, o Options) bool {
	t.Helper()
	path := filepath.Join(o.Folder, o.Name)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if clusterID, _ := readIdentity(filepath.Join(path, "member", "wal")); clusterID != must(ClusterID(o.InitialCluster, o.Token))(t) {
		t.Errorf("the log is of cluster %x", clusterID)
	}
	if snaps := must(filepath.Glob(filepath.Join(path, "member", "snap", "*.snap")))(t); len(snaps) != 1 {
		t.Errorf("snapshot files: %v", snaps)
	}
	if info := inspects(t, databaseOf(o)); len(info.Members) != 1 || info.Members[0].Name != o.Member {
		t.Errorf("members: %+v", info.Members)
	}
	if err := Check(t.Context(), databaseOf(o), func(fault error) { t.Error(fault) }); err != nil {
		t.Error(err)
	}
	return true
}

// TestTheRestIsNotInTheWay: of a killed Make there is a folder with a lock that no process holds.
func TestTheRestIsNotInTheWay(t *testing.T) {
	db := small(t)
	o := options(t, db)
	if err := os.MkdirAll(filepath.Join(o.Folder, restoring), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.Folder, restoring, lockName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Make(t.Context(), o, bytes.NewReader(db)); err != nil {
		t.Error(err)
	}
	if left := must(os.ReadDir(o.Folder))(t); len(left) != 1 {
		t.Error(fmt.Sprint(left))
	}
}
