// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"net"
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
	taken := map[string]string{}
	for _, node := range (Layout{Root: "/c"}).Of(MostNodes).Nodes() {
		for _, own := range []string{
			node.Name, node.Dir, node.Run, node.IP, node.PodRange, node.Zone,
			node.Cgroup(), node.Socket(), node.Volumes(), node.Network(), node.Link(), node.MAC(),
		} {
			if owner := taken[own]; owner != "" {
				t.Errorf("%s and %s both have %s", owner, node.Name, own)
			}
			taken[own] = node.Name
		}
	}
}

func TestTheFirstNodeIsTheMachine(t *testing.T) {
	first := Layout{Root: "/c"}.Nodes()[0]
	if !first.IsMachine() || first.Name != First || first.IP != MachineIP || first.Network() != "" {
		t.Errorf("not the machine: %+v", first)
	}
}

func TestPodRangesAreApartAndBelongToThePods(t *testing.T) {
	_, pods, err := net.ParseCIDR(PodsRange)
	if err != nil {
		t.Fatal(err)
	}
	var ranges []*net.IPNet
	for _, node := range (Layout{Root: "/c"}).Of(MostNodes).Nodes() {
		address, own, err := net.ParseCIDR(node.PodRange)
		if err != nil {
			t.Fatal(err)
		}
		if !address.Equal(own.IP) || !pods.Contains(own.IP) {
			t.Errorf("%s is no range of %s", node.PodRange, PodsRange)
		}
		for _, other := range ranges {
			if other.Contains(own.IP) || own.Contains(other.IP) {
				t.Errorf("%s and %s overlap", own, other)
			}
		}
		ranges = append(ranges, own)
	}
}

func TestNodesHaveAddressesOfTheirRange(t *testing.T) {
	_, nodes, err := net.ParseCIDR(NodesRange)
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range (Layout{Root: "/c"}).Of(MostNodes).Nodes() {
		if !nodes.Contains(net.ParseIP(node.IP)) {
			t.Errorf("%s is not in %s", node.IP, NodesRange)
		}
	}
}

func TestLinksFitTheKernel(t *testing.T) {
	last := Layout{Root: "/c"}.Node(MostNodes)
	if len(last.Link()) > 15 {
		t.Errorf("the name %s has more than 15 bytes", last.Link())
	}
	if _, err := net.ParseMAC(last.MAC()); err != nil {
		t.Error(err)
	}
}

func TestAddressesOfIPv6(t *testing.T) {
	within := func(whole, part string) bool {
		_, all, err := net.ParseCIDR(whole)
		if err != nil {
			t.Fatal(err)
		}
		address, _, err := net.ParseCIDR(part)
		if err != nil {
			address = net.ParseIP(part)
		}
		return all.Contains(address)
	}
	taken := map[string]string{}
	for _, node := range (Layout{Root: "/c"}).Of(MostNodes).Nodes() {
		if !within(NodesRange6, node.IP6()) || !within(PodsRange6, node.PodRange6()) {
			t.Errorf("%s is not where nodes are, or its Pods not where Pods are: %s, %s", node.Name, node.IP6(), node.PodRange6())
		}
		for _, own := range []string{node.IP6(), node.PodRange6()} {
			if owner := taken[own]; owner != "" {
				t.Errorf("%s and %s both have %s", owner, node.Name, own)
			}
			taken[own] = node.Name
		}
	}
	if first := (Layout{Root: "/c"}).Node(1); first.IP6() != MachineIP6 {
		t.Errorf("the machine has %s, its node %s", MachineIP6, first.IP6())
	}
	if !within(ServicesRange6, APIService6) || !within(ServicesRange6, DNSService6) {
		t.Error("Services of the cluster are out of the range of Services")
	}
}

func TestFamiliesAreInTheirOrder(t *testing.T) {
	for families, want := range map[Families]string{
		"": "4", OnlyIPv4: "4", IPv4First: "4,6", IPv6First: "6,4", OnlyIPv6: "6",
	} {
		if got := families.Listed("4", "6"); got != want {
			t.Errorf("%q: got %s, want %s", families, got, want)
		}
	}
	if _, err := ParseFamilies("IPv4,IPv4"); err == nil {
		t.Error("one family twice is taken")
	}
}
