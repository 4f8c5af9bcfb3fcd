// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package target_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	"github.com/etcd-operator/etcd-operator/internal/restore/target"
)

// TestDeletionFarBack: a long log is searched in parts, and what is missing between two parts is not passed over.
func TestDeletionFarBack(t *testing.T) {
	const revisions = 1500
	s := &store{T: t, content: map[string][]byte{}, headers: map[string]log.Header{}}
	l := target.Log{Folder: log.Folder{Namespace: "shop", Cluster: "orders", Lineage: log.Lineage(1, 0)}}
	start := log.Start{Lineage: l.Lineage, Writer: "w", Base: 10, First: log.Position{Revision: 11}}
	noon := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for n := range int64(revisions) {
		e := log.NewEncoder(start)
		event := log.Event{Revision: 11 + n, Key: []byte("/b"), Value: []byte("v"), CreateRevision: 11 + n, Version: 1}
		if n == 20 || n == 30 {
			event = log.Event{Revision: 11 + n, Key: []byte("/a"), Deleted: true}
		}
		if err := e.Add(log.Batch{Time: noon.Add(time.Duration(n) * time.Second), Events: []log.Event{event}, Complete: true}); err != nil {
			t.Fatal(err)
		}
		segment, err := e.Close(nil)
		if err != nil {
			t.Fatal(err)
		}
		name := l.Object(segment.Header.First)
		s.headers[name], s.content[name] = segment.Header, segment.Content
		l.Segments = append(l.Segments, target.Segment{Object: name, Size: int64(len(segment.Content)), First: segment.Header.First})
		start = log.Follows(segment.Header, "w")
	}
	bases := []target.Base{{Path: "v1/shop/orders/first", Revision: 10, ClusterID: 1, Finished: noon}}
	source := target.Source{Headers: s.listed, Load: s.load}
	find := func(l target.Log, key string) (target.Point, error) {
		return target.New(bases, []target.Log{l}, source).Find(target.Target{BeforeDelete: key})
	}
	if p, err := find(l, "/a"); err != nil || p.Revision != 40 {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := find(l, "/c"); !errors.Is(err, target.NotDeleted) {
		t.Error(err)
	}
	for missing := revisions - 1003; missing < revisions-996; missing++ {
		less := l
		less.Segments = slices.Delete(slices.Clone(l.Segments), missing, missing+1)
		if _, err := find(less, "/a"); !errors.Is(err, log.Missing) {
			t.Errorf("without segment %d: %v", missing, err)
		}
	}
}
