// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command images builds the operator's image, or that of another program of these sources, with ko, without Docker and without a base
// image from any registry.
//
// It never adds anything that differs between two builds of one commit: the base is made here from constants, times come
// from SOURCE_DATE_EPOCH (0 when unset), and the Go build is trimmed by the flags in .ko.yaml.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/ko/pkg/build"
	"github.com/google/ko/pkg/commands/options"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/licenses"
	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/oci"
)

// baseName stands in the image's annotations as the name of its base. It is a name only: nothing is pulled from there.
const baseName = "etcd-operator.dev/base/static:nonroot"

type request struct {
	source, main string
	title        string
	tarball, tag string
	to           oci.Destination
	platforms    []string
}

func main() {
	var r request
	platforms := flag.String("platform", "linux/"+runtime.GOARCH, "comma separated list of platforms")
	flag.StringVar(&r.source, "source", ".", "top of the sources, with .ko.yaml")
	flag.StringVar(&r.main, "main", ".", "main package, below the source")
	flag.StringVar(&r.title, "title", "etcd-operator", "what the image is called in its labels")
	flag.StringVar(&r.tarball, "tarball", "", "write a tar file that docker load and ctr images import read")
	flag.StringVar(&r.tag, "tag", "registry.example/etcd-operator/etcd-operator:dev", "name of the image inside the tar file")
	r.to.Flags(flag.CommandLine)
	flag.Parse()
	r.platforms = strings.Split(*platforms, ",")

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := r.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func (r request) run(ctx context.Context) error {
	if r.to.IsNowhere() && r.tarball == "" {
		return errors.New("nothing to do: give -push, -tarball or -layout")
	}
	result, err := r.build(ctx)
	if err != nil {
		return err
	}
	if r.tarball != "" {
		if err := save(r.tarball, r.tag, result); err != nil {
			return err
		}
	}
	return r.to.Write(ctx, result)
}

// build runs ko with the settings of .ko.yaml, and with our own base instead of the one named there.
func (r request) build(ctx context.Context) (build.Result, error) {
	source, err := filepath.Abs(r.source)
	if err != nil {
		return nil, err
	}
	ko := options.BuildOptions{WorkingDirectory: source}
	if err := ko.LoadConfig(); err != nil {
		return nil, fmt.Errorf("read .ko.yaml: %w", err)
	}
	epoch, err := oci.SourceDate()
	if err != nil {
		return nil, err
	}
	labels, err := oci.BuildLabels(r.title)
	if err != nil {
		return nil, err
	}
	settings := []build.Option{
		build.WithBaseImages(r.base),
		build.WithPlatforms(r.platforms...),
		build.WithCreationTime(epoch),
		build.WithKoDataCreationTime(epoch),
		build.WithTrimpath(true),
		build.WithDisabledSBOM(),
		build.WithConfig(ko.BuildConfigs),
		build.WithDefaultEnv(ko.DefaultEnv),
		build.WithDefaultFlags(ko.DefaultFlags),
		build.WithDefaultLdflags(ko.DefaultLdflags),
	}
	for key, value := range labels {
		settings = append(settings, build.WithLabel(key, value))
	}
	builder, err := build.NewGo(ctx, source, settings...)
	if err != nil {
		return nil, fmt.Errorf("prepare ko: %w", err)
	}
	path, err := builder.QualifyImport(r.main)
	if err != nil {
		return nil, fmt.Errorf("resolve main package: %w", err)
	}
	result, err := builder.Build(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", path, err)
	}
	return result, nil
}

// base answers ko's question for a base image: one image, or an index when there are several platforms.
func (r request) base(ctx context.Context, _ string) (name.Reference, build.Result, error) {
	ref, err := name.ParseReference(baseName)
	if err != nil {
		return nil, nil, err
	}
	of := func(platform v1.Platform) (v1.Image, error) {
		legal, err := licenses.Of(ctx, r.source, r.main, platform.String())
		if err != nil {
			return nil, err
		}
		return base(platform, legal)
	}
	if len(r.platforms) > 1 {
		result, err := oci.Index(r.platforms, of)
		return ref, result, err
	}
	platform, err := v1.ParsePlatform(r.platforms[0])
	if err != nil {
		return nil, nil, fmt.Errorf("platform %q: %w", r.platforms[0], err)
	}
	result, err := of(*platform)
	return ref, result, err
}

func save(file, tag string, result build.Result) error {
	ref, err := name.NewTag(tag)
	if err != nil {
		return err
	}
	image, ok := result.(v1.Image)
	if !ok {
		return errors.New("a tar file holds one platform: give -platform once")
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := tarball.WriteToFile(file, ref, image); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	digest, err := image.Digest()
	if err != nil {
		return fmt.Errorf("digest: %w", err)
	}
	fmt.Printf("wrote %s (%s, %s)\n", file, tag, digest)
	return nil
}
