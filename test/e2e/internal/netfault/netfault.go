// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package netfault makes faults in the networks of Pods whose node is this machine: packets are lost, delayed, or
// let through to some peers alone. It changes nothing in the network of the machine, unless it is told to (Here).
package netfault

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// A Network is the network namespace of a Pod, or without a file our own. It is held
// open, because a fault must be taken back also when no process is left in it.
type Network struct {
	Member, Address string
	file, tunnel    *os.File // the tunnel while packets are delayed
}

// Open is the network of the Pod in which the process runs. Its faults end with the spec.
func Open(member, address string, process int) *Network {
	GinkgoHelper()
	file, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", process))
	Expect(err).NotTo(HaveOccurred())
	n := &Network{Member: member, Address: address, file: file}
	DeferCleanup(func() {
		n.Heal()
		_ = file.Close()
	})
	return n
}

// Here is the network of this machine. Whoever makes a fault in it heals it.
func Here() *Network { return &Network{Member: "this machine"} }

// Run runs a program in the namespace, and returns what it says.
func (n *Network) Run(input, name string, args ...string) string {
	GinkgoHelper()
	command := exec.Command(name, args...)
	if n.file != nil {
		command = exec.Command("nsenter", append([]string{"--net=/proc/self/fd/3", name}, args...)...)
		command.ExtraFiles = []*os.File{n.file}
	}
	command.Stdin = strings.NewReader(input)
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s %v in the network of %s: %s", name, args, n.Member, output)
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

// Filter lets packets meet nftables rules on their way in and out.
func (n *Network) Filter(in, out string) {
	GinkgoHelper()
	n.Run(strings.NewReplacer("IN;", in+";", "OUT;", out+";").Replace(faults), "nft", "-f", "-")
}

// Heal ends every fault.
func (n *Network) Heal() {
	GinkgoHelper()
	n.Run("table inet fault {}\ndelete table inet fault\n", "nft", "-f", "-")
	n.hurry()
}

// CutOff parts a member from others. Clients, the operator and the kubelet still
// reach it.
func (n *Network) CutOff(others ...*Network) {
	GinkgoHelper()
	n.Filter("ip saddr "+addresses(others)+" drop", "ip daddr "+addresses(others)+" drop")
}

// Silence loses what a member tells others. It still hears them.
func (n *Network) Silence(others ...*Network) {
	GinkgoHelper()
	n.Filter("", "ip daddr "+addresses(others)+" drop")
}

// OnlyWith parts a member from all peers but these, also from those yet to come.
func (n *Network) OnlyWith(others ...*Network) {
	GinkgoHelper()
	peers := "ip %s != " + addresses(others) + " tcp %s 2380 drop;"
	n.Filter(
		fmt.Sprintf(peers+peers, "saddr", "dport", "saddr", "sport"),
		fmt.Sprintf(peers+peers, "daddr", "dport", "daddr", "sport"),
	)
}

// Lossy loses half of all packets between a member and others.
func (n *Network) Lossy(others ...*Network) {
	GinkgoHelper()
	half := " numgen random mod 2 0 drop"
	n.Filter("ip saddr "+addresses(others)+half, "ip daddr "+addresses(others)+half)
}

func addresses(of []*Network) string {
	var all []string
	for _, n := range of {
		all = append(all, n.Address)
	}
	return "{ " + strings.Join(all, ", ") + " }"
}

// Split takes one network out of all.
func Split(all []*Network, member string) (one *Network, others []*Network) {
	for _, n := range all {
		if n.Member == member {
			one = n
		} else {
			others = append(others, n)
		}
	}
	return one, others
}
