// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/rules/rulestest"
)

// TestRulesPage: docs/reference/rules.md lists every rule in its order. With -rewrite it is written again.
func TestRulesPage(t *testing.T) { rulestest.Page(t, "rules.md", plan.Policy()) }

// TestEveryRuleHasAScript: in which it decides.
func TestEveryRuleHasAScript(t *testing.T) { rulestest.Scripts(t, plan.Policy(), "as wanted") }
