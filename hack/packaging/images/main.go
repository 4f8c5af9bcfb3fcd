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
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/ko/pkg/build"
	"github.com/google/ko/pkg/commands/options"
)

// baseName stands in the image's annotations as the name of its base. It is a name only: nothing is pulled from there.
const baseName = "etcd-operator.dev/base/static:nonroot"

type request struct {
	source    string
	main      string
	push      string
	tarball   string
	layout    string
	tag       string
	out       string
	platforms []string
}

func main() {
	var r request
	platforms := flag.String("platform", "linux/"+runtime.GOARCH, "comma separated list of platforms")
	flag.StringVar(&r.source, "source", ".", "top of the sources, with .ko.yaml")
	flag.StringVar(&r.main, "main", ".", "main package, below the source")
	flag.StringVar(&r.push, "push", "", "push to this reference, for example 127.0.0.1:5000/etcd-operator/etcd-operator:v0.1.0")
	flag.StringVar(&r.tarball, "tarball", "", "write a tar file that docker load and ctr images import read")
	flag.StringVar(&r.layout, "layout", "", "write an OCI layout, of any number of platforms, to this folder")
	flag.StringVar(&r.tag, "tag", "etcd-operator/etcd-operator:dev", "name of the image inside the tar file")
	flag.StringVar(&r.out, "out", "", "write the digest of the image to this file")
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
	if r.push == "" && r.tarball == "" && r.layout == "" {
		return errors.New("nothing to do: give -push, -tarball or -layout")
	}
	result, err := r.build(ctx)
	if err != nil {
		return err
	}
	digest, err := result.Digest()
	if err != nil {
		return fmt.Errorf("digest: %w", err)
	}
	if r.push != "" {
		if err := push(ctx, r.push, result); err != nil {
			return err
		}
		fmt.Printf("pushed %s@%s\n", r.push, digest)
	}
	if r.tarball != "" {
		if err := save(r.tarball, r.tag, result); err != nil {
			return err
		}
		fmt.Printf("wrote %s (%s, %s)\n", r.tarball, r.tag, digest)
	}
	if r.layout != "" {
		if err := lay(r.layout, result); err != nil {
			return err
		}
		fmt.Printf("wrote %s (%s)\n", r.layout, digest)
	}
	if r.out == "" {
		return nil
	}
	return os.WriteFile(r.out, []byte(digest.String()+"\n"), 0o644)
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
	epoch, err := sourceDate()
	if err != nil {
		return nil, err
	}
	builder, err := build.NewGo(ctx, source,
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
	)
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
func (r request) base(context.Context, string) (name.Reference, build.Result, error) {
	ref, err := name.ParseReference(baseName)
	if err != nil {
		return nil, nil, err
	}
	var adds []mutate.IndexAddendum
	for _, text := range r.platforms {
		platform, err := v1.ParsePlatform(text)
		if err != nil {
			return nil, nil, fmt.Errorf("platform %q: %w", text, err)
		}
		image, err := base(*platform)
		if err != nil {
			return nil, nil, err
		}
		if len(r.platforms) == 1 {
			return ref, image, nil
		}
		adds = append(adds, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	return ref, mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), adds...), nil
}

func push(ctx context.Context, target string, result build.Result) error {
	ref, err := name.ParseReference(target)
	if err != nil {
		return err
	}
	opts := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	switch x := result.(type) {
	case v1.ImageIndex:
		err = remote.WriteIndex(ref, x, opts...)
	case v1.Image:
		err = remote.Write(ref, x, opts...)
	default:
		err = fmt.Errorf("unexpected build result %T", result)
	}
	if err != nil {
		return fmt.Errorf("push %s (is the registry running?): %w", target, err)
	}
	return nil
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
	return nil
}

// lay writes a layout with one entry, as the programs that copy images expect.
func lay(folder string, result build.Result) error {
	index, ok := result.(v1.ImageIndex)
	if !ok {
		return errors.New("a layout is made of several platforms: give them to -platform")
	}
	path, err := layout.Write(folder, empty.Index)
	if err == nil {
		err = path.AppendIndex(index)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", folder, err)
	}
	return nil
}

func sourceDate() (v1.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		text = "0"
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return v1.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return v1.Time{Time: time.Unix(seconds, 0).UTC()}, nil
}
