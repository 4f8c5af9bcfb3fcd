// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package runbook

import (
	"slices"
	"testing"
)

func TestBlocks(t *testing.T) {
	const page = "# A\n\n```yaml\na: 1\n```\n\n<!-- not run: it takes two -->\n```console\n$ one --a \\\n    --b   # c\nprinted\n" +
		"$ for k in a b; do\n    two |\n      three\n  done\n$ four\n```\n\n```sh\nfive\nsix\n```\n"
	blocks := Blocks(page)
	if len(blocks) != 3 || blocks[0].IsShell() || !blocks[1].IsShell() || blocks[1].NotRun != "it takes two" || blocks[2].NotRun != "" ||
		blocks[0].Text != "a: 1\n" || blocks[1].Line != 8 {
		t.Fatalf("got %+v", blocks)
	}
	want := []string{"one --a \\\n    --b   # c", "for k in a b; do\n    two |\n      three\n  done", "four"}
	if got := blocks[1].Commands(); !slices.Equal(got, want) {
		t.Errorf("commands are %q, want %q", got, want)
	}
	if got := blocks[2].Commands(); !slices.Equal(got, []string{"five\nsix"}) {
		t.Errorf("commands are %q", got)
	}
}
