// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command chart makes a Helm chart of what kustomize builds from config/default, which it reads from the standard input.
//
//	kustomize build config/default | chart -version=0.8.0 -out=charts/etcd-operator
//
// Objects become templates; names, namespace, image and what values change are all that differs. Defaults of values are those of the
// objects. What a chart has beside objects is in files/.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:], os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader) error {
	flags := flag.NewFlagSet("chart", flag.ContinueOnError)
	version := flags.String("version", "", "version of the chart, such as 0.8.0")
	out := flags.String("out", "", "folder of the chart, which is made again")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *version == "" || *out == "" {
		return fmt.Errorf("give -version and -out")
	}
	stream, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("read objects: %w", err)
	}
	files, err := chart(*version, string(stream))
	if err != nil {
		return err
	}
	return write(*out, files)
}

// write makes the folder again, so that templates of objects that are no more do not stay.
func write(out string, files map[string]string) error {
	if err := os.RemoveAll(filepath.Join(out, "templates")); err != nil {
		return err
	}
	for name, text := range files {
		file := filepath.Join(out, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
