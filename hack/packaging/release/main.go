// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command release does what a release needs beside the images, which others build:
//
//	release notes      cuts the notes of a version from the changelog
//	release same       tells whether two OCI layouts hold the same image, and prints its digest
//	release sbom       lists what is in an image, as SPDX, from what the Go compiler wrote into its programs
//	release plugin     packs the plugin for kubectl, with a manifest for krew
//	release push       pushes an OCI layout, by its digest and a tag
//	release tags       prints the tags of a catalog: that of its version, and the one that moves
//	release attach     puts the lists of what is in an image beside it in its registry, signed; needs a key
//	release sign       puts a signature of an image, and of how it was built, beside it; needs a key
//	release verify     tells whether an image has all of these, of one key and one commit, and what was checked
//	release sign-files puts a signature beside each file; needs a key
//	release verify-files tells whether each file has a good one
//	release published  tells whether everything that a catalog names can be pulled
//	release keep       keeps a published bundle in releases/, where it never changes
//
// hack/release.sh and hack/release-push.sh call it.
package main

import (
	"context"
	"crypto"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/oci"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("which of notes, same, sbom, plugin, chart, push, tags, attach, sign, verify, sign-files, verify-files, published, " +
			"keep?")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	switch args[0] {
	case "notes":
		return runNotes(flags, args[1:])
	case "same":
		return runSame(flags, args[1:])
	case "sbom":
		return runSBOM(flags, args[1:])
	case "plugin":
		return runPlugin(ctx, flags, args[1:])
	case "chart":
		return runChart(ctx, flags, args[1:])
	case "push":
		return runPush(ctx, flags, args[1:])
	case "tags":
		return runTags(flags, args[1:])
	case "attach":
		return runAttach(ctx, flags, args[1:])
	case "sign":
		return runSign(ctx, flags, args[1:])
	case "verify":
		return runVerify(ctx, flags, args[1:])
	case "sign-files":
		return runSignFiles(ctx, flags, args[1:])
	case "verify-files":
		return runVerifyFiles(ctx, flags, args[1:])
	case "published":
		return runPublished(ctx, flags, args[1:])
	case "keep":
		return runKeep(flags, args[1:])
	default:
		return fmt.Errorf("unknown command %q: "+
			"notes, same, sbom, plugin, chart, push, tags, attach, sign, verify, sign-files, verify-files, published or keep", args[0])
	}
}

func runNotes(flags *flag.FlagSet, args []string) error {
	changelog := flags.String("changelog", "CHANGELOG.md", "the changelog")
	version := flags.String("version", "", "the version, such as 0.3.0")
	if err := flags.Parse(args); err != nil {
		return err
	}
	raw, err := os.ReadFile(*changelog)
	if err != nil {
		return err
	}
	text, err := notes(string(raw), *version)
	if err != nil {
		return err
	}
	_, err = fmt.Print(text)
	return err
}

func runSame(flags *flag.FlagSet, args []string) error {
	name := flags.String("name", "image", "what the image is called in the line that is printed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 2 {
		return errors.New("same: give two OCI layouts")
	}
	digest, err := same(flags.Arg(0), flags.Arg(1))
	if err != nil {
		return fmt.Errorf("%s: %w", *name, err)
	}
	_, err = fmt.Printf("%s %s %s\n", *name, digest, digest)
	return err
}

func runSBOM(flags *flag.FlagSet, args []string) error {
	name := flags.String("name", "", "name of the image, such as etcd-operator")
	layout := flags.String("layout", "", "OCI layout of the image")
	out := flags.String("out", "", "folder; each platform gets a file in it")
	version := flags.String("version", "", "the version, such as 0.3.0")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return writeSBOMs(*layout, *name, *version, *out)
}

func runPlugin(ctx context.Context, flags *flag.FlagSet, args []string) error {
	var p plugin
	flags.StringVar(&p.version, "version", "", "the version, such as 0.3.0")
	flags.StringVar(&p.binaries, "binaries", "", "folder with a program for each platform, such as linux-amd64/kubectl-etcd")
	flags.StringVar(&p.source, "source", ".", "top of the sources, with our licence")
	flags.StringVar(&p.main, "main", "./cmd/kubectl-etcd", "main package, below the source")
	flags.StringVar(&p.out, "out", "", "folder to write archives and manifest to")
	flags.StringVar(&p.url, "url", "", "URL below which the archives will be downloaded; without it there is no manifest")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return p.run(ctx)
}

