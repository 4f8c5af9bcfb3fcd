package inplace_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/restore/inplace"
	"github.com/etcd-operator/etcd-operator/internal/rules/rulestest"
)

// TestRulesPage: docs/reference/restore-rules.md lists every rule in its order. With -rewrite it is written again.
func TestRulesPage(t *testing.T) { rulestest.Page(t, "restore-rules.md", inplace.Policy()) }

// TestEveryRuleHasAStory: in which it decides.
func TestEveryRuleHasAStory(t *testing.T) {
	rulestest.Scripts(t, inplace.Policy(), "nothing is left to do")
}
