// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// gatewaySays is what a Gateway says of a route in its status.
func gatewaySays(gateway, kind, status string, generation int64) any {
	return map[string]any{
		"parentRef": map[string]any{"name": gateway, "group": "gateway.networking.k8s.io"},
		"conditions": []any{map[string]any{
			"type": kind, "status": status, "reason": "R", "message": "m", "observedGeneration": generation,
		}},
	}
}

func gatewaysSay(s *scene, parents ...any) {
	route := s.find("TLSRoute a-client").(*unstructured.Unstructured)
	_ = unstructured.SetNestedSlice(route.Object, parents, "status", "parents")
}

// TestFault113Route: what is made, corrected and deleted of a TLSRoute, and what Gateways say of it.
func TestFault113Route(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*scene)
		want  string
		view  cluster.Route
	}{
		"taken": {func(*scene) {}, "", cluster.Route{Wanted: true}},
		"nothing was said": {
			func(s *scene) { gatewaysSay(s, gatewaySays("edge", "Accepted", "True", 3)) }, "", cluster.Route{Wanted: true, Unanswered: "inner"},
		},
		"said of the route before": {func(s *scene) {
			gatewaysSay(s, gatewaySays("edge", "Accepted", "True", 3), gatewaySays("inner", "Accepted", "False", 2))
		}, "", cluster.Route{Wanted: true, Unanswered: "inner"}},
		"refused": {func(s *scene) {
			gatewaysSay(s, gatewaySays("edge", "Accepted", "False", 3), gatewaySays("inner", "Accepted", "True", 3))
		}, "", cluster.Route{Wanted: true, Refused: "Gateway edge: Accepted is false, R: m"}},
		"the Service is not found": {func(s *scene) {
			gatewaysSay(s, gatewaySays("edge", "Accepted", "True", 3), gatewaySays("inner", "ResolvedRefs", "False", 3))
		}, "", cluster.Route{Wanted: true, Refused: "Gateway inner: ResolvedRefs is false, R: m"}},
		"a listener of it said so": {func(s *scene) {
			s.c.Spec.ClientService.TLSRoute.ParentRefs[1].SectionName = "etcd"
			_ = unstructured.SetNestedField(s.find("TLSRoute a-client").(*unstructured.Unstructured).Object, specs.Route(s.c).Object["spec"], "spec")
		}, "", cluster.Route{Wanted: true, Unanswered: "inner"}},
		"a name more": {func(s *scene) {
			route := s.find("TLSRoute a-client").(*unstructured.Unstructured)
			_ = unstructured.SetNestedStringSlice(route.Object, []string{"etcd.example.com", "b.example.com"}, "spec", "hostnames")
		}, "TLSRoute a-client: it is not as wanted;", cluster.Route{Wanted: true, Pending: true}},
		"missing": {
			func(s *scene) { s.drop("TLSRoute a-client") }, "TLSRoute a-client: it is missing;", cluster.Route{Wanted: true, Pending: true},
		},
		"of another owner": {func(s *scene) {
			s.find("TLSRoute a-client").SetOwnerReferences(owner("EtcdCluster", "b", "u9"))
		}, "", cluster.Route{Wanted: true, Pending: true}},
		"not wanted any more": {
			func(s *scene) { s.c.Spec.ClientService.TLSRoute = nil },
			"TLSRoute a-client: spec.clientService.tlsRoute does not ask for it, delete r1;",
			cluster.Route{Pending: true},
		},
		"not wanted any more, and of another owner": {func(s *scene) {
			s.c.Spec.ClientService.TLSRoute = nil
			s.find("TLSRoute a-client").SetOwnerReferences(owner("EtcdCluster", "b", "u9"))
		}, "", cluster.Route{}},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := offering(t, v1beta1.ClientServiceClusterIP)
			s.c.Spec.ClientService.TLSRoute = &v1beta1.TLSRoute{
				ParentRefs: []v1beta1.RouteParent{{Name: "edge"}, {Name: "inner"}}, Hostnames: []v1beta1.Hostname{"etcd.example.com"},
			}
			s.c.Status.Conditions = append(s.c.Status.Conditions, metav1.Condition{
				Type: v1beta1.ConditionRouteAccepted, Status: metav1.ConditionTrue,
			})
			route := specs.Route(s.c)
			route.SetUID("r1")
			route.SetGeneration(3)
			s.objects = append(s.objects, route)
			s.c.Spec.TLS.Mode = v1beta1.TLSEnabled
			gatewaysSay(s, gatewaySays("edge", "Accepted", "True", 3), gatewaySays("inner", "Accepted", "True", 3))
			test.spoil(s)
			got, v := "", s.look()
			for _, o := range v.Objects {
				if o.Kind != "TLSRoute" {
					continue
				}
				got += o.String() + ": " + o.Why
				if o.UID != "" {
					got += ", delete " + o.UID
				}
				got += ";"
			}
			test.view.Read = true
			if got != test.want || v.Route != test.view {
				t.Errorf("got  %q %+v\nwant %q %+v", got, v.Route, test.want, test.view)
			}
		})
	}
}
