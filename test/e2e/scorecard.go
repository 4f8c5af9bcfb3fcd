// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// ourTests and builtIn are how many tests the bundle must have.
const (
	builtIn  = 6
	ourTests = 6
)

// bundleWithTests is the bundle of this tree, with every image by its digest. That matters
// for tests: a node that has an image of a tag does not ask for it again.
func bundleWithTests() string {
	GinkgoHelper()
	run("make", "scorecard-image", "bundle", "REGISTRY="+registry, "IMAGE_REGISTRY="+registry)
	digest, err := os.ReadFile(filepath.Join(top, "bin", "scorecard.digest"))
	Expect(err).NotTo(HaveOccurred())
	bundle := filepath.Join(top, "dist", "bundle")
	config, err := os.ReadFile(filepath.Join(bundle, "tests", "scorecard", "config.yaml"))
	Expect(err).NotTo(HaveOccurred())
	ours := "image: " + registry + "/etcd-operator/etcd-operator-scorecard@" + strings.TrimSpace(string(digest))
	Expect(strings.Count(string(config), ours)).To(Equal(ourTests), "%s", config)
	Expect(strings.Count(string(config), "@sha256:")).To(Equal(ourTests+builtIn), "%s", config)
	return bundle
}

// scorecardAccount lets the tests' Pods do what they need, in one namespace.
func scorecardAccount(namespace string) {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(top, "config/scorecard/rbac.yaml"))
	Expect(err).NotTo(HaveOccurred())
	objects := []client.Object{&corev1.ServiceAccount{}, &rbacv1.Role{}, &rbacv1.RoleBinding{}}
	parts := strings.Split(string(text), "\n---\n")
	Expect(parts).To(HaveLen(len(objects)))
	for i, object := range objects {
		Expect(yaml.UnmarshalStrict([]byte(parts[i]), object)).To(Succeed())
		object.SetNamespace(namespace)
		if binding, is := object.(*rbacv1.RoleBinding); is {
			binding.Subjects[0].Namespace = namespace
		}
		Expect(api.Create(ctx, object)).To(Succeed())
	}
}
