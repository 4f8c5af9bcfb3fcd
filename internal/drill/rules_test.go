// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package drill_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/drill"
	"github.com/etcd-operator/etcd-operator/internal/rules/rulestest"
)

// TestRulesPage: docs/reference/drill-rules.md lists every rule in its order. With -rewrite it is written again.
func TestRulesPage(t *testing.T) { rulestest.Page(t, "drill-rules.md", drill.Policy()) }

// TestEveryRuleHasAScript: in which it decides.
func TestEveryRuleHasAScript(t *testing.T) { rulestest.Scripts(t, drill.Policy(), "as wanted") }
