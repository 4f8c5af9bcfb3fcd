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
	"strings"
	"testing"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/template/basic"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/bundle"
	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/oci"
)

type entry = map[string]any

// checkout is one with three versions of a small bundle.
func checkout(t *testing.T, channels ...string) rendering {
	t.Helper()
	top := t.TempDir()
	writeRelease(t, top, "0.1.0")
	writeRelease(t, top, "0.2.0")
	writeBundle(t, filepath.Join(top, "bundle"), "0.3.0")
	r := rendering{
		top: top, bundle: filepath.Join(top, "bundle"), template: filepath.Join(top, "basic.yaml"),
		out: filepath.Join(top, "catalog"), graph: filepath.Join(top, "graph.md"),
		repository: "new.example/team/bundle",
	}
	write(t, r.template, three+strings.Join(channels, ""))
	return r
}

const three = `
schema: olm.template.basic
entries:
- {schema: olm.package, name: etcd-operator, defaultChannel: stable-v0, description: etcd}
- schema: olm.channel
  package: etcd-operator
  name: stable-v0
  entries:
  - {name: etcd-operator.v0.1.0}
  - {name: etcd-operator.v0.2.0, replaces: etcd-operator.v0.1.0, skipRange: ">=0.1.0-0 <0.2.0"}
  - {name: etcd-operator.v0.3.0, replaces: etcd-operator.v0.2.0, skipRange: ">=0.1.0-0 <0.3.0"}
`

func TestThreeVersionsBecomeACatalog(t *testing.T) {
	r := checkout(t)
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := all(t, r.out)
	want := []string{"etcd-operator/bundles.yaml", "etcd-operator/channels.yaml", "etcd-operator/package.yaml"}
	if got := slices.Sorted(maps.Keys(first)); !slices.Equal(got, want) {
		t.Errorf("the catalog has the files %v, want %v", got, want)
	}
	bundles := first["etcd-operator/bundles.yaml"]
	if strings.Count(bundles, "olm.csv.metadata") != 3 {
		t.Error("not in each of three bundles: olm.csv.metadata")
	}
	for text, times := range map[string]int{"image: old.example/mirror/bundle@sha256:": 4, "image: new.example/team/bundle@sha256:": 2} {
		if got := strings.Count(bundles, text); got != times {
			t.Errorf("%q is there %d times, want %d: each bundle and what it relates to", text, got, times)
		}
	}
	for _, text := range []string{"127.0.0.1", "olm.bundle.object"} {
		if strings.Contains(bundles, text) {
			t.Errorf("in the bundles: %s", text)
		}
	}
	if !strings.Contains(first["etcd-operator/package.yaml"], "image/svg+xml") {
		t.Error("the package has no icon")
	}
	graph, err := os.ReadFile(r.graph)
	if err != nil || !bytes.Contains(graph, []byte("```mermaid\n")) || !bytes.Contains(graph, []byte("v0.2.0")) {
		t.Errorf("the graph is not drawn: %v\n%s", err, graph)
	}
	write(t, filepath.Join(r.out, "etcd-operator", "stale.yaml"), "---\n")
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if second := all(t, r.out); fmt.Sprint(first) != fmt.Sprint(second) {
		t.Error("rendering again made another catalog")
	}
}

func TestADeprecationIsRendered(t *testing.T) {
	r := checkout(t, `- schema: olm.deprecations
  package: etcd-operator
  entries:
  - reference: {schema: olm.bundle, name: etcd-operator.v0.1.0}
    message: v0.1.0 is deprecated; update to v0.2.0 or later.
`)
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := all(t, r.out)["etcd-operator/deprecations.yaml"]; !strings.Contains(text, "update to v0.2.0 or later") {
		t.Errorf("the deprecation is lost: %q", text)
	}
}

func TestWhatIsForgottenIsTold(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(t *testing.T, r rendering)
		want  string
	}{
		"a release that is in no channel": {
			func(t *testing.T, r rendering) { writeRelease(t, r.top, "0.2.1") },
			`bundle "etcd-operator.v0.2.1" not found in any channel`,
		},
		"an entry without its bundle": {
			func(_ *testing.T, r rendering) { _ = os.RemoveAll(filepath.Join(r.top, "releases/v0.2.0")) },
			"etcd-operator.v0.2.0",
		},
		"a release that nobody published": {
			func(_ *testing.T, r rendering) {
				_ = os.Remove(filepath.Join(r.top, "releases/v0.2.0", bundle.ImageFile))
			},
			"v0.2.0 names no image",
		},
		"a release that was changed since": {
			func(t *testing.T, r rendering) {
				write(t, filepath.Join(r.top, "releases/v0.2.0/tests/scorecard/config.yaml"), "a: c\n")
			},
			"a published bundle never changes",
		},
		"a bundle by hand": {
			func(t *testing.T, r rendering) {
				write(t, r.template, three+`- {schema: olm.bundle, image: "registry.example/other@sha256:0"}`)
			},
			"has an olm.bundle",
		},
		"two heads": {
			func(t *testing.T, r rendering) {
				write(t, r.template, strings.Replace(three, "replaces: etcd-operator.v0.2.0", "replaces: etcd-operator.v0.1.0", 1))
			},
			"multiple channel heads",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := checkout(t)
			test.spoil(t, r)
			if err := r.run(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if _, err := os.Stat(r.out); err == nil {
				t.Error("a catalog was written all the same")
			}
		})
	}
}

