// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"os/exec"
	"strings"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
)

// removeHostPorts takes back what the portmap plugin wrote for pods that
// were killed rather than stopped. Its shared chains go when no one has a
// rule in them any more.
func removeHostPorts(ctx context.Context) {
	for _, f := range bothFamilies {
		for _, command := range hostPortRemovals(natRules(ctx, f)) {
			_ = run(ctx, f.filter, append([]string{"-t", "nat"}, command...)...)
		}
		rules := natRules(ctx, f)
		if strings.Contains(rules, ":CNI-HOSTPORT-DNAT") && !strings.Contains(rules, "-A CNI-HOSTPORT-DNAT") {
			for _, command := range sharedRemovals(rules) {
				_ = run(ctx, f.filter, append([]string{"-t", "nat"}, command...)...)
			}
		}
	}
}

func natRules(ctx context.Context, f family) string {
	out, err := exec.CommandContext(ctx, f.save, "-t", "nat").Output()
	if err != nil {
		return ""
	}
	return string(out)
}

// hostPortRemovals empties and removes each chain that a rule of our network
// jumps to.
func hostPortRemovals(rules string) [][]string {
	var jumps, chains [][]string
	for line := range strings.Lines(rules) {
		rule, isRule := strings.CutPrefix(strings.TrimSpace(line), "-A ")
		if !isRule || !strings.Contains(rule, `name: \"`+layout.Name+`\"`) {
			continue
		}
		fields := words(rule)
		jumps = append(jumps, append([]string{"-D"}, fields...))
		chain := fields[len(fields)-1]
		if strings.HasPrefix(chain, "CNI-") {
			chains = append(chains, []string{"-F", chain}, []string{"-X", chain})
		}
	}
	return append(jumps, chains...)
}

func sharedRemovals(rules string) [][]string {
	var removals [][]string
	for line := range strings.Lines(rules) {
		rule, isRule := strings.CutPrefix(strings.TrimSpace(line), "-A ")
		fields := words(rule)
		if isRule && strings.HasPrefix(fields[len(fields)-1], "CNI-HOSTPORT-") {
			removals = append(removals, append([]string{"-D"}, fields...))
		}
	}
	for _, chain := range []string{"CNI-HOSTPORT-DNAT", "CNI-HOSTPORT-MASQ", "CNI-HOSTPORT-SETMARK"} {
		removals = append(removals, []string{"-F", chain}, []string{"-X", chain})
	}
	return removals
}

// removeEmptyTables removes tables that programs leave behind when they look
// for rules of their own. Without a rule they do nothing, and iptables makes
// them again when it needs them.
func removeEmptyTables(ctx context.Context) {
	for _, f := range bothFamilies {
		for _, name := range []string{"filter", "nat", "mangle", "raw"} {
			out, err := exec.CommandContext(ctx, "nft", "list", "table", f.name, name).Output()
			if err == nil && idle(string(out)) {
				_ = run(ctx, "nft", "delete", "table", f.name, name)
			}
		}
	}
}

// idle says whether a table, as nft lists it, holds only chains that accept.
func idle(table string) bool {
	for line := range strings.Lines(table) {
		line = strings.TrimSpace(line)
		hook := strings.HasPrefix(line, "type ") && strings.HasSuffix(line, "policy accept;")
		braces := line == "" || line == "}" || strings.HasSuffix(line, "{")
		if !hook && !braces {
			return false
		}
	}
	return true
}

// words splits a rule as iptables-save prints it: quoted text is one word,
// and a backslash keeps the next character.
func words(rule string) []string {
	var all []string
	var word strings.Builder
	quoted, escaped := false, false
	for _, letter := range rule {
		switch {
		case escaped:
			word.WriteRune(letter)
			escaped = false
		case letter == '\\':
			escaped = true
		case letter == '"':
			quoted = !quoted
		case letter == ' ' && !quoted:
			all = append(all, word.String())
			word.Reset()
		default:
			word.WriteRune(letter)
		}
	}
	return append(all, word.String())
}
