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

func registry(l layout.Layout) Daemon {
	return Daemon{
		Name: "registry",
		Argv: []string{
			l.Self(), "serve-registry", "--address", layout.RegistryAddress + "," + layout.SharedRegistry, "--dir", l.Registry(),
		},
		Ports: []string{layout.RegistryAddress, layout.SharedRegistry},
		Well:  answers("http://" + layout.RegistryAddress + "/v2/"),
		Grace: 2 * time.Second,
	}
}

func etcd(l layout.Layout) Daemon {
	clients, peers := "http://"+layout.EtcdClients, "http://"+layout.EtcdPeers
	return Daemon{
		Name: "etcd",
		Argv: []string{
			filepath.Join(l.Bin(), "etcd"), "--data-dir", l.Etcd(), "--log-level", "warn",
			"--listen-client-urls", clients, "--advertise-client-urls", clients,
			"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
			"--initial-cluster", "default=" + peers,
			"--quota-backend-bytes", "4294967296", "--auto-compaction-retention", "10m",
			// The disk shall not slow the cluster; a crash of the machine
			// may cost its state, which the README says.
			"--unsafe-no-fsync",
		},
		Ports: []string{layout.EtcdClients, layout.EtcdPeers},
		Well:  answers(clients + "/readyz"),
		Grace: 2 * time.Second,
	}
}

func apiserver(l layout.Layout) Daemon {
	return Daemon{
		Name:  "kube-apiserver",
		Argv:  append([]string{filepath.Join(l.Bin(), "kube-apiserver")}, apiserverFlags(l)...),
		Reads: []string{settings.AuditPolicy(l), filepath.Join(l.PKI(), "ca.crt")},
		Ports: []string{":" + layout.APIPort},
		Well:  answersClient(l, "/readyz"),
		// Open watches would hold it for longer.
		Grace: 2 * time.Second,
	}
}

func apiserverFlags(l layout.Layout) []string {
	key := func(name string) string { return filepath.Join(l.PKI(), name) }
	return []string{
		"--etcd-servers", "http://" + layout.EtcdClients,
		"--bind-address", "0.0.0.0", // which is both families
		// The addresses of its own Service are of the family of this one: it does not start with another one first below.
		"--advertise-address", l.Families.First(layout.MachineIP, layout.MachineIP6), "--secure-port", layout.APIPort,
		"--tls-cert-file", key("apiserver.crt"), "--tls-private-key-file", key("apiserver.key"),
		"--cert-dir", l.PKI(), "--client-ca-file", key("ca.crt"),
		"--service-account-key-file", key("sa.pub"), "--service-account-signing-key-file", key("sa.key"),
		"--service-account-issuer", "https://kubernetes.default.svc",
		"--service-cluster-ip-range", l.Families.Listed(layout.ServicesRange, layout.ServicesRange6),
		"--authorization-mode", "Node,RBAC", "--enable-admission-plugins", "NodeRestriction",
		"--allow-privileged",
		"--kubelet-certificate-authority", key("ca.crt"),
		"--kubelet-client-certificate", key("admin.crt"), "--kubelet-client-key", key("admin.key"),
		"--kubelet-preferred-address-types", "InternalIP",
		"--requestheader-client-ca-file", key("ca.crt"), "--requestheader-allowed-names", "front-proxy",
		"--requestheader-extra-headers-prefix", "X-Remote-Extra-",
		"--requestheader-group-headers", "X-Remote-Group", "--requestheader-username-headers", "X-Remote-User",
		"--proxy-client-cert-file", key("front-proxy.crt"), "--proxy-client-key-file", key("front-proxy.key"),
		"--enable-aggregator-routing",
		"--audit-policy-file", settings.AuditPolicy(l), "--audit-log-path", l.Audit(),
		// One file, so that whoever measures reads a run from one place.
		"--audit-log-maxsize", "16384", "--audit-log-maxbackup", "1",
		"--max-requests-inflight", "1000", "--max-mutating-requests-inflight", "500",
		"--shutdown-delay-duration", "0s",
	}
}

func controllers(l layout.Layout) Daemon {
	key := func(name string) string { return filepath.Join(l.PKI(), name) }
	config := pki.Kubeconfig(l, "kube-controller-manager")
	return Daemon{
		Name: "kube-controller-manager", Stage: Control,
		Argv: []string{
			filepath.Join(l.Bin(), "kube-controller-manager"), "--kubeconfig", config,
			"--authentication-kubeconfig", config, "--authorization-kubeconfig", config,
			"--bind-address", "127.0.0.1", "--cert-dir", l.PKI(),
			"--service-account-private-key-file", key("sa.key"), "--root-ca-file", key("ca.crt"),
			"--cluster-signing-cert-file", key("ca.crt"), "--cluster-signing-key-file", key("ca.key"),
			"--use-service-account-credentials", "--allocate-node-cidrs=false", "--leader-elect=false",
			"--kube-api-qps", "500", "--kube-api-burst", "1000",
		},
		Reads: []string{config},
		Ports: []string{"127.0.0.1:10257"},
		Well:  answers("https://127.0.0.1:10257/healthz"),
		Grace: 2 * time.Second,
	}
}

func scheduler(l layout.Layout) Daemon {
	config := pki.Kubeconfig(l, "kube-scheduler")
	return Daemon{
		Name: "kube-scheduler", Stage: Control,
		Argv: []string{
			filepath.Join(l.Bin(), "kube-scheduler"), "--kubeconfig", config,
			"--authentication-kubeconfig", config, "--authorization-kubeconfig", config,
			"--bind-address", "127.0.0.1", "--cert-dir", l.PKI(), "--leader-elect=false",
			"--kube-api-qps", "500", "--kube-api-burst", "1000",
		},
		Reads: []string{config},
		Ports: []string{"127.0.0.1:10259"},
		Well:  answers("https://127.0.0.1:10259/healthz"),
		Grace: 2 * time.Second,
	}
}
