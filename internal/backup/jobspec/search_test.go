// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobspec_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// TestRecordsAreReadAsTheyWereWritten: whole values, which may be longer than any other line, and what is known of the value before.
func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	empty, before := []byte{}, []byte("before")
	all := []jobspec.Record{
		{Number: 1, Revision: 17, Time: began, Key: []byte("a\xff"), Value: bytes.Repeat([]byte("x"), 2<<20), Size: 2 << 20, Version: 1},
		{Number: 2, Revision: 18, Time: began, Key: []byte("a"), Deleted: true, Before: &before},
		{Number: 3, Revision: 19, Time: began, Key: []byte("a"), Version: 2, Before: &empty},
	}
	var log bytes.Buffer
	log.WriteString("panic: no line\n\n")
	for _, r := range all {
		text, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		log.Write(text)
	}
	log.WriteString(strings.Repeat("y", 50<<20) + "\n" + `{"done":{"recorded":{"records":3}}}`)
	var got []jobspec.Record
	var done *jobspec.Done
	if err := jobspec.ReadRecords(&log, func(line jobspec.Line) bool {
		if line.Record != nil {
			got = append(got, *line.Record)
		}
		done = line.Done
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, all) || done == nil || done.Recorded.Records != 3 {
		t.Errorf("%d records, %+v", len(got), done)
	}
}

// TestNoMoreRecords: nothing is read after what was enough.
func TestNoMoreRecords(t *testing.T) {
	count := 0
	err := jobspec.ReadRecords(strings.NewReader(strings.Repeat(`{"done":{}}`+"\n", 5)), func(jobspec.Line) bool { count++; return count < 2 })
	if err != nil || count != 2 {
		t.Errorf("%d lines, %v", count, err)
	}
}
