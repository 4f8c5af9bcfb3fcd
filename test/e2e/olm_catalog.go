// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// registry is the local cluster's.
const registry = "127.0.0.1:5000"

// A release is one version of the operator, as a bundle image in the registry.
type release struct {
	version, replaces string
	skipRange         string
	bundle            string // folder
	rendered          string // what a catalog says of it
}

// made are the releases that have been made ready, by version.
var made = map[string]release{}

// published are releases of this tree: those that were cut, or the last alone as the
// bundle of the tree has it, which takes less time.
func published(versions ...string) []release {
	GinkgoHelper()
	var all []release
	for _, version := range versions {
		if _, there := made[version]; !there && version == history[len(history)-1] {
			run("make", "images", "REGISTRY="+registry, "VERSION="+version)
			made[version] = pinned(renumbered(version), version)
		} else if !there {
			cutUntil(history[len(history)-1])
		}
		all = append(all, made[version])
	}
	return all
}

// renumbered is a copy of the bundle of the tree under the number of the release that its pre-release becomes.
func renumbered(version string) string {
	GinkgoHelper()
	bundle := copyBundle(filepath.Join(top, "bundle"), "tree")
	file, csv := readCSV(bundle)
	before := csv["spec"].(map[string]any)["version"].(string)
	for _, file := range []string{file, filepath.Join(bundle, "tests", "scorecard", "config.yaml")} {
		text, err := os.ReadFile(file)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(file, []byte(strings.ReplaceAll(string(text), before, version)), 0o600)).To(Succeed())
	}
	return bundle
}

// unpublished is a version that is on no registry, with the image that its own commit makes.
func unpublished(version string) release {
	GinkgoHelper()
	folder := "releases/unpublished/v" + version
	run("hack/release-images.sh", registry, folder)
	return pinned(filepath.Join(top, folder), version)
}

// pinned names the images of a bundle as the local registry has them, and pushes it.
func pinned(source, version string) release {
	GinkgoHelper()
	bundle := copyBundle(source, version)
	run("go", "-C", "hack/packaging", "run", "./bundle", "pin", "-bundle", bundle, "-registry", registry)
	return ready(bundle)
}

// madeUp is a release that follows another and differs from the bundle of this tree
// in a way.
func madeUp(version, replaces string, differs func(manager map[string]any)) release {
	GinkgoHelper()
	bundle := copyBundle(published("0.10.0")[0].bundle, version)
	file, csv := readCSV(bundle)
	csv["metadata"].(map[string]any)["name"] = csvName(version)
	delete(csv["metadata"].(map[string]any)["annotations"].(map[string]any), "olm.skipRange")
	spec := csv["spec"].(map[string]any)
	spec["version"], spec["replaces"] = version, csvName(replaces)
	differs(spec["install"].(map[string]any)["spec"].(map[string]any)["deployments"].([]any)[0].(map[string]any)["spec"].(map[string]any))
	text, err := yaml.Marshal(csv)
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(file, text, 0o600)).To(Succeed())
	return ready(bundle)
}

func asItIs(map[string]any) {}

func withoutImage(deployment map[string]any) {
	pod := deployment["template"].(map[string]any)["spec"].(map[string]any)
	pod["containers"].([]any)[0].(map[string]any)["image"] = registry + "/etcd-operator/etcd-operator:never-pushed"
	deployment["progressDeadlineSeconds"] = 20 // what is waited for here is OLM's word, not the time
}

func copyBundle(source, version string) string {
	GinkgoHelper()
	bundle := filepath.Join(top, "dist", "e2e", "v"+version)
	Expect(os.RemoveAll(bundle)).To(Succeed())
	Expect(os.CopyFS(bundle, os.DirFS(source))).To(Succeed())
	return bundle
}

