// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

const description = "config/manifests/bases/etcd-operator.clusterserviceversion.yaml"

var missing = regexp.MustCompile(`(?m)(?:\*\*)?Not yet:(?:\*\*)? ([^.\n]+)\.`)

// TestWhatIsNotYetThere: README and the description of the operator name the same, the page of guarantees names it too, and none of it is
// among the features.
func TestWhatIsNotYetThere(t *testing.T) {
	readme, described := missing.FindStringSubmatch(read(t, "README.md")), missing.FindStringSubmatch(read(t, description))
	if (readme == nil) != (described == nil) || readme != nil && readme[1] != described[1] {
		t.Fatalf("the README says that it has not yet %q, the description %q", readme, described)
	}
	if readme == nil {
		return
	}
	guarantees, has := strings.ToLower(read(t, "docs/explanation/what-it-guarantees.md")), strings.ToLower(features(t))
	for item := range strings.SplitSeq(readme[1], ", ") {
		if !strings.Contains(guarantees, strings.ToLower(item)) {
			t.Errorf("docs/explanation/what-it-guarantees.md does not say that there is no %q", item)
		}
		for word := range strings.FieldsSeq(strings.ToLower(item)) {
			if len(word) >= 6 && strings.Contains(has, word[:6]) {
				t.Errorf("not yet %q, and a feature of the README says %q", item, word)
			}
		}
	}
}

// described is a word by which the description of the operator speaks of what a page is about that the README lists among the features.
var described = map[string]string{
	"create.md": "TLS 1.3", "replace.md": "replaced by learners", "recover-quorum.md": "lost for good", "scale.md": "hibernates",
	"adopt.md": "taken over", "copy.md": "copied", "upgrade.md": "down by etcd's own downgrade", "nodes.md": "drained",
	"backup.md": "EtcdBackup", "restore.md": "EtcdRestore", "log.md": "backup.continuous", "users.md": "EtcdUser",
	"README.md": "key-value store", "tls.md": "switched on and off", "certificates.md": "revoked", "space.md": "defragmented",
	"monitoring.md": "alerts", "drills.md": "EtcdDrill",
}

// TestFeaturesAreDescribed: what the README lists the description that Operator Lifecycle Manager shows has, too.
func TestFeaturesAreDescribed(t *testing.T) {
	text := read(t, description)
	for _, found := range links.FindAllStringSubmatch(features(t), -1) {
		file, _, _ := strings.Cut(found[2], "#")
		if !strings.HasPrefix(file, "docs/") {
			continue
		}
		if word := described[filepath.Base(file)]; word == "" || !strings.Contains(text, word) {
			t.Errorf("the README has the feature %q, and the description no word of it (%q)", found[1], word)
		}
	}
}

// features is the table of the README.
func features(t *testing.T) string {
	_, after, _ := strings.Cut(read(t, "README.md"), "\n## Features\n")
	rows := regexp.MustCompile(`(?m)^\| \[.*$`).FindAllString(strings.Split(after, "\n## ")[0], -1)
	if len(rows) < 15 {
		t.Fatalf("the README lists only %d features", len(rows))
	}
	return strings.Join(rows, "\n")
}

// TestCapabilitiesAreCounted: of each level one question at most is answered by no, and the table of levels says how many are not.
func TestCapabilitiesAreCounted(t *testing.T) {
	numbers := []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}
	page := read(t, "docs/capabilities.md")
	for i, level := range regexp.MustCompile(`(?m)^## \d `).Split(page, -1)[1:] {
		all := len(regexp.MustCompile(`(?m)^\| \d+ \|`).FindAllString(level, -1))
		no := len(regexp.MustCompile(`(?m)^\| \d+ \| [^|]+ \| \*\*no`).FindAllString(level, -1))
		row := regexp.MustCompile(fmt.Sprintf(`(?m)^\| %d .*$`, i+1)).FindString(page)
		want := fmt.Sprintf("%s of %s questions", numbers[all-no], numbers[all])
		if no > 1 || no == 1 && !strings.Contains(row, want) || no == 0 && strings.Contains(row, "questions") {
			t.Errorf("level %d: %d of %d questions are answered by no: %s", i+1, no, all, row)
		}
	}
}

// rolesOf are the rules of each role in a file, by its name.
func rolesOf(t *testing.T, file string) map[string][]rbacv1.PolicyRule {
	t.Helper()
	roles := map[string][]rbacv1.PolicyRule{}
	for document := range strings.SplitSeq(read(t, file), "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		roles[role.Name] = role.Rules
	}
	return roles
}

// TestRightsOnPages: the pages that say what the operator may delete, and what it may do beyond the namespaces that it watches, name what
// its roles do.
func TestRightsOnPages(t *testing.T) {
	roles, deletes, beyond := rolesOf(t, "config/rbac/role.yaml"), map[string]bool{}, map[string]bool{}
	for _, rule := range slices.Concat(roles["manager-role"], roles["manager-cluster-role"]) {
		for _, of := range rule.Resources {
			deletes[of] = deletes[of] || slices.Contains(rule.Verbs, "delete")
		}
	}
	maps.DeleteFunc(deletes, func(_ string, may bool) bool { return !may })
	for _, rule := range roles["manager-cluster-role"] {
		for _, of := range rule.Resources {
			kind, _, _ := strings.Cut(of, "/")
			beyond[kind] = true
		}
	}
	install := read(t, "docs/install.md")
	for _, claim := range []struct {
		page, from, to string
		want           map[string]bool
	}{
		{install, "It may delete ", ", and does so with its own only", deletes},
		{install, "`etcd-operator-manager-cluster-role`, for ", ", should still be bound", beyond},
		{read(t, "docs/operations/olm.md"), "beyond them only to read ", " of other installations", beyond},
	} {
		_, after, _ := strings.Cut(claim.page, claim.from)
		text, _, found := strings.Cut(after, claim.to)
		if !found {
			t.Errorf("no page says %q", claim.from)
		}
		text = strings.ToLower(regexp.MustCompile(`\([^)]*\)`).ReplaceAllString(text, ""))
		said := map[string]bool{}
		for _, word := range regexp.MustCompile(`[a-z]+`).FindAllString(text, -1) {
			if !slices.Contains([]string{"and", "its", "own", "the"}, word) {
				said[word] = true
			}
		}
		if !maps.Equal(said, claim.want) {
			t.Errorf("%s: the page says %v, the roles %v", claim.from, slices.Sorted(maps.Keys(said)), slices.Sorted(maps.Keys(claim.want)))
		}
	}
}

// annotated is how many bytes Kubernetes takes of all annotations of an object: kubectl apply without --server-side writes the whole object
// into one (k8s.io/apimachinery/pkg/api/validation, TotalAnnotationSizeLimitB).
const annotated = 256 << 10

// TestManifestsAreAppliedByTheServer: as long as a CRD is larger than that, no page applies it otherwise.
func TestManifestsAreAppliedByTheServer(t *testing.T) {
	crd, err := yaml.YAMLToJSON([]byte(read(t, "config/crd/bases/etcd-operator.dev_etcdclusters.yaml")))
	if err != nil || len(crd) <= annotated {
		t.Skip("kubectl apply takes the CRD in each way", err)
	}
	applies := regexp.MustCompile(`(?m)^\$ kubectl apply .*(install\.yaml|config/(crd|default)).*$`)
	for _, page := range pages(t) {
		for _, line := range applies.FindAllString(read(t, page), -1) {
			if !strings.Contains(line, " --server-side ") || strings.Contains(line, "works as well") {
				t.Errorf("%s: the API server refuses the CRD by %s", page, line)
			}
		}
	}
}
