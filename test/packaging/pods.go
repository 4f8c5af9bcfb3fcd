// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// managerName is what the multi-architecture validator of operator-framework expects the operator's container to be called.
const managerName = "manager"

// checkVolumes forbids what hangs under OLM: a volume of a Secret that only another way of installing makes.
func checkVolumes(b *Bundle, _ Options) []string {
	var all lines
	for _, deployment := range b.Deployments() {
		for _, volume := range deployment.Spec.Template.Spec.Volumes {
			if secret := secretOf(volume); secret != "" {
				all.add("deployment %s mounts Secret %s: under OLM nobody makes it and the pod would never start; remove the volume %s",
					deployment.Name, secret, volume.Name)
			}
		}
	}
	return all
}

func secretOf(volume corev1.Volume) string {
	if volume.Secret != nil {
		return volume.Secret.SecretName
	}
	if volume.Projected == nil {
		return ""
	}
	for _, source := range volume.Projected.Sources {
		if source.Secret != nil {
			return source.Secret.Name
		}
	}
	return ""
}

// checkPods wants an operator that may run anywhere and stays up.
func checkPods(b *Bundle, _ Options) []string {
	var all lines
	for _, deployment := range b.Deployments() {
		all = append(all, oddDeployment(deployment)...)
		all = append(all, notRestricted(deployment)...)
		for _, c := range deployment.Spec.Template.Spec.Containers {
			all = append(all, oddContainer(deployment.Name, c)...)
		}
	}
	if managerImage(b) == "" {
		all.add("no container is called %q: validators look for the operator under that name", managerName)
	}
	return all
}

func oddDeployment(deployment appsv1.Deployment) []string {
	var all lines
	if replicas := deployment.Spec.Replicas; replicas == nil || *replicas < 2 {
		all.add("deployment %s has fewer than two replicas: nobody stands by while its node is drained", deployment.Name)
	}
	if deployment.Spec.Template.Spec.ServiceAccountName == "" {
		all.add("deployment %s names no ServiceAccount: OLM would grant its rights to none", deployment.Name)
	}
	return all
}

// notRestricted asks the code that the API server uses, for its newest rules.
func notRestricted(deployment appsv1.Deployment) []string {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return []string{fmt.Sprintf("Pod Security cannot be judged: %v", err)}
	}
	template := deployment.Spec.Template
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	result := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &template.ObjectMeta, &template.Spec))
	var all lines
	if !result.Allowed {
		all.add("deployment %s breaks Pod Security restricted: %s", deployment.Name, result.ForbiddenDetail())
	}
	if security := template.Spec.SecurityContext; security != nil && security.RunAsUser != nil {
		all.add("deployment %s sets runAsUser: OpenShift chooses it, the image names one already; remove it", deployment.Name)
	}
	return all
}

func oddContainer(deployment string, c corev1.Container) []string {
	place := deployment + "/" + c.Name
	var all lines
	if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() {
		all.add("container %s requests no cpu or no memory: add both", place)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
		if _, requested := c.Resources.Requests[name]; !requested {
			all.add("container %s limits %s without a request: the limit would be reserved", place, name)
		}
	}
	if c.LivenessProbe == nil || c.ReadinessProbe == nil {
		all.add("container %s lacks a liveness or a readiness probe: OLM waits for readiness", place)
	}
	if security := c.SecurityContext; security == nil || security.ReadOnlyRootFilesystem == nil || !*security.ReadOnlyRootFilesystem {
		all.add("container %s may write its image: set readOnlyRootFilesystem", place)
	}
	return all
}

// checkInstallModes wants all four, and the one line by which the operator learns which it is in.
func checkInstallModes(b *Bundle, _ Options) []string {
	supported := map[v1alpha1.InstallModeType]bool{}
	for _, mode := range b.CSV.Spec.InstallModes {
		supported[mode.Type] = mode.Supported
	}
	var all lines
	for _, mode := range []v1alpha1.InstallModeType{
		v1alpha1.InstallModeTypeOwnNamespace, v1alpha1.InstallModeTypeSingleNamespace,
		v1alpha1.InstallModeTypeMultiNamespace, v1alpha1.InstallModeTypeAllNamespaces,
	} {
		if !supported[mode] {
			all.add("install mode %s is not supported: the operator can watch any list of namespaces, so declare it", mode)
		}
	}
	if len(b.CSV.Spec.InstallModes) != len(supported) {
		all.add("an install mode is declared twice: remove one")
	}
	if !watchesTargets(b) {
		all.add("no container takes WATCH_NAMESPACE from the annotation olm.targetNamespaces: it would watch all namespaces in every mode")
	}
	return all
}

func watchesTargets(b *Bundle) bool {
	for _, c := range containers(b) {
		for _, env := range c.Env {
			if env.Name == "WATCH_NAMESPACE" && env.ValueFrom != nil && env.ValueFrom.FieldRef != nil &&
				strings.Contains(env.ValueFrom.FieldRef.FieldPath, "olm.targetNamespaces") {
				return true
			}
		}
	}
	return false
}
