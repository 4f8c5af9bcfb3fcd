// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// annotations that the pipelines want, and how they must look. What categories and capabilities may say is known to
// operator-framework's validators.
var annotations = map[string]*regexp.Regexp{
	"certified":      regexp.MustCompile(`^(true|false)$`),
	"containerImage": regexp.MustCompile(`^([^/]+/){1,}[^/:]+:.+$`),
	"description":    regexp.MustCompile(`^.{10,135}$`),
	"repository":     regexp.MustCompile(`^https://.+$`),
	"support":        regexp.MustCompile(`^.{3,}$`),
	"categories":     regexp.MustCompile(`^.+$`),
	"capabilities":   regexp.MustCompile(`^.+$`),
	"alm-examples":   regexp.MustCompile(`(?s)^.{30,}$`),
	"operatorframework.io/suggested-namespace":          regexp.MustCompile(`^[a-z0-9-]+$`),
	"operatorframework.io/suggested-namespace-template": regexp.MustCompile(`"pod-security.kubernetes.io/enforce":\s*"restricted"`),
}

func checkAnnotations(b *Bundle, _ Options) []string {
	var all lines
	for _, key := range sortedKeys(annotations) {
		if value := b.CSV.Annotations[key]; !annotations[key].MatchString(value) {
			all.add("annotation %s is %q: it must match %s", key, value, annotations[key])
		}
	}
	if b.CSV.Annotations["olm.properties"] != "" {
		all.add("annotation olm.properties belongs into metadata/properties.yaml: move it")
	}
	return all
}

// features are what OpenShift's console shows and Red Hat's preflight asks for; the last three may be left out there, not here.
var features = []string{
	"disconnected", "fips-compliant", "proxy-aware", "tls-profiles",
	"token-auth-aws", "token-auth-azure", "token-auth-gcp", "cnf", "cni", "csi",
}

const featurePrefix = "features.operators.openshift.io/"

// checkFeatures wants each feature answered, and disconnected answered truthfully: preflight looks for the same proof.
func checkFeatures(b *Bundle, _ Options) []string {
	var all lines
	for _, feature := range features {
		if value := b.CSV.Annotations[featurePrefix+feature]; value != "true" && value != "false" {
			all.add("annotation %s%s is %q: say \"true\" or \"false\"", featurePrefix, feature, value)
		}
	}
	for _, key := range sortedKeys(b.CSV.Annotations) {
		if name, found := strings.CutPrefix(key, featurePrefix); found && !slices.Contains(features, name) {
			all.add("annotation %s is none that OpenShift knows: remove it", key)
		}
	}
	// main.go: jobProxy. What is outside of the cluster, the stores of backups, is asked by Jobs alone.
	if b.CSV.Annotations[featurePrefix+"proxy-aware"] != "true" {
		all.add("the operator hands a proxy of its environment on to its Jobs, but the feature proxy-aware is not \"true\"")
	}
	return append(all, oddDisconnected(b)...)
}

// oddDisconnected wants the feature exactly where it is true: mirrors find an image by its digest, and copy what is listed.
func oddDisconnected(b *Bundle) []string {
	pinned := !slices.ContainsFunc(usedImages(b), func(image string) bool { return !byDigest.MatchString(image) })
	copied := len(b.CSV.Spec.RelatedImages) > 0 && len(relatedEnv(b)) > 0
	switch claimed := b.CSV.Annotations[featurePrefix+"disconnected"] == "true"; {
	case claimed && !pinned:
		return []string{"the feature disconnected is not true while an image is named by a tag: 'make bundle IMAGE_REGISTRY=…' sets it"}
	case claimed && !copied:
		return []string{"the feature disconnected needs spec.relatedImages, which a mirror copies, and RELATED_IMAGE_… in the environment"}
	case !claimed && pinned && copied:
		return []string{"every image is named by digest, but the feature disconnected is not \"true\": 'make bundle IMAGE_REGISTRY=…' sets it"}
	default:
		return nil
	}
}

// stale is how old createdAt may be when a version is released; bundles on OperatorHub that were copied forward say years.
const stale = 180 * 24 * time.Hour

func checkCreatedAt(b *Bundle, options Options) []string {
	text := b.CSV.Annotations["createdAt"]
	created, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return []string{fmt.Sprintf("annotation createdAt is %q: write a time such as 2026-11-20T00:00:00Z", text)}
	}
	if options.Released.IsZero() || options.Released.Sub(created).Abs() <= stale {
		return nil
	}
	return []string{fmt.Sprintf("annotation createdAt is %s, the release of %s: bring it within 180 days",
		created.Format(time.DateOnly), options.Released.Format(time.DateOnly))}
}

// checkLabels compares the three places that say what a bundle image is; the image itself is made from annotations.yaml.
func checkLabels(b *Bundle, options Options) []string {
	all := lines(oddChannels(b))
	if options.Dockerfile == "" {
		return all
	}
	labels, err := dockerfileLabels(options.Dockerfile)
	switch {
	case err != nil:
		all.add("%s cannot be read: %v", options.Dockerfile, err)
	case !maps.Equal(labels, bundleLabels(b.Labels)):
		all.add("%s and metadata/annotations.yaml have different labels: run 'make bundle'", options.Dockerfile)
	}
	return all
}

// bundleLabels leaves out what is meant for a pipeline and not for the image.
func bundleLabels(labels map[string]string) map[string]string {
	kept := maps.Clone(labels)
	maps.DeleteFunc(kept, func(key, _ string) bool { return strings.HasPrefix(key, "com.redhat.") })
	return kept
}

func dockerfileLabels(file string) (map[string]string, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	labels := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		if text, found := strings.CutPrefix(strings.TrimSpace(line), "LABEL "); found {
			key, value, _ := strings.Cut(text, "=")
			labels[key] = strings.Trim(value, `"`)
		}
	}
	return bundleLabels(labels), nil
}

// channel is how the good-practices validator and OLM's own naming guide want channels to be called.
var channel = regexp.MustCompile(`^(candidate|fast|stable)(-v[0-9]+(\.[0-9]+)?)?$`)

func oddChannels(b *Bundle) []string {
	var all lines
	names := strings.Split(b.Labels["operators.operatorframework.io.bundle.channels.v1"], ",")
	for _, name := range names {
		if !channel.MatchString(name) {
			all.add("channel %q: call it stable-v0, fast-v0 or candidate-v0", name)
		}
	}
	if preferred := b.Labels["operators.operatorframework.io.bundle.channel.default.v1"]; !slices.Contains(names, preferred) {
		all.add("the default channel %q is none of %s", preferred, strings.Join(names, ", "))
	}
	// Red Hat's pipeline wants the versions of OpenShift that have minKubeVersion. While there is none with it, the label is
	// left out and nothing is offered there.
	if versions, found := b.Labels["com.redhat.openshift.versions"]; found && !openshift.MatchString(versions) {
		all.add("label com.redhat.openshift.versions is %q: write v4.20- or v4.20-v4.22", versions)
	}
	return all
}

// openshift is a range of versions, open to the right or not, or with = a single one.
var openshift = regexp.MustCompile(`^(=?v4\.[0-9]+|v4\.[0-9]+-(v4\.[0-9]+)?)$`)
