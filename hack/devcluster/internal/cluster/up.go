// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/addons"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/build"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/daemons"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/host"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/images"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/pki"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/settings"
)

// Wish says what a cluster shall be.
type Wish struct {
	OLM         bool
	CertManager bool
	// Policies says that NetworkPolicies shall be enforced, also from now on without being asked for.
	Policies bool
	// Snapshots says that there shall be a CSI driver that takes VolumeSnapshots, also from now on without being asked for.
	Snapshots bool
	// Nodes is how many there shall be; zero for as many as there were.
	Nodes int
	// Families are those of IP addresses; empty for those that it had, at first IPv4.
	Families layout.Families
	// Kubernetes is the version of an older one to make the cluster of; empty for the usual one.
	Kubernetes string
}

// Up makes the cluster run, whatever of it runs already.
func (c *Cluster) Up(ctx context.Context, wish Wish) error {
	if err := host.Check(c.layout.State()); err != nil {
		return err
	}
	count, err := grow(len(c.layout.Nodes()), wish.Nodes)
	if err != nil {
		return err
	}
	families, err := choose(c.layout.Families, wish.Families)
	if err != nil {
		return err
	}
	c.place(c.layout.Of(count).Policing(c.layout.Polices || wish.Policies).Having(families).
		Snapshotting(c.layout.Snapshots || wish.Snapshots))
	if err := c.checkFamilies(); err != nil {
		return err
	}
	lock, err := c.take()
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := c.provide(ctx, wish); err != nil {
		return err
	}
	if err := c.replaceKubernetes(ctx, wish.Kubernetes); err != nil {
		return err
	}
	if err := lock.Claim(c.layout.Root); err != nil {
		return err
	}
	if err := c.prepare(ctx); err != nil {
		return err
	}
	if err := c.run(ctx, wish); err != nil {
		return err
	}
	c.out.Say("the cluster is up: export KUBECONFIG=%s", c.layout.Admin())
	return nil
}

func (c *Cluster) checkFamilies() error {
	switch has6 := c.layout.Families.HasIPv6(); {
	case has6 && !host.HasIPv6():
		return errors.New("this machine has no IPv6: see /proc/sys/net/ipv6/conf/all/disable_ipv6")
	case has6 && c.layout.Polices:
		return errors.New("NetworkPolicies are enforced in clusters with IPv4 alone: leave one of --network-policies and --ip-families out")
	}
	return nil
}

// provide gets programs: the machine's own, then ours.
func (c *Cluster) provide(ctx context.Context, wish Wish) error {
	if err := host.Install(ctx, c.out); err != nil {
		return err
	}
	groups := []string{build.Cluster, build.Images}
	if wish.OLM {
		groups = append(groups, build.OLM)
	}
	if wish.CertManager {
		groups = append(groups, build.CertManager)
	}
	if c.layout.Snapshots {
		groups = append(groups, build.Snapshots)
	}
	if c.layout.Polices {
		groups = append(groups, build.Policies)
	}
	if err := c.Build(ctx, groups); err != nil {
		return err
	}
	return c.installSelf()
}

// replaceKubernetes makes the cluster of an older Kubernetes. A cluster that runs must be brought down first: no
// API server reads what a newer one has stored.
func (c *Cluster) replaceKubernetes(ctx context.Context, version string) error {
	if version == "" {
		return nil
	}
	old, whole := build.Whole(version)
	if !whole {
		return fmt.Errorf("there is no whole Kubernetes %q: the cluster can be made of %s", version, build.OldKubernetes[0])
	}
	if err := c.builder.Ensure(ctx, []build.Component{old}); err != nil {
		return err
	}
	c.place(c.layout.With(version))
	return c.builder.Link([]build.Component{old}, c.layout.Bin())
}

