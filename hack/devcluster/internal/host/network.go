package host

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
)

// masquerade is the one rule that lets pods and nodes reach beyond the
// machine. It stands in a table of its own, so that taking it back is one
// command.
const masquerade = `add table ip %[1]s
flush table ip %[1]s
table ip %[1]s {
	chain postrouting {
		type nat hook postrouting priority srcnat;
		ip saddr { %[2]s, %[3]s } ip daddr != { %[2]s, %[3]s, 224.0.0.0/4 } masquerade
	}
}
`

// Network gives the machine its address among the nodes and the pods their
// way out.
func Network(ctx context.Context) error {
	if err := bridge(ctx, layout.NodeBridge); err != nil {
		return err
	}
	// "replace" is harmless when the address is there.
	if err := run(ctx, "ip", "address", "replace", layout.MachineIP+"/32", "dev", layout.NodeBridge); err != nil {
		return err
	}
	if err := feed(ctx, fmt.Sprintf(masquerade, layout.Name, layout.PodsRange, layout.NodesRange), "nft", "-f", "-"); err != nil {
		return err
	}
	return forward(ctx)
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
func forwarded() [][]string {
	var rules [][]string
	for _, own := range []string{layout.PodsRange, layout.NodesRange} {
		for _, direction := range []string{"-s", "-d"} {
			rules = append(rules, []string{"FORWARD", direction, own, "-m", "comment", "--comment", layout.Name, "-j", "ACCEPT"})
		}
	}
	return rules
}

func forward(ctx context.Context) error {
	// Without an answer there is nothing to open: the kernel's own default accepts.
	out, _ := exec.CommandContext(ctx, "iptables", "-S", "FORWARD").Output()
	if !strings.HasPrefix(string(out), "-P FORWARD DROP") {
		return nil
	}
	for _, rule := range forwarded() {
		if run(ctx, "iptables", append([]string{"-C"}, rule...)...) == nil {
			continue
		}
		if err := run(ctx, "iptables", append([]string{"-I"}, rule...)...); err != nil {
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
	for _, table := range [][]string{{"ip", layout.Name}, {"ip", "kube-proxy"}, {"ip6", "kube-proxy"}} {
		_ = run(ctx, "nft", append([]string{"delete", "table"}, table...)...)
	}
	if out, err := exec.CommandContext(ctx, "iptables", "-S", "FORWARD").Output(); err == nil && strings.Contains(string(out), layout.Name) {
		for _, rule := range forwarded() {
			_ = run(ctx, "iptables", append([]string{"-D"}, rule...)...)
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
