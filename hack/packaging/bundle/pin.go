// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// relatedPrefix begins the names of the variables that tell the operator which images to run.
const relatedPrefix = "RELATED_IMAGE_"

// disconnected tells OpenShift that mirrors are enough.
const disconnected = "features.operators.openshift.io/disconnected"

// pin replaces every image that a bundle's CSV names by the digest that a registry holds for it, wherever it stands: in the
// Deployment, in its environment, in the list for mirrors, in the examples. Images whose digest is known need not be there yet.
// Images of the bundle's tests are replaced where it can be.
func pin(ctx context.Context, bundle, registry string, known map[string]string) error {
	file, csv, err := readCSV(bundle)
	if err != nil {
		return err
	}
	pinned := map[string]string{}
	for _, image := range imagesOf(csv) {
		if pinned[image], err = resolve(ctx, image, registry, known[image]); err != nil {
			return fmt.Errorf("pin %s: %w", image, err)
		}
	}
	writeTests, err := pinTests(ctx, bundle, registry, known)
	if err != nil {
		return err
	}
	replaced, ok := replace(csv, pinned).(object)
	if !ok {
		return fmt.Errorf("%s: not an object", file)
	}
	// Now it is true that the operator can be had without the internet: a mirror copies every image under its digest.
	within(replaced, "metadata", "annotations")[disconnected] = "true"
	if err := writeObject(file, replaced); err != nil {
		return err
	}
	return writeTests()
}

// pinTests replaces the images of the tests that `operator-sdk scorecard` runs, as far as their digests are known or the registry
// has them: no cluster needs them to run the operator, and those of Operator SDK are published by others. Nothing is written
// before the returned function is called.
func pinTests(ctx context.Context, bundle, registry string, known map[string]string) (write func() error, err error) {
	write = func() error { return nil }
	file := filepath.Join(bundle, "tests", "scorecard", "config.yaml")
	config, err := readObject(file)
	if errors.Is(err, fs.ErrNotExist) {
		return write, nil
	}
	if err != nil {
		return nil, err
	}
	pinned := map[string]string{}
	for _, image := range imagesOfTests(config) {
		if registry == "" && known[image] == "" {
			continue
		}
		name, err := resolve(ctx, image, registry, known[image])
		if isWithheld(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("pin %s: %w", image, err)
		}
		pinned[image] = name
	}
	if replaced, ok := replace(config, pinned).(object); ok && len(pinned) > 0 {
		write = func() error { return writeObject(file, replaced) }
	}
	return write, nil
}

// isWithheld says whether a registry does not have an image, or does not say so: many answer that nobody may know.
func isWithheld(err error) bool {
	var answer *transport.Error
	if !errors.As(err, &answer) {
		return false
	}
	return slices.Contains([]int{http.StatusNotFound, http.StatusUnauthorized, http.StatusForbidden}, answer.StatusCode)
}

// imagesOfTests lists the images of a scorecard's configuration.
func imagesOfTests(config object) []string {
	images := map[string]bool{}
	for _, stage := range parts(config, "stages") {
		for _, test := range parts(stage, "tests") {
			images[text(test, "image")] = true
		}
	}
	delete(images, "")
	return slices.Sorted(maps.Keys(images))
}

// imagesOf lists the images that a CSV names, each once.
func imagesOf(csv object) []string {
	images := map[string]bool{text(csv, "metadata", "annotations", "containerImage"): true}
	for _, related := range parts(csv, "spec", "relatedImages") {
		images[text(related, "image")] = true
	}
	for _, deployment := range parts(csv, "spec", "install", "spec", "deployments") {
		pod := part(deployment, "spec", "template", "spec")
		for _, container := range slices.Concat(parts(pod, "initContainers"), parts(pod, "containers")) {
			images[text(container, "image")] = true
			for _, variable := range parts(container, "env") {
				if strings.HasPrefix(text(variable, "name"), relatedPrefix) {
					images[text(variable, "value")] = true
				}
			}
		}
	}
	delete(images, "")
	return slices.Sorted(maps.Keys(images))
}

// resolve returns an image's name in a registry, by digest: the same path there, without the host that it came from. Without a
// registry it stays where it is.
func resolve(ctx context.Context, image, registry, digest string) (string, error) {
	original, err := name.ParseReference(image)
	if err != nil {
		return "", err
	}
	separator := ":"
	if strings.Contains(original.Identifier(), ":") {
		separator = "@"
	}
	repository := strings.TrimSuffix(image, separator+original.Identifier())
	if registry != "" {
		repository = registry + "/" + original.Context().RepositoryStr()
	}
	if digest != "" {
		return repository + "@" + digest, nil
	}
	ref, err := name.ParseReference(repository + separator + original.Identifier())
	if err != nil {
		return "", err
	}
	found, err := remote.Head(ref, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return "", fmt.Errorf("%s is not to be had: %w", ref, err)
	}
	return repository + "@" + found.Digest.String(), nil
}

// readKnown reads lines of an image and its digest.
func readKnown(file string) (map[string]string, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		image, digest, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found || !strings.HasPrefix(digest, "sha256:") {
			return nil, fmt.Errorf("%s: %q is not an image and its digest", file, line)
		}
		known[image] = digest
	}
	return known, nil
}

// replace returns a copy of a value in which every string that is a key of names is replaced, and every such string in quotes
// inside a longer one, as in the JSON of examples.
func replace(value any, names map[string]string) any {
	switch v := value.(type) {
	case object:
		copied := object{}
		for key, inner := range v {
			copied[key] = replace(inner, names)
		}
		return copied
	case []any:
		copied := make([]any, 0, len(v))
		for _, inner := range v {
			copied = append(copied, replace(inner, names))
		}
		return copied
	case string:
		return replaceText(v, names)
	default:
		return v
	}
}

func replaceText(value string, names map[string]string) string {
	if name, ok := names[value]; ok {
		return name
	}
	for _, before := range slices.Sorted(maps.Keys(names)) {
		value = strings.ReplaceAll(value, `"`+before+`"`, `"`+names[before]+`"`)
	}
	return value
}