// prepare makes everything that must be there before the first daemon. Each
// part is harmless to repeat under a running cluster.
func (c *Cluster) prepare(ctx context.Context) error {
	if err := c.folders(); err != nil {
		return err
	}
	if err := host.Tune(sysctls(), c.layout.Families); err != nil {
		return err
	}
	if err := pki.Prepare(c.layout); err != nil {
		return err
	}
	machine := settings.Machine{MayRaisePriority: host.MayRaisePriority(), FiltersBridges: host.FiltersBridges()}
	files, err := settings.Render(c.layout, machine)
	if err != nil {
		return err
	}
	if err := settings.Write(files); err != nil {
		return err
	}
	if err := host.Network(ctx, c.layout.Families); err != nil {
		return err
	}
	for _, node := range c.layout.Nodes() {
		if err := c.prepareNode(ctx, node); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) folders() error {
	l := c.layout
	if _, err := os.Stat(l.Etcd()); errors.Is(err, os.ErrNotExist) && c.book.Living() == 0 {
		// A new cluster begins with new logs.
		if err := os.RemoveAll(l.Logs()); err != nil {
			return err
		}
	}
	all := []string{l.Settings(), l.Logs(), l.Records(), l.Registry(), layout.Run()}
	for _, node := range l.Nodes() {
		all = append(all, node.Dir)
	}
	for _, folder := range all {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	// Refused by etcd if others can read it.
	return os.MkdirAll(l.Etcd(), 0o700)
}

// run starts the daemons in order and fills the cluster meanwhile.
func (c *Cluster) run(ctx context.Context, wish Wish) error {
	if err := c.startAll(ctx, daemons.Of(c.daemons, daemons.Base)); err != nil {
		return err
	}
	pushed := make(chan error, 1)
	go func() { pushed <- c.pushImages(ctx, wish) }()
	// The kubelets need the runtimes, everything needs the API server.
	for _, daemon := range daemons.Of(c.daemons, daemons.Base) {
		if daemon.Node == "" && daemon.Name != "kube-apiserver" {
			continue
		}
		if err := c.await(ctx, daemon.Name); err != nil {
			return err
		}
	}
	if err := c.startAll(ctx, daemons.Of(c.daemons, daemons.Control)); err != nil {
		return err
	}
	installer, err := addons.Connect(c.layout)
	if err != nil {
		return err
	}
	if err := c.fill(ctx, installer, wish); err != nil {
		return err
	}
	if err := <-pushed; err != nil {
		return err
	}
	return c.settle(ctx, installer, wish)
}

// fill applies manifests at once; pods wait for their images by themselves,
// but a failed pull would delay them, so that those of OLM and of cert-manager come after the push.
func (c *Cluster) fill(ctx context.Context, installer *addons.Installer, wish Wish) error {
	if err := until(ctx, 30*time.Second, installer.Basics); err != nil {
		return fmt.Errorf("install the basics: %w", err)
	}
	if c.layout.Snapshots {
		if err := c.snapshotTypes(ctx, installer); err != nil {
			return err
		}
	}
	var projects []string
	if wish.OLM {
		projects = append(projects, "olm")
	}
	if wish.CertManager {
		projects = append(projects, "cert-manager")
	}
	for _, project := range projects {
		folder, err := c.manifests(project)
		if err != nil {
			return err
		}
		if err := installer.CRDs(ctx, folder); err != nil {
			return err
		}
	}
	return nil
}

// snapshotTypes installs the types of VolumeSnapshots, without which their controller ends.
func (c *Cluster) snapshotTypes(ctx context.Context, installer *addons.Installer) error {
	folder, err := c.manifests("snapshots")
	if err != nil {
		return err
	}
	return installer.SnapshotCRDs(ctx, folder)
}

// settle waits until everything is well.
func (c *Cluster) settle(ctx context.Context, installer *addons.Installer, wish Wish) error {
	for _, daemon := range c.daemons {
		if err := c.await(ctx, daemon.Name); err != nil {
			return err
		}
	}
	if err := c.install(ctx, installer, wish); err != nil {
		return err
	}
	for _, node := range c.layout.Nodes() {
		if err := c.awaitNode(ctx, installer, node.Name); err != nil {
			return err
		}
	}
	names := func(ctx context.Context) error { return installer.Available(ctx, "kube-system", "coredns") }
	if err := until(ctx, 90*time.Second, names); err != nil {
		return err
	}
	c.out.Say("coredns is available")
	if wish.OLM {
		if err := until(ctx, 180*time.Second, installer.PackageServer); err != nil {
			return fmt.Errorf("OLM: %w", err)
		}
		c.out.Say("OLM's packageserver has succeeded")
	}
	if wish.CertManager {
		if err := until(ctx, 180*time.Second, installer.CertManagerReady); err != nil {
			return fmt.Errorf("cert-manager: %w", err)
		}
		c.out.Say("cert-manager is available")
	}
	return nil
}

// install applies what was asked for beside the basics.
func (c *Cluster) install(ctx context.Context, installer *addons.Installer, wish Wish) error {
	if wish.OLM {
		folder, err := c.manifests("olm")
		if err != nil {
			return err
		}
		install := func(ctx context.Context) error { return installer.OLM(ctx, folder) }
		if err := until(ctx, 60*time.Second, install); err != nil {
			return fmt.Errorf("install OLM: %w", err)
		}
	}
	if c.layout.Snapshots {
		if err := until(ctx, 60*time.Second, installer.Snapshots); err != nil {
			return fmt.Errorf("install classes of VolumeSnapshots: %w", err)
		}
	}
	if wish.CertManager {
		if err := until(ctx, 60*time.Second, installer.CertManager); err != nil {
			return fmt.Errorf("install cert-manager: %w", err)
		}
	}
	return nil
}

func (c *Cluster) pushImages(ctx context.Context, wish Wish) error {
	if err := c.await(ctx, "registry"); err != nil {
		return err
	}
	all, err := c.images(wish)
	if err != nil {
		return err
	}
	pushed, err := images.Push(ctx, all)
	if err != nil {
		return err
	}
	if len(pushed) > 0 {
		c.out.Say("pushed %d images", len(pushed))
	}
	return nil
}
