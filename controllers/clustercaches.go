package controllers

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operator/etcd-operator/internal/cluster/memory"
)

// clusterCaches are those of all clusters. A cluster is reconciled by one worker at a time, so that only
// the map is shared.
type clusterCaches struct {
	mutex sync.Mutex
	known map[types.NamespacedName]*memory.Cluster
}

func (m *clusterCaches) of(name types.NamespacedName) *memory.Cluster {
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

func (m *clusterCaches) forget(name types.NamespacedName) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.known, name)
}
