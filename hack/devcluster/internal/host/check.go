// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package host deals with the machine below the cluster: what it must offer,
// what is changed for the cluster, and how every change is taken back.
package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/progress"
)

const leastFree = 6 << 30

// programs maps what must be installed to the Debian package that has it.
var programs = map[string]string{
	"runc": "runc", "iptables": "iptables", "nft": "nftables", "conntrack": "conntrack", "ipset": "ipset",
	"socat": "socat", "busybox": "busybox-static", "mkfs.xfs": "xfsprogs", "xfs_growfs": "xfsprogs",
	"losetup": "mount", "ip": "iproute2", "gcc": "gcc",
	"/usr/lib/cni/bridge": "containernetworking-plugins", "/usr/include/stdlib.h": "libc6-dev",
}

// ErrNotRoot says what to do about it.
var ErrNotRoot = errors.New("the cluster needs root: run this again as root, such as with 'sudo -E'")

// Check refuses a machine that cannot run the cluster, in one line.
func Check(state string) error {
	if os.Geteuid() != 0 {
		return ErrNotRoot
	}
	if _, err := cgroups(); err != nil {
		return err
	}
	return Space(state)
}

// Space refuses a disk that is nearly full.
func Space(folder string) error {
	var disk unix.Statfs_t
	if err := unix.Statfs(existing(folder), &disk); err != nil {
		return err
	}
	return enough(folder, disk.Bavail*uint64(disk.Bsize))
}

func enough(folder string, free uint64) error {
	if free >= leastFree {
		return nil
	}
	return fmt.Errorf("only %.1f GB are free for %s: free at least %d GB", float64(free)/(1<<30), folder, leastFree>>30)
}

func existing(folder string) string {
	for ; folder != "/"; folder = filepath.Dir(folder) {
		if _, err := os.Stat(folder); err == nil {
			break
		}
	}
	return folder
}

// Install adds missing packages where that is possible.
func Install(ctx context.Context, out *progress.Printer) error {
	packages := missing()
	if len(packages) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return lacking(packages)
	}
	out.Say("installing %s", strings.Join(packages, " "))
	install := append([]string{"install", "-y", "--no-install-recommends"}, packages...)
	if apt(ctx, install...) == nil && len(missing()) == 0 {
		return nil
	}
	_ = apt(ctx, "update")
	_ = apt(ctx, install...)
	if packages = missing(); len(packages) > 0 {
		return lacking(packages)
	}
	return nil
}

func lacking(packages []string) error {
	list := strings.Join(packages, " ")
	return fmt.Errorf("missing programs: install the Debian packages with 'apt-get install -y %s', or their like", list)
}

func apt(ctx context.Context, args ...string) error {
	command := exec.CommandContext(ctx, "apt-get", args...)
	command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	return command.Run()
}

func missing() []string {
	packages := map[string]bool{}
	for program, name := range programs {
		if _, err := exec.LookPath(program); err != nil && !isFile(program) {
			packages[name] = true
		}
	}
	list := make([]string, 0, len(packages))
	for name := range packages {
		list = append(list, name)
	}
	sort.Strings(list)
	return list
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && strings.HasPrefix(path, "/") && !info.IsDir()
}

// PortFree tries whether a daemon could listen at the address.
func PortFree(address string) error {
	if address[0] != ':' && !local(address) {
		return nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return listener.Close()
}

// PortTaken says what to do about an address that is not free.
func PortTaken(daemon, address string) error {
	return fmt.Errorf("%s cannot listen at %s: see who does with 'ss -ltnp' and stop that", daemon, address)
}

// local says whether the address is on this machine already; a node's own
// address is not before the first start.
func local(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

// MayRaisePriority says whether this process has CAP_SYS_RESOURCE.
func MayRaisePriority() bool {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(raw)) {
		if hex, ok := strings.CutPrefix(line, "CapEff:"); ok {
			mask, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
			return err == nil && mask&(1<<unix.CAP_SYS_RESOURCE) != 0
		}
	}
	return false
}

// FiltersBridges says whether the kernel has br_netfilter.
func FiltersBridges() bool {
	_, err := os.Stat("/proc/sys/net/bridge/bridge-nf-call-iptables")
	return err == nil
}
