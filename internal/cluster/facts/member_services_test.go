// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// reachable is a scene whose members have a Service each, as the spec wants them, and an address.
func reachable(t *testing.T) *scene {
	s, _ := offering(t, v1beta1.ClientServiceClusterIP)
	s.c.Spec.ClientService.PerMember = &v1beta1.MemberService{Type: v1beta1.ClientServiceLoadBalancer}
	for i, name := range []string{"a-0", "a-1", "a-2"} {
		service := specs.MemberService(s.c, name, *s.c.Spec.ClientService.PerMember)
		service.UID = "s1"
		service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: fmt.Sprintf("203.0.113.%d", i)}}
		s.objects = append(s.objects, service)
	}
	return s
}

// TestFault112MemberServices: each member that etcd lists has a Service; those of members that are gone, or that nothing asks for any
// more, are deleted, and those of others are left alone. What was known of a member's addresses stays while its Service is not seen.
func TestFault112MemberServices(t *testing.T) {
	const (
		others = "{203.0.113.1:2379 a-1 LoadBalancer} {203.0.113.2:2379 a-2 LoadBalancer}"
		all    = "{true true [] false [{203.0.113.0:2379 a-0 LoadBalancer} " + others + "]}"
		within = "{true false [] false []}"
	)
	gone := func(s *scene) {
		service := specs.MemberService(s.c, "a-7", *s.c.Spec.ClientService.PerMember)
		service.UID = "s7"
		s.objects = append(s.objects, service)
	}
	for name, test := range map[string]struct {
		spoil func(*scene)
		want  string // objects that are not as wanted
		seen  string
	}{
		"as wanted": {func(*scene) {}, "", all},
		"missing": {func(s *scene) {
			s.drop("Service a-0-external")
			s.c.Status.ExternalEndpoints = []v1beta1.ExternalEndpoint{
				{Address: "203.0.113.9:2379", Member: "a-0", Source: v1beta1.FromLoadBalancer}, {Address: "203.0.113.8:2379"},
			}
		}, "Service a-0-external: it is missing;", "{true true [a-0-external] false [{203.0.113.9:2379 a-0 LoadBalancer} " + others + "]}"},
		"without an address": {func(s *scene) {
			s.find("Service a-0-external").(*corev1.Service).Status = corev1.ServiceStatus{}
		}, "", "{true true [a-0-external] false [" + others + "]}"},
		"changed by hand": {func(s *scene) {
			s.find("Service a-0-external").(*corev1.Service).Spec.Selector[v1beta1.LabelMember] = "a-1"
		}, "Service a-0-external: it is not as wanted;", all},
		"of a member that is gone": {gone, "Service a-7-external: its member is gone, delete s7;", all},
		"of a member that is gone, of another owner": {func(s *scene) {
			gone(s)
			s.find("Service a-7-external").SetOwnerReferences(owner("EtcdCluster", "b", "u9"))
		}, "", all},
		"not wanted any more": {func(s *scene) {
			s.c.Spec.ClientService.PerMember = nil
		}, "Service a-0-external: spec.clientService.perMember does not " +
			"ask for it, delete s1;Service a-1-external: spec.clientService.perMember does not ask for it, delete s1;" +
			"Service a-2-external: spec.clientService.perMember does not ask for it, delete s1;", within},
	} {
		t.Run(name, func(t *testing.T) {
			s := reachable(t)
			test.spoil(s)
			got, v := "", s.look()
			for _, o := range v.Objects {
				if o.Kind != "Service" {
					continue // the certificate follows the status
				}
				got += o.String() + ": " + o.Why
				if o.UID != "" {
					got += ", delete " + o.UID
				}
				got += ";"
			}
			if seen := fmt.Sprint(v.Outside); got != test.want || seen != test.seen {
				t.Errorf("got  %q\n%s\nwant %q\n%s", got, seen, test.want, test.seen)
			}
		})
	}
	t.Run("while the member list cannot be read", func(t *testing.T) {
		s := reachable(t)
		gone(s)
		s.etcd.Stop("a-0")
		s.etcd.Stop("a-1")
		s.etcd.Stop("a-2")
		v := s.look()
		if v.Unread == "" {
			t.Error("it can be read")
		}
		for _, o := range v.Objects {
			t.Errorf("%s: %s", o, o.Why)
		}
	})
}
