// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

type crd = apiextensionsv1.CustomResourceDefinition

// small is a CRD with one of everything that a change can break.
const small = `
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [name]
            properties:
              name: {type: string, maxLength: 10, minLength: 2, pattern: "^[a-z]+$", description: old}
              mode: {type: string, enum: ["On", "Off"], default: "On"}
              size: {type: integer, minimum: 1, maximum: 7}
              list: {type: array, maxItems: 5, items: {type: string}}
              free: {type: string}
              ruled:
                type: string
                x-kubernetes-validations: [{rule: "self != ''"}]
              deep:
                type: object
                properties:
                  a: {type: string}
                  b: {type: string}
`

// changes are what OLM v1 refuses, and what it lets pass: those have no line.
var changes = []struct {
	name string
	edit func(*crd)
	want []string
}{
	{"scope", func(c *crd) { c.Spec.Scope = "Cluster" }, []string{`scope`}},
	{"stored version gone", func(c *crd) { c.Spec.Versions[0].Name = "v2" }, []string{`stored version`}},
	{"field gone", func(c *crd) { delete(fields(c, "spec"), "free") }, []string{`^field v1\.\^\.spec\.free is gone`}},
	{"object gone", func(c *crd) { delete(fields(c, "spec"), "deep") }, []string{`^field v1\.\^\.spec\.deep is gone`}},
	{"new required field", func(c *crd) { requires(c, "name", "free") }, []string{`v1\.\^\.spec: required`}},
	{"another type", func(c *crd) { change(c, "size", func(p *props) { p.Type = "string" }) }, []string{`spec\.size: type`}},
	{"another default", func(c *crd) { change(c, "mode", func(p *props) { p.Default = raw(`"Off"`) }) }, []string{`spec\.mode: default`}},
	{"a new default", func(c *crd) { change(c, "free", func(p *props) { p.Default = raw(`"x"`) }) }, []string{`spec\.free: default`}},
	{"no default any more", func(c *crd) { change(c, "mode", func(p *props) { p.Default = nil }) }, []string{`spec\.mode: default`}},
	{
		"enum on a free field",
		func(c *crd) { change(c, "free", func(p *props) { p.Enum = []apiextensionsv1.JSON{*raw(`"a"`)} }) },
		[]string{`spec\.free: enum`},
	},
	{"enum value gone", func(c *crd) { change(c, "mode", func(p *props) { p.Enum = p.Enum[:1] }) }, []string{`spec\.mode: enum`}},
	{"minimum raised", func(c *crd) { change(c, "size", func(p *props) { *p.Minimum = 2 }) }, []string{`spec\.size: minimum`}},
	{"maximum lowered", func(c *crd) { change(c, "size", func(p *props) { *p.Maximum = 5 }) }, []string{`spec\.size: maximum`}},
	{"shorter", func(c *crd) { change(c, "name", func(p *props) { *p.MaxLength = 9 }) }, []string{`spec\.name: maxLength`}},
	{"fewer", func(c *crd) { change(c, "list", func(p *props) { *p.MaxItems = 4 }) }, []string{`spec\.list: maxItems`}},
	{"another pattern", func(c *crd) { change(c, "name", func(p *props) { p.Pattern = "^[a-y]+$" }) }, []string{`spec\.name: pattern`}},
	{
		"unknown change",
		func(c *crd) { change(c, "list", func(p *props) { p.XListType = new("set") }) },
		[]string{`spec\.list: unhandled`},
	},
	{
		"another CEL rule",
		func(c *crd) { change(c, "ruled", func(p *props) { p.XValidations[0].Rule = "self != 'a'" }) },
		[]string{`^\^\.spec\.ruled: the CEL rules changed`},
	},
	{"another text", func(c *crd) { change(c, "name", func(p *props) { p.Description = "new" }) }, nil},
	{"enum value more", func(c *crd) { change(c, "mode", func(p *props) { p.Enum = append(p.Enum, *raw(`"Auto"`)) }) }, nil},
	{"wider", func(c *crd) { change(c, "size", func(p *props) { *p.Maximum = 9 }) }, nil},
	{"required no more", func(c *crd) { requires(c) }, nil},
	{"new field", func(c *crd) { fields(c, "spec")["more"] = props{Type: "string", Default: raw(`"x"`)} }, nil},
}

type props = apiextensionsv1.JSONSchemaProps

func TestChangesOfACRD(t *testing.T) {
	for _, test := range changes {
		t.Run(test.name, func(t *testing.T) {
			before, after := parse(t, small), parse(t, small)
			test.edit(after)
			var problems []Problem
			for _, text := range Unsafe(before, after, "v1.0.0", nil) {
				problems = append(problems, Problem{"CRD", oneLine(text)})
			}
			var want []string
			for _, text := range test.want {
				want = append(want, "^CRD: .*"+strings.TrimPrefix(text, "^"))
			}
			expect(t, problems, want...)
		})
	}
}

