// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/util/validation"
)

// checkRequired is what the pipelines of OperatorHub and of Red Hat's community operators ask of a CSV
// (packaging-required-fields.md there, check_required_fields here), without their difference of errors and warnings.
func checkRequired(b *Bundle, _ Options) []string {
	spec := b.CSV.Spec
	var all lines
	for _, field := range []struct {
		name, value string
		want        *regexp.Regexp
	}{
		{"spec.displayName", spec.DisplayName, regexp.MustCompile(`^.{3,50}$`)},
		{"spec.description", spec.Description, regexp.MustCompile(`(?s)^.{20,}$`)},
		{"spec.provider.name", spec.Provider.Name, regexp.MustCompile(`^.{3,}$`)},
		{"spec.provider.url", spec.Provider.URL, regexp.MustCompile(`^https?://.+$`)},
		{"spec.maturity", spec.Maturity, maturity(b)},
		{"spec.minKubeVersion", spec.MinKubeVersion, regexp.MustCompile(`^1\.[0-9]+\.[0-9]+$`)},
	} {
		if !field.want.MatchString(field.value) {
			all.add("%s is %q: it must match %s", field.name, field.value, field.want)
		}
	}
	for name, length := range map[string]int{
		"keywords": len(spec.Keywords), "links": len(spec.Links), "maintainers": len(spec.Maintainers),
	} {
		if length == 0 {
			all.add("spec.%s is empty: name at least one", name)
		}
	}
	slices.Sort(all)
	return append(all, oddMaintainers(b)...)
}

// maturity is what fits the channel that a bundle prefers.
func maturity(b *Bundle) *regexp.Regexp {
	if strings.HasPrefix(b.Labels["operators.operatorframework.io.bundle.channel.default.v1"], "stable") {
		return regexp.MustCompile(`^(stable|mature)$`)
	}
	return regexp.MustCompile(`^(alpha|beta|stable|mature)$`)
}

var email = regexp.MustCompile(`^[^@\s]+@[^@\s]+\.[^@\s]+$`)

func oddMaintainers(b *Bundle) []string {
	var all lines
	for _, maintainer := range b.CSV.Spec.Maintainers {
		if maintainer.Name == "" || !email.MatchString(maintainer.Email) {
			all.add("maintainer %q <%s>: give a name and a valid e-mail address", maintainer.Name, maintainer.Email)
		}
	}
	for _, link := range b.CSV.Spec.Links {
		if link.Name == "" || !strings.HasPrefix(link.URL, "https://") {
			all.add("link %q to %q: give a name and an https:// address", link.Name, link.URL)
		}
	}
	return all
}

// checkNames asks for one name and one version everywhere: OLM, the pipelines and people each read another place.
func checkNames(b *Bundle, _ Options) []string {
	var all lines
	version := b.CSV.Spec.Version.String()
	if want := b.Package() + ".v" + version; b.CSV.Name != want {
		all.add("the CSV is called %q: package %q and spec.version %q make it %q", b.CSV.Name, b.Package(), version, want)
	}
	if errs := validation.IsDNS1123Label(b.Package()); len(errs) > 0 {
		all.add("package %q is no DNS label: %s", b.Package(), strings.Join(errs, ", "))
	}
	if len(b.CSV.Name) > validation.DNS1123LabelMaxLength {
		all.add("the CSV's name %q is longer than 63 letters: shorten it", b.CSV.Name)
	}
	if folder := folderVersion(b.Folder); folder != "" && folder != version {
		all.add("the folder says version %s, spec.version says %s: one of them is wrong", folder, version)
	}
	return append(all, checkReplaces(b)...)
}

// folderVersion is the version in a path such as releases/v0.1.0 or operators/etcd-operator/0.1.0; empty if there is none.
func folderVersion(folder string) string {
	parts := strings.Split(strings.TrimRight(folder, "/"), "/")
	last := strings.TrimPrefix(parts[len(parts)-1], "v")
	if _, err := semver.Parse(last); err != nil {
		return ""
	}
	return last
}

// checkReplaces keeps what the CSV says about updates within bounds; the catalog's edges are judged by CheckCatalog.
func checkReplaces(b *Bundle) []string {
	var all lines
	version := b.CSV.Spec.Version.Version
	if replaces := b.CSV.Spec.Replaces; replaces != "" {
		older, err := semver.Parse(strings.TrimPrefix(replaces, b.Package()+".v"))
		if err != nil || !older.LT(version) {
			all.add("spec.replaces is %q: it must be an older version of %s", replaces, b.Package())
		}
	}
	if text := b.CSV.Annotations["olm.skipRange"]; text != "" {
		all = append(all, oddSkipRange(text, version)...)
	}
	return all
}

// bounded is a range with a lower end, so that no version is skipped whose update nobody has tried.
var bounded = regexp.MustCompile(`^>=\S+ <\S+$`)

func oddSkipRange(text string, version semver.Version) []string {
	in, err := semver.ParseRange(text)
	switch {
	case err != nil:
		return []string{fmt.Sprintf("skipRange %q cannot be read: %v", text, err)}
	case !bounded.MatchString(text):
		return []string{fmt.Sprintf("skipRange %q has no lower end: write >=0.1.0-0 <%s", text, version)}
	case in(version):
		return []string{fmt.Sprintf("skipRange %q holds %s itself: end it with <%s", text, version, version)}
	}
	return nil
}
