// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"fmt"
	"path/filepath"
)

// Addresses that belong to the cluster as a whole.
const (
	// PodsRange holds every node's pod range.
	PodsRange = "10.244.0.0/16"
	// NodesRange holds every node's address.
	NodesRange = "10.254.0.0/24"
	// ServicesRange holds every Service's address.
	ServicesRange = "10.96.0.0/16"
	// APIService is the first address of ServicesRange.
	APIService = "10.96.0.1"
	// DNSService is the address that the kubelet hands to pods.
	DNSService = "10.96.0.10"
	// RegistryAddress stands in for every image registry.
	RegistryAddress = "127.0.0.1:5000"
	// SharedRegistry is the same registry, where further nodes reach it.
	SharedRegistry = MachineIP + ":5000"
	// EtcdClients and EtcdPeers leave etcd's usual ports to others.
	EtcdClients = "127.0.0.1:12379"
	EtcdPeers   = "127.0.0.1:12380"
	// APIPort is the API server's port on every address.
	APIPort = "6443"
	// NodeBridge carries node addresses; it needs no member to be up.
	NodeBridge = "devcluster0"
	// MachineIP is the machine's own address on NodeBridge: the first node
	// and the API server have it.
	MachineIP = "10.254.0.1"
	// NodeLinks begins the names of the links that plug further nodes into
	// NodeBridge.
	NodeLinks = "devcluster-n"
	// PodBridge is what pods are plugged into.
	PodBridge = "devcluster1"
)

// Node is one machine of the cluster: its own runtime, kubelet and pod range.
// The first is this machine; each further one is a network namespace on it,
// plugged into NodeBridge.
type Node struct {
	Name     string
	Number   int
	Dir      string
	Run      string
	IP       string
	PodRange string
	Zone     string
}

// IsMachine says whether the node is this machine itself.
func (n Node) IsMachine() bool { return n.Number == 1 }

// Network is the file of the node's network namespace; empty is the machine's.
func (n Node) Network() string {
	if n.IsMachine() {
		return ""
	}
	return filepath.Join(n.Run, "net")
}

// Link is the machine's end of the node's cable. The kernel allows 15 bytes.
func (n Node) Link() string { return fmt.Sprint(NodeLinks, n.Number) }

// MAC stays the same when the node starts again, so that what its neighbours
// learnt about it stays true.
func (n Node) MAC() string { return fmt.Sprintf("0a:58:0a:fe:00:%02x", n.Number) }

// Health is the address where the node's daemons say that they are well: the
// machine cannot reach another namespace's loopback.
func (n Node) Health() string {
	if n.IsMachine() {
		return "127.0.0.1"
	}
	return n.IP
}

// Mirror is where the node's runtime reaches the registry.
func (n Node) Mirror() string {
	if n.IsMachine() {
		return RegistryAddress
	}
	return SharedRegistry
}

// Socket is the container runtime's.
func (n Node) Socket() string { return filepath.Join(n.Run, "containerd.sock") }

// RuntimeState is lost on a reboot, as the runtime wants it.
func (n Node) RuntimeState() string { return filepath.Join(n.Run, "containerd") }

// RuntimeRoot holds images and container roots.
func (n Node) RuntimeRoot() string { return filepath.Join(n.Dir, "containerd") }

// Kubelet is the kubelet's folder, below which it mounts pods' volumes.
func (n Node) Kubelet() string { return filepath.Join(n.Dir, "kubelet") }

// PodLogs holds containers' output.
func (n Node) PodLogs() string { return filepath.Join(n.Dir, "pod-logs") }

// Volumes holds one file per persistent volume, and where it is mounted.
func (n Node) Volumes() string { return filepath.Join(n.Dir, "volumes") }

// CSI is the socket of the CSI driver.
func (n Node) CSI() string { return filepath.Join(n.Run, "csi.sock") }

// Snapshots is the folder of the CSI driver's volumes and snapshots.
func (n Node) Snapshots() string { return filepath.Join(n.Dir, "csi") }

// CNI holds the network's configuration and its leases.
func (n Node) CNI() string { return filepath.Join(n.Dir, "cni") }

// Settings holds the files that the node's daemons read.
func (n Node) Settings() string { return filepath.Join(n.Dir, "etc") }

// Cgroup is the node's place in every cgroup hierarchy.
func (n Node) Cgroup() string { return "/" + Name + "/" + n.Name }
