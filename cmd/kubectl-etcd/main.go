// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-etcd is a plugin of kubectl: kubectl etcd shows, backs up and restores etcd clusters that the operator manages.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/etcd-operator/etcd-operator/internal/plugin/command"
)

// version is set by the linker.
var version = "development"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process
	exit := command.Run(ctx, command.Environment{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Now: time.Now, Look: time.Second, Version: version,
		Width: width(os.Stdout), Height: height(os.Stdout), BarWidth: width(os.Stderr), CanAsk: term.IsTerminal(int(os.Stdin.Fd())),
		Connect: func(c *command.Connection) (*command.Kubernetes, error) { return c.Open(version) },
	}, os.Args[1:])
	stop()
	os.Exit(exit)
}

// width is that of a terminal; 0 if the file is none.
func width(file *os.File) int {
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// height is how many lines a terminal has; 0 if the file is none.
func height(file *os.File) int {
	_, lines, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return lines
}
