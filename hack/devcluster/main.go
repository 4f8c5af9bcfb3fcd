// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command devcluster runs a real Kubernetes cluster on one Linux machine,
// for development and tests. See README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/progress"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := dispatch(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "devcluster:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("say one of up, down, status, start, stop, node, load, kubeconfig, env, build; 'devcluster help' explains them")

func dispatch(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	out := progress.To(os.Stdout)
	switch verb, rest := args[0], args[1:]; verb {
	case "up":
		return up(ctx, rest, out)
	case "down":
		return down(ctx, rest, out)
	case "status":
		return status(ctx, rest)
	case "start":
		return start(ctx, rest)
	case "stop":
		return stop(rest)
	case "node":
		return node(ctx, rest)
	case "load":
		return load(ctx, rest)
	case "kubeconfig":
		return kubeconfig(rest)
	case "env":
		return env(rest)
	case "build":
		return build(ctx, rest, out)
	case "serve-registry":
		return serveRegistry(ctx, rest)
	case "serve-volumes":
		return serveVolumes(ctx, rest)
	case "serve-csi":
		return serveCSI(ctx, rest)
	case "help", "-h", "--help":
		fmt.Print(help)
		return nil
	}
	return errUsage
}
