// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/backup"
	"github.com/etcd-operator/etcd-operator/internal/rules/rulestest"
)

// TestRulesPage: docs/reference/backup-rules.md lists every rule in its order. With -rewrite it is written again.
func TestRulesPage(t *testing.T) { rulestest.Page(t, "backup-rules.md", backup.Policy()) }

// TestEveryRuleHasAStory: in which it decides.
func TestEveryRuleHasAStory(t *testing.T) { rulestest.Scripts(t, backup.Policy(), "") }
