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
	registry, name, until string
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

// content is the template with every bundle rendered.
func (r rendering) content(ctx context.Context, opm opm, scratch string) ([]byte, error) {
	t, bundles, err := r.read()
	if err != nil {
		return nil, err
	}
	host, prefix := r.registry, r.registry
	if r.registry == "" {
		served, err := serve(ctx, t.images(), bundles)
		if err != nil {
			return nil, err
		}
		defer served.stop()
		host, prefix = served.host, r.name
	}
	if err := t.pin(ctx, host); err != nil {
		return nil, err
	}
	raw, err := yaml.Marshal(t)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(scratch, "template.yaml")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return nil, err
	}
	args := []string{"alpha", "render-template", "basic", file, "-o", "yaml", "--migrate-level=bundle-object-to-csv-metadata"}
	if isLoopback(host) {
		args = append(args, "--use-http")
	}
	out, err := opm.run(ctx, args...)
	if prefix != "" {
		prefix += "/"
	}
	return bytes.ReplaceAll(out, []byte(host+"/"), []byte(prefix)), err
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
		err = t.cut(r.until)
	} else {
		err = t.covers(bundles)
	}
	if err != nil {
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
	if auth := authFile(); auth != "" {
		command.Env = append(command.Env, "REGISTRY_AUTH_FILE="+auth)
	}
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("opm %s: %w: %s", strings.Join(args[:2], " "), err, strings.TrimSpace(errs.String()))
	}
	return out.Bytes(), nil
}

// authFile keeps the user's logins, which opm would look for in its own home.
func authFile() string {
	if os.Getenv("REGISTRY_AUTH_FILE") != "" {
		return ""
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	file := filepath.Join(home, ".docker", "config.json")
	if _, err := os.Stat(file); err != nil {
		return ""
	}
	return file
}
