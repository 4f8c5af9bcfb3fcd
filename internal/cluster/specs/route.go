// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// TLSRouteKind is of the Gateway API. The operator does not depend on its module: an installation without it knows no such kind.
var TLSRouteKind = schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "TLSRoute"}

// Route has Gateways send TLS connections with the names of spec.clientService.tlsRoute to the client Service. It is named after that. What
// is not asked for has an empty one, by which it is found (https://gateway-api.sigs.k8s.io/reference/spec/).
func Route(c *v1beta1.EtcdCluster) *unstructured.Unstructured {
	asked := c.Route()
	if asked == nil {
		asked = &v1beta1.TLSRoute{}
	}
	var parents, names []any
	for _, parent := range asked.ParentRefs {
		ref := map[string]any{"name": parent.Name}
		set(ref, "namespace", parent.Namespace, parent.Namespace != "")
		set(ref, "sectionName", parent.SectionName, parent.SectionName != "")
		set(ref, "port", int64(parent.Port), parent.Port != 0)
		parents = append(parents, ref)
	}
	for _, name := range asked.Hostnames {
		names = append(names, string(name))
	}
	backend := map[string]any{"name": c.ClientService(), "port": int64(v1beta1.ClientPort)}
	route := monitor(c, TLSRouteKind, nil, map[string]any{
		"parentRefs": parents, "hostnames": names, "rules": []any{map[string]any{"backendRefs": []any{backend}}},
	})
	route.SetName(c.ClientService())
	return route
}
