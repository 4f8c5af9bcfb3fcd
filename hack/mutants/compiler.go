// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
)

// A compiler finds mutants that Go refuses. It checks the types of a mutant's own
// package and takes the others as they are compiled: a hundredth of what a build takes.
type compiler struct {
	packages map[string]*listed // by folder
	files    map[string]*ast.File
	set      *token.FileSet
	others   types.Importer
}

// listed is what go list says of a package.
type listed struct {
	Dir, ImportPath string
	Export          string // file that holds its compiled interface
	GoFiles         []string
}

// newCompiler prepares for mutants of these folders.
func newCompiler(ctx context.Context, folders []string) (*compiler, error) {
	args := append([]string{"list", "-export", "-deps", "-json=Dir,ImportPath,Export,GoFiles"}, folders...)
	command := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the folders are in our own lists
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	byFolder, byPath, err := decode(output)
	if err := errors.Join(err, command.Wait()); err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	set := token.NewFileSet()
	lookup := func(path string) (io.ReadCloser, error) {
		if p := byPath[path]; p != nil {
			return os.Open(p.Export)
		}
		return nil, fmt.Errorf("no package imported %s so far", path)
	}
	return &compiler{byFolder, map[string]*ast.File{}, set, importer.ForCompiler(set, "gc", lookup)}, nil
}

func decode(output io.Reader) (byFolder, byPath map[string]*listed, err error) {
	byFolder, byPath = map[string]*listed{}, map[string]*listed{}
	for decoder := json.NewDecoder(output); ; {
		p := &listed{}
		err := decoder.Decode(p)
		if errors.Is(err, io.EOF) {
			return byFolder, byPath, nil
		}
		if err != nil {
			return nil, nil, err
		}
		byFolder[p.Dir], byPath[p.ImportPath] = p, p
	}
}

// check says why a mutant does not compile. Its file is given by its absolute path.
func (c *compiler) check(file, changed string) error {
	p := c.packages[filepath.Dir(file)]
	if p == nil || !slices.Contains(p.GoFiles, filepath.Base(file)) {
		return fmt.Errorf("%s is not built", file)
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		parsed, err := c.parse(filepath.Join(p.Dir, name), file, changed)
		if err != nil {
			return err
		}
		files = append(files, parsed)
	}
	_, err := (&types.Config{Importer: c.others}).Check(p.ImportPath, c.set, files, nil)
	return err
}

// parse reads a file of a package once, but the changed one every time.
func (c *compiler) parse(file, mutated, changed string) (*ast.File, error) {
	if file == mutated {
		return parser.ParseFile(c.set, file, changed, parser.SkipObjectResolution)
	}
	if known := c.files[file]; known != nil {
		return known, nil
	}
	parsed, err := parser.ParseFile(c.set, file, nil, parser.SkipObjectResolution)
	c.files[file] = parsed
	return parsed, err
}

// allCompile says which mutants are no Go: they would prove nothing about tests. All
// of them fit the code.
func allCompile(ctx context.Context, mutants []mutant) error {
	var folders []string
	for _, m := range mutants {
		folders = append(folders, "./"+path.Dir(m.file))
	}
	slices.Sort(folders)
	compiler, err := newCompiler(ctx, slices.Compact(folders))
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range mutants {
		file, text, err := m.changed()
		if err == nil {
			err = compiler.check(file, text)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: mutant %s does not compile: %w", m.at, m.name, err))
		}
	}
	return errors.Join(errs...)
}
