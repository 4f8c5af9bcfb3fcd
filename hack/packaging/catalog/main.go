// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command catalog makes the file-based catalog of Operator Lifecycle Manager and its image:
//
//	catalog render  renders catalog-templates/basic.yaml and the bundles, and draws the upgrade graph
//	catalog earlier lists the folders of bundles that the template has, that are on no registry, and that nobody is advised against
//	catalog image   packs a catalog with the programs that serve it, and a cache so that it starts at once
//
// operator-registry, the library of opm, does it. Nothing is decided here about versions: the template says which there are and who
// follows whom. hack/catalog.sh calls it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/sirupsen/logrus"
)

func main() {
	logrus.SetOutput(io.Discard) // as opm does: all that matters is in errors
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "catalog:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("which of render, earlier, image?")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	switch args[0] {
	case "render":
		return runRender(ctx, flags, args[1:])
	case "earlier":
		return runEarlier(ctx, flags, args[1:])
	case "image":
		return runImage(ctx, flags, args[1:])
	default:
		return fmt.Errorf("unknown command %q: render, earlier or image", args[0])
	}
}

func runRender(ctx context.Context, flags *flag.FlagSet, args []string) error {
	var r rendering
	flags.StringVar(&r.top, "top", ".", "top of the checkout, with bundle/ and releases/")
	flags.StringVar(&r.template, "template", "catalog-templates/basic.yaml", "the template")
	flags.StringVar(&r.out, "out", "catalog", "folder of the catalog; what is in it is replaced")
	flags.StringVar(&r.graph, "graph", "", "write the upgrade graph to this Markdown file")
	flags.StringVar(&r.bundle, "bundle", "bundle", "folder of the bundle that is not released yet")
	flags.StringVar(&r.repository, "repository", "registry.example/etcd-operator/etcd-operator-bundle",
		"repository of the bundle that is not released yet; released ones name their own")
	flags.BoolVar(&r.unpublished, "unpublished", false,
		"take in bundles of releases/unpublished that a channel has, instead of leaving them out; such a catalog cannot be published")
	flags.StringVar(&r.operatorHub, "operatorhub", "", "write what a pull request at OperatorHub's repository needs to this folder")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return r.run(ctx)
}

func runEarlier(ctx context.Context, flags *flag.FlagSet, args []string) error {
	top := flags.String("top", ".", "top of the checkout, with releases/")
	template := flags.String("template", "catalog-templates/basic.yaml", "the template")
	if err := flags.Parse(args); err != nil {
		return err
	}
	written, err := readTemplate(ctx, *template)
	if err != nil {
		return err
	}
	all, err := earlier(*top, written.Channels)
	if err != nil {
		return err
	}
	for _, b := range all {
		if b.Source != "" && !isDeprecated(written, b.Name) {
			fmt.Println(b.Folder)
		}
	}
	return nil
}

// isDeprecated says whether the template advises against a version.
func isDeprecated(written *declcfg.DeclarativeConfig, name string) bool {
	return slices.ContainsFunc(written.Deprecations, func(d declcfg.Deprecation) bool {
		return slices.ContainsFunc(d.Entries, func(e declcfg.DeprecationEntry) bool { return e.Reference.Name == name })
	})
}

func runImage(ctx context.Context, flags *flag.FlagSet, args []string) error {
	var r packing
	platforms := flags.String("platform", "linux/amd64,linux/arm64", "comma separated list of platforms")
	flags.StringVar(&r.catalog, "catalog", "catalog", "folder of the catalog")
	flags.StringVar(&r.components, "components", "hack/components/cluster", "module of the programs, whose licences go into the image")
	flags.StringVar(&r.programs, "programs", "", "folder with <platform>/opm and <platform>/grpc-health-probe, such as linux/amd64/opm")
	r.to.Flags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	r.platforms = strings.Split(*platforms, ",")
	return r.run(ctx)
}
