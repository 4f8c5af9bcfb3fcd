// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestFlushingSaysWhatTheDiskRefuses, at the end: what was written meanwhile is worth nothing then.
func TestFlushingSaysWhatTheDiskRefuses(t *testing.T) {
	file := must(os.Create(filepath.Join(t.TempDir(), "db")))(t)
	out := newFlushing(file)
	must(out.Write(bytes.Repeat([]byte{1}, flushEach-1)))(t)
	_ = file.Close()
	for range 4 { // none of them waits for ever
		out.pieces <- piece{0, flushEach}
	}
	if err := out.end(); err == nil {
		t.Error("nothing was reported")
	}
}
