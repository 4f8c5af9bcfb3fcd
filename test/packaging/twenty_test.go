// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
)

// The twenty things that no bundle on OperatorHub has all of. Each test is one of them, and looks at every bundle that is
// published; that its rule can fail is shown by the faults in spoilt_test.go.

func none(t *testing.T, rules ...string) {
	t.Helper()
	shown := proven(t)
	for _, rule := range rules {
		if !slices.Contains(shown, rule) {
			t.Errorf("no test expects a problem that the rule %q finds: nothing shows that it can find any", rule)
		}
	}
	for _, folder := range published(t) {
		if _, known := found[folder]; !known {
			found[folder] = Check(folder, project(t, folder))
		}
		expect(t, only(t, slices.Clone(found[folder]), rules...))
	}
}

// expected is how a test begins to say which problem it expects, by which rule.
var expected = regexp.MustCompile("[`\"]\\^([A-Za-z0-9 -]+): ")

// proven are the rules of which a test expects a problem, in a bundle that it has spoilt.
func proven(t *testing.T) (all []string) {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range expected.FindAllStringSubmatch(string(text), -1) {
			all = append(all, match[1])
		}
	}
	return all
}

// found keeps what was found in a bundle, for the next test.
var found = map[string][]Problem{}

func Test01ValidatorsFindNothing(t *testing.T) {
	none(t, unreadable, "bundle format", "operator-framework", "OLM v1")
}

func Test02ScorecardHasNoSuggestion(t *testing.T) {
	for _, folder := range published(t) {
		results := Scorecard(load(t, folder))
		if len(results) != 6 {
			t.Errorf("scorecard has 6 tests, not %d", len(results))
		}
		for _, test := range sortedKeys(results) {
			for _, text := range results[test] {
				t.Errorf("%s: %s: %s", folder, test, text)
			}
		}
	}
}

func Test03LabelsAreTheSameEverywhere(t *testing.T) {
	none(t, "labels")
	for _, folder := range published(t) {
		want := load(t, folder).Labels
		index := built(t, folder)
		for _, image := range images(t, index) {
			config, err := image.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range sortedKeys(want) {
				if config.Config.Labels[key] != want[key] {
					t.Errorf("%s: label %s of the image is %q, want %q", folder, key, config.Config.Labels[key], want[key])
				}
			}
		}
	}
}

func Test04ImagesAreNamedExactlyAndListed(t *testing.T) {
	none(t, "images")
	folder, _ := pinned(t)
	options := project(t, current)
	options.Digests = true
	expect(t, only(t, Check(folder, options), "images"))
}

func Test05FeaturesAreAnswered(t *testing.T) { none(t, "features") }

