// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/netns"
)

// Further nodes are namespaces on a bridge, as machines are on a switch: a cut
// cable leaves every route in place, and packets vanish without an answer.

// card is the name of the link inside of a node's namespace.
const card = "eth0"

// Plug makes the network of a node and connects it to the bridge. All nodes
// are named, because each has a route to the others' pods.
func Plug(ctx context.Context, node layout.Node, all []layout.Node, families layout.Families) error {
	if node.IsMachine() {
		return nil
	}
	if !netns.Exists(node.Network()) {
		// A link that is there leads to a namespace that is lost.
		if err := Unplug(ctx, node); err != nil {
			return err
		}
	}
	if err := netns.Make(node.Network()); err != nil {
		return err
	}
	if !linked(node) {
		err := run(ctx, "ip", "link", "add", node.Link(), "type", "veth", "peer", "name", card, "netns", node.Network())
		if err != nil {
			return err
		}
	}
	err := netns.Do(node.Network(), func() error {
		if err := forwardPackets(); err != nil {
			return err
		}
		return feed(ctx, inside(node, all, families), "ip", "-batch", "-")
	})
	if err != nil {
		return fmt.Errorf("network of %s: %w", node.Name, err)
	}
	return feed(ctx, outside(node, families), "ip", "-batch", "-")
}

// forwardPackets sets what a namespace may or may not have from the machine.
// Bridges that are not filtered are known of: kube-proxy makes up for it.
func forwardPackets() error {
	for _, name := range []string{
		"ipv4/ip_forward", "bridge/bridge-nf-call-iptables", "ipv6/conf/all/forwarding", "bridge/bridge-nf-call-ip6tables",
	} {
		err := os.WriteFile(filepath.Join("/proc/sys/net", name), []byte("1"), 0o644)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// outside lists what the machine needs to reach a node. Each line is harmless
// to repeat.
func outside(node layout.Node, families layout.Families) string {
	list := []string{
		// A bridge takes the lowest address of its members unless it has one.
		fmt.Sprintf("link set %s address %s", layout.NodeBridge, layout.Layout{}.Node(1).MAC()),
		fmt.Sprintf("link set %s master %s up", node.Link(), layout.NodeBridge),
		fmt.Sprintf("route replace %s/32 dev %s src %s", node.IP, layout.NodeBridge, layout.MachineIP),
		fmt.Sprintf("route replace %s via %s src %s", node.PodRange, node.IP, layout.MachineIP),
	}
	if families.HasIPv6() {
		list = append(list,
			fmt.Sprintf("route replace %s/128 dev %s src %s", node.IP6(), layout.NodeBridge, layout.MachineIP6),
			fmt.Sprintf("route replace %s via %s src %s", node.PodRange6(), node.IP6(), layout.MachineIP6),
		)
	}
	return lines(list...)
}

// inside lists what a node needs: the machine is its way out, and its way to
// the first node's pods.
func inside(node layout.Node, all []layout.Node, families layout.Families) string {
	list := []string{
		"link set lo up",
		fmt.Sprintf("link set %s address %s up", card, node.MAC()),
		fmt.Sprintf("address replace %s/24 dev %s", node.IP, card),
		fmt.Sprintf("route replace default via %s", layout.MachineIP),
	}
	for _, other := range all {
		if !other.IsMachine() && other.Name != node.Name {
			list = append(list, fmt.Sprintf("route replace %s via %s", other.PodRange, other.IP))
		}
	}
	if families.HasIPv6() {
		list = append(list, inside6(node, all)...)
	}
	return lines(list...)
}

// inside6 is the same for IPv6.
func inside6(node layout.Node, all []layout.Node) []string {
	list := []string{
		fmt.Sprintf("address replace %s/64 dev %s nodad", node.IP6(), card),
		fmt.Sprintf("route replace default via %s", layout.MachineIP6),
	}
	for _, other := range all {
		if !other.IsMachine() && other.Name != node.Name {
			list = append(list, fmt.Sprintf("route replace %s via %s", other.PodRange6(), other.IP6()))
		}
	}
	return list
}

func lines(all ...string) string { return strings.Join(all, "\n") + "\n" }

func linked(node layout.Node) bool {
	_, err := net.InterfaceByName(node.Link())
	return err == nil
}

// Unplug takes a node's network away. Of the machine's own network only goes
// what its pods had.
func Unplug(ctx context.Context, node layout.Node) error {
	if node.IsMachine() {
		removeHostPorts(ctx)
		return nil
	}
	if !linked(node) {
		return nil
	}
	return run(ctx, "ip", "link", "delete", node.Link())
}

var errUncuttable = errors.New(layout.First + " is the machine itself, with the API server: cut another node")

// Cut takes a node's link down.
func Cut(ctx context.Context, node layout.Node) error { return toggle(ctx, node, "down") }

// Join takes a node's link up again.
func Join(ctx context.Context, node layout.Node) error { return toggle(ctx, node, "up") }

func toggle(ctx context.Context, node layout.Node, to string) error {
	if node.IsMachine() {
		return errUncuttable
	}
	if !linked(node) {
		return fmt.Errorf("%s has no link: start it with 'devcluster node start %[1]s'", node.Name)
	}
	return run(ctx, "ip", "link", "set", node.Link(), to)
}

// IsCut says whether a node's link is down or missing.
func IsCut(node layout.Node) bool {
	if node.IsMachine() {
		return false
	}
	link, err := net.InterfaceByName(node.Link())
	return err != nil || link.Flags&net.FlagUp == 0
}
