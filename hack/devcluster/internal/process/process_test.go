// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/netns"
)

func sleeper(t *testing.T) (Book, Command) {
	t.Helper()
	dir := t.TempDir()
	command := Command{Name: "sleeper", Argv: []string{"/bin/sleep", "60"}, Log: filepath.Join(dir, "log"), Dir: dir}
	return Book{Dir: dir}, command
}

func TestStartFindStop(t *testing.T) {
	book, command := sleeper(t)
	if err := book.Start(command); err != nil {
		t.Fatal(err)
	}
	record, alive := book.Find("sleeper")
	if !alive || !record.Runs(command) || book.Living() != 1 {
		t.Fatalf("started, but found %+v, alive %v", record, alive)
	}
	if err := book.Stop("sleeper", time.Second); err != nil {
		t.Fatal(err)
	}
	if _, alive := book.Find("sleeper"); alive || record.Alive() {
		t.Error("stopped, but alive")
	}
	if err := book.Stop("sleeper", time.Second); err != nil {
		t.Errorf("a second stop is harmless, but: %v", err)
	}
}

func TestACommandRunsInItsNetwork(t *testing.T) {
	book, command := sleeper(t)
	command.Network = filepath.Join(book.Dir, "net")
	if err := netns.Make(command.Network); err != nil {
		t.Skipf("no namespaces here: %v", err)
	}
	defer func() { _ = unix.Unmount(command.Network, unix.MNT_DETACH) }()
	if err := book.Start(command); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = book.Stop("sleeper", 0) }()
	record, _ := book.Find("sleeper")
	theirs := inode(t, fmt.Sprintf("/proc/%d/ns/net", record.PID))
	if theirs != inode(t, command.Network) || theirs == inode(t, "/proc/self/ns/net") {
		t.Error("the process is in another network than it was given")
	}
	if !record.Runs(command) {
		t.Error("just started, but not current")
	}
	if err := unix.Unmount(command.Network, unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	if err := netns.Make(command.Network); err != nil {
		t.Fatal(err)
	}
	if record.Runs(command) {
		t.Error("the network was recreated, but the process counts as current")
	}
}

func inode(t *testing.T, file string) uint64 {
	t.Helper()
	var stat unix.Stat_t
	if err := unix.Stat(file, &stat); err != nil {
		t.Fatal(err)
	}
	return stat.Ino
}

func TestAReusedNumberIsNotOurs(t *testing.T) {
	ticks, _, ok := stat(os.Getpid())
	if !ok {
		t.Fatal("cannot read our own start")
	}
	ours := Record{PID: os.Getpid(), Ticks: ticks, Boot: boot()}
	if !ours.Alive() {
		t.Error("we are alive")
	}
	later, rebooted := ours, ours
	later.Ticks++
	rebooted.Boot = "another"
	if later.Alive() || rebooted.Alive() {
		t.Error("a process of another start or boot passes for ours")
	}
}

func TestAChangedFileCallsForARestart(t *testing.T) {
	book, command := sleeper(t)
	file := filepath.Join(book.Dir, "settings")
	command.Reads = []string{file}
	if err := os.WriteFile(file, []byte("a"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := book.Start(command); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = book.Stop("sleeper", 0) }()
	if err := os.WriteFile(file, []byte("b"), 0o644); err != nil {
		t.Fatal(err)
	}
	if record, _ := book.Find("sleeper"); record.Runs(command) {
		t.Error("the file has changed, but the process counts as current")
	}
}
