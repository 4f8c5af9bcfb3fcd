// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package initialdata_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/initialdata"
	"github.com/etcd-operator/etcd-operator/internal/rules/rulestest"
)

// TestRulesPage: docs/reference/initialdata-rules.md lists every rule in its order. With -rewrite it is written again.
func TestRulesPage(t *testing.T) { rulestest.Page(t, "initialdata-rules.md", initialdata.Policy()) }

// TestEveryRuleHasAScript: in which it decides.
func TestEveryRuleHasAScript(t *testing.T) { rulestest.Scripts(t, initialdata.Policy(), "no rule") }
