// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"fmt"

	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.uber.org/zap"
)

// cluster is the membership of a new cluster, with the IDs that etcd gives.
type cluster struct{ *membership.RaftCluster }

// newCluster derives IDs from peer URLs and token, as etcd does when it forms a cluster.
func newCluster(initialCluster map[string]string, token string) (cluster, error) {
	if len(initialCluster) == 0 {
		return cluster{}, fmt.Errorf("form cluster: it has no members")
	}
	urls := types.URLsMap{}
	owners := map[string]string{}
	for name, peerURL := range initialCluster {
		parsed, err := types.NewURLs([]string{peerURL})
		if err != nil {
			return cluster{}, fmt.Errorf("read peer URL of %s: %w", name, err)
		}
		if other, taken := owners[parsed.String()]; taken {
			return cluster{}, fmt.Errorf("form cluster: %s and %s have the same peer URL %s", min(name, other), max(name, other), parsed)
		}
		urls[name], owners[parsed.String()] = parsed, name
	}
	formed, err := membership.NewClusterFromURLsMap(zap.NewNop(), token, urls)
	if err != nil {
		return cluster{}, fmt.Errorf("form cluster: %w", err)
	}
	return cluster{formed}, nil
}

// ClusterID is the ID of the cluster that data directories with these peer URLs, by the names
// of members, and this token form.
func ClusterID(initialCluster map[string]string, token string) (uint64, error) {
	c, err := newCluster(initialCluster, token)
	if err != nil {
		return 0, err
	}
	return uint64(c.ID()), nil
}

// MemberID is the ID of the member with this peer URL in a cluster with this token.
func MemberID(peerURL, token string) (uint64, error) {
	const name = "member" // the ID does not depend on the name
	c, err := newCluster(map[string]string{name: peerURL}, token)
	if err != nil {
		return 0, err
	}
	return uint64(c.MemberByName(name).ID), nil
}
