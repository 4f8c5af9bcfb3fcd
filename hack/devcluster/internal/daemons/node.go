// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package daemons

import (
	"path/filepath"
	"time"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/pki"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/settings"
)

func containerd(l layout.Layout, n layout.Node) Daemon {
	return Daemon{
		Name:  "containerd",
		Argv:  []string{filepath.Join(l.Bin(), "containerd"), "--config", settings.Containerd(n), "--log-level", "info"},
		Reads: []string{settings.Containerd(n)},
		Well:  accepts("unix", n.Socket()),
		Grace: 5 * time.Second,
	}
}

func kubelet(l layout.Layout, n layout.Node) Daemon {
	return Daemon{
		Name: "kubelet", Stage: Control,
		Argv: []string{
			filepath.Join(l.Bin(), "kubelet"), "--config", settings.Kubelet(n),
			"--kubeconfig", pki.Kubeconfig(l, n.Name), "--hostname-override", n.Name,
			"--node-ip", l.Families.Listed(n.IP, n.IP6()),
			"--root-dir", n.Kubelet(), "--cert-dir", filepath.Join(n.Dir, "kubelet-pki"),
			"--node-labels", "topology.kubernetes.io/zone=" + n.Zone,
		},
		Reads: []string{settings.Kubelet(n), pki.Kubeconfig(l, n.Name)},
		Ports: []string{n.IP + ":10250", n.Health() + ":10248"},
		Well:  answers("http://" + n.Health() + ":10248/healthz"),
		Grace: 3 * time.Second,
	}
}

func proxy(l layout.Layout, n layout.Node) Daemon {
	return Daemon{
		Name: "kube-proxy", Stage: Control,
		Argv:  []string{filepath.Join(l.Bin(), "kube-proxy"), "--config", settings.Proxy(n)},
		Reads: []string{settings.Proxy(n), pki.Kubeconfig(l, "kube-proxy")},
		Ports: []string{"127.0.0.1:10249", ":10256"},
		Well:  answers("http://" + n.Health() + ":10256/livez"),
		Grace: 2 * time.Second,
	}
}

func provisioner(l layout.Layout, n layout.Node) Daemon {
	config, health := pki.Kubeconfig(l, pki.Provisioner), n.Health()+":10270"
	return Daemon{
		Name: "provisioner", Stage: Control,
		Argv: []string{
			l.Self(), "serve-volumes", "--kubeconfig", config, "--node", n.Name,
			"--dir", n.Volumes(), "--address", health,
		},
		Reads: []string{config},
		Ports: []string{health},
		Well:  answers("http://" + health + "/healthz"),
		Grace: 2 * time.Second,
	}
}

// policies enforces NetworkPolicies, and nothing else. What it has told the kernel stays when it ends: host.RemovePolicies takes it back.
func policies(l layout.Layout, n layout.Node) Daemon {
	config := pki.Kubeconfig(l, pki.Policies)
	return Daemon{
		Name: "kube-router", Stage: Control,
		Argv: []string{
			filepath.Join(l.Bin(), "kube-router"), "--kubeconfig", config, "--hostname-override", n.Name,
			"--run-firewall=true", "--run-router=false", "--run-service-proxy=false", "--enable-cni=false",
			"--service-cluster-ip-range", layout.ServicesRange, "--health-port", "20244",
		},
		Reads: []string{config},
		Ports: []string{":20244"},
		Well:  answers("http://" + n.Health() + ":20244/healthz"),
		Grace: 2 * time.Second,
	}
}
