// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

// object is a Kubernetes object, or a part of one, as YAML says it. Nothing is typed, so that nothing gets lost.
type object = map[string]any

func readStream(r io.Reader) ([]object, error) {
	content, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	var objects []object
	for _, document := range strings.Split("\n"+string(content), "\n---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		o, err := parse([]byte(document))
		if err != nil {
			return nil, err
		}
		if text(o, "kind") == "" {
			return nil, errors.New("a manifest has no kind")
		}
		objects = append(objects, o)
	}
	return objects, nil
}

func writeStream(w io.Writer, objects []object) error {
	for _, o := range objects {
		content, err := yaml.Marshal(o)
		if err != nil {
			return fmt.Errorf("write %s %s: %w", text(o, "kind"), nameOf(o), err)
		}
		if _, err := fmt.Fprintf(w, "---\n%s", content); err != nil {
			return err
		}
	}
	return nil
}

func readObject(file string) (object, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	o, err := parse(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return o, nil
}

func writeObject(file string, o object) error {
	content, err := yaml.Marshal(o)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, content, 0o644)
}

// parse keeps numbers as they are written.
func parse(content []byte) (object, error) {
	var o object
	err := yaml.Unmarshal(content, &o, func(d *json.Decoder) *json.Decoder {
		d.UseNumber()
		return d
	})
	return o, err
}

func parseJSON(content string, into any) error {
	decoder := json.NewDecoder(strings.NewReader(content))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// printJSON indents, and leaves <, > and & as they are.
func printJSON(value any) (string, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(value)
	return strings.TrimSpace(out.String()), err
}

// get returns what is at a path of keys; nil if there is nothing.
func get(o object, path ...string) any {
	var value any = o
	for _, key := range path {
		inner, ok := value.(object)
		if !ok {
			return nil
		}
		value = inner[key]
	}
	return value
}

func text(o object, path ...string) string {
	value, _ := get(o, path...).(string)
	return value
}

func part(o object, path ...string) object {
	value, _ := get(o, path...).(object)
	return value
}

// parts returns the objects of a list.
func parts(o object, path ...string) []object {
	values, _ := get(o, path...).([]any)
	var objects []object
	for _, value := range values {
		if inner, ok := value.(object); ok {
			objects = append(objects, inner)
		}
	}
	return objects
}

// within returns the object at a path, and makes it if it is not there.
func within(o object, path ...string) object {
	for _, key := range path {
		inner, ok := o[key].(object)
		if !ok {
			inner = object{}
			o[key] = inner
		}
		o = inner
	}
	return o
}

// list makes of objects what YAML makes of a list.
func list[T any](values []T) []any {
	all := make([]any, 0, len(values))
	for _, value := range values {
		all = append(all, value)
	}
	return all
}

func nameOf(o object) string { return text(o, "metadata", "name") }

func ofKind(objects []object, kind string) []object {
	var found []object
	for _, o := range objects {
		if text(o, "kind") == kind {
			found = append(found, o)
		}
	}
	return found
}

// theCSV returns the one ClusterServiceVersion.
func theCSV(objects []object) (object, error) {
	found := ofKind(objects, "ClusterServiceVersion")
	if len(found) != 1 {
		return nil, fmt.Errorf("there are %d ClusterServiceVersions, want one", len(found))
	}
	return found[0], nil
}
