// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobspec_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// TestLongLines: a manifest whose name has 2 MiB is reported shortened, and what comes after it is reported, too.
func TestLongLines(t *testing.T) {
	var log bytes.Buffer
	long := strings.Repeat("ä", 1<<20)
	for _, l := range []jobspec.Line{
		{Found: &jobspec.Found{Path: "v1/a/b/c", Problem: long, Backup: jobspec.Facts{Name: long, Cluster: long}}},
		{Found: &jobspec.Found{Path: "v1/a/b/d"}},
		{Failed: &jobspec.Failed{Reason: jobspec.Corrupt, Message: long}},
	} {
		if err := l.Write(&log); err != nil {
			t.Fatal(err)
		}
	}
	lines, _, err := jobspec.ReadLog(&log)
	if err != nil || len(lines) != 3 || lines[0].Found == nil || lines[2].Failed == nil {
		t.Fatalf("%d lines: %v", len(lines), err)
	}
	first := lines[0].Found
	longest := max(len(first.Backup.Name), len(lines[2].Failed.Message))
	if first.Path != "v1/a/b/c" || !strings.HasPrefix(first.Backup.Name, "ää") || longest > 4<<10 {
		t.Errorf("%.100s", first.Backup.Name)
	}
}

// TestLogOfSomebodyElse: a line that is too long is left out, and a log has an end.
func TestLogOfSomebodyElse(t *testing.T) {
	found, done := `{"found":{"path":"a"}}`+"\n", `{"done":{}}`+"\n"
	lines, _, err := jobspec.ReadLog(strings.NewReader(found + strings.Repeat("x", 2<<20) + "\n" + found + done))
	if err != nil || len(lines) != 3 || lines[2].Done == nil {
		t.Errorf("%d lines: %v", len(lines), err)
	}
	lines, _, err = jobspec.ReadLog(strings.NewReader(strings.Repeat(found, 100000) + done))
	if err != nil || len(lines) > 30000 || lines[len(lines)-1].Done == nil {
		t.Errorf("%d lines: %v", len(lines), err)
	}
	endless := &endlessLog{text: found}
	if lines, _, err = jobspec.ReadLog(endless); err != nil || endless.read > 32<<20 || len(lines) > 30001 ||
		lines[len(lines)-1].Failed == nil {
		t.Errorf("%d lines, %d bytes: %v", len(lines), endless.read, err)
	}
}

type endlessLog struct {
	text string
	read int
}

func (e *endlessLog) Read(p []byte) (int, error) {
	n := copy(p, e.text)
	e.read += n
	return n, nil
}

var _ io.Reader = (*endlessLog)(nil)
