// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process starts programs that outlive this one, and finds and stops
// exactly those again. It never picks a process by its name.
package process

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/netns"
)

// Record identifies one started process beyond doubt: a number is reused, but
// not with the same start tick in the same boot.
type Record struct {
	PID     int       `json:"pid"`
	Ticks   uint64    `json:"ticks"`
	Boot    string    `json:"boot"`
	Started time.Time `json:"started"`
	Argv    []string  `json:"argv"`
	// Identity changes with the program's build and the files it reads.
	Identity string `json:"identity"`
}

// Book keeps one record per name in a folder.
type Book struct{ Dir string }

func (b Book) path(name string) string { return filepath.Join(b.Dir, name+".json") }

// Find returns the record of a name if its process lives.
func (b Book) Find(name string) (Record, bool) {
	raw, err := os.ReadFile(b.path(name))
	if err != nil {
		return Record{}, false
	}
	var record Record
	if json.Unmarshal(raw, &record) != nil || !record.Alive() {
		return Record{}, false
	}
	return record, true
}

// Living counts the recorded processes that are alive.
func (b Book) Living() int {
	files, _ := filepath.Glob(b.path("*"))
	living := 0
	for _, file := range files {
		name := filepath.Base(file)
		if _, ok := b.Find(name[:len(name)-len(".json")]); ok {
			living++
		}
	}
	return living
}

// Command is a program to start.
type Command struct {
	Name string
	Argv []string
	// Reads names the files whose change calls for a restart.
	Reads []string
	Log   string
	Dir   string
	// Network is the file of the network namespace to run in; empty is the
	// machine's own.
	Network string
}

// Start runs the command in a session of its own, writing to its log.
func (b Book) Start(c Command) error {
	out, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	command := exec.Command(c.Argv[0], c.Argv[1:]...)
	command.Dir, command.Stdout, command.Stderr = c.Dir, out, out
	command.Env = environment(filepath.Dir(c.Argv[0]))
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// Only the network is another one: the process sees all mounts and cgroups.
	if err := netns.Do(c.Network, command.Start); err != nil {
		return fmt.Errorf("start %s: %w", c.Name, err)
	}
	record := Record{PID: command.Process.Pid, Boot: boot(), Started: time.Now(), Argv: c.Argv, Identity: c.identity()}
	// A process that is gone already keeps tick 0 and so reads as dead.
	record.Ticks, _, _ = stat(record.PID)
	// Reaping keeps a process that dies at once from looking alive.
	go func() { _ = command.Wait() }()
	raw, err := json.Marshal(record)
	if err != nil {
		return err
	}
	return os.WriteFile(b.path(c.Name), raw, 0o644)
}

// Stop ends a name's process: politely for the grace period, then by force.
func (b Book) Stop(name string, grace time.Duration) error {
	record, alive := b.Find(name)
	if alive && grace > 0 {
		_ = syscall.Kill(record.PID, syscall.SIGTERM)
		alive = !record.gone(grace)
	}
	if alive {
		_ = syscall.Kill(record.PID, syscall.SIGKILL)
		if !record.gone(10 * time.Second) {
			return fmt.Errorf("%s (process %d) does not die", name, record.PID)
		}
	}
	if err := os.Remove(b.path(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Alive says whether the recorded process, and no successor, still runs.
func (r Record) Alive() bool {
	ticks, state, ok := stat(r.PID)
	return ok && ticks == r.Ticks && state != 'Z' && r.Boot == boot()
}

// Runs says whether the process is what the command would start now.
func (r Record) Runs(c Command) bool {
	return slices.Equal(r.Argv, c.Argv) && r.Identity == c.identity()
}

func (r Record) gone(within time.Duration) bool {
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if !r.Alive() {
			return true
		}
	}
	return !r.Alive()
}

// stat reads the start tick and the state of a process.
func stat(pid int) (uint64, byte, bool) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, false
	}
	// The program's name is in parentheses and may itself hold any byte.
	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	if len(fields) < 20 {
		return 0, 0, false
	}
	ticks, err := strconv.ParseUint(string(fields[19]), 10, 64)
	return ticks, fields[0][0], err == nil
}

// identity resolves links, because each build has a file of its own.
func (c Command) identity() string {
	sum := sha256.New()
	if file, err := filepath.EvalSymlinks(c.Argv[0]); err == nil {
		if info, err := os.Stat(file); err == nil {
			fmt.Fprintln(sum, file, info.Size(), info.ModTime().UnixNano())
		}
	}
	var network syscall.Stat_t
	if c.Network != "" && syscall.Stat(c.Network, &network) == nil {
		// A namespace that was recreated is another one.
		fmt.Fprintln(sum, c.Network, network.Ino)
	}
	for _, file := range c.Reads {
		raw, _ := os.ReadFile(file)
		fmt.Fprintln(sum, file, len(raw))
		sum.Write(raw)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func boot() string {
	raw, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(bytes.TrimSpace(raw))
}

// environment is the same on every machine: no proxy or kubeconfig of the
// caller leaks in, and containerd finds its shim among our programs.
func environment(bin string) []string {
	return []string{
		"HOME=/root",
		"PATH=" + bin + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	}
}
