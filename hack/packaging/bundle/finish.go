// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/bundle"
)

// finish puts right what operator-sdk does to a bundle, or leaves undone: the time of the release instead of the time of the
// build, the operator's own image among the related ones, no empty status of a CRD.
func finish(bundle string, prepared []object) error {
	base, err := theCSV(prepared)
	if err != nil {
		return err
	}
	file, csv, err := readCSV(bundle)
	if err != nil {
		return err
	}
	annotations := within(csv, "metadata", "annotations")
	annotations["createdAt"] = text(base, "metadata", "annotations", "createdAt")
	delete(part(csv, "metadata"), "namespace")
	delete(part(csv, "spec"), "cleanup")
	if err := relate(csv, text(annotations, "containerImage")); err != nil {
		return err
	}
	describeEarlier(csv)
	if err := writeObject(file, csv); err != nil {
		return err
	}
	return tidyManifests(bundle)
}

// describeEarlier describes an earlier version of a kind, of which the code has no markers, as the current one is described: their fields
// are the same.
func describeEarlier(csv object) {
	current := map[string]object{}
	owned := parts(csv, "spec", "customresourcedefinitions", "owned")
	for _, kind := range owned {
		if text(kind, "displayName") != "" {
			current[text(kind, "name")] = kind
		}
	}
	for _, kind := range owned {
		for key, value := range current[text(kind, "name")] {
			if _, described := kind[key]; !described {
				kind[key] = value
			}
		}
	}
}

// relate lists the operator's image before those that it runs.
func relate(csv object, image string) error {
	name, _, _ := strings.Cut(nameOf(csv), ".v")
	images := append([]object{{"name": name, "image": image}}, parts(csv, "spec", "relatedImages")...)
	seen := map[string]bool{}
	for _, related := range images {
		for _, key := range []string{"name", "image"} {
			value := text(related, key)
			if value == "" || seen[value] {
				return fmt.Errorf("relatedImages: %s %q is empty or there twice", key, value)
			}
			seen[value] = true
		}
	}
	within(csv, "spec")["relatedImages"] = list(images)
	return nil
}

// tidyManifests removes what only an API server writes.
func tidyManifests(bundle string) error {
	files, err := filepath.Glob(filepath.Join(bundle, "manifests", "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		o, err := readObject(file)
		if err != nil {
			return err
		}
		delete(o, "status")
		forgetTimes(o)
		if err := writeObject(file, o); err != nil {
			return err
		}
	}
	return nil
}

// forgetTimes removes empty creation times at any depth, such as that of a Pod's template.
func forgetTimes(value any) {
	switch v := value.(type) {
	case object:
		if when, ok := v["creationTimestamp"]; ok && when == nil {
			delete(v, "creationTimestamp")
		}
		for _, inner := range v {
			forgetTimes(inner)
		}
	case []any:
		for _, inner := range v {
			forgetTimes(inner)
		}
	}
}

func readCSV(folder string) (file string, csv object, err error) {
	if file, err = bundle.CSV(folder); err != nil {
		return "", nil, err
	}
	csv, err = readObject(file)
	return file, csv, err
}
