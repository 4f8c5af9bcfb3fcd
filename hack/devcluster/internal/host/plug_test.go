// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
)

func TestANodeHasARouteToEveryOther(t *testing.T) {
	all := layout.Layout{Root: "/c", Count: 3}.Nodes()
	want := `link set lo up
link set eth0 address 0a:58:0a:fe:00:02 up
address replace 10.254.0.2/24 dev eth0
route replace default via 10.254.0.1
route replace 10.244.8.0/22 via 10.254.0.3
`
	if got := inside(all[1], all, ""); got != want {
		t.Errorf("inside of node-2, got:\n%swant:\n%s", got, want)
	}
	want = `link set devcluster0 address 0a:58:0a:fe:00:01
link set devcluster-n2 master devcluster0 up
route replace 10.254.0.2/32 dev devcluster0 src 10.254.0.1
route replace 10.244.4.0/22 via 10.254.0.2 src 10.254.0.1
`
	if got := outside(all[1], layout.OnlyIPv4); got != want {
		t.Errorf("outside of node-2, got:\n%swant:\n%s", got, want)
	}
}

func TestANodeWithIPv6HasTheSameRoutesByIt(t *testing.T) {
	all := layout.Layout{Root: "/c", Count: 3}.Nodes()
	want := inside(all[1], all, layout.OnlyIPv4) + `address replace fdec:d0:254::2/64 dev eth0 nodad
route replace default via fdec:d0:254::1
route replace fdec:d0:244:2::/64 via fdec:d0:254::3
`
	if got := inside(all[1], all, layout.IPv4First); got != want {
		t.Errorf("inside of node-2, got:\n%swant:\n%s", got, want)
	}
	want = outside(all[1], layout.OnlyIPv4) + `route replace fdec:d0:254::2/128 dev devcluster0 src fdec:d0:254::1
route replace fdec:d0:244:1::/64 via fdec:d0:254::2 src fdec:d0:254::1
`
	if got := outside(all[1], layout.IPv6First); got != want {
		t.Errorf("outside of node-2, got:\n%swant:\n%s", got, want)
	}
}

func TestTheMachineCannotBeCut(t *testing.T) {
	machine := layout.Layout{Root: "/c"}.Node(1)
	for what, err := range map[string]error{"cut": Cut(t.Context(), machine), "join": Join(t.Context(), machine)} {
		if err == nil || !strings.Contains(err.Error(), "cut another node") {
			t.Errorf("%s of the machine itself: %v", what, err)
		}
	}
	if IsCut(machine) {
		t.Error("the machine counts as cut from itself")
	}
}
