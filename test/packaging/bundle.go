// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Bundle is what a folder with manifests/ and metadata/ holds.
type Bundle struct {
	// Folder is where it was read from.
	Folder string
	// Raw is the bundle as operator-framework reads it.
	Raw *manifests.Bundle
	// CSV is the ClusterServiceVersion of Raw.
	CSV *v1alpha1.ClusterServiceVersion
	// Labels are those of metadata/annotations.yaml.
	Labels map[string]string
	// Examples are the objects of the annotation alm-examples.
	Examples []unstructured.Unstructured
}

// Load reads a bundle.
func Load(folder string) (*Bundle, error) {
	raw, err := manifests.GetBundleFromDir(folder)
	if err != nil {
		return nil, err
	}
	if raw.CSV == nil {
		return nil, errors.New("it has no ClusterServiceVersion")
	}
	labels, err := readLabels(filepath.Join(folder, "metadata", "annotations.yaml"))
	if err != nil {
		return nil, err
	}
	bundle := &Bundle{Folder: folder, Raw: raw, CSV: raw.CSV, Labels: labels}
	text := raw.CSV.Annotations["alm-examples"]
	if text == "" {
		text = "[]"
	}
	if err := json.Unmarshal([]byte(text), &bundle.Examples); err != nil {
		return nil, fmt.Errorf("annotation alm-examples is no list of objects: %w", err)
	}
	return bundle, nil
}

func readLabels(file string) (map[string]string, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var content struct {
		Annotations map[string]string `json:"annotations"`
	}
	if err := yaml.Unmarshal(raw, &content); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return content.Annotations, nil
}

// Package is the name that the bundle's labels give.
func (b *Bundle) Package() string {
	return b.Labels["operators.operatorframework.io.bundle.package.v1"]
}

// Deployments are the workloads of the CSV, as Deployments so that other code can look at them.
func (b *Bundle) Deployments() []appsv1.Deployment {
	var all []appsv1.Deployment
	for _, spec := range b.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		deployment := appsv1.Deployment{Spec: spec.Spec}
		deployment.Name = spec.Name
		all = append(all, deployment)
	}
	return all
}

// crd finds one of the bundle's CRDs by its name.
func (b *Bundle) crd(name string) *apiextensionsv1.CustomResourceDefinition {
	for _, crd := range b.Raw.V1CRDs {
		if crd.Name == name {
			return crd
		}
	}
	return nil
}

// schema finds the schema of a kind that the bundle owns.
func (b *Bundle) schema(kind, version string) *apiextensionsv1.JSONSchemaProps {
	for _, crd := range b.Raw.V1CRDs {
		for _, v := range crd.Spec.Versions {
			if crd.Spec.Names.Kind == kind && v.Name == version && v.Schema != nil {
				return v.Schema.OpenAPIV3Schema
			}
		}
	}
	return nil
}

// oneLine keeps a message of other code, such as a diff, from spreading.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func sortedKeys[V any](all map[string]V) []string { return slices.Sorted(maps.Keys(all)) }
