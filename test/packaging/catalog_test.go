// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"
)

// three is a catalog like ours will be: two channels, three versions, of which the newest is a candidate.
func three() *declcfg.DeclarativeConfig {
	entries := func() []declcfg.ChannelEntry {
		return []declcfg.ChannelEntry{
			{Name: "etcd-operator.v0.1.0"},
			{Name: "etcd-operator.v0.2.0", Replaces: "etcd-operator.v0.1.0", SkipRange: ">=0.1.0-0 <0.2.0"},
			{Name: "etcd-operator.v0.3.0", Replaces: "etcd-operator.v0.2.0", SkipRange: ">=0.1.0-0 <0.3.0"},
		}
	}
	channels := map[string][]declcfg.ChannelEntry{"candidate-v0": entries(), "stable-v0": entries()[:2]}
	content := &declcfg.DeclarativeConfig{
		Packages: []declcfg.Package{{
			Schema: declcfg.SchemaPackage, Name: "etcd-operator", DefaultChannel: "stable-v0", Description: "etcd on Kubernetes",
			Icon: &declcfg.Icon{Data: []byte("<svg/>"), MediaType: "image/svg+xml"},
		}},
	}
	for _, name := range sortedKeys(channels) {
		content.Channels = append(content.Channels, declcfg.Channel{
			Schema: declcfg.SchemaChannel, Package: "etcd-operator", Name: name, Entries: channels[name],
		})
	}
	for _, version := range []string{"0.1.0", "0.2.0", "0.3.0"} {
		content.Bundles = append(content.Bundles, release(version))
	}
	return content
}

func release(version string) declcfg.Bundle {
	text, _ := json.Marshal(map[string]string{"packageName": "etcd-operator", "version": version})
	return declcfg.Bundle{
		Schema: declcfg.SchemaBundle, Package: "etcd-operator", Name: "etcd-operator.v" + version,
		Image: digested("registry.example/etcd-operator-bundle:v" + version),
		Properties: []property.Property{
			{Type: "olm.package", Value: text},
			{Type: "olm.csv.metadata", Value: json.RawMessage(`{}`)},
		},
	}
}

// graphs are faults of a catalog, each with the one line that tells of it.
var graphs = []struct {
	name string
	edit func(*declcfg.DeclarativeConfig)
	want string
}{
	{
		"two heads", func(c *declcfg.DeclarativeConfig) { edge(c, 2).Replaces = "etcd-operator.v0.1.0" },
		`^catalog: opm finds: .*multiple channel heads found in graph: .*v0\.2\.0, .*v0\.3\.0`,
	},
	{
		"a broken graph: a version that is not there",
		func(c *declcfg.DeclarativeConfig) { c.Bundles = slices.Delete(c.Bundles, 1, 2) },
		`^catalog: opm finds: no olm\.bundle blobs found .*etcd-operator\.v0\.2\.0`,
	},
	{
		"a broken graph: a version that nothing leads away from",
		func(c *declcfg.DeclarativeConfig) {
			edge(c, 2).Replaces, edge(c, 2).Skips = "etcd-operator.v0.0.9", []string{"etcd-operator.v0.2.0"}
		},
		`^catalog: opm finds: .*stranded bundles.*v0\.1\.0`,
	},
	{
		"a cycle", func(c *declcfg.DeclarativeConfig) { edge(c, 0).Replaces = "etcd-operator.v0.3.0" },
		`^catalog: opm finds: .*no channel head found in graph`,
	},
	{
		"a default channel that is not there", func(c *declcfg.DeclarativeConfig) { c.Packages[0].DefaultChannel = "stable-v1" },
		`^catalog: opm finds: .*default channel|^catalog: opm finds: .*stable-v1`,
	},
	{
		"a skipRange without a lower end", func(c *declcfg.DeclarativeConfig) { edge(c, 2).SkipRange = "<0.3.0" },
		`^catalog: channel candidate-v0: etcd-operator\.v0\.3\.0: skipRange "<0\.3\.0" has no lower end`,
	},
	{
		"a skipRange alone",
		func(c *declcfg.DeclarativeConfig) {
			edge(c, 2).Replaces, edge(c, 2).Skips = "", []string{"etcd-operator.v0.1.0", "etcd-operator.v0.2.0"}
		},
		`^catalog: channel candidate-v0: etcd-operator\.v0\.3\.0 has a skipRange, but replaces nothing`,
	},
	{
		"a version that is stable at once",
		func(c *declcfg.DeclarativeConfig) { c.Channels[1].Entries = c.Channels[0].Entries },
		`^catalog: channel stable-v0 has every version of candidate-v0: the newest enters it with the version after it`,
	},
	{
		"a stable version that was no candidate",
		func(c *declcfg.DeclarativeConfig) {
			c.Channels[0].Entries = append(c.Channels[0].Entries[1:], declcfg.ChannelEntry{
				Name: "etcd-operator.v0.4.0", Replaces: "etcd-operator.v0.3.0", SkipRange: ">=0.1.0-0 <0.4.0",
			})
			c.Bundles = append(c.Bundles, release("0.4.0"))
		},
		`^catalog: channel stable-v0 has etcd-operator\.v0\.1\.0, which candidate-v0 has not`,
	},
	{
		"a bundle on nobody's registry",
		func(c *declcfg.DeclarativeConfig) {
			c.Bundles[0].Image = digested("etcd-operator/etcd-operator-bundle:v0.1.0")
		},
		`^catalog: bundle etcd-operator\.v0\.1\.0 is the image .+: name its registry`,
	},
	{
		"a bundle by tag", func(c *declcfg.DeclarativeConfig) { c.Bundles[0].Image = "registry.example/bundle:v0.1.0" },
		`^catalog: bundle etcd-operator\.v0\.1\.0 is the image registry\.example/bundle:v0\.1\.0: name it by digest`,
	},
	{
		"manifests in the catalog",
		func(c *declcfg.DeclarativeConfig) {
			object := json.RawMessage(`{"data":"e30="}`)
			c.Bundles[0].Properties = append(c.Bundles[0].Properties, property.Property{Type: "olm.bundle.object", Value: object})
		},
		`^catalog: bundle etcd-operator\.v0\.1\.0 carries its manifests`,
	},
	{
		"a channel with a product's name",
		func(c *declcfg.DeclarativeConfig) {
			c.Channels = c.Channels[:1]
			c.Channels[0].Name, c.Packages[0].DefaultChannel = "alpha", "alpha"
		},
		`^catalog: channel "alpha": call it stable-v0`,
	},
	{
		"no icon", func(c *declcfg.DeclarativeConfig) { c.Packages[0].Icon = nil },
		`^catalog: package etcd-operator has no description or no icon`,
	},
	{
		"a deprecation of nothing",
		func(c *declcfg.DeclarativeConfig) {
			deprecate(c, "etcd-operator.v0.0.9", "v0.0.9 is deprecated; update to v0.1.0 or later.")
		},
		`^catalog: opm finds: cannot deprecate bundle "etcd-operator\.v0\.0\.9"`,
	},
	{
		"a deprecation without advice", func(c *declcfg.DeclarativeConfig) { deprecate(c, "etcd-operator.v0.1.0", "old") },
		`^catalog: deprecation of olm\.bundle etcd-operator\.v0\.1\.0 says "old"`,
	},
}

