// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	registrybundle "github.com/operator-framework/operator-registry/pkg/lib/bundle"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// checkOLMv1 asks what operator-controller asks before it installs a bundle. Its validators are in an internal package
// (internal/operator-controller/rukpak/render/registryv1/validators), so their rules are written here again: unique deployments
// with valid names, every owned CRD present once, a package name, webhooks that fit, only known kinds, API services with a
// deployment. It also installs nothing that depends on other bundles, and for all namespaces only.
func checkOLMv1(b *Bundle, _ Options) []string {
	var all lines
	for _, check := range []func(*Bundle) []string{
		oddDeploymentNames, missingCRDs, oddWebhooks, unknownKinds, oddServices, dependencies,
	} {
		all = append(all, check(b)...)
	}
	if b.Package() == "" {
		all.add("the package has no name: set operators.operatorframework.io.bundle.package.v1")
	}
	if !slices.ContainsFunc(b.CSV.Spec.InstallModes, func(mode v1alpha1.InstallMode) bool {
		return mode.Type == v1alpha1.InstallModeTypeAllNamespaces && mode.Supported
	}) {
		all.add("AllNamespaces is not supported: OLM v1 installs for all namespaces only")
	}
	return all
}

func oddDeploymentNames(b *Bundle) []string {
	var all lines
	seen := map[string]bool{}
	for _, deployment := range b.Deployments() {
		if seen[deployment.Name] {
			all.add("two deployments are called %s: rename one", deployment.Name)
		}
		seen[deployment.Name] = true
		if errs := validation.IsDNS1123Subdomain(deployment.Name); len(errs) > 0 {
			all.add("deployment %q has no valid name: %s", deployment.Name, strings.Join(errs, ", "))
		}
	}
	return all
}

func missingCRDs(b *Bundle) []string {
	var all lines
	seen := map[string]bool{}
	for _, crd := range b.Raw.V1CRDs {
		if seen[crd.Name] {
			all.add("CRD %s is there twice: remove one", crd.Name)
		}
		seen[crd.Name] = true
	}
	for _, owned := range b.CSV.Spec.CustomResourceDefinitions.Owned {
		if !seen[owned.Name] {
			all.add("the CSV owns CRD %s, which is not in the bundle: add it", owned.Name)
		}
	}
	return all
}

// oddWebhooks knows that there are none to install today; if that changes, these are the rules.
func oddWebhooks(b *Bundle) []string {
	var all lines
	seen := map[string]bool{}
	for _, webhook := range b.CSV.Spec.WebhookDefinitions {
		key := string(webhook.Type) + " " + webhook.GenerateName
		if seen[key] {
			all.add("two webhooks of one type are called %s: rename one", webhook.GenerateName)
		}
		seen[key] = true
		if !hasDeployment(b, webhook.DeploymentName) {
			all.add("webhook %s names the deployment %s, which is not there", webhook.GenerateName, webhook.DeploymentName)
		}
		if errs := validation.IsDNS1123Subdomain(webhook.GenerateName); len(errs) > 0 {
			all.add("webhook %q has no valid name: %s", webhook.GenerateName, strings.Join(errs, ", "))
		}
		for _, rule := range webhook.Rules {
			for _, group := range rule.APIGroups {
				if group == "*" || group == "olm.operatorframework.io" || group == "admissionregistration.k8s.io" {
					all.add("webhook %s has a rule for %q, which OLM refuses", webhook.GenerateName, group)
				}
			}
		}
		if webhook.Type == v1alpha1.ConversionWebhook {
			all.add("webhook %s converts: only AllNamespaces could be supported then", webhook.GenerateName)
		}
	}
	return all
}

func hasDeployment(b *Bundle, name string) bool {
	for _, deployment := range b.Deployments() {
		if deployment.Name == name {
			return true
		}
	}
	return false
}

func unknownKinds(b *Bundle) []string {
	var all lines
	for _, object := range b.Raw.Objects {
		if known, _ := registrybundle.IsSupported(object.GetKind()); !known {
			all.add("%s %s is of a kind that no bundle may hold: remove it", object.GetKind(), object.GetName())
		}
	}
	return all
}

func oddServices(b *Bundle) []string {
	var all lines
	for _, service := range b.CSV.Spec.APIServiceDefinitions.Owned {
		if !hasDeployment(b, service.DeploymentName) {
			all.add("API service %s names the deployment %s, which is not there", service.Name, service.DeploymentName)
		}
	}
	return all
}

// dependencies are properties that OLM v1 cannot resolve.
func dependencies(b *Bundle) []string {
	raw, err := os.ReadFile(filepath.Join(b.Folder, "metadata", "properties.yaml"))
	if err != nil {
		return nil
	}
	var file struct {
		Properties []struct {
			Type string `json:"type"`
		} `json:"properties"`
	}
	if err := yaml.Unmarshal(raw, &file); err != nil {
		return []string{fmt.Sprintf("metadata/properties.yaml cannot be read: %v", err)}
	}
	var all lines
	for _, property := range file.Properties {
		if slices.Contains([]string{"olm.gvk.required", "olm.package.required", "olm.constraint"}, property.Type) {
			all.add("property %s: OLM v1 installs no bundle that depends on others: remove it", property.Type)
		}
	}
	return all
}
