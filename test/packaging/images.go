// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

var (
	byDigest  = regexp.MustCompile(`^[^@\s]+@sha256:[0-9a-f]{64}$`)
	byVersion = regexp.MustCompile(`^[^@\s]+:v[0-9]+\.[0-9]+\.[0-9]+[^/@\s]*$`)
)

// checkImages wants every image named exactly, and everything that runs listed for those who copy images to where no
// registry of ours can be reached.
func checkImages(b *Bundle, options Options) []string {
	listed := map[string]int{}
	names := map[string]int{}
	for _, image := range b.CSV.Spec.RelatedImages {
		listed[image.Image]++
		names[image.Name]++
	}
	var all lines
	for _, image := range usedImages(b) {
		switch {
		case options.Digests && !byDigest.MatchString(image):
			all.add("image %s is not named by digest: run 'make bundle IMAGE_REGISTRY=…' after its images are there", image)
		case !byDigest.MatchString(image) && !byVersion.MatchString(image):
			all.add("image %s is named neither by digest nor by an exact version: a tag that moves is no release", image)
		case !hasRegistry(image):
			all.add("image %s does not name its registry: it would be looked for on a public one, where the name is not ours", image)
		case listed[image] == 0:
			all.add("image %s is not in spec.relatedImages: mirrors would not copy it", image)
		}
	}
	for _, image := range sortedKeys(listed) {
		if listed[image] > 1 {
			all.add("image %s is %d times in spec.relatedImages: once is enough", image, listed[image])
		}
	}
	for _, name := range sortedKeys(names) {
		if names[name] > 1 || name == "" {
			all.add("the name %q stands for %d images in spec.relatedImages: give each its own", name, names[name])
		}
	}
	if shown := b.CSV.Annotations["containerImage"]; shown != managerImage(b) {
		all.add("annotation containerImage is %s, the manager's image is %s: they must be the same", shown, managerImage(b))
	}
	return all
}

// hasRegistry says whether a name begins with a host, as Docker and containerd tell one.
func hasRegistry(image string) bool {
	host, _, found := strings.Cut(image, "/")
	return found && (strings.ContainsAny(host, ".:") || host == "localhost")
}

// usedImages names each image of the bundle once, in the order in which they are met.
func usedImages(b *Bundle) []string {
	var all []string
	seen := map[string]bool{}
	add := func(image string) {
		if !seen[image] {
			seen[image] = true
			all = append(all, image)
		}
	}
	for _, c := range containers(b) {
		add(c.Image)
	}
	for _, env := range relatedEnv(b) {
		add(env.Value)
	}
	for _, image := range b.CSV.Spec.RelatedImages {
		add(image.Image)
	}
	return all
}

func containers(b *Bundle) []corev1.Container {
	var all []corev1.Container
	for _, deployment := range b.Deployments() {
		pod := deployment.Spec.Template.Spec
		all = append(append(all, pod.InitContainers...), pod.Containers...)
	}
	return all
}

// relatedEnv is how the operator learns the images that it starts itself.
func relatedEnv(b *Bundle) []corev1.EnvVar {
	var all []corev1.EnvVar
	for _, c := range containers(b) {
		for _, env := range c.Env {
			if strings.HasPrefix(env.Name, "RELATED_IMAGE_") {
				all = append(all, env)
			}
		}
	}
	return all
}

func managerImage(b *Bundle) string {
	for _, c := range containers(b) {
		if c.Name == managerName {
			return c.Image
		}
	}
	return ""
}
