// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/test/docs/runbook"
)

// run are the pages whose blocks test/e2e/documented_test.go runs, but those that say why not.
var run = regexp.MustCompile("`(docs/operations/[a-z-]+\\.md)`")

// TestEveryCommandIsRunOrSaysWhyNot: each block of commands in a page for users is run end to end, or has a reason above it. Each is a
// script that bash reads.
func TestEveryCommandIsRunOrSaysWhyNot(t *testing.T) {
	var pagesRun []string
	for _, found := range run.FindAllStringSubmatch(read(t, "test/e2e/documented_test.go"), -1) {
		pagesRun = append(pagesRun, found[1])
	}
	ran, marked := 0, 0
	for _, page := range pages(t) {
		if page != "README.md" && !strings.HasPrefix(page, "docs/") || strings.HasPrefix(page, "docs/adr/") {
			continue
		}
		for _, block := range runbook.Blocks(read(t, page)) {
			commands := block.Commands()
			if !block.IsShell() || len(commands) == 0 {
				continue
			}
			script := strings.Join(commands, "\n")
			if out, err := exec.CommandContext(t.Context(), "bash", "-n", "-c", script).CombinedOutput(); err != nil {
				t.Errorf("%s:%d: bash does not read it: %s", page, block.Line, out)
			}
			switch {
			case block.NotRun != "" && len(block.NotRun) < 10:
				t.Errorf("%s:%d: %q is no reason", page, block.Line, block.NotRun)
			case block.NotRun != "":
				marked++
			case slices.Contains(pagesRun, page):
				ran++
			default:
				t.Errorf("%s:%d: no test runs it: have test/e2e/documented_test.go run the page, or say why not above the block: <!-- not run: … -->",
					page, block.Line)
			}
		}
	}
	if ran < 15 || marked == 0 {
		t.Errorf("only %d blocks are run, %d say why not", ran, marked)
	}
}

// inline are commands within a sentence or a table.
var inline = regexp.MustCompile("`((?:kubectl|make|etcdctl) [^`]+)`")

// TestCommandsInSentencesAreReadByBash: none has a quote or a bracket too many.
func TestCommandsInSentencesAreReadByBash(t *testing.T) {
	seen := 0
	for _, page := range pages(t) {
		if page == "docs/reference/kubectl-etcd.md" {
			continue // it has synopses, which nobody types
		}
		for _, found := range inline.FindAllStringSubmatch(fences.ReplaceAllString(read(t, page), ""), -1) {
			seen++
			script := strings.NewReplacer("…", "x", "<", "", ">", "").Replace(strings.ReplaceAll(found[1], `\|`, "|"))
			if out, err := exec.CommandContext(t.Context(), "bash", "-n", "-c", script).CombinedOutput(); err != nil {
				t.Errorf("%s: bash does not read %q: %s", page, found[1], out)
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d commands were found", seen)
	}
}

// Beside the CRDs of another operator for etcd, these names mean either.
var ambiguous = regexp.MustCompile(`kubectl (?:-n \S+ )?(?:get|describe|annotate|patch|edit|delete|label|wait|scale|events --for) ` +
	`(?:--\S+ )*(etcd(?:cluster|backup|restore)s?)(?:[ /]|$)`)

// TestNamesOfKindsAreOurs: commands name our kinds so that kubectl takes no other operator's.
func TestNamesOfKindsAreOurs(t *testing.T) {
	if !ambiguous.MatchString("kubectl annotate etcdbackup found-5f3c9 a=b") ||
		ambiguous.MatchString("kubectl get etcdbackups.etcd-operator.dev") {
		t.Fatal("the pattern finds what it should not, or not what it should")
	}
	for _, page := range pages(t) {
		for _, found := range ambiguous.FindAllString(read(t, page), -1) {
			t.Errorf("%s: %q is ambiguous where coreos/etcd-operator has been installed: use ec, eb or er", page, strings.TrimSpace(found))
		}
	}
}

// unqualified is a command of a message that names one of our kinds without its group: by a full or a short name, which another CRD may
// have.
var unqualified = regexp.MustCompile("kubectl [^'\"`;]*?[ ,]" +
	"(etcd(?:cluster|backup|backupstore|restore|drill|user|role)s?|ec|ebs?|er|edr|eu|erole)(?:[ /,'\"`;]|$)")

// TestMessagesNameTheGroup: what the operator, its plugin and its alerts tell a person to type names our kinds with their group.
func TestMessagesNameTheGroup(t *testing.T) {
	if !unqualified.MatchString(`"see kubectl get etcdbackups -n a"`) || !unqualified.MatchString("'kubectl annotate --overwrite ec %s a'") ||
		unqualified.MatchString(`"kubectl get etcdbackups.etcd-operator.dev -n a"`) {
		t.Fatal("the pattern finds what it should not, or not what it should")
	}
	seen := 0
	for _, file := range sources(t, "api", "controllers", "internal", "cmd") {
		for line := range strings.SplitSeq(read(t, file), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "//") || !strings.Contains(line, "kubectl ") {
				continue
			}
			seen++
			if found := unqualified.FindStringSubmatch(line); found != nil && !strings.Contains(line, "kubectl etcd ") {
				t.Errorf("%s: %q means a kind of ours, and may mean another's: write it as %s.etcd-operator.dev, in the plural: %s", file, found[1],
					found[1], strings.TrimSpace(line))
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d commands were found", seen)
	}
}
