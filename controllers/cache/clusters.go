// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operator/etcd-operator/internal/cluster/memory"
)

// Clusters has what this process remembers of each cluster. A cluster is reconciled by one worker at a time, so that only
// the map is shared.
type Clusters struct {
	mutex sync.Mutex
	known map[types.NamespacedName]*memory.Cluster
}

// Of is what is remembered of a cluster, and at first nothing.
func (m *Clusters) Of(name types.NamespacedName) *memory.Cluster {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.known == nil {
		m.known = map[types.NamespacedName]*memory.Cluster{}
	}
	if m.known[name] == nil {
		m.known[name] = &memory.Cluster{}
	}
	return m.known[name]
}

// Forget drops what is remembered of a cluster that is gone.
func (m *Clusters) Forget(name types.NamespacedName) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.known, name)
}
