// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package layout says where everything of the development cluster lives. It
// computes names only; it never touches a file.
package layout

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Name marks everything that the cluster makes outside of its state folder.
const Name = "etcd-operator-devcluster"

// longestRoot is what remains for the checkout's path: the kubelet binds a
// unix socket below it, and the kernel allows 107 bytes for its whole name.
const longestRoot = 107 - len("/.devcluster/node-1/kubelet/pod-resources/kubelet.sock")

// Layout is one checkout and the places its cluster uses.
type Layout struct {
	// Root is the checkout's top folder.
	Root string
	// Count is the number of nodes; zero means one.
	Count int
	// Kubernetes is the version of the older Kubernetes that the cluster is made of; empty for the usual one.
	Kubernetes string
	// Polices says that the cluster enforces NetworkPolicies.
	Polices bool
	// Snapshots says that the cluster has a CSI driver that takes VolumeSnapshots.
	Snapshots bool
	// Families are the families of IP addresses that it has.
	Families Families
}

// Find walks up from folder to the checkout that holds this program.
func Find(folder string) (Layout, error) {
	for dir := folder; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "hack", "devcluster", "go.mod")); err == nil {
			return At(dir)
		}
		if dir == filepath.Dir(dir) {
			return Layout{}, errors.New("no checkout here: run devcluster inside the repository, or pass --repo")
		}
	}
}

// At is the layout of the checkout whose top folder is root.
func At(root string) (Layout, error) {
	if len(root) > longestRoot {
		return Layout{}, fmt.Errorf("the checkout's path %s is too long for unix sockets: move it to one of at most %d characters",
			root, longestRoot)
	}
	return Layout{Root: root}, nil
}

// State is the one folder that holds everything but the built programs.
func (l Layout) State() string { return filepath.Join(l.Root, ".devcluster") }

// Bin has a link to each built program.
func (l Layout) Bin() string { return l.in("bin") }

// Self is the copy of this program that runs as registry and provisioner.
func (l Layout) Self() string { return l.in("bin", "devcluster") }

// Envtest is the folder that KUBEBUILDER_ASSETS names.
func (l Layout) Envtest() string { return l.in("envtest") }

// EnvtestOf is what KUBEBUILDER_ASSETS names for an older Kubernetes.
func (l Layout) EnvtestOf(kubernetes string) string { return l.in("envtest-" + kubernetes) }

// PKI holds keys and certificates.
func (l Layout) PKI() string { return l.in("pki") }

// Settings holds the files that the daemons read.
func (l Layout) Settings() string { return l.in("etc") }

// Logs holds one file per daemon.
func (l Layout) Logs() string { return l.in("logs") }

// Audit is the API server's audit log.
func (l Layout) Audit() string { return l.in("logs", "audit.log") }

// Records holds one file per started process.
func (l Layout) Records() string { return l.in("run") }

// Etcd holds the data of the cluster's own etcd.
func (l Layout) Etcd() string { return l.in("etcd") }

// Registry holds the images.
func (l Layout) Registry() string { return l.in("registry") }

// Admin is the administrator's kubeconfig.
func (l Layout) Admin() string { return l.in("kubeconfig") }

// Components holds the nested modules that the programs are built from.
func (l Layout) Components() string { return filepath.Join(l.Root, "hack", "components") }

// Node is the place of the node with this number, from 1.
func (l Layout) Node(number int) Node {
	name := fmt.Sprintf("node-%d", number)
	return Node{
		Name:     name,
		Number:   number,
		Dir:      l.in(name),
		Run:      filepath.Join(Run(), name),
		IP:       fmt.Sprintf("10.254.0.%d", number),
		PodRange: fmt.Sprintf("10.244.%d.0/22", 4*(number-1)),
		Zone:     fmt.Sprintf("zone-%d", number),
	}
}

const (
	// First is the name of the node that is there in every cluster.
	First = "node-1"
	// MostNodes is how many nodes a cluster may have.
	MostNodes = 5
)

// Of is the layout with that many nodes.
func (l Layout) Of(count int) Layout {
	l.Count = count
	return l
}

// With is the layout made of an older Kubernetes.
func (l Layout) With(kubernetes string) Layout {
	l.Kubernetes = kubernetes
	return l
}

// Policing is the layout of a cluster that enforces NetworkPolicies, or of one that does not.
func (l Layout) Policing(polices bool) Layout {
	l.Polices = polices
	return l
}

// Snapshotting is the layout of a cluster with a CSI driver that takes VolumeSnapshots, or of one without.
func (l Layout) Snapshotting(snapshots bool) Layout {
	l.Snapshots = snapshots
	return l
}

// Nodes are all nodes of the cluster, by number.
func (l Layout) Nodes() []Node {
	var all []Node
	for number := range max(1, l.Count) {
		all = append(all, l.Node(number+1))
	}
	return all
}

func (l Layout) in(parts ...string) string {
	return filepath.Join(append([]string{l.State()}, parts...)...)
}

// Run is the machine's folder for sockets, whose names must be short.
func Run() string { return filepath.Join("/run", Name) }

// Lock names the checkout that has the machine.
func Lock() string { return "/run/" + Name + ".lock" }
