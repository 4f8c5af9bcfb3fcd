// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/backup/schedule"
	"github.com/etcd-operator/etcd-operator/internal/rules/rulestest"
)

// TestRulesPage: docs/reference/schedule-rules.md lists every rule in its order. With -rewrite it is written again.
func TestRulesPage(t *testing.T) { rulestest.Page(t, "schedule-rules.md", schedule.Policy()) }

// TestEveryRuleHasAScript: in which it decides.
func TestEveryRuleHasAScript(t *testing.T) { rulestest.Scripts(t, schedule.Policy(), "nothing is due") }
