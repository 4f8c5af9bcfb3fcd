// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster/crash"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// serves stands for no cause: etcd repairs the damage, or does not mind it.
const serves crash.Cause = "it serves"

// damage is done to the data of a member that is down.
type damage struct {
	name string
	do   func(t *testing.T, data string)
	want crash.Cause
	// except says what other versions do.
	except map[string]crash.Cause
	// long: the proof may be cut off from what Kubernetes keeps. The whole log
	// must still have it.
	long bool
}

func (d damage) wanted(version string) crash.Cause {
	if want, found := d.except[version]; found {
		return want
	}
	return d.want
}

// ofAllVersions runs a test for each, if processes may be run at all.
func ofAllVersions(t *testing.T, test func(t *testing.T, version string)) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs etcd processes, which -short leaves out")
	}
	t.Parallel()
	for _, version := range process.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel() // they mostly wait
			test(t, version)
		})
	}
}

// afterEach does one damage after the other to the same data of a cluster of
// one, and judges how the member then starts.
func afterEach(t *testing.T, damages []damage) {
	t.Helper()
	ofAllVersions(t, func(t *testing.T, version string) {
		first := process.Run(t, version, 1)
		write(t, first, keys)
		sound := first.Member("m1")
		sound.Stop()
		for _, d := range damages {
			t.Run(d.name, func(t *testing.T) {
				c := process.New(t, 1)
				m := c.Member("m1")
				copyData(t, sound.Data, m.Data)
				d.do(t, m.Data)
				m.Start(version, c.Joins("existing", "m1")...)
				d.judge(t, version, c)
			})
		}
	})
}

func (d damage) judge(t *testing.T, version string, c *process.Cluster) {
	t.Helper()
	want := d.wanted(version)
	if want == serves {
		c.Serves("m1")
		return
	}
	m := c.Member("m1")
	exitCode := m.Ended()
	got, whole := crash.Why(exitCode, "Error", kept(m.Log())), crash.Why(exitCode, "Error", m.Log())
	if whole != want {
		t.Errorf("by its whole log it is %s, want %s", whole, want)
	}
	if got != want && (!d.long || got != crash.Unknown) {
		t.Errorf("by what Kubernetes keeps it is %s, want %s", got, want)
	}
	if t.Failed() {
		t.Logf("exit code %d after\n%s", exitCode, m.Log())
	}
}

// kept is what the kubelet makes the termination message of: the last 80 lines
// of the log, and of them the last 2048 bytes.
func kept(log string) string {
	lines := strings.SplitAfter(log, "\n")
	text := strings.Join(lines[max(0, len(lines)-1-80):], "")
	return text[max(0, len(text)-2048):]
}

// keys are enough for two snapshots, and for a database of some pages.
const keys = 120

func write(t *testing.T, c *process.Cluster, count int) {
	t.Helper()
	m := c.Member("m1")
	value := strings.Repeat("value", 20)
	for n := range count {
		c.Until("a key to be written", func(ctx context.Context) error {
			return m.Put(ctx, fmt.Sprintf("key-%d", n), value)
		})
	}
}

// copyData leaves out the space that etcd allocated ahead.
func copyData(t *testing.T, from, to string) {
	t.Helper()
	for _, folder := range []string{"member/wal", "member/snap"} {
		if err := os.MkdirAll(filepath.Join(to, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(filepath.Join(from, folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if filepath.Ext(entry.Name()) != ".tmp" {
				copyFile(t, filepath.Join(from, folder, entry.Name()), filepath.Join(to, folder, entry.Name()))
			}
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	used := strings.TrimRight(string(content), "\x00")
	if err := os.WriteFile(to, []byte(used), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(to, int64(len(content))); err != nil {
		t.Fatal(err)
	}
}
