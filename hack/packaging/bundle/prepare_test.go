// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"strings"
	"testing"
)

const rendered = `
kind: ClusterServiceVersion
metadata:
  name: operator.v0.0.0
  annotations:
    alm-examples-metadata: '{"one": {"description": "one & only <example>"}, "gone": {"description": "of another release"}}'
spec:
  customresourcedefinitions:
    owned:
    - name: clusters.example.dev
      kind: Cluster
      version: v1
      specDescriptors: [{path: size}, {path: storage}, {path: flags}]
      statusDescriptors: [{path: members}]
---
` + defined + `
---
apiVersion: example.dev/v1
kind: Cluster
metadata: {name: one}
spec: {size: 1}
---
apiVersion: other.dev/v1
kind: Cluster
metadata: {name: not-ours}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: operator, namespace: home}
spec: {template: {spec: {serviceAccountName: operator, containers: [{name: manager, image: team/operator:v1}]}}}
`

const icon = `<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"></svg>`

func objectsOf(t *testing.T, content string) []object {
	t.Helper()
	objects, err := readStream(strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func preparing(t *testing.T) preparation {
	t.Helper()
	statuses, err := parse([]byte(`one: {members: [{name: one-0}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return preparation{version: "0.2.0", replaces: "operator.v0.1.0", icon: []byte(icon), statuses: statuses}
}

func TestPrepare(t *testing.T) {
	objects := objectsOf(t, rendered)
	if err := preparing(t).apply(objects); err != nil {
		t.Fatal(err)
	}
	csv, err := theCSV(objects)
	if err != nil {
		t.Fatal(err)
	}
	annotations := part(csv, "metadata", "annotations")
	for what, c := range map[string]struct{ got, want string }{
		"image":     {text(annotations, "containerImage"), "team/operator:v1"},
		"replaces":  {text(csv, "spec", "replaces"), "operator.v0.1.0"},
		"skipRange": {text(annotations, "olm.skipRange"), ">=0.1.0-0 <0.2.0"},
		"icon":      {text(parts(csv, "spec", "icon")[0], "base64data"), base64.StdEncoding.EncodeToString([]byte(icon))},
		"texts":     {text(annotations, "alm-examples-metadata"), "{\n  \"one\": {\n    \"description\": \"one & only <example>\"\n  }\n}"},
	} {
		if c.got != c.want {
			t.Errorf("%s is %q, want %q", what, c.got, c.want)
		}
	}
	for _, example := range ofKind(objects, "Cluster") {
		members := parts(example, "status", "members")
		if ours := nameOf(example) == "one"; ours != (len(members) == 1) {
			t.Errorf("%s has %d members in its status", nameOf(example), len(members))
		}
	}
}

func TestFirstReleaseReplacesNothing(t *testing.T) {
	p := preparing(t)
	p.replaces = ""
	objects := objectsOf(t, rendered)
	if err := p.apply(objects); err != nil {
		t.Fatal(err)
	}
	csv, err := theCSV(objects)
	if err != nil {
		t.Fatal(err)
	}
	if get(csv, "spec", "replaces") != nil {
		t.Error("the first release replaces something")
	}
	// Who made a withdrawn version is updated all the same.
	if got := text(csv, "metadata", "annotations", "olm.skipRange"); got != ">=0.1.0-0 <"+p.version {
		t.Errorf("it skips %q", got)
	}
}

func TestWhatIsNotPrepared(t *testing.T) {
	wide := strings.Replace(icon, `width="8"`, `width="9"`, 1)
	large := strings.Replace(icon, "></svg>", "><!--"+strings.Repeat("x", iconLimit)+"--></svg>", 1)
	with := func(change func(*preparation)) preparation {
		p := preparing(t)
		change(&p)
		return p
	}
	for name, c := range map[string]struct {
		p        preparation
		rendered string
		says     string
	}{
		"no version":           {with(func(p *preparation) { p.version = "" }), rendered, "-version"},
		"an icon that is wide": {with(func(p *preparation) { p.icon = []byte(wide) }), rendered, "square"},
		"an icon too large":    {with(func(p *preparation) { p.icon = []byte(large) }), rendered, "bytes"},
		"an icon that is none": {with(func(p *preparation) { p.icon = []byte("<html/>") }), rendered, "icon"},
		"no status":            {with(func(p *preparation) { p.statuses = object{} }), rendered, "one has no status"},
		"no text": {
			with(func(p *preparation) { p.statuses["gone2"] = object{} }),
			strings.ReplaceAll(rendered, "name: one}", "name: gone2}"), "gone2 is not described",
		},
		"no manager": {preparing(t), strings.ReplaceAll(rendered, "name: manager,", "name: proxy,"), "manager"},
		"two CSVs":   {preparing(t), rendered + "---\nkind: ClusterServiceVersion\n", "2 ClusterServiceVersions"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.p.apply(objectsOf(t, c.rendered))
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error is %v, want one that says %s", err, c.says)
			}
		})
	}
}

func TestStreamStaysAsItIs(t *testing.T) {
	const large = "kind: Thing\nmetadata:\n  name: a\nspec:\n  big: 9007199254740993\n  text: |-\n    one\n    ---\n    two\n"
	objects := objectsOf(t, large+"---\nkind: Other\n")
	var out strings.Builder
	if err := writeStream(&out, objects); err != nil {
		t.Fatal(err)
	}
	if want := "---\n" + large + "---\nkind: Other\n"; out.String() != want {
		t.Errorf("written as\n%s\nwant\n%s", out.String(), want)
	}
	if _, err := readStream(strings.NewReader("name: nothing\n")); err == nil {
		t.Error("a manifest without a kind is read")
	}
}
