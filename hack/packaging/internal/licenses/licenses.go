// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package licenses collects the licences of all that a Go program is built of, so that an image can carry them.
//
// It never guesses: a module without a licence is an error.
package licenses

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/oci"
)

// Folder is where an image has them, as Red Hat's certification asks.
const Folder = "licenses/"

// legal matches names of licences, and of notices that a licence asks to be passed on.
var legal = regexp.MustCompile(`(?i)^(LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|PATENTS|UNLICENSE)([-._].*)?$`)

// Of returns the licences of a main package below a folder, and of all modules that it is built of, as files of a layer: each
// module has a folder, named after it and its version.
func Of(ctx context.Context, folder, main, platform string) ([]oci.File, error) {
	files := map[string][]byte{}
	packages, err := list(ctx, folder, main, platform)
	if err != nil {
		return nil, err
	}
	for _, p := range packages {
		if err := p.collect(files); err != nil {
			return nil, err
		}
	}
	for _, p := range packages {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(files)), func(name string) bool { return strings.HasPrefix(name, p.module+"/") }) {
			return nil, fmt.Errorf("module %s has no licence: may it be used?", p.module)
		}
	}
	return layer(files), nil
}

// A part is a package that a program is built of.
type part struct {
	module     string // with its version
	dir, below string // folders of the package and of the module
}

func list(ctx context.Context, folder, main, platform string) ([]part, error) {
	const format = "{{with .Module}}{{.Path}}{{with .Version}}@{{.}}{{end}}\t{{.Dir}}{{end}}\t{{.Dir}}"
	command := exec.CommandContext(ctx, "go", "list", "-deps", "-f", format, main)
	command.Dir = folder
	goos, goarch, _ := strings.Cut(platform, "/")
	command.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	out, err := command.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return nil, fmt.Errorf("go list %s: %s", main, failed.Stderr)
	}
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", main, err)
	}
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	goroot := strings.TrimSpace(string(root))
	all := []part{{"std", goroot, goroot}}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) == 3 {
			all = append(all, part{module: fields[0], below: fields[1], dir: fields[2]})
		}
	}
	return all, nil
}

// collect reads the licences in the package's folder and in those above it, up to the module's: a part that was copied from
// elsewhere has its own.
func (p part) collect(files map[string][]byte) error {
	for dir := p.dir; ; dir = filepath.Dir(dir) {
		if err := p.collectIn(dir, files); err != nil {
			return err
		}
		if dir == p.below || len(dir) <= len(p.below) {
			return nil
		}
	}
}

// collectIn reads the licences in one folder.
func (p part) collectIn(dir string, files map[string][]byte) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() || !legal.MatchString(entry.Name()) || strings.HasSuffix(entry.Name(), ".go") {
			continue
		}
		relative, err := filepath.Rel(p.below, filepath.Join(dir, entry.Name()))
		if err != nil {
			return err
		}
		name := p.module + "/" + filepath.ToSlash(relative)
		if files[name], err = os.ReadFile(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// layer lists files with the folders above them.
func layer(files map[string][]byte) []oci.File {
	all := map[string]oci.File{Folder: {Name: Folder, Mode: 0o755}}
	for name, content := range files {
		name = Folder + name
		all[name] = oci.File{Name: name, Mode: 0o644, Content: content}
		for i := strings.LastIndex(name, "/"); i > len(Folder); i = strings.LastIndex(name[:i], "/") {
			all[name[:i+1]] = oci.File{Name: name[:i+1], Mode: 0o755}
		}
	}
	var sorted []oci.File
	for _, name := range slices.Sorted(maps.Keys(all)) {
		sorted = append(sorted, all[name])
	}
	return sorted
}
