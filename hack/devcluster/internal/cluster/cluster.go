// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster brings the development cluster up and down. It decides the
// order of things; how each is done is the business of its neighbours.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/build"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/daemons"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/host"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/process"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/progress"
)

// Cluster is one checkout's cluster.
type Cluster struct {
	layout  layout.Layout
	daemons []daemons.Daemon
	book    process.Book
	builder build.Builder
	out     *progress.Printer
}

// New prepares to work; nothing is touched yet.
func New(l layout.Layout, out *progress.Printer) (*Cluster, error) {
	cache, err := build.Cache()
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		book:    process.Book{Dir: l.Records()},
		builder: build.Builder{Sources: l.Components(), Cache: cache, Out: out},
		out:     out,
	}
	c.place(l.Of(remembered(l)).Policing(polices(l)).Snapshotting(snapshots(l)).Having(rememberedFamilies(l)))
	return c, nil
}

func (c *Cluster) place(l layout.Layout) {
	c.layout, c.daemons = l, daemons.Table(l)
}

// Build makes the named components, or groups of them, and links them.
func (c *Cluster) Build(ctx context.Context, names []string) error {
	components := build.Select(names...)
	if len(components) == 0 {
		return fmt.Errorf("nothing is called %v: see 'devcluster help'", names)
	}
	if err := os.MkdirAll(c.builder.Cache, 0o755); err != nil {
		return err
	}
	if err := host.Space(c.builder.Cache); err != nil {
		return err
	}
	if err := c.builder.Ensure(ctx, components); err != nil {
		return err
	}
	used := slices.DeleteFunc(slices.Clone(components), build.IsOldKubernetes)
	if err := c.builder.Link(used, c.layout.Bin()); err != nil {
		return err
	}
	for _, old := range slices.DeleteFunc(components, func(c build.Component) bool { return !build.IsOldKubernetes(c) }) {
		folder := c.layout.EnvtestOf(old.Version)
		if err := c.builder.Link([]build.Component{old}, folder); err != nil {
			return err
		}
		if err := c.envtest(folder, "etcd"); err != nil {
			return err
		}
	}
	return c.envtest(c.layout.Envtest(), "etcd", "kube-apiserver", "kubectl")
}

// envtest offers what KUBEBUILDER_ASSETS needs once it is built.
func (c *Cluster) envtest(folder string, programs ...string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, name := range programs {
		target := filepath.Join(c.layout.Bin(), name)
		if _, err := os.Stat(target); err != nil {
			continue
		}
		err := os.Symlink(filepath.Join("..", "bin", name), filepath.Join(folder, name))
		if err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}

// take locks the machine for this checkout. What a dead cluster of another
// one left is cleared first.
func (c *Cluster) take() (*host.Lock, error) {
	if os.Geteuid() != 0 {
		return nil, host.ErrNotRoot
	}
	lock, err := host.TakeLock(layout.Lock())
	if err != nil {
		return nil, err
	}
	owner := lock.Owner()
	if owner == "" || owner == c.layout.Root {
		return lock, nil
	}
	other := layout.Layout{Root: owner}
	if living := (process.Book{Dir: other.Records()}).Living(); living > 0 {
		lock.Release()
		return nil, host.Foreign(owner, living)
	}
	c.out.Say("clearing what the dead cluster of %s left", owner)
	if err := clearMachine(context.Background(), other); err != nil {
		lock.Release()
		return nil, err
	}
	return lock, nil
}

// sysctls notes, until the next boot, what kernel settings were.
func sysctls() string { return filepath.Join(layout.Run(), "sysctl.json") }

// until asks again and again, and reports the last answer if time runs out.
func until(ctx context.Context, limit time.Duration, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %w", limit, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