func runChart(ctx context.Context, flags *flag.FlagSet, args []string) error {
	archive := flags.String("archive", "", "the chart, as helm package makes it")
	to := flags.String("to", "", "its name in a registry, with a tag; empty: its digest is printed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	image, err := readChart(*archive)
	if err != nil {
		return err
	}
	if *to != "" {
		destination := oci.Destination{Push: *to}
		return destination.Write(ctx, image)
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	_, err = fmt.Println(digest)
	return err
}

func runPush(ctx context.Context, flags *flag.FlagSet, args []string) error {
	layout := flags.String("layout", "", "OCI layout of the image")
	to := flags.String("to", "", "its name, with a tag")
	digest := flags.String("digest", "", "write the digest of the image to this file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	index, err := oci.ReadLayout(*layout)
	if err != nil {
		return err
	}
	destination := oci.Destination{Push: *to, Digest: *digest}
	return destination.Write(ctx, index)
}

func runTags(flags *flag.FlagSet, args []string) error {
	version := flags.String("version", "", "the version, such as 0.3.0")
	releases := flags.String("releases", "releases", "folder of the published bundles")
	if err := flags.Parse(args); err != nil {
		return err
	}
	all, err := tags(*version, *releases)
	if err != nil {
		return err
	}
	_, err = fmt.Println(strings.Join(all, "\n"))
	return err
}

func runAttach(ctx context.Context, flags *flag.FlagSet, args []string) error {
	image := flags.String("image", "", "the name of the image, by digest")
	title := flags.String("name", "", "name of the image, such as etcd-operator")
	folder := flags.String("sbom", "", "folder with a file for each platform")
	file := flags.String("key", "", "file with the private key that signs them")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ref, err := name.NewDigest(*image)
	if err != nil {
		return err
	}
	key, err := readKey(*file)
	if err != nil {
		return fmt.Errorf("the key that signs: %w", err)
	}
	return attach(ctx, ref, *folder, *title, key)
}

func runSign(ctx context.Context, flags *flag.FlagSet, args []string) error {
	var built provenance
	image := flags.String("image", "", "the name of the image, by digest")
	file := flags.String("key", "", "file with a private key, of `cosign generate-key-pair` (COSIGN_PASSWORD) or plain PEM")
	public := flags.String("public", "", "write the public key to this file")
	flags.StringVar(&built.version, "version", "", "the version, such as 0.3.0")
	flags.StringVar(&built.revision, "revision", "", "the commit that it was made of")
	flags.StringVar(&built.platforms, "platforms", "", "the platforms that it was made for")
	flags.StringVar(&built.script, "script", "hack/release.sh", "the script that built it")
	flags.StringVar(&built.tools, "tools", "", "the commit of that script, if it is not the one that the image was made of")
	flags.StringVar(&built.builder, "builder", oci.Source+"/blob/main/CONTRIBUTING.md#releasing", "who made it, as a URI")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ref, err := name.NewDigest(*image)
	if err != nil {
		return err
	}
	key, err := readKey(*file)
	if err != nil {
		return fmt.Errorf("the key that signs: %w", err)
	}
	if err := sign(ctx, ref, key, built); err != nil {
		return err
	}
	return writePublic(*public, key)
}

func writePublic(file string, key signature.SignerVerifier) error {
	if file == "" {
		return nil
	}
	public, err := key.PublicKey()
	if err != nil {
		return err
	}
	text, err := cryptoutils.MarshalPublicKeyToPEM(public)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

func runVerify(ctx context.Context, flags *flag.FlagSet, args []string) error {
	image := flags.String("image", "", "the name of the image, by digest")
	public := flags.String("public", "", "file with the public key")
	revision := flags.String("revision", "", "the commit that the provenance must name; empty: it must name none")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ref, err := name.NewDigest(*image)
	if err != nil {
		return err
	}
	key, err := signature.LoadVerifierFromPEMFile(*public, crypto.SHA256)
	if err != nil {
		return err
	}
	checked, err := verify(ctx, ref, key, *revision)
	if err != nil {
		return err
	}
	_, err = fmt.Printf("verified %s: %s\n", ref, strings.Join(checked, ", "))
	return err
}

func runSignFiles(ctx context.Context, flags *flag.FlagSet, args []string) error {
	file := flags.String("key", "", "file with a private key, of `cosign generate-key-pair` (COSIGN_PASSWORD) or plain PEM")
	if err := flags.Parse(args); err != nil {
		return err
	}
	key, err := readKey(*file)
	if err != nil {
		return fmt.Errorf("the key that signs: %w", err)
	}
	return signFiles(ctx, key, flags.Args())
}

func runVerifyFiles(ctx context.Context, flags *flag.FlagSet, args []string) error {
	public := flags.String("public", "", "file with the public key")
	if err := flags.Parse(args); err != nil {
		return err
	}
	key, err := signature.LoadVerifierFromPEMFile(*public, crypto.SHA256)
	if err != nil {
		return err
	}
	if err := verifyFiles(ctx, key, flags.Args()); err != nil {
		return err
	}
	_, err = fmt.Printf("verified the signatures of %d files\n", flags.NArg())
	return err
}

func runPublished(ctx context.Context, flags *flag.FlagSet, args []string) error {
	catalog := flags.String("catalog", "catalog", "folder of the catalog")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return published(ctx, *catalog)
}

func runKeep(flags *flag.FlagSet, args []string) error {
	var k keeping
	flags.StringVar(&k.bundle, "bundle", "bundle", "folder of the bundle")
	flags.StringVar(&k.image, "image", "", "the name of its image, by digest")
	flags.StringVar(&k.releases, "releases", "releases", "folder of the published bundles")
	flags.StringVar(&k.version, "version", "", "the version, such as 0.3.0")
	flags.BoolVar(&k.dry, "dry", false, "only say whether it could be kept")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return k.run()
}
