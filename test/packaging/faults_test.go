// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestEachFaultIsToldInOneLine(t *testing.T) {
	for _, fault := range spoilt {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			folder := copied(t)
			editCSV(t, folder, fault.edit)
			expect(t, Check(folder, project(t, current)), fault.want)
		})
	}
}

func TestATagInsteadOfADigestIsTold(t *testing.T) {
	options := project(t, current)
	options.Digests = true
	folder, images := pinned(t)
	expect(t, Check(folder, options))

	files, _ := filepath.Glob(filepath.Join(folder, "manifests", "*.clusterserviceversion.yaml"))
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(images[0], "@")
	write(t, files[0], strings.ReplaceAll(string(raw), images[0], name+":v9.9.9"))
	const untrue = `^features: the feature disconnected is not true while an image is named by a tag`
	expect(t, Check(folder, options), untrue, `^images: image `+name+`:v9\.9\.9 is not named by digest`)

	options.Digests = false
	expect(t, Check(folder, options), untrue)
	write(t, files[0], strings.ReplaceAll(string(raw), images[0], name+":latest"))
	expect(t, Check(folder, options), untrue, `^images: image `+name+`:latest is named neither by digest nor by an exact version`)

	write(t, files[0], strings.Replace(string(raw), featurePrefix+`disconnected: "true"`, featurePrefix+`disconnected: "false"`, 1))
	expect(t, Check(folder, options), `^features: every image is named by digest, but the feature disconnected is not "true"`)
}

func TestARemovedFieldIsTold(t *testing.T) {
	options := project(t, current)
	options.Previous, options.CRDs = []string{current}, nil
	folder := copied(t)
	editCRD(t, folder, func(c *crd) {
		for _, version := range c.Spec.Versions {
			delete(version.Schema.OpenAPIV3Schema.Properties["spec"].Properties["recovery"].Properties, "acceptDataLoss")
		}
	})
	editCSV(t, folder, func(c *csv) {
		for i := range c.Spec.CustomResourceDefinitions.Owned {
			owned := &c.Spec.CustomResourceDefinitions.Owned[i]
			owned.SpecDescriptors = dropDescriptor(owned.SpecDescriptors, "recovery.acceptDataLoss")
		}
	})
	expect(t, Check(folder, options),
		`^CRD upgrade: CRD etcdclusters\.etcd-operator\.dev since v.+: field v1alpha1\.\^\.spec\.recovery\.acceptDataLoss is gone`,
		`^CRD upgrade: CRD etcdclusters\.etcd-operator\.dev since v.+: field v1beta1\.\^\.spec\.recovery\.acceptDataLoss is gone`)
}

func TestOtherFilesAreLookedAt(t *testing.T) {
	options := project(t, current)
	for name, test := range map[string]struct {
		spoil func(t *testing.T, folder string)
		want  string
	}{
		"a CRD that was edited by hand": {func(t *testing.T, folder string) {
			editCRD(t, folder, func(c *crd) { c.Spec.Names.ShortNames = []string{"other"} })
		}, `^CRDs: CRD etcdclusters.etcd-operator.dev is not the one in`},
		"a channel with a product's name": {func(t *testing.T, folder string) {
			editLabels(t, folder, func(labels map[string]string) {
				labels["operators.operatorframework.io.bundle.channels.v1"] += ",stable-etcd"
			})
		}, `^labels: channel "stable-etcd": call it`},
		"another label than the Dockerfile's": {func(t *testing.T, folder string) {
			editLabels(t, folder, func(labels map[string]string) { labels["example.com/colour"] = "green" })
		}, `^labels: .+bundle.Dockerfile and metadata/annotations.yaml have different labels`},
		"a dependency": {func(t *testing.T, folder string) {
			write(t, filepath.Join(folder, "metadata", "dependencies.yaml"),
				"dependencies:\n- type: olm.package\n  value: {packageName: other, version: 1.0.0}\n")
		}, `^resources: metadata/dependencies.yaml: the operator depends on no other`},
		"a property that OLM v1 cannot resolve": {func(t *testing.T, folder string) {
			write(t, filepath.Join(folder, "metadata", "properties.yaml"),
				"properties:\n- type: olm.gvk.required\n  value: {group: a.b, kind: C, version: v1}\n")
		}, `^OLM v1: property olm.gvk.required`},
		"a NetworkPolicy": {func(t *testing.T, folder string) {
			write(t, filepath.Join(folder, "manifests", "policy.yaml"),
				"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata:\n  name: all\nspec: {podSelector: {}}\n")
		}, `^kinds: NetworkPolicy all does not belong into a bundle`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := copied(t)
			test.spoil(t, folder)
			o := options
			if !strings.Contains(test.want, "Dockerfile") && strings.HasPrefix(test.want, "^labels") {
				o.Dockerfile = ""
			}
			expect(t, Check(folder, o), test.want)
		})
	}
}

// TestRulesThatNoSpoiltBundleBreaks find what they are about, asked alone: such a bundle breaks other rules, too.
func TestRulesThatNoSpoiltBundleBreaks(t *testing.T) {
	large, err := Load(copied(t))
	if err != nil {
		t.Fatal(err)
	}
	large.Raw.CompressedSize = sizeLimit + 1
	for _, test := range []struct {
		bundle *Bundle
		want   string
	}{
		{large, `^size: the bundle has \d+ bytes compressed: stay below`},
		{&Bundle{Folder: t.TempDir()}, `^bundle format: .+manifests`},
	} {
		var problems []Problem
		for _, r := range rules {
			if strings.HasPrefix(test.want, "^"+r.name+": ") {
				for _, line := range r.check(test.bundle, Options{}) {
					problems = append(problems, Problem{r.name, line})
				}
			}
		}
		if len(problems) == 0 || !regexp.MustCompile(test.want).MatchString(problems[0].String()) {
			t.Errorf("found %v, want %s", problems, test.want)
		}
	}
}

func TestABundleThatIsNoneIsTold(t *testing.T) {
	expect(t, Check(t.TempDir(), Options{}), `^bundle: cannot be read, fix it first: unable to find a csv`)
}

func TestTheDayOfAReleaseIsNotToday(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "CHANGELOG.md"), "## [Unreleased]\n\n## [0.2.0] - 2026-11-21\n\n## 0.1.0 - 2026-11-20\n")
	for version, want := range map[string]string{"0.1.0": "2026-11-20", "0.2.0": "2026-11-21", "0.3.0": "2026-11-21"} {
		day, err := ReleaseDate(folder, version)
		if err != nil || day.Format(time.DateOnly) != want {
			t.Errorf("%s was released on %v (%v), want %s", version, day, err, want)
		}
	}
	write(t, filepath.Join(folder, "CHANGELOG.md"), "## [Unreleased]\n")
	if _, err := ReleaseDate(folder, "0.3.0"); err == nil {
		t.Error("a day was made up")
	}
}
