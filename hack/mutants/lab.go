// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A lab runs tests on the product with a bug in it.
type lab struct {
	folder string
	took   map[run]time.Duration // without a bug
}

// A run is of the tests of one package: only the short ones, or all.
type run struct {
	tested string
	short  bool
}

// hung is when tests that a mutant has made endless are given up, which counts as
// noticed, as it does for people: five times what they took without a bug, and two minutes at least, or a
// mutant would be noticed by others' work.
func (l *lab) hung(r run) time.Duration { return max(2*time.Minute, 5*l.took[r]) }

func newLab() (*lab, error) {
	folder, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	return &lab{folder: folder, took: map[run]time.Duration{}}, nil
}

func (l *lab) close() { _ = os.RemoveAll(l.folder) } // what is left lies in a folder for such things

// healthy makes sure that the tests pass as long as there is no bug.
func (l *lab) healthy(ctx context.Context, mutants []mutant) error {
	var packages []string
	for _, m := range mutants {
		packages = append(packages, m.packages...)
	}
	slices.Sort(packages)
	packages = slices.Compact(packages)
	fmt.Printf("first without a bug: %s\n", strings.Join(packages, " "))
	for _, short := range []bool{true, false} {
		output, err := test(ctx, short, packages, "-count=1", "-timeout=30m")
		if failed, err := verdict(output, err); err != nil {
			return err
		} else if failed != "" {
			return fmt.Errorf("tests fail without any bug: %s\n%s", failed, output)
		}
		for _, found := range passed.FindAllStringSubmatch(output, -1) {
			took, err := time.ParseDuration(found[2])
			if err != nil {
				return fmt.Errorf("read how long the tests of %s took: %w", found[1], err)
			}
			l.took[run{"./" + found[1], short}] = took
		}
	}
	return nil
}

// passed is what go test says of a package whose tests have passed, and how long they took.
var passed = regexp.MustCompile(`(?m)^ok\s+github.com/etcd-operator/etcd-operator/(\S+)\s+([\d.]+s)`)

// try returns the first test that fails because of the mutant, or nothing. The
// short tests come first, then the long ones, as in make test-unit; and package by
// package, because the first one most often notices.
func (l *lab) try(ctx context.Context, m mutant) (string, error) {
	overlay, err := l.overlay(m)
	if err != nil {
		return "", err
	}
	for _, short := range []bool{true, false} {
		for _, tested := range m.packages {
			output, err := test(ctx, short, []string{tested}, "-timeout="+l.hung(run{tested, short}).String(), "-failfast", "-vet=off",
				"-overlay="+overlay)
			failed, err := verdict(output, err)
			if err != nil || failed != "" {
				return failed, err
			}
		}
	}
	return "", nil
}

// overlay writes the changed file and tells go where it is.
func (l *lab) overlay(m mutant) (string, error) {
	original, changed, err := m.changed()
	if err != nil {
		return "", err
	}
	replacement := filepath.Join(l.folder, filepath.Base(m.file))
	config := filepath.Join(l.folder, "overlay.json")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: replacement}})
	if err != nil {
		return "", fmt.Errorf("encode the overlay: %w", err)
	}
	err = errors.Join(os.WriteFile(replacement, []byte(changed), 0o600), os.WriteFile(config, overlay, 0o600))
	if err != nil {
		return "", fmt.Errorf("write the overlay: %w", err)
	}
	return config, nil
}

func test(ctx context.Context, short bool, packages []string, flags ...string) (string, error) {
	args := append([]string{"test", fmt.Sprintf("-short=%t", short)}, flags...)
	command := exec.CommandContext(ctx, "go", append(args, packages...)...) //nolint:gosec // the packages are in our own lists
	output, err := command.CombinedOutput()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return string(output), err
}

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^(panic: .*)|^(fatal error: .*)`)

// verdict says which test failed first, if any did. Code that does not compile
// proves nothing about tests, and is an error.
func verdict(output string, err error) (string, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", nil
	case !errors.As(err, &exit):
		return "", fmt.Errorf("go test: %w", err)
	case strings.Contains(output, "[build failed]") || strings.Contains(output, "[setup failed]"):
		return "", fmt.Errorf("it does not compile:\n%s", output)
	}
	found := failure.FindStringSubmatch(output)
	if found == nil {
		return "", fmt.Errorf("go test failed and named no test:\n%s", output)
	}
	return strings.Join(found[1:], ""), nil
}
