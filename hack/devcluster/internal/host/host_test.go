// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestErrorsAreOneLineThatSaysWhatToDo(t *testing.T) {
	for want, err := range map[string]error{
		"as root":           ErrNotRoot,
		"writable":          errNoCgroups,
		"free at least":     enough("/x", 1<<30),
		"apt-get install":   lacking([]string{"runc"}),
		"ss -ltnp":          PortTaken("etcd", ":1"),
		"wait until":        busy("/other"),
		"make cluster-down": Foreign("/other", 3),
	} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want one line with %q, got: %v", want, err)
		}
	}
	if err := enough("/x", leastFree); err != nil {
		t.Errorf("just enough is refused: %v", err)
	}
}

func TestLockNamesItsHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := TakeLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Claim("/first/checkout"); err != nil {
		t.Fatal(err)
	}
	if _, err := TakeLock(path); err == nil || !strings.Contains(err.Error(), "/first/checkout") {
		t.Errorf("the holder is not named: %v", err)
	}
	lock.Release()
	again, err := TakeLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if again.Owner() != "/first/checkout" {
		t.Errorf("the owner was forgotten: %q", again.Owner())
	}
}

func TestParseMount(t *testing.T) {
	got, ok := parseMount(`36 35 98:0 /a /with\040space rw,noatime shared:1 - ext4 /dev/root rw`)
	if !ok || got.point != "/with space" || got.kind != "ext4" {
		t.Errorf("got %+v", got)
	}
	if below("/state-of-another/x", []string{"/state"}) || !below("/state/x", []string{"/state"}) {
		t.Error("below mistakes a neighbour for a child")
	}
}

func TestIsShimKnowsOursByItsSocket(t *testing.T) {
	cmdline := func(args ...string) []byte { return []byte(strings.Join(args, "\x00") + "\x00") }
	if !isShim(cmdline("/c/containerd-shim-runc-v2", "-id", "1", "-address", "/run/ours.sock"), "/run/ours.sock") {
		t.Error("our shim is not known")
	}
	if isShim(cmdline("/c/containerd-shim-runc-v2", "-address", "/run/other.sock"), "/run/ours.sock") ||
		isShim(cmdline("/bin/vi", "-address", "/run/ours.sock"), "/run/ours.sock") || isShim(nil, "/run/ours.sock") {
		t.Error("another process passes for our shim")
	}
}

func TestHostPortRemovalsTouchOnlyOurNetwork(t *testing.T) {
	rules := `-A CNI-HOSTPORT-DNAT -m comment --comment "dnat name: \"etcd-operator-devcluster\" id: \"1\"" -j CNI-DN-a
-A CNI-HOSTPORT-DNAT -m comment --comment "dnat name: \"other\" id: \"2\"" -j CNI-DN-b
`
	got := hostPortRemovals(rules)
	if len(got) != 3 || !slices.Equal(got[2], []string{"-X", "CNI-DN-a"}) {
		t.Errorf("got %q", got)
	}
	if !slices.Contains(got[0], `dnat name: "etcd-operator-devcluster" id: "1"`) {
		t.Errorf("the comment was not taken apart: %q", got[0])
	}
}

func TestIdleTablesAreThoseWithoutRules(t *testing.T) {
	empty := "table ip filter {\n\tchain INPUT {\n\t\ttype filter hook input priority filter; policy accept;\n\t}\n}\n"
	if !idle(empty) {
		t.Error("an empty table counts as used")
	}
	for _, used := range []string{
		strings.Replace(empty, "accept", "drop", 1), strings.Replace(empty, "\t}\n", "\t\ttcp dport 22 accept\n\t}\n", 1),
	} {
		if idle(used) {
			t.Errorf("counts as empty:\n%s", used)
		}
	}
}
