// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// processWorld is a cluster of one version, without TLS.
type processWorld struct {
	*process.Cluster
	version string
}

func (w processWorld) client(_ *testing.T, name string) etcd.Client { return w.Client(name) }
func (w processWorld) peerURL(name string) string                   { return w.PeerURL(name) }
func (w processWorld) stop(_ *testing.T, name string)               { w.Member(name).Stop() }

// start runs a member: m1 founds the cluster, and the others join m1.
func (w processWorld) start(_ *testing.T, name string) {
	flags := w.Joins("new", "m1")
	if name != "m1" {
		flags = w.Joins("existing", "m1", name)
	}
	w.Member(name).Start(w.version, flags...)
}

func TestEveryVersionConforms(t *testing.T) {
	ofVersions(t, process.Versions, func(t *testing.T, version string) {
		w := processWorld{process.New(t, 3), version}
		w.start(t, "m1")
		conforms(t, w)
	})
}

// ofVersions runs a test for each, if processes of all versions may be run.
func ofVersions(t *testing.T, versions []string, test func(t *testing.T, version string)) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs etcd processes of several versions, which -short leaves out")
	}
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel() // they mostly wait
			test(t, version)
		})
	}
}
