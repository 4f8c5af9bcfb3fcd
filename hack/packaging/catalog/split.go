// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// files says where the objects of a schema go: what changes together is read together.
var files = map[string]string{
	"olm.package":      "package.yaml",
	"olm.channel":      "channels.yaml",
	"olm.bundle":       "bundles.yaml",
	"olm.deprecations": "deprecations.yaml",
}

var (
	schema = regexp.MustCompile(`(?m)^schema: (\S+)$`)
	owner  = regexp.MustCompile(`(?m)^package: (\S+)$`)
	named  = regexp.MustCompile(`(?m)^name: (\S+)$`)
)

// note is at the top of each file. It cannot be a document of its own: opm would look for its schema.
const note = "# Rendered by `make catalog` from catalog-templates/basic.yaml and the bundles in releases/ and bundle/.\n"

// split writes the objects that opm printed into a folder for their package, by schema.
func split(content []byte, out string) error {
	parts := map[string]*bytes.Buffer{}
	for _, document := range bytes.Split(append([]byte("\n"), content...), []byte("\n---\n")) {
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		file, err := place(document)
		if err != nil {
			return err
		}
		if parts[file] == nil {
			parts[file] = bytes.NewBufferString("---\n" + note)
		} else {
			parts[file].WriteString("---\n")
		}
		fmt.Fprintf(parts[file], "%s\n", bytes.TrimSpace(document))
	}
	if len(parts) == 0 {
		return fmt.Errorf("opm rendered nothing")
	}
	for _, file := range sortedKeys(parts) {
		path := filepath.Join(out, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, parts[file].Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func place(document []byte) (string, error) {
	match := schema.FindSubmatch(document)
	if match == nil || files[string(match[1])] == "" {
		return "", fmt.Errorf("opm rendered an object of no known schema: %.80s", document)
	}
	name := owner.FindSubmatch(document)
	if string(match[1]) == "olm.package" {
		name = named.FindSubmatch(document)
	}
	if name == nil {
		return "", fmt.Errorf("opm rendered an object of no package: %.80s", document)
	}
	return filepath.Join(string(name[1]), files[string(match[1])]), nil
}

// page is docs/upgrade-graph.md.
func page(graph []byte) []byte {
	return fmt.Appendf(nil, `# Upgrade graph

Which version is updated to which, as Operator Lifecycle Manager sees it in [catalog/](../catalog). Each arrow is an update; an
arrow by a range of versions skips those in between. Users of a channel go to its head, the version that no arrow leaves.
Drawn by `+"`make catalog`"+`; what it is drawn of is written in [catalog-templates/basic.yaml](../catalog-templates/basic.yaml).

`+"```mermaid\n%s```\n", graph)
}
