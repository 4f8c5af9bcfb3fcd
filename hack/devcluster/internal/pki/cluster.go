// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
)

// Prepare makes everything secret that the cluster needs, once.
func Prepare(l layout.Layout) error {
	authority, err := Open(l.PKI())
	if err != nil {
		return err
	}
	if err := authority.SigningKey(); err != nil {
		return err
	}
	for _, holder := range holders(l) {
		if err := authority.Issue(holder); err != nil {
			return err
		}
	}
	return authority.kubeconfigs(l)
}

func holders(l layout.Layout) []Holder {
	all := []Holder{
		{
			File: "apiserver", Name: "kube-apiserver",
			DNS: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
			IPs: []string{"127.0.0.1", layout.MachineIP, layout.APIService, layout.MachineIP6, layout.APIService6},
		},
		{File: "admin", Name: "admin", Groups: []string{"system:masters"}},
		{File: "kube-controller-manager", Name: "system:kube-controller-manager"},
		{File: "kube-scheduler", Name: "system:kube-scheduler"},
		{File: "kube-proxy", Name: "system:kube-proxy"},
		{File: "front-proxy", Name: "front-proxy"},
	}
	for _, node := range l.Nodes() {
		all = append(all, Holder{
			File: node.Name, Name: "system:node:" + node.Name,
			Groups: []string{"system:nodes"}, DNS: []string{node.Name}, IPs: []string{node.IP, node.IP6()},
		})
	}
	return all
}

// kubeconfigs writes one file per client; the administrator's stands alone
// in the state folder, where people look for it.
func (a *Authority) kubeconfigs(l layout.Layout) error {
	server := "https://" + layout.MachineIP + ":" + layout.APIPort
	clients := []string{"kube-controller-manager", "kube-scheduler", "kube-proxy"}
	for _, node := range l.Nodes() {
		clients = append(clients, node.Name)
	}
	for _, client := range clients {
		if err := a.kubeconfig(Kubeconfig(l, client), client, server); err != nil {
			return err
		}
	}
	if err := a.kubeconfig(Kubeconfig(l, Provisioner), "admin", server); err != nil {
		return err
	}
	if l.Snapshots {
		if err := a.kubeconfig(Kubeconfig(l, Snapshots), "admin", server); err != nil {
			return err
		}
	}
	if l.Polices {
		if err := a.kubeconfig(Kubeconfig(l, Policies), "admin", server); err != nil {
			return err
		}
	}
	return a.kubeconfig(l.Admin(), "admin", "https://127.0.0.1:"+layout.APIPort)
}

// Provisioner is the client that makes volumes, on every node.
const Provisioner = "provisioner"

// Snapshots is the client that makes VolumeSnapshots. Its file is there if the cluster has them.
const Snapshots = "csi"

// Policies is the client that enforces NetworkPolicies, on every node. Its file is there if the cluster does that.
const Policies = "kube-router"

// Kubeconfig is the file that a component connects with.
func Kubeconfig(l layout.Layout, client string) string {
	return filepath.Join(l.Settings(), client+".kubeconfig")
}

const kubeconfig = `apiVersion: v1
kind: Config
clusters:
- name: devcluster
  cluster: {server: "%s", certificate-authority-data: %s}
users:
- name: %s
  user: {client-certificate-data: %s, client-key-data: %s}
contexts:
- name: devcluster
  context: {cluster: devcluster, user: %[3]s}
current-context: devcluster
`

func (a *Authority) kubeconfig(file, user, server string) error {
	var parts []any
	for _, name := range []string{"ca.crt", user + ".crt", user + ".key"} {
		raw, err := os.ReadFile(a.Path(name))
		if err != nil {
			return err
		}
		parts = append(parts, base64.StdEncoding.EncodeToString(raw))
	}
	text := fmt.Sprintf(kubeconfig, server, parts[0], user, parts[1], parts[2])
	return os.WriteFile(file, []byte(text), 0o600)
}
