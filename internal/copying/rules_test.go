// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package copying_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/copying"
	"github.com/etcd-operator/etcd-operator/internal/rules/rulestest"
)

// TestRulesPage: docs/reference/copying-rules.md lists every rule in its order. With -rewrite it is written again.
func TestRulesPage(t *testing.T) { rulestest.Page(t, "copying-rules.md", copying.Policy()) }

// TestEveryRuleHasAScript: in which it decides.
func TestEveryRuleHasAScript(t *testing.T) { rulestest.Scripts(t, copying.Policy(), "no rule") }
