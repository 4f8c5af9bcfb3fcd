// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster/crash"
)

func TestFault28DamagedLog(t *testing.T) {
	afterEach(t, []damage{
		{name: "nothing", do: nothing, want: serves},
		{name: "a bit in the middle", do: flipMiddleKey, want: crash.Corrupt},
		{name: "a bit in the last key", do: flipLastKey, want: crash.Corrupt},
		{name: "a bit at the head", do: flipHead, want: crash.Corrupt},
		// 3.7 stumbles over a nil pointer, which proves nothing.
		{name: "emptied", do: emptyLog, want: crash.Corrupt, except: map[string]crash.Cause{"3.7.3": crash.Unknown}},
		{name: "the first of two files ends early", do: tearFirstLog, want: crash.Corrupt},
		{name: "the first of two files is lost", do: loseFirstLog, want: crash.Corrupt},
		{name: "the only file is lost", do: loseLog, want: crash.Empty},
		{name: "its directory is lost", do: loseLogs, want: crash.Empty},
	})
}

func TestFault29DamagedDatabase(t *testing.T) {
	afterEach(t, []damage{
		{name: "both roots", do: flipRoots, want: crash.Corrupt},
		{name: "the older root", do: flipOlderRoot, want: serves},
		{name: "the checksums of both roots", do: flipChecksums, want: crash.Corrupt},
		{name: "all pages but the roots are zero", do: zeroPages, want: crash.Corrupt},
		{name: "the headers of all pages", do: flipPageHeaders, want: crash.Corrupt},
		{name: "all pages but their headers", do: fillPages, want: crash.Corrupt},
		{name: "some keys", do: overwriteKeys, want: crash.Corrupt},
		{name: "values", do: flipValues, want: crash.Corrupt},
		{name: "something else in its place", do: replaceDatabase, want: crash.Corrupt},
		{name: "emptied", do: emptyDatabase, want: crash.Corrupt, long: true},
		{name: "lost", do: loseDatabase, want: crash.Corrupt, long: true},
		// The kernel reports it like a disk that fails to read.
		{name: "cut off", do: cutDatabase, want: crash.Unknown},
		{name: "all snapshot files", do: flipSnapshots, want: serves},
		{name: "all snapshot files are lost", do: loseSnapshots, want: serves},
	})
}

func TestFault30TornRecord(t *testing.T) {
	afterEach(t, []damage{
		{name: "the file ends in the last record", do: tearLastRecord, want: serves},
		{name: "the last sectors are zero", do: loseLastSectors, want: serves},
	})
}
