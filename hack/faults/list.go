// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// A list is docs/faults.yaml.
type list struct {
	Intro    string    `json:"intro"`
	Sections []section `json:"sections"`
}

type section struct {
	Title  string  `json:"title"`
	Never  bool    `json:"never"` // what must not happen, instead of what can
	Faults []fault `json:"faults"`
}

type fault struct {
	Number string   `json:"number"`
	Fault  string   `json:"fault"`
	Tests  []string `json:"tests"`  // those without the number: a file, or a file and a name, which "…" shortens
	Status string   `json:"status"` // what tests do not show; empty if they show all
}

func load(file string) (list, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return list{}, err
	}
	var l list
	if err := yaml.UnmarshalStrict(text, &l); err != nil {
		return list{}, fmt.Errorf("read %s: %w", file, err)
	}
	return l, nil
}

func (l list) faults() []fault {
	var all []fault
	for _, s := range l.Sections {
		all = append(all, s.Faults...)
	}
	return all
}

// check fails if a number is listed twice, a test has the number of no fault, or a listed test does not exist.
func (l list) check(root string, found map[string][]test) error {
	var problems []error
	listed := map[string]bool{}
	for _, f := range l.faults() {
		if listed[f.Number] {
			problems = append(problems, fmt.Errorf("%s lists fault %s twice", source, f.Number))
		}
		listed[f.Number] = true
		for _, t := range f.explicit() {
			problems = append(problems, t.exists(root))
		}
	}
	for _, number := range slices.Sorted(maps.Keys(found)) {
		if !listed[number] {
			problems = append(problems, fmt.Errorf("%s names fault %s, which %s does not list", found[number][0].file, number, source))
		}
	}
	return errors.Join(problems...)
}

func (f fault) explicit() []test {
	var all []test
	for _, t := range f.Tests {
		file, name, _ := strings.Cut(t, " ")
		all = append(all, test{file: file, name: name})
	}
	return all
}

func (t test) exists(root string) error {
	text, err := os.ReadFile(filepath.Join(root, t.file))
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	start, shortened := strings.CutSuffix(t.name, "…")
	if !shortened {
		start += "("
	}
	if t.name != "" && !strings.Contains(string(text), "func "+start) {
		return fmt.Errorf("%s: %s has no %s", source, t.file, t.name)
	}
	return nil
}
