// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"os/exec"
	"slices"
	"strings"
)

// removePolicies takes back what kube-router made on this machine to enforce NetworkPolicies: it leaves all of it behind when it
// ends, and its own way to clean up does nothing. What it made for further nodes goes with their networks.
func removePolicies(ctx context.Context) {
	rules, _ := exec.CommandContext(ctx, "iptables", "-S").Output() // without an answer there are none
	if script := policyRemovals(string(rules)); script != "" {
		_ = feed(ctx, script, "iptables-restore", "--noflush")
	}
	sets, _ := exec.CommandContext(ctx, "ipset", "list", "-name").Output()
	for _, set := range policySets(string(sets)) {
		_ = run(ctx, "ipset", "destroy", set)
	}
}

// policyChains begin the names of kube-router's chains, policySetsBegin those of its sets.
var (
	policyChains    = []string{"KUBE-ROUTER-", "KUBE-POD-FW-", "KUBE-NWPLCY-"}
	policySetsBegin = []string{"KUBE-SRC-", "KUBE-DST-"}
)

func begins(name string, with []string) bool {
	return slices.ContainsFunc(with, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// policyRemovals is what iptables-restore does to take the chains out of a filter table: nothing jumps there any more, all are
// empty, and then none is left. It is empty if there are none.
func policyRemovals(rules string) string {
	var jumps, flushes, chains []string
	for line := range strings.Lines(rules) {
		line = strings.TrimSpace(line)
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch ours := begins(fields[1], policyChains); {
		case fields[0] == "-N" && ours:
			flushes, chains = append(flushes, "-F "+fields[1]), append(chains, "-X "+fields[1])
		case fields[0] == "-A" && !ours && begins(fields[len(fields)-1], policyChains):
			jumps = append(jumps, "-D "+strings.TrimPrefix(line, "-A "))
		}
	}
	if len(jumps)+len(chains) == 0 {
		return ""
	}
	return lines(slices.Concat([]string{"*filter"}, jumps, flushes, chains, []string{"COMMIT"})...)
}

func policySets(names string) []string {
	return slices.DeleteFunc(strings.Fields(names), func(name string) bool { return !begins(name, policySetsBegin) })
}
