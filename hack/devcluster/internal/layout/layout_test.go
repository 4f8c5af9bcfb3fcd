package layout

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestAtRefusesPathsTooLongForSockets(t *testing.T) {
	fits := "/" + strings.Repeat("a", longestRoot-1)
	l, err := At(fits)
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(l.Node(1).Kubelet(), "pod-resources", "kubelet.sock")
	if len(socket) != 107 {
		t.Errorf("the longest socket has %d bytes, want 107", len(socket))
	}
	if _, err := At(fits + "a"); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("want one clear line, got %v", err)
	}
}

func TestNodesDoNotShareAnything(t *testing.T) {
	l := Layout{Root: "/c"}
	one, two := l.Node(1), l.Node(2)
	for _, pair := range [][2]string{
		{one.Dir, two.Dir}, {one.Run, two.Run}, {one.IP, two.IP}, {one.PodRange, two.PodRange}, {one.Cgroup(), two.Cgroup()},
	} {
		if pair[0] == pair[1] {
			t.Errorf("both nodes have %s", pair[0])
		}
	}
}
