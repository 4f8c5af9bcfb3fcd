// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A mutant is one small change of the product that makes it wrong. In a list it is
//
//	mutant NAME: what it breaks, as a user would put it
//	file internal/cluster/plan/membership.go
//	-text as it is, verbatim; several lines make one text
//	+text as it becomes; no such line means nothing
//	test ./internal/cluster/plan ./internal/cluster/report
//
// The old text must occur in the file exactly once. Without test the tests of the
// file's own package must notice. Lines that begin with # are for people.
type mutant struct {
	name, breaks string
	at           string // where it is written: list and line
	file         string
	old, new     []string
	packages     []string
}

// load reads all lists in a folder. A mutant that is not whole is an error.
func load(folder string) ([]mutant, error) {
	lists, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, fmt.Errorf("find lists: %w", err)
	}
	var all []mutant
	seen := map[string]string{}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			return nil, fmt.Errorf("read list: %w", err)
		}
		mutants, err := parse(list, string(text))
		if err != nil {
			return nil, err
		}
		for _, m := range mutants {
			if at, twice := seen[m.name]; twice {
				return nil, fmt.Errorf("%s: mutant %s is already at %s", m.at, m.name, at)
			}
			seen[m.name] = m.at
		}
		all = append(all, mutants...)
	}
	return all, nil
}

// parse reads one list.
func parse(list, text string) ([]mutant, error) {
	var mutants []mutant
	for i, line := range strings.Split(text, "\n") {
		at := fmt.Sprintf("%s:%d", list, i+1)
		if title, begins := strings.CutPrefix(line, "mutant "); begins {
			name, breaks, _ := strings.Cut(title, ": ")
			mutants = append(mutants, mutant{name: name, breaks: breaks, at: at})
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		if len(mutants) == 0 {
			return nil, fmt.Errorf("%s: %q is before the first mutant", at, line)
		}
		if err := mutants[len(mutants)-1].read(line); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
	}
	for i := range mutants {
		if err := mutants[i].complete(); err != nil {
			return nil, fmt.Errorf("%s: mutant %s: %w", mutants[i].at, mutants[i].name, err)
		}
	}
	return mutants, nil
}

func (m *mutant) read(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case line[0] == '-':
		m.old = append(m.old, line[1:])
	case line[0] == '+':
		m.new = append(m.new, line[1:])
	case word == "file":
		m.file = rest
	case word == "test":
		m.packages = strings.Fields(rest)
	default:
		return fmt.Errorf("%q is none of mutant, file, test, - and +", line)
	}
	return nil
}

func (m *mutant) complete() error {
	if m.breaks == "" || m.file == "" || len(m.old) == 0 {
		return errors.New("it must say what it breaks, its file and the text to change")
	}
	if len(m.packages) == 0 {
		m.packages = []string{"./" + path.Dir(m.file)}
	}
	return nil
}

// apply returns the file's text with the bug in it.
func (m *mutant) apply(text string) (string, error) {
	before, after := strings.Join(m.old, "\n"), strings.Join(m.new, "\n")
	if n := strings.Count(text, before); n != 1 {
		return "", fmt.Errorf("the text to change occurs %d times in %s, must be once: %q", n, m.file, before)
	}
	return strings.Replace(text, before, after, 1), nil
}

// changed returns the absolute path of the file and its text with the bug in it.
func (m *mutant) changed() (file, text string, err error) {
	file, err = filepath.Abs(m.file)
	if err != nil {
		return "", "", fmt.Errorf("find the file: %w", err)
	}
	original, err := os.ReadFile(file)
	if err != nil {
		return "", "", fmt.Errorf("read the file: %w", err)
	}
	text, err = m.apply(string(original))
	return file, text, err
}

// allFit says which mutants the code has left behind.
func allFit(mutants []mutant) error {
	var errs []error
	for _, m := range mutants {
		if _, _, err := m.changed(); err != nil {
			errs = append(errs, fmt.Errorf("%s: mutant %s does not fit: %w", m.at, m.name, err))
		}
	}
	return errors.Join(errs...)
}
