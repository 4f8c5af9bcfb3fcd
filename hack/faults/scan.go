// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A test is a file, and the name of its function if one shows the fault.
type test struct{ file, name string }

var (
	functions    = regexp.MustCompile(`^TestFault(\d+)`)
	descriptions = regexp.MustCompile(`\bfaults? (\d+(?:(?:, and |, | and )\d+)*)[:,]`)
	comments     = regexp.MustCompile(`\(faults?[\s#]+(\d+(?:(?:, and |, | and )\d+)*)\)`)
	numbers      = regexp.MustCompile(`\d+`)
)

// scan returns the tests of each fault. Scripts are files of text in folders testdata; hack has tests of tools only.
func scan(root string) (map[string][]test, error) {
	found := map[string][]test{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skip(name)
		}
		isScript := strings.HasSuffix(name, ".txt") && strings.Contains(name, "/testdata/")
		if !isScript && !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if isScript {
			add(found, comments, string(text), test{file: name})
			return nil
		}
		return scanGo(found, name, text)
	})
	return found, err
}

func skip(folder string) error {
	hidden := strings.HasPrefix(filepath.Base(folder), ".") && folder != "."
	if hidden || slices.Contains([]string{"bin", "dist", "hack"}, folder) {
		return filepath.SkipDir
	}
	return nil
}

func scanGo(found map[string][]test, name string, text []byte) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
	if err != nil {
		return err
	}
	for _, declared := range parsed.Decls {
		in := test{file: name}
		if f, ok := declared.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Test") {
			in.name = f.Name.Name
			add(found, functions, in.name, in)
			add(found, comments, f.Doc.Text(), in)
		}
		ast.Inspect(declared, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				add(found, descriptions, literal.Value, in)
			}
			return true
		})
	}
	return nil
}

// add notes a test for each number that a text names.
func add(found map[string][]test, pattern *regexp.Regexp, text string, t test) {
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		for _, number := range numbers.FindAllString(match[1], -1) {
			if !slices.Contains(found[number], t) {
				found[number] = append(found[number], t)
			}
		}
	}
}
