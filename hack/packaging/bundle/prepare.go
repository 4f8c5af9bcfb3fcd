// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	// first is the oldest release that anybody may have installed, pre-releases of it included: also of a release that is
	// in no catalog, because it was withdrawn, the next one is an update.
	first = "0.1.0-0"
	// iconLimit is what an icon may have, in bytes.
	iconLimit = 10 << 10
)

// preparation is what happens to manifests before operator-sdk makes a bundle of them.
type preparation struct {
	version  string
	replaces string
	icon     []byte
	statuses object
}

func (p preparation) apply(objects []object) error {
	csv, err := theCSV(objects)
	if err != nil {
		return err
	}
	annotations := within(csv, "metadata", "annotations")
	if err := p.position(csv); err != nil {
		return err
	}
	if err := p.draw(csv); err != nil {
		return err
	}
	if annotations["containerImage"], err = operatorImage(objects); err != nil {
		return err
	}
	for _, crd := range ofKind(objects, "CustomResourceDefinition") {
		if err := fitDescriptors(csv, crd); err != nil {
			return err
		}
		if err := p.fillExamples(objects, crd); err != nil {
			return err
		}
	}
	return fitExampleTexts(objects, annotations)
}

// position says where the release stands among the others. The edges of the catalog are the same.
func (p preparation) position(csv object) error {
	if p.version == "" {
		return errors.New("which -version?")
	}
	within(csv, "metadata", "annotations")["olm.skipRange"] = fmt.Sprintf(">=%s <%s", first, p.version)
	if p.replaces != "" {
		within(csv, "spec")["replaces"] = p.replaces
	}
	return nil
}

// draw puts the icon in. Catalogs show it in a square and load it with every page.
func (p preparation) draw(csv object) error {
	var svg struct {
		XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
		Width   string   `xml:"width,attr"`
		Height  string   `xml:"height,attr"`
	}
	if err := xml.Unmarshal(p.icon, &svg); err != nil {
		return fmt.Errorf("the icon: %w", err)
	}
	if svg.Width == "" || svg.Width != svg.Height {
		return fmt.Errorf("the icon is %q wide and %q high: it must be square", svg.Width, svg.Height)
	}
	if len(p.icon) > iconLimit {
		return fmt.Errorf("the icon has %d bytes: it must have at most %d", len(p.icon), iconLimit)
	}
	within(csv, "spec")["icon"] = []any{object{
		"base64data": base64.StdEncoding.EncodeToString(p.icon),
		"mediatype":  "image/svg+xml",
	}}
	return nil
}

// operatorImage is what the Deployment's manager runs.
func operatorImage(objects []object) (string, error) {
	for _, deployment := range ofKind(objects, "Deployment") {
		for _, container := range parts(deployment, "spec", "template", "spec", "containers") {
			if text(container, "name") == "manager" {
				return text(container, "image"), nil
			}
		}
	}
	return "", errors.New("no Deployment has a container named manager")
}

// fillExamples gives each example the status that it would have, so that people see what to expect. An API server drops it
// when an example is created.
func (p preparation) fillExamples(objects []object, crd object) error {
	for _, example := range examplesOf(objects, crd) {
		status := part(p.statuses, nameOf(example))
		if status == nil {
			return fmt.Errorf("the example %s has no status: add one to config/manifests/statuses.yaml", nameOf(example))
		}
		example["status"] = status
	}
	return nil
}

func examplesOf(objects []object, crd object) []object {
	group := text(crd, "spec", "group")
	return slices.DeleteFunc(ofKind(objects, text(crd, "spec", "names", "kind")), func(o object) bool {
		return !strings.HasPrefix(text(o, "apiVersion"), group+"/")
	})
}

// fitExampleTexts keeps the texts of the examples that there are, and wants one for each.
func fitExampleTexts(objects []object, annotations object) error {
	const key = "alm-examples-metadata"
	texts, kept := object{}, object{}
	if err := parseJSON(text(annotations, key), &texts); err != nil {
		return fmt.Errorf("annotation %s: %w", key, err)
	}
	for _, crd := range ofKind(objects, "CustomResourceDefinition") {
		for _, example := range examplesOf(objects, crd) {
			name := nameOf(example)
			if text(texts, name, "description") == "" {
				return fmt.Errorf("the example %s is not described: add it to the annotation %s in config/manifests/bases", name, key)
			}
			kept[name] = texts[name]
		}
	}
	content, err := printJSON(kept)
	annotations[key] = content
	return err
}
