// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
)

// masquerade is the one rule that lets pods and nodes reach beyond the
// machine. It stands in a table of its own, so that taking it back is one
// command.
const masquerade = `add table %[1]s %[2]s
flush table %[1]s %[2]s
table %[1]s %[2]s {
	chain postrouting {
		type nat hook postrouting priority srcnat;
		%[1]s saddr { %[3]s, %[4]s } %[1]s daddr != { %[3]s, %[4]s, %[5]s } masquerade
	}
}
`

// family is what the machine's programs know of a family of addresses.
type family struct {
	// name is that of nft, filter and save are programs.
	name, filter, save string
	// machine is the machine's address on the bridge, as ip takes it.
	machine                []string
	pods, nodes, multicast string
}

var (
	ipv4 = family{
		name: "ip", filter: "iptables", save: "iptables-save", machine: []string{layout.MachineIP + "/32"},
		pods: layout.PodsRange, nodes: layout.NodesRange, multicast: "224.0.0.0/4",
	}
	ipv6 = family{
		name: "ip6", filter: "ip6tables", save: "ip6tables-save",
		// Nobody else can have it, and to find out would take a cable.
		machine: []string{layout.MachineIP6 + "/128", "nodad"},
		pods:    layout.PodsRange6, nodes: layout.NodesRange6, multicast: "ff00::/8",
	}
	bothFamilies = []family{ipv4, ipv6}
)

// of are those that are used: IPv4 always, by the daemons if not by Pods.
func of(families layout.Families) []family {
	if families.HasIPv6() {
		return bothFamilies
	}
	return []family{ipv4}
}

// Network gives the machine its addresses among the nodes and the pods their
// way out.
func Network(ctx context.Context, families layout.Families) error {
	if err := bridge(ctx, layout.NodeBridge); err != nil {
		return err
	}
	for _, f := range of(families) {
		// "replace" is harmless when the address is there.
		if err := run(ctx, "ip", slices.Concat([]string{"address", "replace", "dev", layout.NodeBridge}, f.machine)...); err != nil {
			return err
		}
		if err := feed(ctx, fmt.Sprintf(masquerade, f.name, layout.Name, f.pods, f.nodes, f.multicast), "nft", "-f", "-"); err != nil {
			return err
		}
		if err := forward(ctx, f); err != nil {
			return err
		}
	}
	if !families.HasIPv6() {
		return nil
	}
	// A machine without a way out by IPv6 would send nothing to Services.
	return run(ctx, "ip", "route", "replace", layout.ServicesRange6, "dev", layout.NodeBridge, "src", layout.MachineIP6)
}

func bridge(ctx context.Context, name string) error {
	if _, err := net.InterfaceByName(name); err != nil {
		if err := run(ctx, "ip", "link", "add", name, "type", "bridge"); err != nil {
			return err
		}
	}
	return run(ctx, "ip", "link", "set", name, "up")
}

// forwarded are rules for machines, such as those with Docker, that drop
// what is not theirs to forward.
func forwarded(f family) [][]string {
	var rules [][]string
	for _, own := range []string{f.pods, f.nodes} {
		for _, direction := range []string{"-s", "-d"} {
			rules = append(rules, []string{"FORWARD", direction, own, "-m", "comment", "--comment", layout.Name, "-j", "ACCEPT"})
		}
	}
	return rules
}

func forward(ctx context.Context, f family) error {
	// Without an answer there is nothing to open: the kernel's own default accepts.
	out, _ := exec.CommandContext(ctx, f.filter, "-S", "FORWARD").Output()
	if !strings.HasPrefix(string(out), "-P FORWARD DROP") {
		return nil
	}
	for _, rule := range forwarded(f) {
		if run(ctx, f.filter, append([]string{"-C"}, rule...)...) == nil {
			continue
		}
		if err := run(ctx, f.filter, append([]string{"-I"}, rule...)...); err != nil {
			return err
		}
	}
	return nil
}

// RemoveNetwork takes back every device and rule, also those that kube-proxy
// and the network plugins made for the cluster.
func RemoveNetwork(ctx context.Context) {
	ports, _ := filepath.Glob("/sys/class/net/" + layout.PodBridge + "/brif/*")
	for _, port := range ports {
		_ = run(ctx, "ip", "link", "delete", filepath.Base(port))
	}
	links, _ := filepath.Glob("/sys/class/net/" + layout.NodeLinks + "*")
	for _, link := range links {
		_ = run(ctx, "ip", "link", "delete", filepath.Base(link))
	}
	for _, name := range []string{layout.PodBridge, layout.NodeBridge} {
		if _, err := net.InterfaceByName(name); err == nil {
			_ = run(ctx, "ip", "link", "delete", name)
		}
	}
	for _, f := range bothFamilies {
		for _, table := range []string{layout.Name, "kube-proxy"} {
			_ = run(ctx, "nft", "delete", "table", f.name, table)
		}
		if out, err := exec.CommandContext(ctx, f.filter, "-S", "FORWARD").Output(); err == nil && strings.Contains(string(out), layout.Name) {
			for _, rule := range forwarded(f) {
				_ = run(ctx, f.filter, append([]string{"-D"}, rule...)...)
			}
		}
	}
	removeHostPorts(ctx)
	removePolicies(ctx)
	removeEmptyTables(ctx)
	results, _ := filepath.Glob("/var/lib/cni/results/" + layout.Name + "-*")
	for _, result := range results {
		_ = os.Remove(result)
	}
	// Only empty folders go: another cluster may keep its own there.
	_ = os.Remove("/var/lib/cni/results")
	_ = os.Remove("/var/lib/cni")
}

func run(ctx context.Context, name string, args ...string) error {
	return feed(ctx, "", name, args...)
}

func feed(ctx context.Context, input, name string, args ...string) error {
	command := exec.CommandContext(ctx, name, args...)
	command.Stdin = strings.NewReader(input)
	out, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
