// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/encryption"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

var (
	history = log.Folder{Namespace: "default", Cluster: "example", Lineage: "00000000000000c1-0"}
	ten     = time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)
)

// keeps writes a log, of which each line is a revision in a segment of its own: put or delete, a key, and a value. The first has revision
// 11, and each comes a minute after the one before.
func (w *world) keeps(to encryption.Recipients, lines ...string) (segments []log.Listed) {
	w.Helper()
	start := log.Start{Lineage: history.Lineage, Writer: "w", Base: 10, First: log.Position{Revision: 11}, To: to}
	versions, created := map[string]int64{}, map[string]int64{}
	for n, line := range lines {
		words := strings.Fields(line)
		e := log.Event{Revision: int64(11 + n), Key: []byte(words[1]), Deleted: words[0] == "delete"}
		if e.Deleted {
			versions[words[1]] = 0
		} else {
			if versions[words[1]]++; versions[words[1]] == 1 {
				created[words[1]] = e.Revision
			}
			e.Value, e.Version, e.CreateRevision = []byte(words[2]), versions[words[1]], created[words[1]]
		}
		encoder := log.NewEncoder(start)
		must(w, encoder.Add(log.Batch{Time: ten.Add(time.Duration(n) * time.Minute), Complete: true, Events: []log.Event{e}}))
		s, err := encoder.Close(nil)
		must(w, err)
		name := history.Object(s.Header.First)
		w.put(name, s.Content)
		segments, start = append(segments, log.Listed{Object: name, Header: s.Header}), log.Follows(s.Header, "w")
		start.To = to
	}
	return segments
}

// finds are the records of a search, as lines, and its end.
func (w *world) finds(change func(*jobspec.SearchOrder)) (found []string, done jobspec.Recorded) {
	w.Helper()
	for n, line := range w.says(searching(change)) {
		switch {
		case line.Done != nil:
			return found, *line.Done.Recorded
		case line.Record == nil || line.Record.Number != int64(n+1):
			w.Fatalf("line %d is %+v", n+1, line)
		}
		r := *line.Record
		text := fmt.Sprintf("%s %d %s=%s", r.Time.Format("15:04"), r.Revision, r.Key, r.Value)
		if r.Deleted {
			text = fmt.Sprintf("%s %d delete %s", r.Time.Format("15:04"), r.Revision, r.Key)
		}
		if r.Before != nil {
			text += ", was " + string(*r.Before)
		}
		found = append(found, text)
	}
	w.Fatal("it has no end")
	return nil, done
}

func searching(change func(*jobspec.SearchOrder)) jobspec.Order {
	o := jobspec.SearchOrder{
		Namespace: history.Namespace, Cluster: history.Cluster, Lineage: history.Lineage, Prefix: true, Key: []byte("/"), Limit: 1000,
	}
	change(&o)
	return jobspec.Order{Verb: jobspec.Search, Search: &o}
}

// TestSearch: changes of keys are found, with what they have replaced, in either direction, and it is said how far the search went.
func TestSearch(t *testing.T) {
	w := newWorld(t)
	w.keeps(encryption.Recipients{}, "put /a one", "put /b 1", "put /a two", "delete /a", "put /ab x", "put /a three")
	type order = jobspec.SearchOrder
	for name, c := range map[string]struct {
		change func(*order)
		want   string
		cut    string
	}{
		"a key": {
			func(o *order) { o.Key, o.Prefix, o.Before = []byte("/a"), false, true },
			"10:00 11 /a=one; 10:02 13 /a=two, was one; 10:03 14 delete /a, was two; 10:05 16 /a=three", "",
		},
		"its last deletion": {
			func(o *order) {
				o.Key, o.Prefix, o.Before, o.Newest, o.Deletions, o.Limit = []byte("/a"), false, true, true, true, 1
			},
			"10:03 14 delete /a, was two", jobspec.CutLimit,
		},
		"a prefix": {func(o *order) { o.Key, o.From = []byte("/a"), 14 }, "10:03 14 delete /a; 10:04 15 /ab=x; 10:05 16 /a=three", ""},
		"times": {
			func(o *order) { o.Since, o.Until = ten.Add(time.Minute), ten.Add(2*time.Minute) }, "10:01 12 /b=1; 10:02 13 /a=two", "",
		},
		"cut values":   {func(o *order) { o.From, o.Values = 16, 2 }, "10:05 16 /a=th", ""},
		"two of them":  {func(o *order) { o.Limit = 2 }, "10:00 11 /a=one; 10:01 12 /b=1", jobspec.CutLimit},
		"no such keys": {func(o *order) { o.Key = []byte("/c") }, "", ""},
	} {
		got, done := w.finds(c.change)
		if strings.Join(got, "; ") != c.want || done.Cut != c.cut || done.Records != int64(len(got)) {
			t.Errorf("%s: %q, %+v", name, got, done)
		}
	}
	_, done := w.finds(func(o *order) { o.Since = ten.Add(-time.Hour) })
	if done.From != 11 || !done.Since.Equal(ten) || !done.Until.Equal(ten.Add(5*time.Minute)) || !done.NotBefore || done.NotAfter {
		t.Errorf("%+v", done)
	}
	end := &jobspec.LogEnd{Lineage: history.Lineage, Revision: 16, Until: ten.Add(time.Hour)}
	if got, done := w.finds(func(o *order) { o.Since, o.End = ten.Add(50*time.Minute), end }); len(got) > 0 || done.From != 0 {
		t.Errorf("%q, %+v", got, done)
	}
}

