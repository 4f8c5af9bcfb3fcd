// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/test/docs/runbook"
)

// history are the releases that are cut, oldest first. The last is what the tree's pre-release becomes; all are newer than what was
// ever cut.
var history = []string{"0.9.8", "0.9.9", "0.10.0"}

// cuts is a copy of this tree that has published nothing, and how many releases of history were made in it.
var cuts struct {
	tree, key string
	made      int
}

// cutUntil makes the releases up to a version, one after the other, as CONTRIBUTING.md and docs/install.md say.
func cutUntil(version string) {
	GinkgoHelper()
	if cuts.tree == "" {
		cuts.tree = filepath.Join(top, "dist", "e2e", "tree")
		run("bash", "-c", "rm -rf "+cuts.tree+" && mkdir -p "+cuts.tree+
			" && git -c safe.directory='*' ls-files -z --cached --others --exclude-standard -- . ':!releases/v*' |"+
			" tar --null --files-from=- --ignore-failed-read -cf - 2>/dev/null | tar -xf - -C "+cuts.tree+
			" && ln -s "+filepath.Join(top, "bin")+" "+cuts.tree+"/bin")
		cuts.key = signingKey(filepath.Join(cuts.tree, "dist", "sign.key"))
	}
	for cuts.made <= slices.Index(history, version) {
		makeRelease(cuts.made)
		cuts.made++
	}
}

// makeRelease makes one release, by the commands of the page.
func makeRelease(i int) {
	GinkgoHelper()
	version, replaces := history[i], ""
	if i > 0 {
		replaces = csvName(history[i-1])
	}
	tellOf(cuts.tree, version)
	writeTemplate(cuts.tree, history[:i+1])
	of := " VERSION=" + version + " REPLACES=" + replaces + " PLATFORMS=linux/" + runtime.GOARCH + " PLUGIN_PLATFORMS=linux/" + runtime.GOARCH
	page := strings.NewReplacer("registry.example", registry, "cosign.key", cuts.key).
		Replace(onPage("docs/install.md", "make release release-push "))
	run("bash", "-c", "cd "+cuts.tree+" && make bundle"+of+" && "+page+of)
	kept := filepath.Join(cuts.tree, "releases", "v"+version)
	image, err := os.ReadFile(filepath.Join(kept, "image"))
	Expect(err).NotTo(HaveOccurred())
	made[version] = described(kept, strings.TrimSpace(string(image)))
}

// onPage is the command of a page that begins with the words.
func onPage(page, words string) string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(top, page))
	Expect(err).NotTo(HaveOccurred())
	for _, block := range runbook.Blocks(string(text)) {
		for _, command := range block.Commands() {
			if strings.HasPrefix(command, words) {
				return command
			}
		}
	}
	Fail(page + " has no command " + words)
	return ""
}

// applyPage applies the objects of install.md by which OLM installs the operator, in the tenant's namespace, with the local registry
// in place of the page's, and looking again so often that a test can wait for it.
func (t *tenant) applyPage() {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(top, "docs", "install.md"))
	Expect(err).NotTo(HaveOccurred())
	ours := strings.NewReplacer("registry.example/", registry+"/", "interval: 60m", "interval: 20s",
		"name: etcd-operator\n  namespace: olm\n", "name: "+t.namespace+"\n  namespace: "+catalogs+"\n",
		"source: etcd-operator\n", "source: "+t.namespace+"\n", "namespace: etcd-operator-system", "namespace: "+t.namespace)
	applied := 0
	for _, block := range runbook.Blocks(string(text)) {
		for _, object := range strings.Split(block.Text, "\n---\n") {
			kind := regexp.MustCompile(`(?m)^kind: (CatalogSource|OperatorGroup|Subscription)$`).FindString(object)
			if block.Language != "yaml" || kind == "" {
				continue
			}
			file := filepath.Join(GinkgoT().TempDir(), "object.yaml")
			Expect(os.WriteFile(file, []byte(ours.Replace(object+"\n")), 0o600)).To(Succeed())
			run("kubectl", "apply", "-f", file)
			applied++
			if strings.HasSuffix(kind, "CatalogSource") {
				DeferCleanup(func() { run("kubectl", "delete", "--ignore-not-found", "-f", file) })
			}
		}
	}
	Expect(applied).To(Equal(3), "CatalogSource, OperatorGroup and Subscription of docs/install.md")
}

func signingKey(file string) string {
	GinkgoHelper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Expect(err).NotTo(HaveOccurred())
	der, err := x509.MarshalPKCS8PrivateKey(private)
	Expect(err).NotTo(HaveOccurred())
	Expect(os.MkdirAll(filepath.Dir(file), 0o750)).To(Succeed())
	Expect(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)).To(Succeed())
	return file
}

// tellOf gives what is unreleased its version, and the day that its bundle says. A version that has its section keeps that.
func tellOf(tree, version string) {
	GinkgoHelper()
	file := filepath.Join(tree, "CHANGELOG.md")
	text, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	if strings.Contains(string(text), "\n## "+version+" - ") {
		return
	}
	_, csv := readCSV(filepath.Join(top, "bundle"))
	day := csv["metadata"].(map[string]any)["annotations"].(map[string]any)["createdAt"].(string)[:len("2006-01-02")]
	section := fmt.Sprintf("\n## %s - %s\n\n- Cut by a test.\n\n## ", version, day)
	Expect(os.WriteFile(file, []byte(strings.Replace(string(text), "\n## ", section, 1)), 0o600)).To(Succeed())
}

// writeTemplate has the tree's template offer releases as CONTRIBUTING.md says: each in the candidate channel, instead of the
// pre-release, and all but the newest in the stable one, too. The first is said to be bad. What the template has besides is on no
// registry.
func writeTemplate(tree string, versions []string) {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(top, "catalog-templates", "basic.yaml"))
	Expect(err).NotTo(HaveOccurred())
	var template struct {
		Schema  string           `json:"schema"`
		Entries []map[string]any `json:"entries"`
	}
	Expect(yaml.Unmarshal(text, &template)).To(Succeed())
	for _, part := range template.Entries {
		switch {
		case part["name"] == "candidate-v0":
			part["entries"] = withReleases(part["entries"].([]any), versions)
		case part["name"] == "stable-v0":
			part["entries"] = withReleases(part["entries"].([]any), versions[:len(versions)-1])
		case part["schema"] == "olm.deprecations":
			part["entries"] = append(part["entries"].([]any), map[string]any{
				"reference": map[string]any{"schema": "olm.bundle", "name": csvName(versions[0])},
				"message":   "It can lose data; update to a later version.",
			})
		}
	}
	text, err = yaml.Marshal(template)
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(filepath.Join(tree, "catalog-templates", "basic.yaml"), text, 0o600)).To(Succeed())
}

// withReleases are the entries of a channel without pre-releases, and after them the releases.
func withReleases(entries []any, versions []string) []any {
	name := func(entry any) string { return entry.(map[string]any)["name"].(string) }
	all := slices.DeleteFunc(entries, func(entry any) bool { return strings.Contains(name(entry), "-dev") })
	for _, version := range versions {
		all = append(all, map[string]any{
			"name": csvName(version), "replaces": name(all[len(all)-1]), "skipRange": fmt.Sprintf(">=0.1.0-0 <%s", version),
		})
	}
	return all
}