func TestAReviewedRuleMayChange(t *testing.T) {
	before, after := parse(t, small), parse(t, small)
	change(after, "ruled", func(p *props) { p.XValidations = nil })
	reviewed := []Reviewed{{Since: []string{"v1.0.0"}, CRD: "things.example.com", Field: "^.spec.ruled", Because: "it is gone"}}
	if found := Unsafe(before, after, "v1.0.0", reviewed); len(found) > 0 {
		t.Errorf("reviewed, but told: %v", found)
	}
	if found := Unsafe(before, after, "v1.1.0", reviewed); len(found) != 1 {
		t.Errorf("a review of another release counted: %v", found)
	}
}

func TestReviewedFieldsAndLimitsMayChange(t *testing.T) {
	before, after := parse(t, small), parse(t, small)
	delete(fields(after, "spec"), "free")
	change(after, "list", func(p *props) { *p.MaxItems = 4 })
	reviewed := []Reviewed{{Since: []string{"v1.0.0"}, CRD: "things.example.com", Field: "^.spec.free", Because: "nothing read it"}}
	if found := Unsafe(before, after, "v1.0.0", reviewed); len(found) != 1 || !strings.Contains(found[0], "maxItems") {
		t.Errorf("want the limit alone, got %v", found)
	}
	limit := Reviewed{Since: []string{"v1.0.0"}, CRD: "things.example.com", Field: "^.spec.list", Because: "nobody has more"}
	reviewed = append(reviewed, limit)
	if found := Unsafe(before, after, "v1.0.0", reviewed); len(found) > 0 {
		t.Errorf("reviewed, but told: %v", found)
	}
}

func TestAKindMayNotGo(t *testing.T) {
	if found := Unsafe(parse(t, small), nil, "v1.0.0", nil); len(found) != 1 {
		t.Errorf("want one line, got %v", found)
	}
}

// A review of what is no longer there would let the next change of that field pass unseen.
func TestEveryReviewIsOfAChange(t *testing.T) {
	options := project(t, current)
	bundle := load(t, current)
	changes := map[string][]string{} // of a CRD since a release
	for _, review := range options.Reviewed {
		for _, release := range review.Since {
			old, err := loadReleased(since(release))
			if err != nil {
				t.Errorf("reviewed.yaml: %v", err)
				continue
			}
			of := release + " " + review.CRD
			if changes[of] == nil {
				changes[of] = Unsafe(old.crd(review.CRD), bundle.crd(review.CRD), release, nil)
			}
			change := regexp.MustCompile(`(^|\.)` + regexp.QuoteMeta(review.Field) + `(:| is gone)`)
			if !slices.ContainsFunc(changes[of], change.MatchString) {
				t.Errorf("reviewed.yaml: %s is as it is in %s: remove the entry", review.Field, release)
			}
		}
	}
}

// since is the folder of a version, published or not.
func since(version string) string {
	folder := filepath.Join(top, "releases", version)
	if _, err := os.Stat(folder); err != nil {
		folder = filepath.Join(top, "releases", "unpublished", version)
	}
	return folder
}

func load(t *testing.T, folder string) *Bundle {
	t.Helper()
	bundle, err := Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

func parse(t *testing.T, text string) *crd {
	t.Helper()
	file := filepath.Join(t.TempDir(), "crd.yaml")
	write(t, file, text)
	parsed, err := readCRD(file)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// fields are those below a path of the first version. The map is the CRD's own, its values are copies.
func fields(c *crd, path ...string) map[string]props {
	at := c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	for _, name := range path {
		at = at[name].Properties
	}
	return at
}

func change(c *crd, name string, edit func(*props)) { alter(fields(c, "spec"), name, edit) }

func alter(in map[string]props, name string, edit func(*props)) {
	field := in[name]
	edit(&field)
	in[name] = field
}

func requires(c *crd, names ...string) {
	alter(fields(c), "spec", func(p *props) { p.Required = names })
}

func raw(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }

// TestReservedWordsAreEscaped: Kubernetes 1.30 knows no field by a reserved word of CEL.
func TestReservedWordsAreEscaped(t *testing.T) {
	for rule, found := range map[string]bool{
		"has(self.import)": true, "self.a.namespace != ''": true,
		"has(self.__import__)": false, "self.importer == self.namespaceSelector": false, "'import' in self": false,
	} {
		c := parse(t, small)
		c.Spec.Versions[0].Schema.OpenAPIV3Schema.XValidations = apiextensionsv1.ValidationRules{{Rule: rule}}
		if got := unescaped(c); (len(got) > 0) != found {
			t.Errorf("%s: %v", rule, got)
		}
	}
}
