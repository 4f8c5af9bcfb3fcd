// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWorkStaysInItsNamespace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "net")
	if err := Make(file); err != nil {
		t.Skipf("no namespaces here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(file, unix.MNT_DETACH) })
	var inside []net.Interface
	err := Do(file, func() (err error) {
		inside, err = net.Interfaces()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(inside) != 1 || inside[0].Name != "lo" || inside[0].Flags&net.FlagUp != 0 {
		t.Errorf("a new namespace has only a loopback that is down, not %v", inside)
	}
	if loopback, err := net.InterfaceByName("lo"); err != nil || loopback.Flags&net.FlagUp == 0 {
		t.Errorf("outside, the machine's loopback is up, not %v (%v)", loopback, err)
	}
}

func TestMakeKeepsANamespaceThatIsThere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "net")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if Exists(file) {
		t.Error("a plain file, as a reboot leaves it, counts as a namespace")
	}
	if err := Make(file); err != nil {
		t.Skipf("no namespaces here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(file, unix.MNT_DETACH) })
	before := inode(t, file)
	if err := Make(file); err != nil {
		t.Fatal(err)
	}
	if inode(t, file) != before {
		t.Error("the second call made another namespace")
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
