// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package daemons is the table of programs that make up the cluster: how each
// is started and how it says that it is well. It starts nothing itself.
package daemons

import (
	"context"
	"time"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
)

// Stage orders the start: a daemon may need those of earlier stages.
type Stage int

// The stages of a start.
const (
	// Base needs nothing, or waits by itself for what it needs.
	Base Stage = iota
	// Control needs the API server or the container runtime.
	Control
)

// Daemon is one program of the cluster.
type Daemon struct {
	Name string
	// Node is the name of the node that the daemon is part of; empty for
	// what the cluster has only once.
	Node string
	// Network is the network namespace that the daemon runs in; empty is the
	// machine's own.
	Network string
	Argv    []string
	// Reads names files that the daemon reads only when it starts.
	Reads []string
	Stage Stage
	// Ports are the TCP addresses that the daemon listens at.
	Ports []string
	// Well returns nil once the daemon does its work.
	Well func(context.Context) error
	// Grace is how long it may take to stop; zero kills it at once.
	Grace time.Duration
}

// Table lists the daemons in the order of their start.
func Table(l layout.Layout) []Daemon {
	all := []Daemon{registry(l), etcd(l)}
	for _, node := range l.Nodes() {
		all = append(all, at(node, containerd(l, node)))
	}
	all = append(all, apiserver(l), controllers(l), scheduler(l))
	for _, node := range l.Nodes() {
		all = append(all, at(node, kubelet(l, node)), at(node, proxy(l, node)), at(node, provisioner(l, node)))
		if l.Polices {
			all = append(all, at(node, policies(l, node)))
		}
	}
	if first := l.Node(1); l.Snapshots {
		for _, daemon := range snapshots(l, first) {
			all = append(all, at(first, daemon))
		}
	}
	return all
}

// at makes a daemon part of a node. The first node's keep the plain names that
// people know. In a namespace of its own, no one else can have a port.
func at(node layout.Node, daemon Daemon) Daemon {
	daemon.Node, daemon.Network = node.Name, node.Network()
	if !node.IsMachine() {
		daemon.Name += "-" + node.Name
		daemon.Ports = nil
	}
	return daemon
}

// Find returns the daemon of that name.
func Find(all []Daemon, name string) (Daemon, bool) {
	for _, daemon := range all {
		if daemon.Name == name {
			return daemon, true
		}
	}
	return Daemon{}, false
}

// Of selects the daemons of a stage.
func Of(all []Daemon, stage Stage) []Daemon {
	var selected []Daemon
	for _, daemon := range all {
		if daemon.Stage == stage {
			selected = append(selected, daemon)
		}
	}
	return selected
}

// On selects the daemons of a node.
func On(all []Daemon, node string) []Daemon {
	var selected []Daemon
	for _, daemon := range all {
		if daemon.Node == node {
			selected = append(selected, daemon)
		}
	}
	return selected
}
