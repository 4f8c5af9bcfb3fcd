// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command release does what a release needs beside the images, which others build:
//
//	release notes   cuts the notes of a version from the changelog
//	release keep    keeps a bundle in releases/, where it never changes
//	release same    tells whether two OCI layouts hold the same image, and prints its digest
//	release sbom    lists what is in an image, as SPDX, from what the Go compiler wrote into its programs
//
// It pushes nothing. hack/release.sh calls it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("which of notes, keep, same, sbom?")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	switch args[0] {
	case "notes":
		return runNotes(flags, args[1:])
	case "keep":
		return runKeep(flags, args[1:])
	case "same":
		return runSame(flags, args[1:])
	case "sbom":
		return runSBOM(flags, args[1:])
	default:
		return fmt.Errorf("unknown command %q: notes, keep, same or sbom", args[0])
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

func runKeep(flags *flag.FlagSet, args []string) error {
	bundle := flags.String("bundle", "bundle", "folder of the bundle")
	releases := flags.String("releases", "releases", "folder of the released bundles")
	version := flags.String("version", "", "the version, such as 0.3.0")
	dry := flags.Bool("dry", false, "only say whether it could be kept")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return keep(*bundle, *releases, *version, *dry)
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