func readCSV(bundle string) (file string, csv map[string]any) {
	GinkgoHelper()
	files, err := filepath.Glob(filepath.Join(bundle, "manifests", "*.clusterserviceversion.yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(files).To(HaveLen(1))
	text, err := os.ReadFile(files[0])
	Expect(err).NotTo(HaveOccurred())
	Expect(yaml.Unmarshal(text, &csv)).To(Succeed())
	return files[0], csv
}

// ready pushes a bundle as an image.
func ready(bundle string) release {
	GinkgoHelper()
	_, csv := readCSV(bundle)
	version := csv["spec"].(map[string]any)["version"].(string)
	image := registry + "/etcd-operator/etcd-operator-bundle:v" + version
	digest := filepath.Join(bundle, "digest")
	run("go", "-C", "hack/packaging", "run", "./bundle", "image", "-source", bundle, "-push", image, "-digest", digest)
	text, err := os.ReadFile(digest)
	Expect(err).NotTo(HaveOccurred())
	name, _, _ := strings.Cut(image, ":v")
	return described(bundle, name+"@"+strings.TrimSpace(string(text)))
}

// described asks opm what a catalog says of a bundle.
func described(bundle, image string) release {
	GinkgoHelper()
	_, csv := readCSV(bundle)
	spec, annotations := csv["spec"].(map[string]any), csv["metadata"].(map[string]any)["annotations"].(map[string]any)
	r := release{version: spec["version"].(string), bundle: bundle}
	r.replaces, _ = spec["replaces"].(string)
	r.skipRange, _ = annotations["olm.skipRange"].(string)
	r.rendered = opm("render", image, "--use-http", "-o", "yaml", "--migrate-level=bundle-object-to-csv-metadata")
	return r
}

// publish offers releases in a catalog, in place of what it offered before.
func (t *tenant) publish(stable []release, candidate ...release) {
	GinkgoHelper()
	t.offer(catalogImage(stable, candidate), nil)
}

// publishByTag offers what a tag names, at which OLM looks again every twenty seconds.
func (t *tenant) publishByTag(stable []release) {
	GinkgoHelper()
	t.push(stable)
	t.offer(catalogName+":"+t.namespace, &olm.UpdateStrategy{RegistryPoll: &olm.RegistryPoll{RawInterval: "20s"}})
}

// push lets the tag name a catalog with the releases, and tells nobody.
func (t *tenant) push(stable []release) {
	GinkgoHelper()
	pushCatalog(catalogFolder(stable, nil), t.namespace)
}

// offer makes the CatalogSource, or changes it.
func (t *tenant) offer(image string, again *olm.UpdateStrategy) {
	GinkgoHelper()
	Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error { // OLM writes its status
		source := &olm.CatalogSource{}
		source.Namespace, source.Name = catalogs, t.namespace
		err := api.Get(ctx, keyOf(source), source)
		source.Spec = olm.CatalogSourceSpec{
			SourceType: olm.SourceTypeGrpc, Image: image, DisplayName: "end to end", UpdateStrategy: again,
			GrpcPodConfig: &olm.GrpcPodConfig{SecurityContextConfig: olm.Restricted},
		}
		if apierrors.IsNotFound(err) {
			DeferCleanup(func() { Expect(client.IgnoreNotFound(api.Delete(ctx, source))).To(Succeed()) })
			return api.Create(ctx, source)
		}
		if err != nil {
			return err
		}
		return api.Update(ctx, source)
	})).To(Succeed())
}

// catalogImage is the digest of a catalog with the releases in its channels.
func catalogImage(stable, candidate []release) string {
	GinkgoHelper()
	return pushCatalog(catalogFolder(stable, candidate), "e2e")
}

// catalogFolder is a catalog with the releases in its channels. The first of a channel
// replaces nothing that the catalog has.
func catalogFolder(stable, candidate []release) string {
	GinkgoHelper()
	var text strings.Builder
	preferred := "stable-v0"
	if len(stable) == 0 {
		preferred = "candidate-v0"
	}
	fmt.Fprintf(&text, "schema: olm.package\nname: %s\ndefaultChannel: %s\n", packageName, preferred)
	bundles := map[string]string{}
	for _, channel := range []struct {
		name     string
		releases []release
	}{{"stable-v0", stable}, {"candidate-v0", candidate}} {
		if len(channel.releases) == 0 {
			continue
		}
		fmt.Fprintf(&text, "---\nschema: olm.channel\npackage: %s\nname: %s\nentries:\n", packageName, channel.name)
		for _, r := range channel.releases {
			fmt.Fprintf(&text, "- name: %s\n", csvName(r.version))
			if r.replaces != "" {
				fmt.Fprintf(&text, "  replaces: %s\n", r.replaces)
			}
			if r.skipRange != "" {
				fmt.Fprintf(&text, "  skipRange: %q\n", r.skipRange)
			}
			bundles[r.version] = r.rendered
		}
	}
	for _, rendered := range bundles {
		text.WriteString("---\n" + strings.TrimPrefix(rendered, "---\n"))
	}
	folder := filepath.Join(GinkgoT().TempDir(), "catalog")
	Expect(os.MkdirAll(filepath.Join(folder, packageName), 0o750)).To(Succeed())
	Expect(os.WriteFile(filepath.Join(folder, packageName, "catalog.yaml"), []byte(text.String()), 0o600)).To(Succeed())
	opm("validate", folder)
	return folder
}

// homeForImages is the environment of a program that may pull any image from the local
// registry. What it wants to be told of that is not this machine's business.
func homeForImages(home string) []string {
	GinkgoHelper()
	settings := filepath.Join(home, ".config", "containers")
	Expect(os.MkdirAll(settings, 0o750)).To(Succeed())
	for file, text := range map[string]string{
		"policy.json":     `{"default":[{"type":"insecureAcceptAnything"}]}`,
		"registries.conf": "[[registry]]\nlocation = \"" + registry + "\"\ninsecure = true\n",
	} {
		Expect(os.WriteFile(filepath.Join(settings, file), []byte(text), 0o600)).To(Succeed())
	}
	return append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"))
}

// opm runs the catalogs' own tool.
func opm(args ...string) string {
	GinkgoHelper()
	command := exec.Command(filepath.Join(top, "bin", "opm"), args...)
	command.Env = homeForImages(GinkgoT().TempDir())
	var said strings.Builder
	command.Stderr = &said
	output, err := command.Output()
	Expect(err).NotTo(HaveOccurred(), "opm %v: %s", args, &said)
	return string(output)
}

// catalogName is the name of catalogs, without a tag or digest.
const catalogName = registry + "/etcd-operator/etcd-operator-catalog"

// pushCatalog builds the image of a catalog, and names it by its digest.
func pushCatalog(folder, tag string) string {
	GinkgoHelper()
	digest := filepath.Join(folder, "..", "digest")
	run("hack/catalog.sh", "image", "-catalog="+folder, "-push="+catalogName+":"+tag, "-digest="+digest)
	text, err := os.ReadFile(digest)
	Expect(err).NotTo(HaveOccurred())
	return catalogName + "@" + strings.TrimSpace(string(text))
}
