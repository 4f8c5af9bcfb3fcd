// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/addons"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/daemons"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/host"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/pki"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/settings"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/volumes"
)

// grow decides how many nodes there shall be. A node that is taken away would
// leave its object, pods and volumes behind.
func grow(now, wanted int) (int, error) {
	switch {
	case wanted == 0:
		return now, nil
	case wanted < 0 || wanted > layout.MostNodes:
		return 0, fmt.Errorf("a cluster has 1 to %d nodes, not %d", layout.MostNodes, wanted)
	case wanted < now:
		return 0, fmt.Errorf("the cluster has %d nodes, and none can be taken away: run 'devcluster down' first", now)
	}
	return wanted, nil
}

// remembered counts the nodes of the state folder: each has a folder there.
func remembered(l layout.Layout) int {
	count := 1
	for _, node := range l.Of(layout.MostNodes).Nodes() {
		if _, err := os.Stat(node.Dir); err == nil {
			count = node.Number
		}
	}
	return count
}

// snapshots says whether the cluster of the state folder has VolumeSnapshots: there is a file for who makes them.
func snapshots(l layout.Layout) bool {
	_, err := os.Stat(pki.Kubeconfig(l, pki.Snapshots))
	return err == nil
}

// polices says whether the cluster of the state folder enforces NetworkPolicies: there is a file for who does.
func polices(l layout.Layout) bool {
	_, err := os.Stat(pki.Kubeconfig(l, pki.Policies))
	return err == nil
}

// rememberedFamilies are those of the cluster of the state folder; empty if there is none.
func rememberedFamilies(l layout.Layout) layout.Families {
	raw, _ := os.ReadFile(settings.Families(l))
	return layout.Families(strings.TrimSpace(string(raw)))
}

// choose decides which families the cluster has. Kubernetes keeps the addresses of its Services: they are chosen once.
func choose(now, wanted layout.Families) (layout.Families, error) {
	switch {
	case now == "":
		return cmp.Or(wanted, layout.OnlyIPv4), nil
	case wanted != "" && wanted != now:
		return "", fmt.Errorf("the cluster has %s, which cannot become %s: run 'devcluster down' first", now, wanted)
	}
	return now, nil
}

// podShares is what all Pods weigh together beside each session of this machine, and so beside compilers and tests: members must
// not wait for them, or requests time out on a busy machine.
const podShares = 8 * 1024

// prepareNode makes what a node's daemons stand on, all of which is lost when
// the node's power fails. A cut link is joined.
func (c *Cluster) prepareNode(ctx context.Context, node layout.Node) error {
	for _, folder := range []string{node.Run, node.Volumes(), node.PodLogs()} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	if err := host.Plug(ctx, node, c.layout.Nodes(), c.layout.Families); err != nil {
		return err
	}
	if err := host.MakeCgroup(node.Cgroup()); err != nil {
		return err
	}
	if err := host.Weigh("/"+layout.Name, podShares); err != nil {
		return err
	}
	return (volumes.Store{Dir: node.Volumes()}).MountAll(ctx)
}

// awaitNode waits until a node takes pods.
func (c *Cluster) awaitNode(ctx context.Context, installer *addons.Installer, name string) error {
	ready := func(ctx context.Context) error { return installer.NodeReady(ctx, name, c.began(name)) }
	if err := until(ctx, 60*time.Second, ready); err != nil {
		return err
	}
	c.out.Say("%s is ready", name)
	return nil
}

// began is when a node's kubelet was started, or never.
func (c *Cluster) began(name string) time.Time {
	for _, daemon := range daemons.On(c.daemons, name) {
		if record, alive := c.book.Find(daemon.Name); alive && strings.HasPrefix(daemon.Name, "kubelet") {
			return record.Started
		}
	}
	return time.Time{}
}

// runs says whether any daemon of a node is alive.
func (c *Cluster) runs(name string) bool {
	for _, daemon := range daemons.On(c.daemons, name) {
		if _, alive := c.book.Find(daemon.Name); alive {
			return true
		}
	}
	return false
}

// StopNode is a failure of a node's power. Its disk stays, nothing else does.
func (c *Cluster) StopNode(ctx context.Context, name string) error {
	node, lock, err := c.node(name)
	if err != nil {
		return err
	}
	defer lock.Release()
	// The cable first: a machine without power says no goodbye to its peers.
	if !host.IsCut(node) && !node.IsMachine() {
		if err := host.Cut(ctx, node); err != nil {
			return err
		}
	}
	if err := c.killNode(node); err != nil {
		return err
	}
	if err := clearNode(ctx, node); err != nil {
		return err
	}
	c.out.Say("%s is stopped", name)
	return nil
}

// killNode ends every process of a node, those first that would start others.
func (c *Cluster) killNode(node layout.Node) error {
	kill := func(daemon daemons.Daemon) error { return c.book.Stop(daemon.Name, 0) }
	if err := atOnce(daemons.On(c.daemons, node.Name), kill); err != nil {
		return err
	}
	host.KillShims(node.Socket())
	return host.EmptyCgroup(node.Cgroup())
}

// clearNode takes away what a reboot would: mounts, network and sockets.
func clearNode(ctx context.Context, node layout.Node) error {
	host.RemoveShimSockets(node.RuntimeState())
	// Before the mounts: the last of them holds the namespace, which takes the
	// link along at some later time.
	if err := host.Unplug(ctx, node); err != nil {
		return err
	}
	if err := host.Unmount(node.Dir, node.Run); err != nil {
		return err
	}
	host.DetachLoops(node.Dir)
	return os.RemoveAll(node.Run)
}

// StartNode brings a stopped node back, as after a reboot.
func (c *Cluster) StartNode(ctx context.Context, name string) error {
	node, lock, err := c.node(name)
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := c.prepareNode(ctx, node); err != nil {
		return err
	}
	all := daemons.On(c.daemons, name)
	if err := c.startAll(ctx, all); err != nil {
		return err
	}
	for _, daemon := range all {
		if err := c.await(ctx, daemon.Name); err != nil {
			return err
		}
	}
	installer, err := addons.Connect(c.layout)
	if err != nil {
		return err
	}
	return c.awaitNode(ctx, installer, name)
}

// Cut separates a node from all others; what runs on it runs on.
func (c *Cluster) Cut(ctx context.Context, name string) error {
	return c.link(ctx, name, host.Cut, "cut")
}

// Join ends what Cut began.
func (c *Cluster) Join(ctx context.Context, name string) error {
	return c.link(ctx, name, host.Join, "joined")
}

func (c *Cluster) link(ctx context.Context, name string, change func(context.Context, layout.Node) error, done string) error {
	node, lock, err := c.node(name)
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := change(ctx, node); err != nil {
		return err
	}
	c.out.Say("%s is %s", name, done)
	return nil
}

var errNoCluster = errors.New("no cluster runs here: 'devcluster up' starts one")

// node finds a node of the running cluster and takes the machine's lock.
func (c *Cluster) node(name string) (layout.Node, *host.Lock, error) {
	for _, node := range c.layout.Nodes() {
		if node.Name != name {
			continue
		}
		if c.book.Living() == 0 {
			return node, nil, errNoCluster
		}
		lock, err := c.take()
		return node, lock, err
	}
	return layout.Node{}, nil, fmt.Errorf("there is no node %q: 'devcluster status' lists what there is", name)
}