// TestSearchReadsWhatIsAskedFor: whatever has become of other segments.
func TestSearchReadsWhatIsAskedFor(t *testing.T) {
	w := newWorld(t)
	segments := w.keeps(encryption.Recipients{}, "put /a 1", "put /a 2", "put /a 3", "put /a 4", "put /a 5", "put /a 6", "put /a 7")
	for i, s := range segments {
		if i < 2 || i > 3 {
			content, err := os.ReadFile(w.file(s.Object))
			must(t, err)
			header := bytes.IndexByte(content, '\n') + 1
			w.put(s.Object, append(content[:header:header], bytes.Repeat([]byte("x"), len(content)-header)...))
		}
	}
	for name, change := range map[string]func(*jobspec.SearchOrder){
		"times":     func(o *jobspec.SearchOrder) { o.Since, o.Until = ten.Add(2*time.Minute), ten.Add(3*time.Minute) },
		"revisions": func(o *jobspec.SearchOrder) { o.From, o.To = 13, 14 },
		"newest":    func(o *jobspec.SearchOrder) { o.From, o.To, o.Newest, o.Before = 13, 14, true, true },
	} {
		if got, _ := w.finds(change); len(got) != 2 {
			t.Errorf("%s: %q", name, got)
		}
	}
	lines := w.says(searching(func(o *jobspec.SearchOrder) { o.From = 14 }))
	if first, last := lines[0].Record, lines[len(lines)-1].Failed; first == nil || first.Revision != 14 || last.Reason != jobspec.Corrupt {
		t.Errorf("%+v", lines)
	}
}

// TestSearchSaysWhatToDo where it cannot search.
func TestSearchSaysWhatToDo(t *testing.T) {
	w := newWorld(t)
	type order = jobspec.SearchOrder
	asked, decrypted := searching, searching(func(o *order) { o.Identities = true })
	as := func(*order) {}
	w.fails(asked(as), jobspec.NotReached, true, "look whether it is the right store")
	recipients, err := encryption.ParseRecipients(sealedTo(w))
	must(t, err)
	segments := w.keeps(recipients, "put /secret hidden", "put /a 2", "put /a 3", "put /a 4")
	w.fails(asked(as), jobspec.WrongKey, true, "none was given")
	if got, _ := w.finds(func(o *order) { o.Identities = true }); len(got) != 4 {
		t.Errorf("%q", got)
	}
	w.fails(asked(func(o *order) { o.Lineage = "other-0" }), jobspec.NotReached, true, "the store has "+history.Lineage)
	earlier := asked(func(o *order) { o.To = 3 })
	w.fails(earlier, jobspec.NotReached, true, "from revision 11 of 2026-11-28T10:00:00Z up to revision 14")
	w.fails(asked(func(o *order) { o.Since = ten.Add(time.Hour) }), jobspec.NotReached, true, "ask for what is in between")
	w.fails(asked(func(o *order) { o.Lineage = "" }), jobspec.UnsupportedJobSpec, true, "it names no lineage")
	must(t, os.Remove(w.file(segments[2].Object)))
	w.fails(decrypted, jobspec.Corrupt, true, "is missing")
	must(t, os.Remove(w.file(segments[3].Object)))
	encoder := log.NewEncoder(log.Start{Lineage: history.Lineage, Writer: "w", Base: 20, First: log.Position{Revision: 21}})
	deleted := []log.Event{{Revision: 21, Key: []byte("/b"), Deleted: true}}
	must(t, encoder.Add(log.Batch{Time: ten.Add(time.Hour), Complete: true, Events: deleted}))
	later, err := encoder.Close(nil)
	must(t, err)
	w.put(history.Object(later.Header.First), later.Content)
	w.fails(decrypted, jobspec.NotReached, true, "search what is before it, or what is after it")
	for _, line := range w.says(decrypted) {
		if f := line.Failed; f != nil && strings.Contains(f.Message, "hidden") {
			t.Errorf("it tells a value: %s", f.Message)
		}
	}
}

func sealedTo(w *world) []string { return (&running{world: w}).recipients(1) }

// TestSearchHasABound: the log of a Pod is not longer than the kubelet keeps of it.
func TestSearchHasABound(t *testing.T) {
	w := newWorld(t)
	var lines []string
	for n := range 12 {
		lines = append(lines, fmt.Sprintf("put /%d %s", n, strings.Repeat("x", 1<<20)))
	}
	w.keeps(encryption.Recipients{}, lines...)
	var out bytes.Buffer
	w.in.Out = &out
	records, bytesOf := 0, 0
	for _, line := range w.recorded(searching(func(*jobspec.SearchOrder) {})) {
		if r := line.Record; r != nil {
			records, bytesOf = records+1, bytesOf+len(r.Value)
		}
		if d := line.Done; d != nil && (d.Recorded.Cut != jobspec.CutSize || d.Recorded.Records != int64(records)) {
			t.Errorf("%+v", d.Recorded)
		}
	}
	if records != 5 && records != 6 || bytesOf != records<<20 {
		t.Errorf("%d records with %d bytes", records, bytesOf)
	}
}