// A version that was cut and is on no registry is in the catalog of this repository, and left out of one that is to be published.
func TestWhatIsOnNoRegistry(t *testing.T) {
	r := checkout(t)
	writeBundle(t, filepath.Join(r.top, "releases", "unpublished", "v0.0.9"), "0.0.9")
	csv := filepath.Join(r.top, "releases", "unpublished", "v0.0.9", "manifests", "etcd-operator.clusterserviceversion.yaml")
	text, err := os.ReadFile(csv)
	if err != nil {
		t.Fatal(err)
	}
	write(t, csv, string(text)+"  relatedImages:\n  - {name: manager, image: etcd-operator/etcd-operator:v0.0.9}\n")
	if err := r.run(t.Context()); err != nil {
		t.Errorf("no channel has it: %v", err)
	}
	write(t, r.template, strings.Replace(three, "v0.1.0}", "v0.1.0, replaces: etcd-operator.v0.0.9}\n  - {name: etcd-operator.v0.0.9}", 1))
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if channels := all(t, r.out)["etcd-operator/channels.yaml"]; strings.Contains(channels, "name: etcd-operator.v0.0.9") ||
		!strings.Contains(channels, "replaces: etcd-operator.v0.0.9") {
		t.Errorf("it is offered, or nobody is updated from it: %s", channels)
	}
	r.unpublished, r.repository = true, "new.example/team/operator-bundle"
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	bundles := all(t, r.out)["etcd-operator/bundles.yaml"]
	for _, want := range []string{"image: new.example/team/operator-bundle@sha256:", "image: new.example/team/operator:v0.0.9"} {
		if !strings.Contains(bundles, want) {
			t.Errorf("not in the catalog: %s", want)
		}
	}
	written, err := readTemplate(t.Context(), r.template)
	if err != nil {
		t.Fatal(err)
	}
	found, err := earlier(r.top, written.Channels)
	if err != nil || len(found) != 1 || found[0].Name != "etcd-operator.v0.0.9" {
		t.Errorf("to be published: %v (%v)", found, err)
	}
	writeRelease(t, r.top, "0.0.9")
	r.unpublished = false
	if err := r.run(t.Context()); err != nil {
		t.Errorf("it is published now: %v", err)
	}
	if found, err = earlier(r.top, written.Channels); err != nil || len(found) != 0 {
		t.Errorf("still to be published: %v (%v)", found, err)
	}
}

// oursAlone is a rendering of a checkout as everybody has it, of which nothing was published: what `make release` renders first in a
// registry.
func oursAlone(t *testing.T) rendering {
	t.Helper()
	const top = "../../.."
	folder := t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, "releases", "unpublished"), os.DirFS(top+"/releases/unpublished")); err != nil {
		t.Fatal(err)
	}
	return rendering{
		top: folder, bundle: top + "/bundle", template: top + "/catalog-templates/basic.yaml", out: filepath.Join(folder, "catalog"),
		repository: "mirror.example/etcd-operator/etcd-operator-bundle", operatorHub: filepath.Join(folder, "operatorhub"),
	}
}

// The first release in a registry is of this version alone, and both channels of the pages have it.
func TestTheFirstReleaseOfACheckoutIsThisVersionAlone(t *testing.T) {
	r := oursAlone(t)
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	made, err := declcfg.LoadFS(t.Context(), os.DirFS(r.out))
	if err != nil {
		t.Fatal(err)
	}
	b, err := bundle.Read(r.bundle)
	if err != nil {
		t.Fatal(err)
	}
	if len(made.Bundles) != 1 || made.Bundles[0].Name != b.Name || len(made.Deprecations) != 0 {
		t.Errorf("the catalog has %d bundles and %d deprecations", len(made.Bundles), len(made.Deprecations))
	}
	var channels []string
	for _, c := range made.Channels {
		channels = append(channels, c.Name)
		if len(c.Entries) != 1 || c.Entries[0].Name != b.Name || c.Entries[0].SkipRange == "" {
			t.Errorf("channel %s has %v", c.Name, c.Entries)
		}
	}
	if slices.Sort(channels); !slices.Equal(channels, []string{"candidate-v0", "stable-v0"}) {
		t.Errorf("the channels are %v", channels)
	}
}

