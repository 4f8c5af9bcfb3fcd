// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// isService says whether a Service selects what is wanted and nothing less, has the wanted ports, in any order, and what was asked for
// is what was applied last. Ports and annotations that others have added stay.
func isService(wanted, found *corev1.Service) bool {
	want, have := wanted.Spec, found.Spec
	for _, port := range want.Ports {
		same := func(p corev1.ServicePort) bool {
			if port.NodePort == 0 {
				p.NodePort = 0 // Kubernetes has chosen it
			}
			return equality.Semantic.DeepDerivative(port, p)
		}
		if !slices.ContainsFunc(have.Ports, same) {
			return false
		}
	}
	ranges := want.LoadBalancerSourceRanges
	if len(ranges) > 0 && !slices.Equal(ranges, have.LoadBalancerSourceRanges) {
		return false
	}
	want.Ports = nil
	return equality.Semantic.DeepDerivative(want, have) && maps.Equal(want.Selector, have.Selector) &&
		isAsked(wanted, found) && includes(found.Annotations, wanted.Annotations)
}

// isAsked says whether a Service was applied as it is asked for now.
func isAsked(want, have metav1.Object) bool {
	return want.GetAnnotations()[v1beta1.AnnotationSettings] == have.GetAnnotations()[v1beta1.AnnotationSettings]
}

// includes says whether all of these are there, with the same values.
func includes(all, some map[string]string) bool {
	for name, value := range some {
		if found, has := all[name]; !has || found != value {
			return false
		}
	}
	return true
}

// hasOtherType says whether the type of a Service was changed on the Service, such as to LoadBalancer, and not in the spec.
func hasOtherType(want, have metav1.Object) bool {
	wanted, is := want.(*corev1.Service)
	found, has := have.(*corev1.Service)
	return is && has && found.Spec.Type != wanted.Spec.Type && isAsked(want, have)
}

// memberServices names the Services of single members that are missing or not as wanted, and those that nothing asks for any more: because
// the spec does not, or because their member is gone. While the member list cannot be read, none counts as gone.
func (j *builder) memberServices() {
	wanted := map[string]bool{}
	for _, want := range j.wantedMemberServices() {
		have := j.Services[want.Name]
		wanted[want.Name] = true
		j.compare("Service", want, have, have != nil, func() bool { return isService(want, have) })
	}
	for _, name := range slices.Sorted(maps.Keys(j.Services)) {
		have := j.Services[name]
		if have == nil || wanted[name] || !specs.IsMemberService(have) || !metav1.IsControlledBy(have, j.c) {
			continue
		}
		why := "spec.clientService.perMember does not ask for it"
		if j.c.MemberServiceType() != "" {
			why = "its member is gone"
		}
		if j.c.MemberServiceType() == "" || j.isGone(have.Labels[v1beta1.LabelMember]) {
			j.v.Objects = append(j.v.Objects, cluster.Object{Kind: "Service", Name: name, UID: string(have.UID), Why: why, CanWait: true})
		}
	}
}

// wantedMemberServices are those of the members that etcd lists, by serial number.
func (j *builder) wantedMemberServices() (all []*corev1.Service) {
	if j.c.MemberServiceType() == "" {
		return nil
	}
	for _, m := range j.v.Members {
		if cluster.IsListed(m) {
			all = append(all, specs.MemberService(j.c, m.Name, *j.c.Spec.ClientService.PerMember))
		}
	}
	return all
}

// isGone says whether a member is known to be none any more.
func (j *builder) isGone(name string) bool {
	m, is := j.v.Member(name)
	return j.v.Unread == "" && j.v.Formed() && name != j.v.Record.Joining && (!is || !cluster.IsListed(m) && !m.Pod.Exists())
}
