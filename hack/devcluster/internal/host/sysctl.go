// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
)

// A setting is one of the kernel, by its file below /proc/sys.
type setting struct{ name, value string }

// wanted are the kernel settings that the cluster needs; a larger number is
// left alone.
var wanted = []setting{
	{"net/ipv4/ip_forward", "1"},
	{"net/bridge/bridge-nf-call-iptables", "1"},
	{"fs/inotify/max_user_instances", "8192"},
	{"fs/inotify/max_user_watches", "524288"},
}

// wantedForIPv6 are those that IPv6 needs besides. A machine that forwards forgets what routers have told it, unless it is asked
// not to before: its own way out may be among that.
func wantedForIPv6() []setting {
	var all []setting
	cards, _ := filepath.Glob("/proc/sys/net/ipv6/conf/*/accept_ra")
	for _, card := range cards {
		if raw, err := os.ReadFile(card); err == nil && strings.TrimSpace(string(raw)) == "1" {
			all = append(all, setting{strings.TrimPrefix(card, "/proc/sys/"), "2"})
		}
	}
	return append(all, setting{"net/ipv6/conf/all/forwarding", "1"}, setting{"net/bridge/bridge-nf-call-ip6tables", "1"})
}

// HasIPv6 says whether the machine may use IPv6.
func HasIPv6() bool {
	raw, err := os.ReadFile("/proc/sys/net/ipv6/conf/all/disable_ipv6")
	return err == nil && strings.TrimSpace(string(raw)) == "0"
}

// Tune sets kernel settings and notes what they were in the file. What a
// kernel does not have is left to those who need it to say so.
func Tune(file string, families layout.Families) error {
	// A kernel with built-in modules needs none of this.
	_ = exec.Command("modprobe", "-a", "overlay", "br_netfilter", "nf_tables", "loop", "xfs").Run()
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	all := wanted
	if families.HasIPv6() {
		all = slices.Concat(wanted, wantedForIPv6())
	}
	before := map[string]string{}
	for _, s := range all {
		name, value := s.name, s.value
		raw, err := os.ReadFile(filepath.Join("/proc/sys", name))
		now := strings.TrimSpace(string(raw))
		if err != nil || now == value || len(now) > len(value) {
			continue
		}
		if os.WriteFile(filepath.Join("/proc/sys", name), []byte(value), 0o644) == nil {
			before[name] = now
		}
	}
	raw, err := json.Marshal(before)
	if err != nil {
		return err
	}
	return os.WriteFile(file, raw, 0o644)
}

// Untune gives kernel settings their noted values back.
func Untune(file string) error {
	raw, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	before := map[string]string{}
	if err := json.Unmarshal(raw, &before); err != nil {
		return err
	}
	for name, value := range before {
		_ = os.WriteFile(filepath.Join("/proc/sys", name), []byte(value), 0o644)
	}
	return os.Remove(file)
}
