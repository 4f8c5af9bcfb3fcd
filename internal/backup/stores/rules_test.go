// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stores_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/backup/stores"
	"github.com/etcd-operator/etcd-operator/internal/rules/rulestest"
)

// TestRulesPage: docs/reference/store-rules.md lists every rule in its order. With -rewrite it is written again.
func TestRulesPage(t *testing.T) { rulestest.Page(t, "store-rules.md", stores.Policy()) }

// TestEveryRuleHasAStory: in which it decides.
func TestEveryRuleHasAStory(t *testing.T) { rulestest.Scripts(t, stores.Policy(), "as wanted") }
