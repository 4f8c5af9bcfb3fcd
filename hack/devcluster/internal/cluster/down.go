// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/daemons"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/host"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/process"
)

// Down takes back everything that Up did to the machine. Built programs and
// pushed images stay for the next time; so does the state if keep is set.
func (c *Cluster) Down(ctx context.Context, keep bool) error {
	lock, err := c.take()
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := clearMachine(ctx, c.layout); err != nil {
		return err
	}
	if !keep {
		if err := c.forget(); err != nil {
			return err
		}
	}
	if err := lock.Remove(); err != nil {
		return err
	}
	c.out.Say("the cluster is down")
	return nil
}

// clearMachine needs no daemon to answer and no memory of how many nodes there
// are, so that it works on any wreck.
func clearMachine(ctx context.Context, l layout.Layout) error {
	l = l.Of(layout.MostNodes).Policing(true).Snapshotting(true)
	if err := stopAll(l); err != nil {
		return err
	}
	for _, node := range l.Nodes() {
		host.KillShims(node.Socket())
	}
	if err := host.EmptyCgroup("/" + layout.Name); err != nil {
		return err
	}
	for _, node := range l.Nodes() {
		host.RemoveShimSockets(node.RuntimeState())
	}
	if err := host.Unmount(l.State(), layout.Run()); err != nil {
		return err
	}
	host.DetachLoops(l.State())
	host.RemoveNetwork(ctx)
	removeStrays(l)
	if err := host.Untune(sysctls()); err != nil {
		return err
	}
	return os.RemoveAll(layout.Run())
}

// stopAll ends the daemons from the last to the first; those that depend on
// the API server end at the same time, well before it.
func stopAll(l layout.Layout) error {
	book := process.Book{Dir: l.Records()}
	table := daemons.Table(l)
	polite := func(daemon daemons.Daemon) error { return book.Stop(daemon.Name, daemon.Grace) }
	if err := atOnce(daemons.Of(table, daemons.Control), polite); err != nil {
		return err
	}
	return atOnce(daemons.Of(table, daemons.Base), polite)
}

func atOnce(all []daemons.Daemon, stop func(daemons.Daemon) error) error {
	failed := make([]error, len(all))
	var group sync.WaitGroup
	for index, daemon := range all {
		group.Go(func() { failed[index] = stop(daemon) })
	}
	group.Wait()
	return errors.Join(failed...)
}

// removeStrays removes what the kubelet puts outside of its own folder.
func removeStrays(l layout.Layout) {
	links, _ := filepath.Glob("/var/log/containers/*")
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, l.State()+"/") {
			_ = os.Remove(link)
		}
	}
	_ = os.Remove("/var/log/containers")
	devices := "/var/lib/kubelet/device-plugins"
	if _, err := os.Stat("/var/lib/kubelet/config.yaml"); err == nil {
		return // another kubelet lives here
	}
	for _, name := range []string{"kubelet.sock", "kubelet_internal_checkpoint", "DEPRECATION", ""} {
		_ = os.Remove(filepath.Join(devices, name))
	}
	_ = os.Remove("/var/lib/kubelet")
}

// forget removes the cluster's state, so that the next one is new.
func (c *Cluster) forget() error {
	l := c.layout.Of(layout.MostNodes)
	all := []string{l.Etcd(), l.PKI(), l.Settings(), l.Admin(), l.Records()}
	for _, node := range l.Nodes() {
		all = append(all, node.Dir)
	}
	for _, path := range all {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}
