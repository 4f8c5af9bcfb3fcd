// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package initialdata_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/initialdata"
)

func entries(of ...string) map[string][]byte {
	all := map[string][]byte{}
	for i := 0; i < len(of); i += 2 {
		all[of[i]] = []byte(of[i+1])
	}
	return all
}

func text(keys []etcd.KeyValue) string {
	var all []string
	for _, k := range keys {
		all = append(all, fmt.Sprintf("%s=%s", k.Key, k.Value))
	}
	return strings.Join(all, " ")
}

// TestParse: an entry is a key, with the prefix before its name; import.yaml and import.json are lists of any keys.
func TestParse(t *testing.T) {
	const list = "# of the shop\n---\n- key: shop/currency\n  value: EUR\n- {key: shop/logo, valueBase64: AAH/}\n" +
		"- {key: shop/empty, value: ''}\n"
	both := entries("import.json", `[{"key": "/j", "value": "1"}]`, "import.yaml", "[{key: /y, value: '2'}]", "p", "3")
	for name, c := range map[string]struct {
		prefix  string
		entries map[string][]byte
		want    string
	}{
		"plain":          {"", entries("b", "2", "a.b_c-D", "1"), "a.b_c-D=1 b=2"},
		"with a prefix":  {"/shop/", entries("a", "1", "b", ""), "/shop/a=1 /shop/b="},
		"no slash added": {"shop", entries("a", "1"), "shopa=1"},
		"bytes":          {"", map[string][]byte{"a": {0, 0xff}}, "a=\x00\xff"},
		"list":           {"/", entries("import.yaml", list), "/shop/currency=EUR /shop/empty= /shop/logo=\x00\x01\xff"},
		"JSON":           {"", entries("import.json", `[{"key": "/k", "value": "v"}]`), "/k=v"},
		"both":           {"", both, "/j=1 /y=2 p=3"},
		"lines":          {"", entries("import.yaml", "- key: /k\n  value: |\n    a\n    --- b\n"), "/k=a\n--- b\n"},
		"empty key":      {"/p", entries("import.yaml", "[{key: '', value: v}]"), "/p=v"},
		"another name":   {"", entries("Import.yaml", "no list"), "Import.yaml=no list"},
	} {
		keys, err := initialdata.Parse(c.prefix, c.entries)
		if err != nil || text(keys) != c.want {
			t.Errorf("%s: got %q, %v, want %q", name, text(keys), err, c.want)
		}
	}
}

// TestParseRefuses: what means no key, with the entry or item that it is, and nothing of what is in it.
func TestParseRefuses(t *testing.T) {
	const secret = "hunter2"
	many := map[string][]byte{}
	asEntry := entries("import.json", `[{"key": "zzz", "value": "hunter2"}]`, "zzz", secret)
	for n := range initialdata.MostKeys + 1 {
		many[fmt.Sprintf("k%05d", n)] = nil
	}
	for _, refused := range []struct {
		says  string
		given map[string][]byte
	}{
		{"it has no keys", entries()},
		{"is not a list", entries("import.yaml", "key: "+secret)},
		{`entry "import.json": it is not a list`, entries("import.json", "[{"+secret)},
		{"it is not a list, in YAML", entries("import.yaml", "")},
		{"not a list, in YAML or JSON", entries("import.yaml", "["+secret+"]")},
		{"list, in YAML or JSON, of items", entries("import.yaml", "- {key: a, key: "+secret+", value: v}")},
		{"of items with key, and value", entries("import.yaml", "- {key: a, value: \xff"+secret+"}")},
		{"more than one document", entries("import.yaml", "- {key: a, value: b}\n---\n- {key: c, value: "+secret+"}")},
		{"a line begins with --- or ...", entries("import.yaml", "- {key: a, value: b}\n...\n"+secret)},
		{"give it as valueBase64", entries("import.yaml", "- {key: a, value: !!binary aHVudGVyMg==}")},
		{`item 2 of entry "import.yaml": it must have key`, entries("import.yaml", "[{key: a, value: b}, {value: "+secret+"}]")},
		{"either value or valueBase64", entries("import.yaml", "[{key: "+secret+"}]")},
		{"valueBase64, and nothing else", entries("import.yaml", "[{key: a, value: b, valueBase64: Yg==}]")},
		{"and nothing else", entries("import.yaml", "[{key: a, value: b, "+secret+": c}]")},
		{"item 1 of", entries("import.yaml", "[null]")},
		{"put numbers, true, false and null in quotes", entries("import.yaml", "[{key: a, value: 5}]")},
		{"must be text", entries("import.yaml", "[{key: a, value: null}]")},
		{"key, value and valueBase64 must", entries("import.yaml", "[{key: yes, value: a}]")},
		{"not in base64", entries("import.yaml", "[{key: a, valueBase64: "+secret+"!}]")},
		{`item 1 of entry "import.yaml": its key is empty`, entries("import.yaml", "[{key: '', value: "+secret+"}]")},
		{`the same key as item 1 of entry "import.yaml"`, entries("import.yaml", "[{key: "+secret+", value: a}, {key: "+secret+", value: b}]")},
		{`entry "zzz": it has the same key as item 1 of entry "import.json"`, asEntry},
		{"more than 10000 keys", many},
	} {
		keys, err := initialdata.Parse("", refused.given)
		if err == nil || !strings.Contains(err.Error(), refused.says) || len(keys) > 0 {
			t.Errorf("got %q, %v, want an error that says %q", text(keys), err, refused.says)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%v: says what is in an entry", err)
		}
	}
}

