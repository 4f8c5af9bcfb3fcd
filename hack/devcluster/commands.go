// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/cluster"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/csi"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/images"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/progress"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/provisioner"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/registry"
)

//go:embed help.txt
var help string

// options are a verb's flags; every verb that works on a checkout has --repo.
type options struct {
	*flag.FlagSet
	repo string
}

func flags(verb string) *options {
	o := &options{FlagSet: flag.NewFlagSet(verb, flag.ContinueOnError)}
	o.SetOutput(io.Discard)
	o.StringVar(&o.repo, "repo", "", "top folder of the checkout")
	return o
}

func (o *options) layout() (layout.Layout, error) {
	if o.repo != "" {
		return layout.At(o.repo)
	}
	folder, err := os.Getwd()
	if err != nil {
		return layout.Layout{}, err
	}
	return layout.Find(folder)
}

func (o *options) cluster(args []string, out *progress.Printer) (*cluster.Cluster, error) {
	if err := o.Parse(args); err != nil {
		return nil, err
	}
	l, err := o.layout()
	if err != nil {
		return nil, err
	}
	return cluster.New(l, out)
}

func up(ctx context.Context, args []string, out *progress.Printer) error {
	o := flags("up")
	var wish cluster.Wish
	o.BoolVar(&wish.OLM, "olm", false, "install the Operator Lifecycle Manager")
	o.BoolVar(&wish.CertManager, "cert-manager", false, "install cert-manager")
	o.BoolVar(&wish.Policies, "network-policies", false, "enforce NetworkPolicies, until down")
	o.BoolVar(&wish.Snapshots, "snapshots", false, "have a CSI driver that takes VolumeSnapshots, until down")
	o.IntVar(&wish.Nodes, "nodes", 0, "number of nodes; without it as many as there were, at first one")
	o.StringVar(&wish.Kubernetes, "kubernetes", "", "version of an older Kubernetes to make the cluster of")
	families := o.String("ip-families", "", "IPv4, IPv6 or both with a comma, the first one first; without it as it was, at first IPv4")
	c, err := o.cluster(args, out)
	if err != nil {
		return err
	}
	if *families != "" {
		if wish.Families, err = layout.ParseFamilies(*families); err != nil {
			return err
		}
	}
	return c.Up(ctx, wish)
}

func down(ctx context.Context, args []string, out *progress.Printer) error {
	o := flags("down")
	keep := o.Bool("keep", false, "keep the cluster's state for the next up")
	c, err := o.cluster(args, out)
	if err != nil {
		return err
	}
	return c.Down(ctx, *keep)
}

func status(ctx context.Context, args []string) error {
	c, err := flags("status").cluster(args, progress.To(os.Stderr))
	if err != nil {
		return err
	}
	return c.Status(ctx, os.Stdout)
}

func start(ctx context.Context, args []string) error {
	o := flags("start")
	c, err := o.cluster(args, progress.To(os.Stdout))
	if err != nil {
		return err
	}
	return c.Start(ctx, o.Arg(0))
}

func stop(args []string) error {
	o := flags("stop")
	force := o.Bool("force", false, "kill it, as in a crash")
	c, err := o.cluster(args, progress.To(os.Stdout))
	if err != nil {
		return err
	}
	return c.Stop(o.Arg(0), *force)
}

// node breaks and mends one node, for tests of what then happens.
func node(ctx context.Context, args []string) error {
	o := flags("node")
	c, err := o.cluster(args, progress.To(os.Stdout))
	if err != nil {
		return err
	}
	switch name := o.Arg(1); o.Arg(0) {
	case "stop":
		return c.StopNode(ctx, name)
	case "start":
		return c.StartNode(ctx, name)
	case "cut":
		return c.Cut(ctx, name)
	case "join":
		return c.Join(ctx, name)
	}
	return errors.New("say node stop, start, cut or join, and the name of the node")
}

func load(ctx context.Context, args []string) error {
	o := flags("load")
	name := o.String("name", "", "repository:tag, without a host")
	if err := o.Parse(args); err != nil {
		return err
	}
	if o.NArg() == 0 {
		return list(ctx)
	}
	if *name == "" {
		return errors.New("say how the image shall be called: --name repository:tag")
	}
	loaded, err := images.Load(ctx, *name, o.Arg(0))
	if err == nil {
		fmt.Println(loaded)
	}
	return err
}

func list(ctx context.Context) error {
	all, err := images.List(ctx)
	for _, image := range all {
		fmt.Println(image)
	}
	return err
}

func kubeconfig(args []string) error {
	o := flags("kubeconfig")
	if err := o.Parse(args); err != nil {
		return err
	}
	l, err := o.layout()
	if err == nil {
		fmt.Println(l.Admin())
	}
	return err
}

func env(args []string) error {
	o := flags("env")
	kubernetes := o.String("kubernetes", "", "version of an older kube-apiserver for envtest")
	if err := o.Parse(args); err != nil {
		return err
	}
	l, err := o.layout()
	if err != nil {
		return err
	}
	assets := l.Envtest()
	if *kubernetes != "" {
		assets = l.EnvtestOf(*kubernetes)
	}
	fmt.Printf("export PATH='%s':\"$PATH\"\n", l.Bin())
	fmt.Printf("export KUBECONFIG='%s'\n", l.Admin())
	fmt.Printf("export KUBEBUILDER_ASSETS='%s'\n", assets)
	fmt.Printf("export KO_DOCKER_REPO='%s'\n", layout.RegistryAddress)
	return nil
}

func build(ctx context.Context, args []string, out *progress.Printer) error {
	o := flags("build")
	only := o.String("only", "cluster,images,olm", "components or groups, with commas")
	c, err := o.cluster(args, out)
	if err != nil {
		return err
	}
	return c.Build(ctx, strings.Split(*only, ","))
}

func serveRegistry(ctx context.Context, args []string) error {
	o := flags("serve-registry")
	addresses := o.String("address", "", "where to listen, with commas")
	dir := o.String("dir", "", "where images are kept")
	if err := o.Parse(args); err != nil {
		return err
	}
	return registry.Serve(ctx, strings.Split(*addresses, ","), *dir)
}

func serveVolumes(ctx context.Context, args []string) error {
	o := flags("serve-volumes")
	var config provisioner.Config
	o.StringVar(&config.Kubeconfig, "kubeconfig", "", "how to reach the cluster")
	o.StringVar(&config.Node, "node", "", "whose volumes these are")
	o.StringVar(&config.Dir, "dir", "", "where volumes are kept")
	o.StringVar(&config.Address, "address", "", "where to answer that all is well")
	if err := o.Parse(args); err != nil {
		return err
	}
	return provisioner.Run(ctx, config)
}

func serveCSI(ctx context.Context, args []string) error {
	o := flags("serve-csi")
	var config csi.Config
	o.StringVar(&config.Kubeconfig, "kubeconfig", "", "how to reach the cluster")
	o.StringVar(&config.Node, "node", "", "the node whose volumes these are")
	o.StringVar(&config.Dir, "dir", "", "where volumes and snapshots are kept")
	o.StringVar(&config.Socket, "socket", "", "where the driver answers")
	o.StringVar(&config.Kubelet, "kubelet", "", "folder of the kubelet")
	o.StringVar(&config.Address, "address", "", "where to answer that all is well")
	if err := o.Parse(args); err != nil {
		return err
	}
	return csi.Run(ctx, config)
}
