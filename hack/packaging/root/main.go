// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command root writes what the operator's image has beside the program into a folder: the files of its base, and the licences of all that
// is in it. The Dockerfile runs it. Owners are left to the Dockerfile: not everybody who runs this may set them.
package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/licenses"
	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/oci"
	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/static"
)

func main() {
	source := flag.String("source", ".", "top of the sources")
	platform := flag.String("platform", "linux/"+runtime.GOARCH, "what the program is built for")
	out := flag.String("out", "", "folder to write to")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *source, *platform, *out)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "root:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, source, platform, out string) error {
	legal, err := licenses.Of(ctx, source, ".", platform)
	if err != nil {
		return err
	}
	for _, file := range append(static.Files, legal...) {
		if err := write(filepath.Join(out, file.Name), file); err != nil {
			return err
		}
	}
	return nil
}

func write(path string, file oci.File) error {
	mode := fs.FileMode(file.Mode).Perm()
	if file.Mode&0o1000 != 0 {
		mode |= fs.ModeSticky
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	switch {
	case err != nil:
		return err
	case file.IsFolder():
		err = os.MkdirAll(path, 0o755)
	default:
		err = os.WriteFile(path, file.Content, 0o644)
	}
	if err != nil {
		return err
	}
	return os.Chmod(path, mode) // whatever the umask is
}