// TestHostileEntries: whatever a user writes is refused without being quoted, or becomes exactly the keys that it says.
func TestHostileEntries(t *testing.T) {
	random := rand.New(rand.NewPCG(36, 0))
	pieces := []string{
		"a", "/", "\x00", "\xff", "\n", "\n---\n", "\n...\n", ": ", "- ", "{", "}", "[", "]", "&x ", "*x", "!!binary ", "!!int ",
		"<<: *x", "\"", "'", "key", "value", "valueBase64", "%TAG ! x\n", "$(NAME)", "$$", "`", "\\", "\t", "\u2028", "😀", "null", "yes",
		"1e3", "2026-01-01", "canary", strings.Repeat("x", 3000),
	}
	hostile := func() string {
		var b strings.Builder
		for range 1 + random.IntN(8) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		return b.String()
	}
	kept, refused := 0, 0
	for range 500 {
		name, value := hostile(), hostile()
		list, err := json.Marshal([]map[string]string{{"key": name, "valueBase64": base64.StdEncoding.EncodeToString([]byte(value))}})
		if err != nil {
			t.Fatal(err)
		}
		keys, err := initialdata.Parse("p", map[string][]byte{"import.json": list})
		want := strings.ToValidUTF8(name, "\ufffd") // which is JSON's doing here, not that of Parse
		switch {
		case err == nil && len(keys) == 1 && string(keys[0].Value) == value && utfEqual(keys[0].Key, "p"+want):
			kept++
		case err != nil && strings.Contains(name, "!!binary"):
			refused++
		default:
			t.Errorf("%q: got %q, %v", name, text(keys), err)
		}
		if keys, err = initialdata.Parse("", map[string][]byte{"import.yaml": []byte(name + value)}); err == nil {
			wantBatched(t, keys)
		} else if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: quotes what is in an entry", err)
		}
	}
	if kept < 300 || refused == 0 {
		t.Errorf("%d were taken and %d refused: this shows little", kept, refused)
	}
}

// utfEqual compares texts in which each byte, or each run of bytes, that is no text has become the same character.
func utfEqual(got []byte, want string) bool {
	squeeze := func(text string) string {
		for strings.Contains(text, "\ufffd\ufffd") {
			text = strings.ReplaceAll(text, "\ufffd\ufffd", "\ufffd")
		}
		return text
	}
	return squeeze(string(got)) == squeeze(want)
}

// wantBatched wants all keys in the same order, in transactions that etcd takes.
func wantBatched(t *testing.T, keys []etcd.KeyValue) (sizes []int) {
	t.Helper()
	batches := initialdata.Batches(keys)
	if all := slices.Concat(batches...); text(all) != text(keys) {
		t.Errorf("%d keys have become %d", len(keys), len(all))
	}
	for _, batch := range batches {
		size := 0
		for _, k := range batch {
			size += len(k.Key) + len(k.Value)
		}
		if len(batch) == 0 || len(batch) > 100 || len(batch) > 1 && size > 256<<10 {
			t.Errorf("a transaction of %d keys and %d bytes", len(batch), size)
		}
		sizes = append(sizes, len(batch))
	}
	return sizes
}

// TestBatches: a hundred keys, or 256 KiB; a key alone may have more.
func TestBatches(t *testing.T) {
	of := func(sizes ...int) (keys []etcd.KeyValue) {
		for n, size := range sizes {
			keys = append(keys, etcd.KeyValue{Key: fmt.Appendf(nil, "%08d", n), Value: bytes.Repeat([]byte{1}, size)})
		}
		return keys
	}
	for name, c := range map[string]struct {
		keys []etcd.KeyValue
		want []int
	}{
		"none":    {nil, nil},
		"many":    {of(make([]int, 250)...), []int{100, 100, 50}},
		"large":   {of(200<<10, 100<<10, 1<<20, 10, 10), []int{1, 1, 1, 2}},
		"exactly": {of(128<<10-8, 128<<10-8, 0), []int{2, 1}},
	} {
		if got := wantBatched(t, c.keys); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
