// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
)

func TestGrow(t *testing.T) {
	for _, c := range []struct{ now, wanted, want int }{{1, 0, 1}, {3, 0, 3}, {1, 3, 3}, {3, 3, 3}, {1, 5, 5}} {
		if got, err := grow(c.now, c.wanted); err != nil || got != c.want {
			t.Errorf("%d nodes, asked for %d: got %d (%v), want %d", c.now, c.wanted, got, err, c.want)
		}
	}
	for _, c := range []struct {
		now, wanted int
		says        string
	}{{1, 6, "1 to 5"}, {1, -1, "1 to 5"}, {3, 2, "devcluster down"}} {
		_, err := grow(c.now, c.wanted)
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%d nodes, asked for %d: want one line with %q, got: %v", c.now, c.wanted, c.says, err)
		}
	}
}

func TestTheStateFolderRemembersTheNodes(t *testing.T) {
	l := layout.Layout{Root: t.TempDir()}
	if got := remembered(l); got != 1 {
		t.Errorf("an empty state folder has %d nodes", got)
	}
	for _, node := range l.Of(3).Nodes() {
		if err := os.MkdirAll(node.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got := remembered(l); got != 3 {
		t.Errorf("got %d nodes, want 3", got)
	}
	if err := os.RemoveAll(filepath.Join(l.Node(2).Dir)); err != nil {
		t.Fatal(err)
	}
	if got := remembered(l); got != 3 {
		t.Errorf("with a gap, got %d nodes, want 3", got)
	}
}

func TestFamiliesAreChosenOnce(t *testing.T) {
	for _, c := range []struct{ now, wanted, want layout.Families }{
		{"", "", layout.OnlyIPv4},
		{"", layout.IPv6First, layout.IPv6First},
		{layout.IPv6First, "", layout.IPv6First},
		{layout.IPv6First, layout.IPv6First, layout.IPv6First},
	} {
		if got, err := choose(c.now, c.wanted); err != nil || got != c.want {
			t.Errorf("a cluster with %q, asked for %q: got %q (%v), want %q", c.now, c.wanted, got, err, c.want)
		}
	}
	_, err := choose(layout.OnlyIPv4, layout.IPv4First)
	if err == nil || !strings.Contains(err.Error(), "devcluster down") || strings.Contains(err.Error(), "\n") {
		t.Errorf("want one line that says what to do, got: %v", err)
	}
}

func TestConditionOfANode(t *testing.T) {
	for _, c := range []struct {
		runs, cut, ready bool
		want             string
	}{
		{true, false, true, "ready"},
		{true, false, false, "not ready"},
		{true, true, true, "cut"},
		{false, true, true, "stopped"},
		{false, false, true, "stopped"},
	} {
		if got := condition(c.runs, c.cut, c.ready); got != c.want {
			t.Errorf("runs %v, cut %v, ready %v: got %s, want %s", c.runs, c.cut, c.ready, got, c.want)
		}
	}
}
