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
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// history are the releases that cutReleases makes, oldest first. The last has this tree's version.
var history = []string{"0.8.8", "0.8.9", "0.9.0"}

// cutReleases makes one release after the other, as CONTRIBUTING.md says, in a copy of this
// tree that has published nothing. It returns the catalog of the last.
func cutReleases() string {
	GinkgoHelper()
	tree := filepath.Join(top, "dist", "e2e", "tree")
	run("bash", "-c", "rm -rf "+tree+" && mkdir -p "+tree+
		" && git -c safe.directory='*' ls-files -z --cached --others --exclude-standard -- . ':!releases/v*' |"+
		" tar --null --files-from=- --ignore-failed-read -cf - 2>/dev/null | tar -xf - -C "+tree+
		" && ln -s "+filepath.Join(top, "bin")+" "+tree+"/bin")
	key := signingKey(filepath.Join(tree, "dist", "sign.key"))
	for i, version := range history {
		tellOf(tree, version)
		writeTemplate(tree, history[:i+1])
		replaces := ""
		if i > 0 {
			replaces = csvName(history[i-1])
		}
		run("make", "-C", tree, "bundle", "VERSION="+version, "REPLACES="+replaces)
		run("make", "-C", tree, "release", "release-push", "VERSION="+version, "IMAGE_REGISTRY="+registry,
			"PLATFORMS=linux/"+runtime.GOARCH, "PLUGIN_PLATFORMS=linux/"+runtime.GOARCH, "SIGN_KEY="+key)
	}
	for _, version := range history {
		kept := filepath.Join(tree, "releases", "v"+version)
		image, err := os.ReadFile(filepath.Join(kept, "image"))
		Expect(err).NotTo(HaveOccurred())
		made[version] = described(kept, strings.TrimSpace(string(image)))
	}
	images, err := os.ReadFile(filepath.Join(tree, "dist", "release", history[len(history)-1], "images.txt"))
	Expect(err).NotTo(HaveOccurred())
	catalog := regexp.MustCompile(`(?m)^.*-catalog@.*$`).Find(images)
	Expect(catalog).NotTo(BeNil(), "%s", images)
	return string(catalog)
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

// writeTemplate offers every release in the candidate channel, and all but the newest
// in the stable one. The first is said to be bad.
func writeTemplate(tree string, versions []string) {
	GinkgoHelper()
	channels := map[string][]string{"candidate-v0": versions}
	preferred := "candidate-v0"
	if len(versions) > 1 {
		preferred, channels["stable-v0"] = "stable-v0", versions[:len(versions)-1]
	}
	var text strings.Builder
	fmt.Fprintf(&text, `schema: olm.template.basic
entries:
- {schema: olm.package, name: %s, defaultChannel: %s, description: cut by a test}
- schema: olm.deprecations
  package: %[1]s
  entries:
  - {reference: {schema: olm.bundle, name: %[3]s}, message: "It can lose data; update to a later version."}
`, packageName, preferred, csvName(versions[0]))
	for name, releases := range channels {
		fmt.Fprintf(&text, "- schema: olm.channel\n  package: %s\n  name: %s\n  entries:\n", packageName, name)
		for i, version := range releases {
			fmt.Fprintf(&text, "  - name: %s\n    skipRange: '>=0.1.0-0 <%s'\n", csvName(version), version)
			if i > 0 {
				fmt.Fprintf(&text, "    replaces: %s\n", csvName(releases[i-1]))
			}
		}
	}
	file := filepath.Join(tree, "catalog-templates", "basic.yaml")
	Expect(os.WriteFile(file, []byte(text.String()), 0o600)).To(Succeed())
}
