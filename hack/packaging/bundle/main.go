// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bundle does to a bundle for Operator Lifecycle Manager what kustomize and operator-sdk do not:
//
//	bundle prepare  between kustomize build and operator-sdk generate bundle: fits descriptors and examples
//	bundle finish   after it: what operator-sdk overwrites or leaves out
//	bundle pin      replaces every image by its digest in a registry
//	bundle image    builds the bundle's image, without Docker, and pushes it
//
// It decides nothing about the operator: every text and right comes from config/ and api/. hack/bundle.sh calls it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/bundle"
	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/oci"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("which of prepare, finish, pin, image?")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	switch args[0] {
	case "prepare":
		return runPrepare(flags, args[1:])
	case "finish":
		return runFinish(flags, args[1:])
	case "pin":
		return runPin(ctx, flags, args[1:])
	case "image":
		return runImage(ctx, flags, args[1:])
	default:
		return fmt.Errorf("unknown command %q: prepare, finish, pin or image", args[0])
	}
}

func runPrepare(flags *flag.FlagSet, args []string) error {
	version := flags.String("version", "", "version of the bundle, such as 0.3.0")
	replaces := flags.String("replaces", "", "name of the bundle that this one replaces, such as etcd-operator.v0.2.0")
	icon := flags.String("icon", "", "SVG file")
	statuses := flags.String("statuses", "", "YAML file with the status of each example, by its name")
	if err := flags.Parse(args); err != nil {
		return err
	}
	p := preparation{version: *version, replaces: *replaces}
	var err error
	if p.icon, err = os.ReadFile(*icon); err != nil {
		return err
	}
	if p.statuses, err = readObject(*statuses); err != nil {
		return err
	}
	objects, err := readStream(os.Stdin)
	if err != nil {
		return err
	}
	if err := p.apply(objects); err != nil {
		return err
	}
	return writeStream(os.Stdout, objects)
}

func runFinish(flags *flag.FlagSet, args []string) error {
	bundle := flags.String("bundle", "", "folder of the bundle")
	prepared := flags.String("prepared", "", "file with what `bundle prepare` printed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	file, err := os.Open(*prepared)
	if err != nil {
		return err
	}
	defer file.Close()
	objects, err := readStream(file)
	if err != nil {
		return err
	}
	return finish(*bundle, objects)
}

func runPin(ctx context.Context, flags *flag.FlagSet, args []string) error {
	bundle := flags.String("bundle", "", "folder of the bundle, changed in place")
	registry := flags.String("registry", "", "registry that holds the images, with a path if it has one, such as 127.0.0.1:5000")
	file := flags.String("known", "", "file with lines of an image and its digest, for images that are not in the registry yet")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *file == "" && *registry == "" {
		return errors.New("pin: give -registry or -known")
	}
	known := map[string]string{}
	if *file != "" {
		var err error
		if known, err = readKnown(*file); err != nil {
			return err
		}
	}
	return pin(ctx, *bundle, *registry, known)
}

func runImage(ctx context.Context, flags *flag.FlagSet, args []string) error {
	var to oci.Destination
	to.Flags(flags)
	source := flags.String("source", "bundle", "folder of the bundle")
	platforms := flags.String("platform", strings.Join(bundle.Platforms, ","), "comma separated list of platforms, all with the same files")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if to.IsNowhere() {
		return errors.New("nothing to do: give -push or -layout")
	}
	b, err := bundle.Read(*source)
	if err != nil {
		return err
	}
	index, err := b.Image(strings.Split(*platforms, ","))
	if err != nil {
		return err
	}
	return to.Write(ctx, index)
}
