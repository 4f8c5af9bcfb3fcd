package e2e

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/netfault"
)

// networks are those of the named members, or of all.
func networks(c *v1alpha1.EtcdCluster, members ...string) []*netfault.Network {
	GinkgoHelper()
	needsLocal()
	var all []*netfault.Network
	for _, p := range pods(c) {
		if len(members) == 0 || contains(members, p.Name) {
			all = append(all, netfault.Open(p.Name, p.Status.PodIP, processOf(string(p.UID))))
		}
	}
	return all
}

// needsLocal skips what has to reach into the node.
func needsLocal() {
	if !isLocal() {
		Skip("reaches into the node: on the local cluster only")
	}
}
