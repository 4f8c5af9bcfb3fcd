// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

type csv = v1alpha1.ClusterServiceVersion

// spoilt are changes of the bundle's CSV that a reviewer may overlook, each with the one line that tells of it.
var spoilt = []struct {
	name string
	edit func(*csv)
	want string
}{
	{
		"a missing descriptor", func(c *csv) { own(c).SpecDescriptors = dropDescriptor(own(c).SpecDescriptors, "size") },
		`^descriptors: EtcdCluster: spec\.size has no descriptor: add the marker`,
	},
	{
		"a descriptor of nothing",
		func(c *csv) {
			own(c).StatusDescriptors = append(own(c).StatusDescriptors,
				v1alpha1.StatusDescriptor{Path: "colour", DisplayName: "C", Description: "c"})
		},
		`^descriptors: EtcdCluster: the descriptor of status\.colour describes a field that the CRD does not have`,
	},
	{
		"a kind that the description forgets",
		func(c *csv) { c.Spec.Description = strings.ReplaceAll(c.Spec.Description, "EtcdRestore", "restore") },
		`^description: the description does not name EtcdRestore`,
	},
	{
		"a description that misses what is there",
		func(c *csv) {
			c.Spec.Description = notYet.ReplaceAllString(c.Spec.Description, "Not yet: restore in place, defragmentation.")
		},
		`^description: the description says "restore" is not there yet, but there is the kind EtcdRestore`,
	},
	{
		"a description that misses a field",
		func(c *csv) {
			c.Spec.Description = notYet.ReplaceAllString(c.Spec.Description, "Not yet: certificates from elsewhere.")
		},
		`^description: the description says "certificate" is not there yet, but there is the field spec\.tls\.secretRefs`,
	},
	{
		"a description that forgets a feature",
		func(c *csv) { c.Spec.Description = strings.ReplaceAll(c.Spec.Description, "Adoption", "Moving") },
		`^description: the description does not say "adoption", but there is the field spec\.bootstrap\.adopt`,
	},
	{
		"a maturity that is not that of its channel", func(c *csv) { c.Spec.Maturity = "alpha" },
		`^required fields: spec\.maturity is "alpha"`,
	},
	{
		"a proxy that nobody asks for", func(c *csv) { c.Annotations[featurePrefix+"proxy-aware"] = "false" },
		`^features: the operator hands a proxy of its environment on to its Jobs, but the feature proxy-aware is not "true"`,
	},
	{
		"a wildcard verb", func(c *csv) { strategy(c).ClusterPermissions[0].Rules[0].Verbs = []string{"*"} },
		`^rights: the rule for .+ has a wildcard`,
	},
	{
		"a right to every right",
		func(c *csv) {
			rules := &strategy(c).ClusterPermissions[0].Rules
			*rules = append(*rules, rbacv1.PolicyRule{
				APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}, Verbs: []string{"bind"},
			})
		},
		`^rights: the rule for clusterroles has the verb bind`,
	},
	{
		"a right on every Lease",
		func(c *csv) {
			rules := &strategy(c).Permissions[0].Rules
			*rules = append(*rules, rbacv1.PolicyRule{
				APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create", "get", "update"},
			})
		},
		`^rights: the rule for leases lets the operator get, update every Lease: give it resourceNames`,
	},
	{
		"a right in all namespaces",
		func(c *csv) {
			rules := &strategy(c).ClusterPermissions[0].Rules
			*rules = append(*rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}})
		},
		`^rights: rights in all namespaces are also on secrets: see roleName`,
	},
	{
		"a right that holds in some namespaces alone",
		func(c *csv) {
			rules := &strategy(c).ClusterPermissions[0].Rules
			*rules = slices.DeleteFunc(*rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "leases") })
		},
		`^rights: rights in all namespaces are not on leases.coordination.k8s.io etcd-operator.dev: see roleName`,
	},
	{
		"a right that the code does not ask for",
		func(c *csv) {
			rules := &strategy(c).Permissions[0].Rules
			*rules = append(*rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"endpoints"}, Verbs: []string{"get"}})
		},
		`^rights: the right to get endpoints is in the CSV, but not in config/rbac`,
	},
	{
		"a Secret volume",
		func(c *csv) {
			pod(c).Volumes = append(pod(c).Volumes, corev1.Volume{
				Name:         "webhook-certs",
				VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "webhook-server-cert"}},
			})
		},
		`^volumes: deployment .+ mounts Secret webhook-server-cert: .+ remove the volume webhook-certs$`,
	},
	{
		"a Secret among other sources",
		func(c *csv) {
			source := corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "certs"}}}
			pod(c).Volumes = append(pod(c).Volumes, corev1.Volume{
				Name:         "all",
				VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{source}}},
			})
		},
		`^volumes: .+ mounts Secret certs`,
	},
	{
		"an outdated createdAt", func(c *csv) { c.Annotations["createdAt"] = "2019-12-31T19:40:00Z" },
		`^createdAt: annotation createdAt is 2019-12-31, the release of .+: bring it within 180 days$`,
	},
	{
		"a createdAt that is no time", func(c *csv) { c.Annotations["createdAt"] = "yesterday" },
		`^createdAt: annotation createdAt is "yesterday"`,
	},
	{
		"a feature with curly quotes", func(c *csv) { c.Annotations[featurePrefix+"csi"] = "“false”" },
		`^features: annotation features.operators.openshift.io/csi is "“false”"`,
	},
	{
		"a feature that nobody knows", func(c *csv) { c.Annotations[featurePrefix+"teleport"] = "true" },
		`^features: .+teleport is none that OpenShift knows`,
	},
	{
		"an image that mirrors miss", func(c *csv) { c.Spec.RelatedImages = c.Spec.RelatedImages[1:] },
		`^images: image .+ is not in spec.relatedImages: mirrors would not copy it$`,
	},
	{
		"an image that is listed twice",
		func(c *csv) {
			again := c.Spec.RelatedImages[0]
			again.Name += "-again"
			c.Spec.RelatedImages = append(c.Spec.RelatedImages, again)
		},
		`^images: image .+ is 2 times in spec.relatedImages`,
	},
	{
		"another image in the tile", func(c *csv) { c.Annotations["containerImage"] = "example.com/etcd-operator:v9.9.9" },
		`^images: annotation containerImage is example.com/etcd-operator:v9.9.9, the manager's image is`,
	},
	{
		"an image without its registry",
		func(c *csv) {
			const bare = "etcd-operator/etcd-operator:v0.4.0"
			pod(c).Containers[0].Image, c.Annotations["containerImage"], c.Spec.RelatedImages[0].Image = bare, bare, bare
		},
		`^images: image etcd-operator/etcd-operator:v0\.4\.0 does not name its registry`,
	},
	{
		"a mirror that would not do", func(c *csv) { c.Annotations[featurePrefix+"disconnected"] = "true" },
		`^features: the feature disconnected is not true while an image is named by a tag`,
	},
	{
		"one replica", func(c *csv) { one := int32(1); deployment(c).Replicas = &one },
		`^pods: deployment .+ has fewer than two replicas`,
	},
	{
		"a container that may write", func(c *csv) { pod(c).Containers[0].SecurityContext.ReadOnlyRootFilesystem = nil },
		`^pods: container .+ may write its image`,
	},
	{
		"a privileged container", func(c *csv) { pod(c).HostNetwork = true },
		`^pods: deployment .+ breaks Pod Security restricted: host namespaces`,
	},
	{
		"a fixed user", func(c *csv) { user := int64(65532); pod(c).SecurityContext.RunAsUser = &user },
		`^pods: deployment .+ sets runAsUser`,
	},
	{
		"no readiness probe", func(c *csv) { pod(c).Containers[0].ReadinessProbe = nil },
		`^pods: container .+ lacks a liveness or a readiness probe`,
	},
	{
		"a limit without a request",
		func(c *csv) {
			pod(c).Containers[0].Resources.Limits[corev1.ResourceEphemeralStorage] = resource.MustParse("1Gi")
		},
		`^pods: container .+ limits ephemeral-storage without a request`,
	},
	{
		"an install mode less", func(c *csv) { c.Spec.InstallModes[0].Supported = false },
		`^install modes: install mode .+ is not supported`,
	},
	{
		"no list of namespaces", func(c *csv) { pod(c).Containers[0].Env = dropEnv(pod(c).Containers[0].Env, "WATCH_NAMESPACE") },
		`^install modes: no container takes WATCH_NAMESPACE`,
	},
	{
		"an icon as long as it is wide", func(c *csv) { c.Spec.Icon[0].Data = drawn(80, 40) },
		`^icon: spec.icon is 80 by 40: make it square$`,
	},
	{
		"an icon that is no drawing", func(c *csv) { c.Spec.Icon[0].MediaType = "image/png" },
		`^icon: spec.icon is image/png: use image/svg\+xml$`,
	},
	{
		"a short description", func(c *csv) { c.Spec.Description = "etcd" },
		`^required fields: spec.description is "etcd"`,
	},
	{
		"a support of two letters", func(c *csv) { c.Annotations["support"] = "me" },
		`^annotations: annotation support is "me"`,
	},
	{
		"a capability that is none", func(c *csv) { c.Annotations["capabilities"] = "Level 5" },
		`^operator-framework: .+capabilities`,
	},
	{
		"a CRD without a description", func(c *csv) { own(c).DisplayName = "" },
		`^resources: CRD etcdclusters.etcd-operator.dev has no displayName or no description`,
	},
	{
		"a version that skips itself", func(c *csv) { c.Annotations["olm.skipRange"] = ">=0.1.0-0 <99.0.0" },
		`^names: skipRange ">=0.1.0-0 <99.0.0" holds .+ itself`,
	},
	{
		"a range without a lower end", func(c *csv) { c.Annotations["olm.skipRange"] = "<0.1.0" },
		`^names: skipRange "<0.1.0" has no lower end`,
	},
	{
		"an example with a field that is none",
		func(c *csv) {
			c.Annotations["alm-examples"] = strings.Replace(c.Annotations["alm-examples"], `"size"`, `"sise"`, 1)
		},
		`^examples: example .+ would be refused: unknown field spec.sise`,
	},
	{
		"an example that breaks a rule",
		func(c *csv) {
			c.Annotations["alm-examples"] = strings.Replace(c.Annotations["alm-examples"], `"size": 3`, `"size": 4`, 1)
		},
		`^examples: example .+ would be refused: .+size must be 1, 3, 5 or 7`,
	},
	{
		"a deployment's name with a blank", func(c *csv) { strategy(c).DeploymentSpecs[0].Name = "etcd operator" },
		`^OLM v1: deployment "etcd operator" has no valid name`,
	},
}

func strategy(c *csv) *v1alpha1.StrategyDetailsDeployment {
	return &c.Spec.InstallStrategy.StrategySpec
}

func deployment(c *csv) *appsv1.DeploymentSpec { return &strategy(c).DeploymentSpecs[0].Spec }

func pod(c *csv) *corev1.PodSpec { return &deployment(c).Template.Spec }

func own(c *csv) *v1alpha1.CRDDescription { return &c.Spec.CustomResourceDefinitions.Owned[0] }

func dropDescriptor(all []v1alpha1.SpecDescriptor, path string) []v1alpha1.SpecDescriptor {
	var kept []v1alpha1.SpecDescriptor
	for _, d := range all {
		if d.Path != path {
			kept = append(kept, d)
		}
	}
	return kept
}

func dropEnv(all []corev1.EnvVar, name string) []corev1.EnvVar {
	var kept []corev1.EnvVar
	for _, env := range all {
		if env.Name != name {
			kept = append(kept, env)
		}
	}
	return kept
}

// drawn is an SVG of some size, in base64.
func drawn(width, height int) string {
	text := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d"/>`, width, height)
	return base64.StdEncoding.EncodeToString([]byte(text))
}
