// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"slices"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/restore"
	"github.com/etcd-operator/etcd-operator/internal/rules/rulestest"
)

// TestRulesPage: docs/reference/restore-rules.md lists every rule in its order. With -rewrite it is written again.
func TestRulesPage(t *testing.T) {
	rulestest.Page(t, "restore-rules.md", slices.Concat(restore.Policy(), restore.PrefixPolicy(), restore.VolumesPolicy()))
}

// TestEveryRuleHasAStory: in which it decides.
func TestEveryRuleHasAStory(t *testing.T) {
	rulestest.ScriptsIn(t, "testdata/etcdrestore", restore.Policy(), "nothing is left to do")
	rulestest.ScriptsIn(t, "testdata/prefix", restore.PrefixPolicy(), "nothing is left to do")
	rulestest.ScriptsIn(t, "testdata/volumes", restore.VolumesPolicy(), "wait for the jobs")
}