// What is missing is the same wherever people read of it.
func Test05TheDescriptionIsTrue(t *testing.T) {
	none(t, "description")
	readme, err := os.ReadFile(filepath.Join(top, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	there := regexp.MustCompile(`(?m)^\*\*Not yet:\*\* ([^.]+)\.`).FindSubmatch(readme)
	here := notYet.FindStringSubmatch(load(t, current).CSV.Spec.Description)
	if there == nil || here == nil || strings.ReplaceAll(string(there[1]), ";", ",")+"." != here[1] {
		t.Errorf("the description says that %q is not there yet, the README %q", here, there)
	}
}

func Test06NothingBreaksAnInstallation(t *testing.T) { none(t, "volumes", "kinds", "resources") }

func Test07PodsAreRestrictedAndProbed(t *testing.T) { none(t, "pods") }

func Test08RightsAreExactlyTheGeneratedOnes(t *testing.T) {
	none(t, "rights")
	for _, file := range Rights {
		if _, err := os.Stat(filepath.Join(top, file)); err != nil {
			t.Errorf("a role that is compared is gone: %v", err)
		}
	}
}

// The operator validates by CEL rules in its CRD and serves no webhook: so the CSV must define none, and the code must not
// begin to serve one unseen.
func Test09WebhooksAreThoseInTheCode(t *testing.T) {
	for _, folder := range published(t) {
		if defined := load(t, folder).CSV.Spec.WebhookDefinitions; len(defined) > 0 {
			t.Errorf("%s defines %d webhooks", folder, len(defined))
		}
	}
	serves := regexp.MustCompile(`controller-runtime/pkg/webhook"|GetWebhookServer\(|NewWebhookManagedBy\(`)
	for _, place := range []string{"main.go", "api", "controllers", "internal"} {
		inSources(t, place, func(file, text string) {
			if found := serves.FindString(text); found != "" {
				t.Errorf("%s serves a webhook (%s): define it in the CSV and judge it here", file, found)
			}
		})
	}
}

func Test10ExamplesAreAdmitted(t *testing.T) { none(t, "examples") }

func Test11DescriptorsMatchTheSchema(t *testing.T) { none(t, "descriptors") }

func Test12CatalogLoadsAndUpdatesInTwoSteps(t *testing.T) {
	folder := filepath.Join(top, "catalog")
	expect(t, CheckCatalog(folder, Options{}))
	content, err := declcfg.LoadFS(t.Context(), os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	replaces := map[string]string{}
	for _, b := range kept(t) {
		bundle := load(t, b)
		replaces[bundle.CSV.Name] = bundle.CSV.Spec.Replaces
	}
	for _, c := range content.Channels {
		if strings.HasPrefix(c.Name, "candidate") && len(c.Entries) != len(replaces) {
			t.Errorf("channel %s has %d versions, there are %d", c.Name, len(c.Entries), len(replaces))
		}
		for _, entry := range c.Entries {
			older := replaces[entry.Name]
			if _, there := replaces[older]; there && entry.Replaces != older {
				t.Errorf("channel %s: %s replaces %q, but its CSV says %s", c.Name, entry.Name, entry.Replaces, older)
			}
		}
	}
}

// The graph of this repository has every version that was ever cut: the newest is a candidate, those before it are stable, and from each
// there is a way to the newest. What can lose data is not installed any more, and whoever runs it reads what to do.
func Test12TheGraphHasEveryVersion(t *testing.T) {
	content, err := declcfg.LoadFS(t.Context(), os.DirFS(filepath.Join(top, "catalog")))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, folder := range kept(t) {
		names = append(names, load(t, folder).CSV.Name)
	}
	want := map[string][]string{"candidate-v0": names, "stable-v0": slices.Clone(names[:len(names)-1])}
	for _, c := range content.Channels {
		var entries []string
		for _, entry := range c.Entries {
			entries = append(entries, entry.Name)
		}
		slices.Sort(want[c.Name])
		if slices.Sort(entries); !slices.Equal(entries, want[c.Name]) {
			t.Errorf("channel %s has %v, want %v", c.Name, entries, want[c.Name])
		}
		delete(want, c.Name)
	}
	if len(want) > 0 {
		t.Errorf("channels are missing: %v", want)
	}
	repository, _, _ := strings.Cut(content.Bundles[0].Image, "@")
	for _, b := range content.Bundles {
		if name, _, _ := strings.Cut(b.Image, "@"); name != repository {
			t.Errorf("%s is in %s, others are in %s", b.Name, name, repository)
		}
	}
	withdrawn := []string{"etcd-operator.v0.1.0", "etcd-operator.v0.2.0", "etcd-operator.v0.3.0"}
	for _, c := range content.Channels {
		var skipped []string
		for _, entry := range c.Entries {
			skipped = append(skipped, entry.Skips...)
		}
		if !slices.Equal(skipped, withdrawn) {
			t.Errorf("channel %s skips %v, want %v", c.Name, skipped, withdrawn)
		}
	}
	var advised []string
	for _, d := range content.Deprecations {
		for _, entry := range d.Entries {
			advised = append(advised, entry.Reference.Name)
		}
	}
	if !slices.Equal(advised, withdrawn) {
		t.Errorf("deprecated are %v, want %v", advised, withdrawn)
	}
}

// A catalog offers what was published, under the name and the digest with which it was.
func Test12CatalogNamesWhatIsPublished(t *testing.T) {
	content, err := declcfg.LoadFS(t.Context(), os.DirFS(filepath.Join(top, "catalog")))
	if err != nil {
		t.Fatal(err)
	}
	releases, err := Releases(top)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range releases {
		name, err := os.ReadFile(filepath.Join(folder, "image"))
		if err != nil {
			t.Errorf("what is in releases/ was published: %v", err)
		}
		i := slices.IndexFunc(content.Bundles, func(b declcfg.Bundle) bool { return b.Name == load(t, folder).CSV.Name })
		if want := strings.TrimSpace(string(name)); i < 0 || content.Bundles[i].Image != want {
			t.Errorf("the catalog does not name %s", want)
		}
	}
}

// theirs are images of others that this repository names.
var theirs = []string{
	"docker.io/library/golang",                   // what the Dockerfile builds with
	"gcr.io/etcd-development/etcd",               // what the operator runs
	"quay.io/operator-framework/scorecard-test",  // Operator SDK's tests of bundles
	"quay.io/operator-framework/scorecard-untar", // what its scorecard starts
	"registry.k8s.io/coredns/coredns",            // the local cluster, which builds it
	"registry.k8s.io/pause",                      // the same
	"quay.io/operator-framework/olm",             // the same
	"quay.io/operator-framework/olm@sha256",      // the same, in a test of its manifests
}

var (
	publicImage = regexp.MustCompile(`\b(?:docker\.io|ghcr\.io|quay\.io|gcr\.io|registry\.k8s\.io)/[a-z0-9./-]+[a-z0-9]`)
	bareImage   = regexp.MustCompile(`(?:^|[\s"'=(])(etcd-operator/etcd-operator(?:-[a-z]+)?[:@][v$s][^\s]*)`)
)

// Whoever owns a name on a public registry can put there what they like. None is ours.
func TestNoImageIsOnAPublicRegistryUnderOurName(t *testing.T) {
	out, err := exec.Command("git", "-c", "safe.directory=*", "-C", top, "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Skipf("there is no git to ask which files are ours: %v", err)
	}
	for file := range strings.Lines(string(out)) {
		file = strings.TrimSpace(file)
		text, err := os.ReadFile(filepath.Join(top, file))
		if err != nil || strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "releases/unpublished/") {
			continue
		}
		for _, found := range publicImage.FindAllString(string(text), -1) {
			if !slices.Contains(theirs, found) {
				t.Errorf("%s names %s on a public registry", file, found)
			}
		}
		for _, found := range bareImage.FindAllStringSubmatch(string(text), -1) {
			t.Errorf("%s names %s without a registry: it would be looked for on a public one", file, found[1])
		}
	}
}

func Test13ReleasedCRDsAreSafeToUpdate(t *testing.T) { none(t, "CRDs", "CRD upgrade") }

func Test14BundleIsSmall(t *testing.T) { none(t, "size") }

func Test15CreatedAtIsRecent(t *testing.T) { none(t, "createdAt") }

func Test16IconIsASmallSquare(t *testing.T) { none(t, "icon") }

func Test17NamesAgree(t *testing.T) {
	none(t, "names", "required fields", "annotations", "install modes")
	for _, folder := range published(t) {
		if name := load(t, folder).Package(); name != "etcd-operator" {
			t.Errorf("%s is of package %q: a package cannot be renamed", folder, name)
		}
	}
}

// Generating takes tools that this module has not; verify does it, if nobody takes that out.
func Test18VerifyRegenerates(t *testing.T) {
	script, err := os.ReadFile(filepath.Join(top, "hack", "verify.sh"))
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"bundle", "catalog"} {
		if !regexp.MustCompile(`(?m)^  check .+ generated ` + target + ` `).Match(script) {
			t.Errorf("hack/verify.sh does not regenerate the %s", target)
		}
	}
}

func Test19ImageIsReproducible(t *testing.T) {
	first, err := built(t, current).Digest()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := copied(t)
	if err := os.Chmod(filepath.Join(elsewhere, "manifests"), 0o700); err != nil {
		t.Fatal(err)
	}
	second, err := built(t, elsewhere).Digest()
	if err != nil || first != second {
		t.Errorf("the same bundle became %s and %s (%v)", first, second, err)
	}
}

// There are no alerts yet. Whoever adds one must also write what to do when it rings. The same loop finds alerts in a folder that has some.
func Test20EveryAlertHasARunbook(t *testing.T) {
	for _, place := range []string{"config", "bundle"} {
		looked, missing := withoutRunbook(t, filepath.Join(top, place), filepath.Join(top, "docs", "runbooks"))
		if looked == 0 || len(missing) > 0 {
			t.Errorf("of %d files in %s, these alerts have no page in docs/runbooks: %q", looked, place, missing)
		}
	}
	const rule = "groups:\n- rules:\n  - alert: EtcdDown\n    expr: up == 0\n  - expr: x\n    alert: EtcdSlow\n"
	folder := t.TempDir()
	write(t, filepath.Join(folder, "rules.yaml"), rule)
	if looked, missing := withoutRunbook(t, folder, folder); looked != 1 || !slices.Equal(missing, []string{"EtcdDown", "EtcdSlow"}) {
		t.Errorf("in %d files with two alerts without a page it finds %q", looked, missing)
	}
	write(t, filepath.Join(folder, "EtcdDown.md"), "# What to do\n")
	if _, missing := withoutRunbook(t, folder, folder); !slices.Equal(missing, []string{"EtcdSlow"}) {
		t.Errorf("with a page for one of two alerts it finds %q", missing)
	}
}

// withoutRunbook are the alerts in files below a folder that have no page, and how many files there are.
func withoutRunbook(t *testing.T, folder, runbooks string) (looked int, missing []string) {
	t.Helper()
	inFolder(t, folder, func(_, text string) {
		looked++
		for _, name := range alerts(text) {
			if _, err := os.Stat(filepath.Join(runbooks, name+".md")); err != nil {
				missing = append(missing, name)
			}
		}
	})
	return looked, missing
}

var alert = regexp.MustCompile(`(?m)^\s*-?\s*alert:\s*(\w+)`)

// alerts are the names of those that a file of Prometheus's rules has.
func alerts(text string) (names []string) {
	for _, match := range alert.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	return names
}

// inSources reads a file, or every file below a folder of the checkout but tests.
func inSources(t *testing.T, place string, look func(file, text string)) {
	t.Helper()
	inFolder(t, filepath.Join(top, place), look)
}

func inFolder(t *testing.T, folder string, look func(file, text string)) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		look(path, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// built makes the image of a bundle with the program that `make bundle-build` uses.
func built(t *testing.T, folder string) v1.ImageIndex {
	t.Helper()
	source, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "layout")
	command := exec.Command("go", "run", "./bundle", "image", "-source="+source, "-layout="+out)
	command.Dir = filepath.Join(top, "hack", "packaging")
	if text, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	index, err := layout.ImageIndexFromPath(out)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("want a layout of one image: %v (%v)", manifest, err)
	}
	if index, err = index.ImageIndex(manifest.Manifests[0].Digest); err != nil {
		t.Fatal(err)
	}
	return index
}

func images(t *testing.T, index v1.ImageIndex) []v1.Image {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var all []v1.Image
	for _, descriptor := range manifest.Manifests {
		image, err := index.Image(descriptor.Digest)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, image)
	}
	return all
}
