// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package target_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	"github.com/etcd-operator/etcd-operator/internal/restore/target"
)

// TestStories runs the scripts in testdata. Each file is one story after another; "new" begins one, with an empty store. "backup" adds a
// full backup, of the cluster with ID 1 unless "of" says otherwise. "log" adds a lineage, whose input has a line for each segment: batches
// are separated by bars, and begin with their time; events have a revision, put or delete, and a key. An event that ends with ... is not
// the last one of its revision. "without" loses a segment, "damage" changes it. "writer" says up to where a lineage has everything. "find"
// finds a target, and prints where it is.
//
// If it fails, run with -rewrite and read the diff before you commit it.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var s *store
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				s = &store{content: map[string][]byte{}, headers: map[string]log.Header{}}
			}
			s.T = t
			return s.does(d)
		})
	})
}

// store is what lies in a store.
type store struct {
	*testing.T
	bases   []target.Base
	logs    []target.Log
	headers map[string]log.Header
	content map[string][]byte
	loaded  int
	ended   string // the lineage of which the end is known
	end     log.End
}

func (s *store) does(d *datadriven.TestData) string {
	s.Helper()
	switch d.Cmd {
	case "new":
	case "backup":
		s.backup(d)
	case "log":
		s.log(d)
	case "damage":
		content := s.content[s.object(d)]
		content[len(content)-1]++
	case "without":
		name := s.object(d)
		for i := range s.logs {
			s.logs[i].Segments = slices.DeleteFunc(s.logs[i].Segments, func(g target.Segment) bool { return g.Object == name })
		}
	case "writer": // has said up to where a lineage has everything
		s.writer(d)
	case "find":
		return s.find(d)
	default:
		s.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	}
	return ""
}

func moment(s *store, text string) time.Time {
	s.Helper()
	at, err := time.Parse("15:04:05", text)
	if err != nil {
		s.Fatal(err)
	}
	return at.AddDate(2026, 10, 27)
}

func (s *store) backup(d *datadriven.TestData) {
	s.Helper()
	b := target.Base{Path: "v1/shop/orders/" + d.CmdArgs[0].Key, ClusterID: 1}
	for _, arg := range d.CmdArgs[1:] {
		switch arg.Key {
		case "revision":
			arg.Scan(s.T, 0, &b.Revision)
		case "of":
			arg.Scan(s.T, 0, &b.ClusterID)
		case "at":
			b.Finished = moment(s, arg.Vals[0])
		default:
			s.Fatalf("%s: unknown word %q", d.Pos, arg.Key)
		}
	}
	s.bases = append(s.bases, b)
}

func (s *store) log(d *datadriven.TestData) {
	s.Helper()
	var id uint64
	var n int
	var base int64
	d.ScanArgs(s.T, "of", &id)
	d.ScanArgs(s.T, "number", &n)
	d.ScanArgs(s.T, "base", &base)
	l := target.Log{Folder: log.Folder{Namespace: "shop", Cluster: "orders", Lineage: log.Lineage(id, n)}}
	start := log.Start{Lineage: l.Lineage, Writer: "w", Base: base, First: log.Position{Revision: base + 1}}
	for line := range strings.SplitSeq(d.Input, "\n") {
		if after, is := strings.CutPrefix(line, "gap base="); is {
			if _, err := fmt.Sscan(after, &base); err != nil {
				s.Fatal(err)
			}
			start = log.Start{Lineage: l.Lineage, Writer: "w", Base: base, First: log.Position{Revision: base + 1}}
			continue
		}
		e := log.NewEncoder(start)
		for text := range strings.SplitSeq(line, " | ") {
			if err := e.Add(s.batch(text, start.First)); err != nil {
				s.Fatalf("%s: %v", text, err)
			}
		}
		segment, err := e.Close(nil)
		if err != nil {
			s.Fatal(err)
		}
		name := l.Object(segment.Header.First)
		s.headers[name], s.content[name] = segment.Header, segment.Content
		l.Segments = append(l.Segments, target.Segment{Object: name, Size: int64(len(segment.Content)), First: segment.Header.First})
		start = log.Follows(segment.Header, "w")
	}
	s.logs = append(s.logs, l)
}

