// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore_test

import (
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
)

// TestQuotes: of what an endpoint answers 200 characters are quoted, and none that a terminal obeys.
func TestQuotes(t *testing.T) {
	e := &objectstore.Error{
		Kind: objectstore.Forbidden, Do: "read", Name: "a", Code: "X\x1b[2J",
		Message: "\x1b]0;title\x07" + strings.Repeat("ä\n", 4000),
	}
	text := e.Error()
	if strings.ContainsAny(text, "\x1b\x07\n") || len([]rune(text)) > 260 || !strings.HasSuffix(text, "…") {
		t.Errorf("%d characters: %q", len([]rune(text)), text)
	}
}
