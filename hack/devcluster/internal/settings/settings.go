// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package settings renders the files that the cluster's daemons read.
package settings

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
)

//go:embed templates
var files embed.FS

var templates = template.Must(template.ParseFS(files, "templates/*"))

// Machine is what the settings depend on besides the layout.
type Machine struct {
	// MayRaisePriority is false where CAP_SYS_RESOURCE is missing; runc then
	// dies if a container asks for a lower out-of-memory score.
	MayRaisePriority bool
	// FiltersBridges is false where the kernel has no br_netfilter; answers
	// of a Service then bypass address translation unless masqueraded.
	FiltersBridges bool
}

// File is one rendered file.
type File struct {
	Path string
	Text string
}

type values struct {
	layout.Node
	layout.Layout
	Machine
	PodsRanges, DNSService, PodBridge, NetworkName string
	// Ranges are those of the node's Pods, Anywhere what is beyond them.
	Ranges, Anywhere []string
}

// Render is pure: the same layout and machine give the same files.
func Render(l layout.Layout, machine Machine) ([]File, error) {
	rendered := []File{}
	add := func(path, name string, node layout.Node) error {
		text, err := render(name, l, node, machine)
		rendered = append(rendered, File{Path: path, Text: text})
		return err
	}
	rendered = append(rendered, File{Path: Families(l), Text: string(cmp.Or(l.Families, layout.OnlyIPv4)) + "\n"})
	if err := add(AuditPolicy(l), "audit.yaml", l.Node(1)); err != nil {
		return nil, err
	}
	for _, node := range l.Nodes() {
		for path, name := range perNode(node) {
			if err := add(path, name, node); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(rendered, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return rendered, nil
}

func perNode(n layout.Node) map[string]string {
	return map[string]string{
		Containerd(n): "containerd.toml",
		Kubelet(n):    "kubelet.yaml",
		Proxy(n):      "proxy.yaml",
		filepath.Join(n.CNI(), "conf", "10-devcluster.conflist"):            "network.conflist",
		filepath.Join(n.Settings(), "registries", "_default", "hosts.toml"): "hosts.toml",
	}
}

// AuditPolicy says what the API server records.
func AuditPolicy(l layout.Layout) string { return filepath.Join(l.Settings(), "audit.yaml") }

// Families is where those of the cluster are remembered.
func Families(l layout.Layout) string { return filepath.Join(l.Settings(), "ip-families") }

// Containerd is the runtime's file.
func Containerd(n layout.Node) string { return filepath.Join(n.Settings(), "containerd.toml") }

// Kubelet is the kubelet's file.
func Kubelet(n layout.Node) string { return filepath.Join(n.Settings(), "kubelet.yaml") }

// Proxy is kube-proxy's file.
func Proxy(n layout.Node) string { return filepath.Join(n.Settings(), "proxy.yaml") }

func render(name string, l layout.Layout, node layout.Node, machine Machine) (string, error) {
	var out bytes.Buffer
	err := templates.ExecuteTemplate(&out, name, values{
		Node: node, Layout: l, Machine: machine,
		PodsRanges: l.Families.Listed(layout.PodsRange, layout.PodsRange6),
		DNSService: l.Families.First(layout.DNSService, layout.DNSService6),
		Ranges:     l.Families.Of(node.PodRange, node.PodRange6()), Anywhere: l.Families.Of("0.0.0.0/0", "::/0"),
		PodBridge: layout.PodBridge, NetworkName: layout.Name,
	})
	if err != nil {
		return "", fmt.Errorf("render %s: %w", name, err)
	}
	return out.String(), nil
}

// Write puts the rendered files in place. An unchanged file stays untouched:
// kube-proxy ends itself when its file is written.
func Write(all []File) error {
	for _, file := range all {
		if now, err := os.ReadFile(file.Path); err == nil && string(now) == file.Text {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file.Path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file.Path, []byte(file.Text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
