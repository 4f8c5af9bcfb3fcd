// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/template/basic"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/bundle"
)

// basicTemplate is what the template is called at OperatorHub's repository.
const basicTemplate = "basic.yaml"

// pipeline is ci.yaml there. The template says who is updated to whom, so that there is no updateGraph. Reviewers are logins of
// people, which the repository has from those who maintain the operator there: none is written over them.
var pipeline = object{"fbc": object{
	"enabled": true,
	"catalog_mapping": []object{
		{"template_name": basicTemplate, "type": "olm.template.basic", "catalog_names": []string{"latest"}},
	},
}}

type object = map[string]any

// submit writes the files of a pull request at OperatorHub's repository: the newest bundle, and the template of the same catalog that is
// published, with the images of its bundles. That pipeline renders it again.
func (r rendering) submit(catalog *declcfg.DeclarativeConfig) error {
	b, err := bundle.Read(r.bundle)
	if err != nil {
		return err
	}
	place := filepath.Join(r.operatorHub, "operators", catalog.Packages[0].Name)
	for _, part := range []string{"manifests", "metadata", "tests"} {
		from := filepath.Join(r.bundle, part)
		if err := os.CopyFS(filepath.Join(place, b.Version.String(), part), os.DirFS(from)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := writeYAML(filepath.Join(place, "ci.yaml"), pipeline); err != nil {
		return err
	}
	template, err := templateOf(catalog)
	if err != nil {
		return err
	}
	return writeYAML(filepath.Join(place, "catalog-templates", basicTemplate), template)
}

// templateOf is a catalog with the images of bundles in place of what is in them.
func templateOf(catalog *declcfg.DeclarativeConfig) (*basic.BasicTemplateData, error) {
	var text bytes.Buffer
	if err := declcfg.WriteYAML(*catalog, &text); err != nil {
		return nil, err
	}
	return basic.FromReader(&text)
}

func writeYAML(file string, content any) error {
	raw, err := yaml.Marshal(content)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte("---\n"), raw...), 0o644)
}
