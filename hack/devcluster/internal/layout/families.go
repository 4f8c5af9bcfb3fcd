// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"fmt"
	"slices"
	"strings"
)

// Families are the families of IP addresses that Pods, Services and nodes have, the first one first, as --ip-families names
// them. Empty is IPv4 alone.
type Families string

// What a cluster may have. Whatever it has, its daemons also reach each other by IPv4.
const (
	OnlyIPv4  Families = "IPv4"
	IPv4First Families = "IPv4,IPv6"
	IPv6First Families = "IPv6,IPv4"
	OnlyIPv6  Families = "IPv6"
)

// ParseFamilies reads what --ip-families says.
func ParseFamilies(text string) (Families, error) {
	all := []Families{OnlyIPv4, IPv4First, IPv6First, OnlyIPv6}
	if families := Families(text); slices.Contains(all, families) {
		return families, nil
	}
	return "", fmt.Errorf("there are no families of IP addresses %q: say one of %q", text, all)
}

// HasIPv6 says whether IPv6 is one of them.
func (f Families) HasIPv6() bool { return f != "" && f != OnlyIPv4 }

// Of are those that there are of two addresses, or ranges, of one thing, in order.
func (f Families) Of(v4, v6 string) []string {
	switch f {
	case IPv4First:
		return []string{v4, v6}
	case IPv6First:
		return []string{v6, v4}
	case OnlyIPv6:
		return []string{v6}
	case OnlyIPv4:
	}
	return []string{v4}
}

// First is the one of the first family.
func (f Families) First(v4, v6 string) string { return f.Of(v4, v6)[0] }

// Listed are those of Of, as flags name several.
func (f Families) Listed(v4, v6 string) string { return strings.Join(f.Of(v4, v6), ",") }

// Addresses of IPv6 that belong to the cluster as a whole: what those of IPv4 without a 6 are. They are in a range of this cluster alone.
const (
	PodsRange6     = "fdec:d0:244::/48"
	NodesRange6    = "fdec:d0:254::/64"
	ServicesRange6 = "fdec:d0:96::/112"
	APIService6    = "fdec:d0:96::1"
	DNSService6    = "fdec:d0:96::a"
	MachineIP6     = "fdec:d0:254::1"
)

// IP6 is the node's address.
func (n Node) IP6() string { return fmt.Sprintf("fdec:d0:254::%d", n.Number) }

// PodRange6 is of the node's Pods.
func (n Node) PodRange6() string { return fmt.Sprintf("fdec:d0:244:%d::/64", n.Number-1) }

// Having is the layout of a cluster with these families.
func (l Layout) Having(families Families) Layout {
	l.Families = families
	return l
}
