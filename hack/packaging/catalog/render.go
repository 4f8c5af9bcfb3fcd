// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/bundle"
)

type rendering struct {
	top, bundle, template string
	out, graph            string
	repository, until     string
	opm                   string
}

func (r rendering) run(ctx context.Context) error {
	scratch, err := os.MkdirTemp("", "etcd-operator-catalog-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	opm, err := newOPM(r.opm, scratch)
	if err != nil {
		return err
	}
	content, err := r.content(ctx, opm, scratch)
	if err != nil {
		return err
	}
	made := filepath.Join(scratch, "catalog")
	if err := split(content, made); err != nil {
		return err
	}
	if _, err := opm.run(ctx, "validate", made); err != nil {
		return err
	}
	if err := replaceFolder(made, r.out); err != nil {
		return err
	}
	fmt.Printf("wrote %s\n", r.out)
	if r.graph == "" {
		return nil
	}
	graph, err := opm.run(ctx, "alpha", "render-graph", r.out)
	if err != nil {
		return err
	}
	return os.WriteFile(r.graph, page(graph), 0o644)
}

// content is the template with every bundle rendered. opm reads bundles from registries only.
func (r rendering) content(ctx context.Context, opm opm, scratch string) ([]byte, error) {
	t, bundles, err := r.read()
	if err != nil {
		return nil, err
	}
	served, names, err := serve(ctx, bundles, r.repository)
	if err != nil {
		return nil, err
	}
	defer served.stop()
	for _, here := range sortedKeys(names) {
		t.Entries = append(t.Entries, entry{"schema": "olm.bundle", "image": here})
	}
	raw, err := yaml.Marshal(t)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(scratch, "template.yaml")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return nil, err
	}
	out, err := opm.run(ctx, "alpha", "render-template", "basic", file, "-o", "yaml", "--migrate-level=bundle-object-to-csv-metadata",
		"--use-http")
	for here, there := range names {
		out = bytes.ReplaceAll(out, []byte(here), []byte(there))
	}
	return out, err
}

// read returns the template as it is to be rendered, and the bundles that there are.
func (r rendering) read() (*template, []bundle.Bundle, error) {
	t, err := readTemplate(r.template)
	if err != nil {
		return nil, nil, err
	}
	bundles, err := findBundles(r.top, r.bundle)
	if err != nil {
		return nil, nil, err
	}
	if r.until != "" {
		if bundles, err = t.cut(r.until, bundles); err != nil {
			return nil, nil, err
		}
	}
	if err := t.covers(bundles); err != nil {
		return nil, nil, err
	}
	return t, bundles, t.fillIcon(bundles)
}

// replaceFolder puts a new folder where an old one is, so that nothing of the old one stays.
func replaceFolder(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(from))
}

// opm runs the real program in a home of its own: it reads from there that images need no signature, which the machine's
// settings may not say, and writes there.
type opm struct{ program, home string }

func newOPM(program, scratch string) (opm, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return opm{}, err
	}
	o := opm{program, filepath.Join(scratch, "home")}
	folder := filepath.Join(o.home, ".config", "containers")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return opm{}, err
	}
	policy := []byte(`{"default":[{"type":"insecureAcceptAnything"}]}`)
	return o, os.WriteFile(filepath.Join(folder, "policy.json"), policy, 0o600)
}

func (o opm) run(ctx context.Context, args ...string) ([]byte, error) {
	var out, errs bytes.Buffer
	command := exec.CommandContext(ctx, o.program, args...)
	command.Stdout, command.Stderr = &out, &errs
	command.Env = append(os.Environ(), "HOME="+o.home, "XDG_CONFIG_HOME="+filepath.Join(o.home, ".config"))
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("opm %s: %w: %s", strings.Join(args[:2], " "), err, strings.TrimSpace(errs.String()))
	}
	return out.Bytes(), nil
}
