// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// DefaultDomain is the domain of a Kubernetes cluster of which no other one is known.
const DefaultDomain = "cluster.local"

// ServerNames are the DNS names and IP addresses of the certificate that members show to clients: those of the Services, with the domain
// of the Kubernetes cluster, which may be empty, and without; those of the spec, and the external ones that are known.
func ServerNames(c *v1beta1.EtcdCluster, domain string) (names, addresses []string) {
	service, domain := c.ClientService()+"."+c.Namespace, cmp.Or(domain, DefaultDomain)
	names = []string{
		Host(c, "*"), Host(c, "*") + "." + domain,
		c.ClientService(), service, service + ".svc", service + ".svc." + domain, "localhost",
	}
	addresses = []string{"127.0.0.1", "::1"}
	for _, name := range externalNames(c) {
		if address, err := netip.ParseAddr(name); err == nil {
			addresses = append(addresses, address.String())
		} else {
			names = append(names, name)
		}
	}
	return distinct(names), distinct(addresses)
}

// externalNames are by what clients outside of the Kubernetes cluster connect: what the spec names, and the addresses of the
// Services. Those of nodes are not its own: they change with the nodes that members run on.
func externalNames(c *v1beta1.EtcdCluster) (all []string) {
	all = texts(c.Spec.TLS.ExtraSANs)
	if route := c.Route(); route != nil {
		all = append(all, texts(route.Hostnames)...)
	}
	for _, endpoint := range c.Status.ExternalEndpoints {
		if endpoint.Source != v1beta1.FromNode {
			host := endpoint.Address[:max(0, strings.LastIndex(endpoint.Address, ":"))]
			all = append(all, strings.Trim(host, "[]"))
		}
	}
	return all
}

// Address is host:port, with brackets where the host has colons itself.
func Address(host string, port int32) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return fmt.Sprintf("%s:%d", host, port)
}

// distinct drops what is there twice.
func distinct(all []string) (once []string) {
	for _, one := range all {
		if !slices.Contains(once, one) {
			once = append(once, one)
		}
	}
	return once
}
