// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command check prints what is wrong with a bundle, or with a catalog, one line each.
//
//	go run ./cmd/check ../../bundle
//	go run ./cmd/check -digests dist/bundle
//	go run ./cmd/check -catalog ../../catalog
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/etcd-operator/etcd-operator/test/packaging"
)

func main() {
	top := flag.String("top", "../..", "top of the checkout")
	digests := flag.Bool("digests", false, "every image must be named by digest: the bundle was made for a registry")
	catalog := flag.Bool("catalog", false, "the folder is a file-based catalog")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: check [-digests] [-catalog] FOLDER")
		os.Exit(2)
	}
	problems, err := look(*top, flag.Arg(0), *digests, *catalog)
	if err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(1)
	}
	for _, problem := range problems {
		fmt.Println(problem)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}

func look(top, folder string, digests, catalog bool) ([]packaging.Problem, error) {
	if catalog {
		return packaging.CheckCatalog(folder, packaging.Options{Digests: digests}), nil
	}
	options, err := packaging.Project(top, folder)
	if err != nil {
		return nil, err
	}
	options.Digests = options.Digests || digests
	return packaging.Check(folder, options), nil
}
