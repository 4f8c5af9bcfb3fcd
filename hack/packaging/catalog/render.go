// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/template/basic"
	"github.com/operator-framework/operator-registry/pkg/lib/config"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/bundle"
)

type rendering struct {
	top, bundle, template string
	out, graph            string
	repository            string
	unpublished           bool   // whether bundles may be in the catalog that are on no registry
	operatorHub           string // folder for a pull request at OperatorHub's repository, or empty
}

func (r rendering) run(ctx context.Context) error {
	catalog, err := r.catalog(ctx)
	if err != nil {
		return err
	}
	made, err := os.MkdirTemp("", "etcd-operator-catalog-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	if err := split(catalog, made); err != nil {
		return err
	}
	if err := config.Validate(ctx, os.DirFS(made)); err != nil {
		return err
	}
	if err := replaceFolder(made, r.out); err != nil {
		return err
	}
	fmt.Printf("wrote %s\n", r.out)
	if r.operatorHub != "" {
		if err := r.submit(catalog); err != nil {
			return err
		}
	}
	if r.graph == "" {
		return nil
	}
	var graph bytes.Buffer
	if err := declcfg.NewMermaidWriter(declcfg.WithV0Semantics(false)).WriteChannels(*catalog, &graph); err != nil {
		return err
	}
	return os.WriteFile(r.graph, page(graph.Bytes()), 0o644)
}

// catalog is the template with every bundle that there is. Whether each is in a channel, and each entry of a channel has its
// bundle, is what the validation tells.
func (r rendering) catalog(ctx context.Context) (*declcfg.DeclarativeConfig, error) {
	catalog, err := readTemplate(ctx, r.template)
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "etcd-operator-bundles-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	bundles, err := r.bundles(catalog, scratch)
	if err != nil {
		return nil, err
	}
	newest := bundles[len(bundles)-1]
	fillChannels(catalog.Channels, newest.Name)
	for _, b := range bundles {
		rendered, err := render(ctx, b, r.repository)
		if err != nil {
			return nil, err
		}
		catalog.Merge(rendered)
	}
	fillIcon(catalog, newest)
	return catalog, nil
}

// readTemplate reads what is written by hand: package, channels and deprecations.
func readTemplate(ctx context.Context, name string) (*declcfg.DeclarativeConfig, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	catalog, err := new(basic.Factory).CreateTemplate(none).Render(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return catalog, nil
}

// bundles are all that the catalog has, oldest first.
func (r rendering) bundles(catalog *declcfg.DeclarativeConfig, scratch string) ([]bundle.Bundle, error) {
	all, err := findBundles(r.top, r.bundle)
	if err != nil {
		return nil, err
	}
	if all, err = r.withEarlier(all, catalog, scratch); err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b bundle.Bundle) int { return a.Version.Compare(b.Version) })
	return all, nil
}

// none renders no bundle. Which image holds one is known where the bundle is kept, and not written by hand.
func none(context.Context, string) (*declcfg.DeclarativeConfig, error) {
	return nil, errors.New("the template has an olm.bundle: leave it out, it follows from the channels")
}

// fillIcon takes the icon from the newest bundle, so that it is drawn in one place.
func fillIcon(catalog *declcfg.DeclarativeConfig, newest bundle.Bundle) {
	for i, p := range catalog.Packages {
		if p.Icon == nil && newest.Icon != nil {
			catalog.Packages[i].Icon = &declcfg.Icon{Data: newest.Icon.Data, MediaType: newest.Icon.MediaType}
		}
	}
}

// note is at the top of each file. It cannot be a document of its own: opm would look for its schema.
const note = "# Rendered by `make catalog` from catalog-templates/basic.yaml and the bundles in releases/ and bundle/.\n"

// split writes a catalog into a folder for its package, with a file for each schema: what changes together is read together.
func split(catalog *declcfg.DeclarativeConfig, out string) error {
	if len(catalog.Packages) != 1 {
		return fmt.Errorf("the template has %d packages, want one", len(catalog.Packages))
	}
	parts := map[string]declcfg.DeclarativeConfig{
		"package.yaml":      {Packages: catalog.Packages},
		"channels.yaml":     {Channels: catalog.Channels},
		"bundles.yaml":      {Bundles: catalog.Bundles},
		"deprecations.yaml": {Deprecations: catalog.Deprecations},
	}
	folder := filepath.Join(out, catalog.Packages[0].Name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	const begin = "---\n"
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		var text bytes.Buffer
		if err := declcfg.WriteYAML(parts[name], &text); err != nil {
			return err
		}
		if text.Len() == 0 {
			continue
		}
		content := begin + note + text.String()[len(begin):]
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// replaceFolder puts a new folder where an old one is, so that nothing of the old one stays.
func replaceFolder(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(from))
}

// page is docs/upgrade-graph.md.
func page(graph []byte) []byte {
	return fmt.Appendf(nil, `# Upgrade graph

Which version is updated to which, as Operator Lifecycle Manager sees it in [catalog/](../catalog). Each arrow is an update; an
arrow by a range of versions skips those in between. Users of a channel go to its head, the version that no arrow leaves. A version that an
arrow "skip" leaves is not installed any more, and who runs it is updated; orange ones are deprecated, with advice in the catalog.
Drawn by `+"`make catalog`"+`; what it is drawn of is written in [catalog-templates/basic.yaml](../catalog-templates/basic.yaml).

`+"```mermaid\n%s```\n", graph)
}
