// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// adoptedServices are the Services of those names.
func (s *Snapshot) adoptedServices(names []string) []cluster.AdoptedService {
	var all []cluster.AdoptedService
	for _, name := range names {
		service := s.SourceServices[name]
		named := cluster.AdoptedService{Name: name, Missing: service == nil}
		if service != nil {
			named.Switched = specs.Selects(s.Cluster, service)
			named.Refused = cmp.Or(s.Cluster.MayUse("service/"+name, service.Annotations), s.unroutable(service))
		}
		all = append(all, named)
	}
	return all
}

// adoptedWorkload is the StatefulSet of that name; empty if none is named.
func (s *Snapshot) adoptedWorkload(name string) cluster.Workload {
	set := s.Workload
	switch {
	case name != "" && s.WorkloadForbidden:
		return cluster.Workload{Name: name, Refused: forbidden(name)}
	case name == "" || set == nil:
		return cluster.Workload{Name: name, Missing: name != ""}
	}
	return cluster.Workload{
		Name: name, Replicas: int(ptr.Deref(set.Spec.Replicas, 1)), Ordered: set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement,
		Refused: cmp.Or(s.Cluster.MayUse("statefulset/"+name, set.Annotations), deletesVolumes(set)),
	}
}

// unroutable says why clients of a Service of the sources would not come to members of ours if it selected them, and what to do; empty if
// they would.
func (s *Snapshot) unroutable(service *corev1.Service) string {
	const instead = "name only Services of clients in bootstrap.adopt.services"
	switch {
	case service.Spec.Type == corev1.ServiceTypeExternalName || len(service.Spec.Selector) == 0:
		return fmt.Sprintf("Service %s selects no Pods, so that it cannot select members instead: %s", service.Name, instead)
	case s.findsPeers(service):
		return fmt.Sprintf("members of the running cluster find each other by Service %s, and would not if it selected other Pods: %s",
			service.Name, instead)
	}
	for _, port := range service.Spec.Ports {
		if target := targetOf(port); !isServed(target) {
			return fmt.Sprintf("Service %s leads to port %s of Pods, which members do not have: set its targetPort to %d, which leads to "+
				"the sources as well if they serve clients there", service.Name, target.String(), v1beta1.ClientPort)
		}
	}
	return ""
}

func targetOf(port corev1.ServicePort) intstr.IntOrString {
	if port.TargetPort == (intstr.IntOrString{}) {
		return intstr.FromInt32(port.Port)
	}
	return port.TargetPort
}

// isServed says whether a member has that port.
func isServed(target intstr.IntOrString) bool {
	return slices.ContainsFunc(specs.MemberPorts(), func(port corev1.ContainerPort) bool {
		return target == intstr.FromString(port.Name) || target == intstr.FromInt32(port.ContainerPort)
	})
}

// findsPeers says whether a source is listed under the name of the Service, or under one that the Service gives it.
func (s *Snapshot) findsPeers(service *corev1.Service) bool {
	sources := recordedSources(s.Cluster).Sources
	if len(sources) == 0 {
		sources = sourcesIn(s.List)
	}
	for _, source := range sources {
		for _, text := range source.PeerURLs {
			if u, err := url.Parse(text); err == nil && isNamedBy(strings.Split(u.Hostname(), "."), service) {
				return true
			}
		}
	}
	return false
}

// isNamedBy says whether the first labels of a host are the name of the Service, or of a Pod and the Service, in its namespace.
func isNamedBy(labels []string, service *corev1.Service) bool {
	at := slices.Index(labels[:min(len(labels), 2)], service.Name)
	return at >= 0 && (len(labels) == at+1 || labels[at+1] == service.Namespace)
}

// deletesVolumes says that a StatefulSet deletes the volumes of sources, and what to do; empty if it does not.
func deletesVolumes(set *appsv1.StatefulSet) string {
	policy := ptr.Deref(set.Spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	const deletes = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	if policy.WhenScaled != deletes && policy.WhenDeleted != deletes {
		return ""
	}
	return fmt.Sprintf("StatefulSet %s deletes volumes: set both parts of its persistentVolumeClaimRetentionPolicy to Retain", set.Name)
}
