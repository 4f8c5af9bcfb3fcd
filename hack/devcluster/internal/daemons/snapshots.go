// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package daemons

import (
	"path/filepath"
	"time"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/pki"
)

// snapshots are the CSI driver of the first node, which also gives claims their volumes, and what Kubernetes CSI has beside any driver:
// the sidecar that takes snapshots, and the controller of VolumeSnapshots.
func snapshots(l layout.Layout, n layout.Node) []Daemon {
	config, socket := pki.Kubeconfig(l, pki.Snapshots), n.CSI()
	sidecar := func(name, port string, flags ...string) Daemon {
		address := n.Health() + ":" + port
		return Daemon{
			Name: name, Stage: Control,
			Argv: append([]string{
				filepath.Join(l.Bin(), name), "--kubeconfig", config, "--leader-election=false", "--http-endpoint", address,
			}, flags...),
			Reads: []string{config},
			Ports: []string{address},
			Well:  answers("http://" + address + "/metrics"),
			Grace: 2 * time.Second,
		}
	}
	health := n.Health() + ":10271"
	return []Daemon{
		{
			Name: "csi-driver", Stage: Control,
			Argv: []string{
				l.Self(), "serve-csi", "--kubeconfig", config, "--node", n.Name, "--dir", n.Snapshots(), "--socket", socket,
				"--kubelet", n.Kubelet(), "--address", health,
			},
			Reads: []string{config},
			Ports: []string{health},
			Well:  answers("http://" + health + "/healthz"),
			Grace: 2 * time.Second,
		},
		sidecar("csi-snapshotter", "10272", "--csi-address", socket),
		sidecar("snapshot-controller", "10273"),
	}
}
