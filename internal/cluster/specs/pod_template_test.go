// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"encoding/json"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestFault111TemplateKeepsMembership: whatever a template has, the member has its names, its data, its certificates, its arguments, its
// probes and its rights.
func TestFault111TemplateKeepsMembership(t *testing.T) {
	plain, pod := specs.Pod(example(), "example-0", forming()), specs.Pod(with(besides), "example-0", forming())
	if etcd := pod.Spec.Containers[0]; etcd.Name != "etcd" || len(pod.Spec.Containers) != 2 || len(pod.Spec.InitContainers) != 1 {
		t.Errorf("the containers are %v", pod.Spec.Containers)
	}
	was, is := *specs.Etcd(plain), *specs.Etcd(pod)
	for _, env := range was.Env {
		if !slices.ContainsFunc(is.Env, func(e corev1.EnvVar) bool { return equality.Semantic.DeepEqual(e, env) }) {
			t.Errorf("etcd lacks the variable %s: %v", env.Name, is.Env)
		}
	}
	for _, mount := range was.VolumeMounts {
		if !slices.ContainsFunc(is.VolumeMounts, func(m corev1.VolumeMount) bool { return equality.Semantic.DeepEqual(m, mount) }) {
			t.Errorf("etcd lacks the mount %s: %v", mount.MountPath, is.VolumeMounts)
		}
	}
	was.Env, is.Env, was.VolumeMounts, is.VolumeMounts = nil, nil, nil, nil
	if !equality.Semantic.DeepEqual(was, is) {
		t.Errorf("etcd's container is another one:\n%+v\n%+v", is, was)
	}
	for _, volume := range plain.Spec.Volumes {
		if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return equality.Semantic.DeepEqual(v, volume) }) {
			t.Errorf("the Pod lacks the volume %s", volume.Name)
		}
	}
	delete(pod.Annotations, v1beta1.AnnotationTemplate)
	delete(plain.Annotations, v1beta1.AnnotationTemplate)
	for _, p := range []*corev1.Pod{plain, pod} {
		p.Spec.Containers, p.Spec.InitContainers, p.Spec.Volumes, p.Spec.HostAliases = nil, nil, nil, p.Spec.HostAliases[:1]
		p.Spec.DNSConfig, p.Spec.RuntimeClassName, p.Spec.SchedulerName = nil, nil, ""
	}
	if !equality.Semantic.DeepEqual(plain, pod) {
		t.Errorf("the Pod is another one:\n%+v\n%+v", pod, plain)
	}
}

// TestTemplateIsRestricted: no container of a template gains rights, whatever it names.
func TestTemplateIsRestricted(t *testing.T) {
	pod := specs.Pod(with(besides), "example-0", forming())
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		s := c.SecurityContext
		if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.Capabilities == nil ||
			!slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || s.Privileged != nil || len(s.Capabilities.Add) > 0 {
			t.Errorf("%s runs with %+v", c.Name, s)
		}
	}
}

// TestTemplateIsOfThePod: every field of a template has the JSON name of the Pod's, so that nothing is accepted and ignored.
func TestTemplateIsOfThePod(t *testing.T) {
	text, err := json.Marshal(with(besides).Spec.PodTemplate)
	if err != nil {
		t.Fatal(err)
	}
	var loose, strict map[string]any
	spec := corev1.PodSpec{}
	if err := json.Unmarshal(text, &spec); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &loose); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(again, &strict); err != nil {
		t.Fatal(err)
	}
	if !equality.Semantic.DeepDerivative(loose, strict) {
		t.Errorf("a field is lost:\n%v\n%v", loose, strict)
	}
}
