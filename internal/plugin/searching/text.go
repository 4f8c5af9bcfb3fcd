// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package searching

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// The columns of the table. Times have one length, and so have most revisions.
const columns = "%-27s  %8s  %-6s  %8s  %s"

// Head is the first line of the table.
func Head() string {
	return strings.TrimRight(fmt.Sprintf(columns, "TIME", "REVISION", "CHANGE", "SIZE", "KEY"), " ") + "  VALUE"
}

// Row is a change as a line of the table.
func Row(r jobspec.Record) string {
	at := r.Time.UTC().Format("2006-01-02T15:04:05.000000Z")
	key := quoted(r.Key)
	if r.Deleted {
		return fmt.Sprintf(columns, at, strconv.FormatInt(r.Revision, 10), "DELETE", "-", key)
	}
	return fmt.Sprintf(columns, at, strconv.FormatInt(r.Revision, 10), "PUT", strconv.Itoa(r.Size), key+"  "+shown(r.Value, r.Size))
}

// shown is a value, shortened if it is longer. Of one that is, there may be its first bytes alone.
func shown(value []byte, size int) string {
	if size <= Shown {
		return quoted(value)
	}
	value = value[:min(len(value), Shown)]
	for n := range min(len(value), utf8.UTFMax) { // half a character at the end
		if whole := value[:len(value)-n]; utf8.Valid(whole) {
			return quoted(whole) + "…"
		}
	}
	return quoted(value) + "…"
}

// quoted is a text on one line, of which a terminal obeys nothing.
func quoted(text []byte) string {
	isPlain := utf8.Valid(text) && len(text) > 0 && !strings.ContainsFunc(string(text), func(r rune) bool {
		return r == '"' || r == ' ' || !unicode.IsPrint(r)
	})
	if isPlain {
		return string(text)
	}
	return strconv.Quote(string(text))
}

// keyValue is one as etcdctl writes it as JSON.
type keyValue struct {
	Key            []byte `json:"key"`
	CreateRevision int64  `json:"create_revision,omitempty"`
	ModRevision    int64  `json:"mod_revision,omitempty"`
	Version        int64  `json:"version,omitempty"`
	Value          []byte `json:"value,omitempty"`
	Lease          int64  `json:"lease,omitempty"`
}

func keyValueOf(r jobspec.Record) keyValue {
	return keyValue{r.Key, r.CreateRevision, r.Revision, r.Version, r.Value, r.Lease}
}

// JSON is a change as a line of JSON, with etcd's names of fields.
func JSON(r jobspec.Record) ([]byte, error) {
	type previous struct {
		Value []byte `json:"value"`
	}
	event := struct {
		Time time.Time `json:"time"`
		Type string    `json:"type"`
		KV   keyValue  `json:"kv"`
		Prev *previous `json:"prev_kv,omitempty"`
	}{Time: r.Time.UTC(), Type: "PUT", KV: keyValueOf(r)}
	if r.Deleted {
		event.Type = "DELETE"
	}
	if r.Before != nil {
		event.Prev = &previous{*r.Before}
	}
	text, err := json.Marshal(event)
	return append(text, '\n'), err
}

// StateKey is a key of a state: a part of the one JSON document that StateEnd completes, as etcdctl get -w json writes it.
func StateKey(r jobspec.Record) ([]byte, error) {
	before := ",\n"
	if r.Number == 1 {
		before = "{\"kvs\":[\n"
	}
	text, err := json.Marshal(keyValueOf(r))
	return append([]byte(before), text...), err
}

// StateEnd completes the document. Without it, it is no JSON: a part of a state cannot be taken for all of it.
func StateEnd(done jobspec.Done) []byte {
	before := "\n],"
	if done.Recorded.Records == 0 {
		before = "{\"kvs\":[],"
	}
	return fmt.Appendf(nil, "%s\"count\":%d,\"header\":{\"revision\":%d}}\n", before, done.Recorded.Records, done.Located.Revision)
}

// Notes say what was searched, and what is not known.
func Notes(k Keys, c *v1beta1.EtcdCluster, lineage string, done jobspec.Recorded, last int64) (notes []string) {
	note := func(format string, values ...any) { notes = append(notes, fmt.Sprintf(format, values...)) }
	flag := "--since"
	if k.Newest {
		flag = "--until"
	}
	switch {
	case done.Cut == jobspec.CutLimit:
		note("%s, as many as --limit: there may be more; go on with %s %d, or a higher limit", changes(done.Records), flag, last)
	case done.Cut == jobspec.CutSize:
		note("%s, as many as the log of a Pod has room for: go on with %s %d", changes(done.Records), flag, last)
	case done.From > 0:
		note("%s from revision %d of %s up to %s", changes(done.Records), done.From, clock(done.Since), clock(done.Until))
	default:
		note("%s: nothing was logged then", changes(done.Records))
	}
	if done.NotBefore {
		note("what was changed before revision %d is in no log that leads on to it", done.From)
	}
	if done.NotAfter && done.Cut == "" {
		note("what was changed after %s is in no log: there is a gap", clock(done.Until))
	}
	if end := endOf(c); end != nil && end.Lineage == lineage && k.Until == "" && done.Cut == "" {
		note("the log has everything until %s", clock(end.Until))
	}
	if len(done.Others) > 0 {
		note("this is history %s; the store has others of this cluster: --lineage %s", lineage, strings.Join(done.Others, ", "))
	}
	return notes
}

// StateNotes say which moment a state is of.
func StateNotes(done jobspec.Done) (notes []string) {
	at := done.Located
	text := fmt.Sprintf("%d keys as of revision %d", done.Recorded.Records, at.Revision)
	if !at.At.IsZero() {
		text += " of " + clock(at.At)
	}
	notes = append(notes, text)
	if at.LeftRevision > 0 {
		notes = append(notes, fmt.Sprintf("the next change came with revision %d at %s", at.LeftRevision, clock(at.LeftAt)))
	}
	return notes
}

func changes(n int64) string {
	if n == 1 {
		return "1 change"
	}
	return fmt.Sprintf("%d changes", n)
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
