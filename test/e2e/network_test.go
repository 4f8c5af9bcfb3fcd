package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// network is the network namespace of a Pod, or without a file our own. It is held
// open, because a fault must be taken back also when no process is left in it.
type network struct {
	member, address string
	file            *os.File
	tunnel          *os.File // while packets are delayed
}

// networks are those of the named members, or of all.
func networks(c *v1alpha1.EtcdCluster, members ...string) []*network {
	GinkgoHelper()
	needsLocal()
	var all []*network
	for _, p := range pods(c) {
		if len(members) > 0 && !contains(members, p.Name) {
			continue
		}
		file, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", processOf(string(p.UID))))
		Expect(err).NotTo(HaveOccurred())
		n := &network{member: p.Name, address: p.Status.PodIP, file: file}
		DeferCleanup(func() {
			n.heal()
			_ = file.Close()
		})
		all = append(all, n)
	}
	return all
}

// needsLocal skips what has to reach into the node.
func needsLocal() {
	if !isLocal() {
		Skip("reaches into the node: on the local cluster only")
	}
}

// run runs a program in the namespace, and returns what it says.
func (n *network) run(input, name string, args ...string) string {
	GinkgoHelper()
	command := exec.Command(name, args...)
	if n.file != nil {
		command = exec.Command("nsenter", append([]string{"--net=/proc/self/fd/3", name}, args...)...)
		command.ExtraFiles = []*os.File{n.file}
	}
	command.Stdin = strings.NewReader(input)
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s %v in the network of %s: %s", name, args, n.member, output)
	return string(output)
}

// faults are taken back, if there are any, before others are made. A packet is
// judged before anything else sees it.
const faults = `
table inet fault {}
delete table inet fault
table inet fault {
  chain in { type filter hook input priority -300; IN; }
  chain out { type filter hook output priority -300; OUT; }
}
`

// filter lets packets meet nftables rules on their way in and out.
func (n *network) filter(in, out string) {
	GinkgoHelper()
	n.run(strings.NewReplacer("IN;", in+";", "OUT;", out+";").Replace(faults), "nft", "-f", "-")
}

// heal ends every fault.
func (n *network) heal() {
	GinkgoHelper()
	n.run("table inet fault {}\ndelete table inet fault\n", "nft", "-f", "-")
	n.hurry()
}

// cutOff parts a member from others. Clients, the operator and the kubelet still
// reach it.
func (n *network) cutOff(others ...*network) {
	GinkgoHelper()
	n.filter("ip saddr "+addresses(others)+" drop", "ip daddr "+addresses(others)+" drop")
}

// silence loses what a member tells others. It still hears them.
func (n *network) silence(others ...*network) {
	GinkgoHelper()
	n.filter("", "ip daddr "+addresses(others)+" drop")
}

// onlyWith parts a member from all peers but these, also from those yet to come.
func (n *network) onlyWith(others ...*network) {
	GinkgoHelper()
	peers := "ip %s != " + addresses(others) + " tcp %s 2380 drop;"
	n.filter(
		fmt.Sprintf(peers+peers, "saddr", "dport", "saddr", "sport"),
		fmt.Sprintf(peers+peers, "daddr", "dport", "daddr", "sport"),
	)
}

// lossy loses half of all packets between a member and others.
func (n *network) lossy(others ...*network) {
	GinkgoHelper()
	half := " numgen random mod 2 0 drop"
	n.filter("ip saddr "+addresses(others)+half, "ip daddr "+addresses(others)+half)
}

func addresses(of []*network) string {
	var all []string
	for _, n := range of {
		all = append(all, n.address)
	}
	return "{ " + strings.Join(all, ", ") + " }"
}

// split takes one network out of all.
func split(all []*network, member string) (one *network, others []*network) {
	for _, n := range all {
		if n.member == member {
			one = n
		} else {
			others = append(others, n)
		}
	}
	return one, others
}