func TestEachFaultOfACatalogIsToldInOneLine(t *testing.T) {
	expect(t, CheckCatalog(written(t, three()), Options{}))
	for _, fault := range graphs {
		t.Run(fault.name, func(t *testing.T) {
			content := three()
			fault.edit(content)
			expect(t, CheckCatalog(written(t, content), Options{}), fault.want)
		})
	}
}

func TestALongChainOfUpdatesIsTold(t *testing.T) {
	content := three()
	content.Channels[0].Entries = append(content.Channels[0].Entries,
		declcfg.ChannelEntry{Name: "etcd-operator.v0.4.0", Replaces: "etcd-operator.v0.3.0"})
	for i := range content.Channels[0].Entries {
		content.Channels[0].Entries[i].SkipRange = ""
	}
	content.Bundles = append(content.Bundles, release("0.4.0"))
	expect(t, CheckCatalog(written(t, content), Options{}),
		`^catalog: channel candidate-v0: from etcd-operator\.v0\.1\.0 to etcd-operator\.v0\.4\.0 it takes more than two updates`)
}

// The place for deprecations is empty today. One entry, put there, reaches the version that it is about.
func TestADeprecationReachesItsVersion(t *testing.T) {
	content := three()
	const message = "v0.1.0 is deprecated; update to v0.2.0 or later."
	deprecate(content, "etcd-operator.v0.1.0", message)
	expect(t, CheckCatalog(written(t, content), Options{}))
	model, err := declcfg.ConvertToModel(*content)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"stable-v0", "candidate-v0"} {
		bundles := model["etcd-operator"].Channels[name].Bundles
		if d := bundles["etcd-operator.v0.1.0"].Deprecation; d == nil || d.Message != message {
			t.Errorf("%s: the deprecation of v0.1.0 is %v", name, d)
		}
		if d := bundles["etcd-operator.v0.2.0"].Deprecation; d != nil {
			t.Errorf("%s: v0.2.0 is deprecated, too: %v", name, d)
		}
	}
}

func TestACatalogThatIsNoneIsTold(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "x.yaml"), "schema: olm.channel\nentries: 3\n")
	problems := CheckCatalog(folder, Options{})
	if len(problems) != 1 || !strings.HasPrefix(problems[0].String(), "catalog: cannot be read") {
		t.Errorf("got %v", problems)
	}
}

func edge(c *declcfg.DeclarativeConfig, i int) *declcfg.ChannelEntry {
	return &c.Channels[0].Entries[i]
}

func deprecate(c *declcfg.DeclarativeConfig, bundle, message string) {
	c.Deprecations = []declcfg.Deprecation{{
		Schema: declcfg.SchemaDeprecation, Package: "etcd-operator",
		Entries: []declcfg.DeprecationEntry{{
			Reference: declcfg.PackageScopedReference{Schema: declcfg.SchemaBundle, Name: bundle}, Message: message,
		}},
	}}
}

func written(t *testing.T, content *declcfg.DeclarativeConfig) string {
	t.Helper()
	folder := t.TempDir()
	file, err := os.Create(filepath.Join(folder, "catalog.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := declcfg.WriteYAML(*content, file); err != nil {
		t.Fatal(fmt.Errorf("write catalog: %w", err))
	}
	return folder
}
