// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package users_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/rules/rulestest"
	"github.com/etcd-operator/etcd-operator/internal/users"
)

// TestRulesPage: docs/reference/users-rules.md lists every rule in its order. With -rewrite it is written again.
func TestRulesPage(t *testing.T) { rulestest.Page(t, "users-rules.md", users.Rules()) }

// TestEveryRuleHasAStory: in which it decides.
func TestEveryRuleHasAStory(t *testing.T) { rulestest.Scripts(t, users.Rules(), users.Otherwise) }