// What OperatorHub's pipeline renders of the pull request is the catalog that is published. Its files agree on the template, and the
// bundle's labels on the channels.
func TestThePullRequestAtOperatorHubAgreesWithTheCatalog(t *testing.T) {
	r := oursAlone(t)
	r.unpublished = true
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want, err := r.catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files := all(t, filepath.Join(r.operatorHub, "operators", "etcd-operator"))
	var ci struct {
		FBC struct {
			Enabled bool `json:"enabled"`
			Mapping []struct {
				Template string   `json:"template_name"`
				Type     string   `json:"type"`
				Catalogs []string `json:"catalog_names"`
			} `json:"catalog_mapping"`
		} `json:"fbc"`
	}
	// Strict: neither a reviewer who is nobody's login, nor a graph beside that of the template.
	if err := yaml.UnmarshalStrict([]byte(files["ci.yaml"]), &ci); err != nil || !ci.FBC.Enabled || len(ci.FBC.Mapping) != 1 ||
		!slices.Equal(ci.FBC.Mapping[0].Catalogs, []string{"latest"}) {
		t.Fatalf("ci.yaml is %s (%v)", files["ci.yaml"], err)
	}
	byImage := map[string]declcfg.Bundle{}
	for _, b := range want.Bundles {
		byImage[b.Image] = b
	}
	template, err := new(basic.Factory).CreateTemplate(func(_ context.Context, image string) (*declcfg.DeclarativeConfig, error) {
		return &declcfg.DeclarativeConfig{Bundles: []declcfg.Bundle{byImage[image]}}, nil
	}).Render(t.Context(), strings.NewReader(files["catalog-templates/"+ci.FBC.Mapping[0].Template]))
	if err != nil || ci.FBC.Mapping[0].Type != "olm.template.basic" {
		t.Fatalf("as %s: %v", ci.FBC.Mapping[0].Type, err)
	}
	var got, expected bytes.Buffer
	if err := errors.Join(declcfg.WriteYAML(*template, &got), declcfg.WriteYAML(*want, &expected)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(expected.String(), "\n")
	for i, line := range strings.Split(got.String(), "\n") {
		if i >= len(lines) || line != lines[i] {
			t.Fatalf("it renders %q, the catalog has %q", line, lines[min(i, len(lines)-1)])
		}
	}
	b, err := bundle.Read(r.bundle)
	if err != nil {
		t.Fatal(err)
	}
	var labels struct {
		Annotations map[string]string `json:"annotations"`
	}
	if err := yaml.Unmarshal([]byte(files[b.Version.String()+"/metadata/annotations.yaml"]), &labels); err != nil {
		t.Fatal(err)
	}
	const prefix = "operators.operatorframework.io.bundle.channel"
	if preferred := labels.Annotations[prefix+".default.v1"]; preferred != template.Packages[0].DefaultChannel {
		t.Errorf("the bundle prefers %q, the template %q", preferred, template.Packages[0].DefaultChannel)
	}
	var channels []string
	for _, c := range template.Channels {
		channels = append(channels, c.Name)
	}
	slices.Sort(channels)
	if labelled := labels.Annotations[prefix+"s.v1"]; labelled != strings.Join(channels, ",") {
		t.Errorf("the bundle is for %s, the template has %v", labelled, channels)
	}
}

func all(t *testing.T, folder string) map[string]string {
	t.Helper()
	found, err := oci.ReadFolder(folder, "")
	if err != nil {
		t.Fatal(err)
	}
	content := map[string]string{}
	for _, f := range found {
		if len(f.Content) > 0 {
			content[f.Name] = string(f.Content)
		}
	}
	return content
}

// writeRelease keeps a bundle as it would be after it was published.
func writeRelease(t *testing.T, top, version string) {
	t.Helper()
	folder := filepath.Join(top, "releases", "v"+version)
	writeBundle(t, folder, version)
	b, err := bundle.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	index, err := b.Image(bundle.Platforms)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, bundle.ImageFile), "old.example/mirror/bundle@"+digest.String()+"\n")
}

func writeBundle(t *testing.T, folder, version string) {
	t.Helper()
	csv := map[string]any{
		"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
		"metadata": entry{"name": "etcd-operator.v" + version, "annotations": entry{"createdAt": "2026-11-20T00:00:00Z"}},
		"spec": entry{
			"version": version, "displayName": "etcd", "icon": []entry{{"base64data": "PHN2Zy8+", "mediatype": "image/svg+xml"}},
			"install":      entry{"strategy": "deployment", "spec": entry{"deployments": []entry{}}},
			"installModes": []entry{{"type": "AllNamespaces", "supported": true}},
		},
	}
	labels := entry{"annotations": entry{
		"operators.operatorframework.io.bundle.mediatype.v1": "registry+v1", "operators.operatorframework.io.bundle.manifests.v1": "manifests/",
		"operators.operatorframework.io.bundle.metadata.v1": "metadata/", "operators.operatorframework.io.bundle.package.v1": "etcd-operator",
		"operators.operatorframework.io.bundle.channels.v1": "stable-v0", "operators.operatorframework.io.bundle.channel.default.v1": "stable-v0",
	}}
	for name, object := range map[string]any{
		"manifests/etcd-operator.clusterserviceversion.yaml": csv, "metadata/annotations.yaml": labels,
		"tests/scorecard/config.yaml": entry{"a": "b"},
	} {
		raw, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, name), string(raw))
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
