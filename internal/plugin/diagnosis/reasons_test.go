// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// reasonsOf are the reasons of a condition that the API documents: those under a heading of it, and others that say so themselves.
func reasonsOf(t *testing.T, condition string) []string {
	t.Helper()
	files, err := filepath.Glob("../../../api/v1beta1/*.go")
	if err != nil {
		t.Fatal(err)
	}
	itself := regexp.MustCompile(`(?s)a reason of ` + condition + `\b|` + condition + ` has this reason`)
	var all []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			group, is := d.(*ast.GenDecl)
			if !is || group.Tok != token.CONST {
				continue
			}
			heads := strings.HasPrefix(group.Doc.Text(), "Reasons of "+condition)
			for _, spec := range group.Specs {
				value := spec.(*ast.ValueSpec)
				doc := value.Doc.Text()
				if !group.Lparen.IsValid() {
					doc = group.Doc.Text()
				}
				if !strings.HasPrefix(value.Names[0].Name, "Reason") || !heads && !itself.MatchString(doc) {
					continue
				}
				text, err := strconv.Unquote(value.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, text)
			}
		}
	}
	return all
}

// TestEveryReasonHasAFinding: each reason of Available and of Degraded that the API knows, but those that say that nothing is wrong.
func TestEveryReasonHasAFinding(t *testing.T) {
	for condition, table := range map[string]map[string]advice{
		v1beta1.ConditionAvailable: availability, v1beta1.ConditionDegraded: degradation,
	} {
		reasons := reasonsOf(t, "Condition"+condition)
		if len(reasons) < 12 || len(reasons) != len(table) {
			t.Errorf("%s: the API has %d reasons, and the table %d: %v", condition, len(reasons), len(table), reasons)
		}
		for _, reason := range reasons {
			f := healthy(t)
			status := metav1.ConditionFalse
			if condition == v1beta1.ConditionDegraded {
				status = metav1.ConditionTrue
			}
			f.says(condition, status, reason, "message of "+reason)
			said := Text(Of(f), 200)
			to, known := table[reason]
			isFine := reason == v1beta1.ReasonHealthy || reason == v1beta1.ReasonAsExpected
			switch {
			case !known:
				t.Errorf("%s %s has no finding: add one to conditions.go", condition, reason)
			case (to.severity == Fine) != isFine:
				t.Errorf("%s %s is %s", condition, reason, to.severity)
			case !isFine && !strings.Contains(said, "message of "+reason):
				t.Errorf("%s %s is not said:\n%s", condition, reason, said)
			case !isFine && (to.do == "" || to.run == "" || to.page == ""):
				t.Errorf("%s %s does not say what to do or run, or has no page", condition, reason)
			}
		}
	}
}

// TestReasonsOfOtherReleases: a reason that this plugin does not know is said with its message, and one of an older operator by its name of
// today.
func TestReasonsOfOtherReleases(t *testing.T) {
	f := healthy(t)
	f.says("Degraded", "True", "NeedsHelp", "help")
	if d := Of(f); len(d.Findings) != 1 || d.Findings[0].Severity != DataAtRisk {
		t.Errorf("%+v", d.Findings)
	}
	f.says("Degraded", "True", "OfTomorrow", "tomorrow")
	f.says("Available", "Unknown", "OfTomorrow", "tomorrow")
	if d := Of(f); len(d.Findings) != 2 || d.Findings[0].Severity != ServiceDown || d.Findings[1].Severity != RedundancyLost {
		t.Errorf("%+v", d.Findings)
	}
}

// TestEveryPageExists: with the heading that a finding leads to.
func TestEveryPageExists(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	page := regexp.MustCompile(`"((?:runbooks|operations)/[A-Za-z-]+\.md)(#[a-z0-9-]+)?"`)
	found := 0
	for _, name := range files {
		code, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range page.FindAllStringSubmatch(string(code), -1) {
			found++
			text, err := os.ReadFile("../../../docs/" + match[1])
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if match[2] != "" && !strings.Contains(anchors(string(text)), match[2]+"\n") {
				t.Errorf("%s: %s has no heading %s", name, match[1], match[2])
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d pages were found", found)
	}
}

// anchors are the links to the headings of a page, one a line.
func anchors(page string) string {
	var out strings.Builder
	for line := range strings.SplitSeq(page, "\n") {
		if heading, is := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); is && strings.HasPrefix(line, "#") {
			drop := regexp.MustCompile(`[^a-z0-9 -]`)
			out.WriteString("#" + strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(heading), ""), " ", "-") + "\n")
		}
	}
	return out.String()
}
