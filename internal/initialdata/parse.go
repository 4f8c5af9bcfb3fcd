// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package initialdata

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// lists are the names of entries that list keys: names of entries cannot have slashes, and keys of etcd mostly do.
var lists = []string{"import.json", "import.yaml"}

// MostKeys is how many keys are imported at most. It bounds how long etcd has to do with it: a hundred transactions.
const MostKeys = 10_000

// Parse makes keys of the entries of a ConfigMap or Secret, sorted. Its errors name entries and never what is in them: that may be
// a secret. Where one entry is bad there are no keys at all.
func Parse(prefix string, entries map[string][]byte) ([]etcd.KeyValue, error) {
	p := parser{prefix: prefix, from: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if err := p.entry(name, entries[name]); err != nil {
			return nil, err
		}
	}
	if len(p.keys) == 0 {
		return nil, errors.New("it has no keys")
	}
	slices.SortFunc(p.keys, func(a, b etcd.KeyValue) int { return bytes.Compare(a.Key, b.Key) })
	return p.keys, nil
}

type parser struct {
	prefix string
	keys   []etcd.KeyValue
	from   map[string]string // which entry gave a key
}

func (p *parser) entry(name string, content []byte) error {
	if !slices.Contains(lists, name) {
		return p.add(fmt.Sprintf("entry %q", name), name, content)
	}
	items, err := list(content)
	if err != nil {
		return fmt.Errorf("entry %q: %w", name, err)
	}
	for i, item := range items {
		where := fmt.Sprintf("item %d of entry %q", i+1, name)
		key, value, err := read(item)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		if err := p.add(where, key, value); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) add(where, name string, value []byte) error {
	key := p.prefix + name
	before, twice := p.from[key]
	switch {
	case key == "":
		return fmt.Errorf("%s: its key is empty", where)
	case twice:
		return fmt.Errorf("%s: it has the same key as %s", where, before)
	case len(p.keys) == MostKeys:
		return fmt.Errorf("%s: there are more than %d keys", where, MostKeys)
	}
	p.from[key] = where
	p.keys = append(p.keys, etcd.KeyValue{Key: []byte(key), Value: value})
	return nil
}

var (
	errNoList    = errors.New("it is not a list, in YAML or JSON, of items with key, and value or valueBase64")
	errDocuments = errors.New("it has more than one document: a line begins with --- or ... after the first")
	errBinary    = errors.New("it has text that is tagged as binary: give it as valueBase64")
	errNoItem    = errors.New("it must have key, and either value or valueBase64, and nothing else")
	errNoText    = errors.New("key, value and valueBase64 must be text: put numbers, true, false and null in quotes")
	errNoBase64  = errors.New("its valueBase64 is not in base64")
)

// list are the items of a list. The library's words for what is wrong quote the text, so they are not passed on.
func list(content []byte) ([]map[string]any, error) {
	switch {
	case severalDocuments(content):
		return nil, errDocuments
	case bytes.Contains(content, []byte("!!binary")) || bytes.Contains(content, []byte("tag:yaml.org,")):
		return nil, errBinary // on the way to JSON, bytes that are no text would become others
	}
	text, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		return nil, errNoList
	}
	var items []map[string]any
	if json.Unmarshal(text, &items) != nil || len(items) == 0 {
		return nil, errNoList
	}
	return items, nil
}

// severalDocuments says whether anything may follow the first document: the library would leave it out without a word.
func severalDocuments(content []byte) bool {
	begun := false
	for line := range bytes.Lines(content) {
		line = bytes.TrimRight(line, " \t\r\n")
		marker := bytes.HasPrefix(line, []byte("---")) || bytes.HasPrefix(line, []byte("..."))
		if marker && begun {
			return true
		}
		begun = begun || marker || len(line) > 0 && line[0] != '#' && line[0] != '%'
	}
	return false
}

// read is the key and the value of an item.
func read(item map[string]any) (key string, value []byte, err error) {
	texts := map[string]string{}
	for _, name := range []string{"key", "value", "valueBase64"} {
		said, has := item[name]
		text, is := said.(string)
		if has && !is {
			return "", nil, errNoText
		}
		if has {
			texts[name] = text
		}
	}
	key, hasKey := texts["key"]
	plain, isPlain := texts["value"]
	encoded, isEncoded := texts["valueBase64"]
	if !hasKey || isPlain == isEncoded || len(texts) != len(item) {
		return "", nil, errNoItem
	}
	if isPlain {
		return key, []byte(plain), nil
	}
	if value, err = base64.StdEncoding.Strict().DecodeString(encoded); err != nil {
		return "", nil, errNoBase64
	}
	return key, value, nil
}