// batch is such as "12:00:01 11 put /a, 12 delete /b ...".
func (s *store) batch(text string, first log.Position) log.Batch {
	s.Helper()
	at, rest, _ := strings.Cut(text, " ")
	rest, isOpen := strings.CutSuffix(rest, " ...")
	b := log.Batch{Time: moment(s, at), Complete: !isOpen}
	for event := range strings.SplitSeq(rest, ", ") {
		var e log.Event
		var verb, key string
		if _, err := fmt.Sscan(event, &e.Revision, &verb, &key); err != nil {
			s.Fatalf("%s: %v", event, err)
		}
		if n := len(b.Events); n > 0 && b.Events[n-1].Revision == e.Revision {
			e.Sub = b.Events[n-1].Sub + 1
		} else if n == 0 && e.Revision == first.Revision {
			e.Sub = first.Sub
		}
		if e.Key, e.Deleted = []byte(key), verb == "delete"; !e.Deleted {
			e.Value, e.CreateRevision, e.Version = []byte("v"), e.Revision, 1
		}
		b.Events = append(b.Events, e)
	}
	return b
}

// object is the name of a segment by its revision.
func (s *store) object(d *datadriven.TestData) string {
	s.Helper()
	var revision int64
	d.ScanArgs(s.T, "segment", &revision)
	for _, l := range s.logs {
		for _, g := range l.Segments {
			if g.First.Revision == revision {
				return g.Object
			}
		}
	}
	s.Fatalf("%s: no segment begins with revision %d", d.Pos, revision)
	return ""
}

func (s *store) find(d *datadriven.TestData) string {
	s.Helper()
	var want target.Target
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "revision":
			arg.Scan(s.T, 0, &want.Revision)
		case "time":
			want.Time = moment(s, arg.Vals[0])
		case "exclusive":
			want.Exclusive = true
		case "before-delete":
			want.BeforeDelete = arg.Vals[0]
		default:
			s.Fatalf("%s: unknown word %q", d.Pos, arg.Key)
		}
	}
	s.loaded = 0
	history := target.New(s.bases, s.logs, target.Source{Headers: s.listed, Load: s.load})
	history.Ends(s.ended, s.end)
	p, err := history.Find(want)
	if err != nil {
		var wrong *log.Error
		if !errors.As(err, &wrong) {
			s.Fatal(err)
		}
		return fmt.Sprintf("%s: %s\n", wrong.Kind, shortened(err.Error()))
	}
	out := fmt.Sprintf("revision %d, from backup %s of revision %d", p.Revision, shortened(p.Base.Path), p.Base.Revision)
	if p.Lineage != "" {
		out += fmt.Sprintf(" and lineage %s", p.Lineage)
	}
	if !p.At.IsZero() {
		out += ", as of " + p.At.Format("15:04:05")
	}
	if p.Next.Revision > 0 {
		out += fmt.Sprintf("; left out from revision %d of %s on", p.Next.Revision, p.Next.Time.Format("15:04:05"))
	}
	return fmt.Sprintf("%s (%d segments read)\n", shortened(out), s.loaded)
}

func (s *store) writer(d *datadriven.TestData) {
	s.Helper()
	var until string
	var number int
	d.ScanArgs(s.T, "number", &number)
	d.ScanArgs(s.T, "revision", &s.end.Revision)
	d.ScanArgs(s.T, "until", &until)
	s.ended, s.end.Until = log.Lineage(1, number), moment(s, until)
}

func shortened(text string) string {
	return strings.NewReplacer("v1/shop/orders/", "", "2026-11-28T", "", "00000000000", "").Replace(text)
}

func (s *store) listed(all []target.Segment) ([]log.Listed, error) {
	var listed []log.Listed
	for _, g := range all {
		listed = append(listed, log.Listed{Object: g.Object, Size: g.Size, Header: s.headers[g.Object]})
	}
	return listed, nil
}

func (s *store) load(object string) ([]byte, error) {
	s.loaded++
	return s.content[object], nil
}
