// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package search_test

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	"github.com/etcd-operator/etcd-operator/internal/backup/log/search"
)

// logOf is a log of which each line is a revision, in segments of so many.
func logOf(t *testing.T, each int, lines ...string) log.Walk {
	t.Helper()
	content := map[string][]byte{}
	w := log.Walk{Folder: folder, Load: func(object string) ([]byte, error) {
		if content[object] == nil {
			return nil, errors.New("it is not there")
		}
		return content[object], nil
	}}
	start := log.Start{Lineage: folder.Lineage, Writer: "w", Base: base, First: log.Position{Revision: base + 1}}
	versions := map[string]int64{}
	for n := 0; n < len(lines); n += each {
		e := log.NewEncoder(start)
		for i, line := range lines[n:min(n+each, len(lines))] {
			if err := e.Add(batch(int64(base+1+n+i), line, versions)); err != nil {
				t.Fatal(err)
			}
		}
		s, err := e.Close(nil)
		if err != nil {
			t.Fatal(err)
		}
		name := folder.Object(s.Header.First)
		content[name], start = s.Content, log.Follows(s.Header, "w")
		w.Segments = append(w.Segments, log.Listed{Object: name, Size: int64(len(s.Content)), Header: s.Header})
	}
	return w
}

// batch is a line: a clock, put or delete, a key, and a value.
func batch(revision int64, line string, versions map[string]int64) log.Batch {
	words := strings.Fields(line)
	key := words[2]
	e := log.Event{Revision: revision, Key: []byte(key), Deleted: words[1] == "delete"}
	if e.Deleted {
		versions[key] = 0
	} else {
		versions[key]++
		e.Value, e.Version, e.CreateRevision = []byte(words[3]), versions[key], 1
	}
	return log.Batch{Time: when(words[0]), Complete: true, Events: []log.Event{e}}
}

func when(clock string) time.Time {
	at, err := time.Parse("15:04", clock)
	if err != nil {
		panic(err)
	}
	return noon.Add(at.Sub(at.Truncate(24*time.Hour)) - 12*time.Hour)
}

// text is a change as a line, with what was before it or without.
func text(c search.Change, withBefore bool) string {
	line := fmt.Sprintf("%d %s put %s %s", c.Revision, c.Time.Format("15:04"), c.Key, c.Value)
	if c.Deleted {
		line = fmt.Sprintf("%d %s delete %s", c.Revision, c.Time.Format("15:04"), c.Key)
	}
	switch {
	case !withBefore:
		return line
	case !c.Before.Known:
		return line + ", was not read"
	case !c.Deleted && c.Version == 1:
		return line + ", was not there"
	}
	return fmt.Sprintf("%s, was %q", line, c.Before.Value)
}

// randomLines put and delete some keys, at times that stand still now and then.
func randomLines(random *rand.Rand, count int) (lines []string) {
	there, minute := map[string]bool{}, 0
	for n := range count {
		key := pick(random, "/a", "/a/1", "/a/2", "/b/1", "/b/2")
		minute += random.IntN(2)
		line := fmt.Sprintf("12:%02d put %s %d", minute, key, n)
		if there[key] && random.IntN(3) == 0 {
			line = fmt.Sprintf("12:%02d delete %s", minute, key)
		}
		there[key] = !strings.Contains(line, "delete")
		lines = append(lines, line)
	}
	return lines
}

func pick(random *rand.Rand, of ...string) string { return of[random.IntN(len(of))] }

func values(changes iter.Seq2[log.Change, error]) iter.Seq[log.Change] {
	return func(yield func(log.Change) bool) {
		for c, err := range changes {
			if err != nil {
				panic(err)
			}
			if !yield(c) {
				return
			}
		}
	}
}
