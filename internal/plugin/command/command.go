// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command is the shell of kubectl etcd: it reads flags, asks the API server, and writes what the pure packages beside it say.
//
// It must never change an object but those that its command says, nor read a Secret but the one by which keys asks etcd.
package command

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// How a command ends, for scripts.
const (
	// Done: it was done, and what was looked at is healthy.
	Done = 0
	// Failed: wrong usage, or the API server refused or could not be asked. Nothing else is meant by it.
	Failed = 1
	// Unwell: a cluster is not available or is degraded; or the backup or restore that was waited for has failed.
	Unwell = 2
	// Unfinished: the time to wait was over, or Ctrl-C ended it. The work in the cluster continues.
	Unfinished = 3
)

// Environment is what surrounds the commands.
type Environment struct {
	In       io.Reader
	Out, Err io.Writer
	Now      func() time.Time
	// Width is that of the terminal that Out is; 0 if it is none.
	Width int
	// Height is how many lines that terminal has.
	Height int
	// BarWidth is that of the terminal that Err is, where progress is shown; 0 if it is none.
	BarWidth int
	// CanAsk is true if a person types what In reads.
	CanAsk bool
	// Connect finds the API server.
	Connect func(*Connection) (*Kubernetes, error)
	// Look is how long to wait between two looks at long work.
	Look time.Duration
	// Version of the plugin.
	Version string
}

// app is one run of the plugin.
type app struct {
	Environment
	connection Connection
	file       io.Writer // Out, for what is no text
	bar        io.Writer // Err, for the return to the beginning of the line that a bar is drawn in
	exit       int
}

const long = `Status, backups and restores of etcd clusters that etcd-operator manages.

Exit codes of every command:
  0  it was done, and what was looked at is well
  1  wrong usage, or the API server refused or could not be asked
  2  the cluster is not available or is degraded; the backup or restore that was waited for failed
  3  the time to wait was over, or Ctrl-C ended it: the work in the cluster goes on`

// Run carries out a command line, and returns how the process ends.
func Run(ctx context.Context, env Environment, arguments []string) int {
	file, bar := env.Out, env.Err
	env.Out, env.Err = printable{env.Out}, printable{env.Err}
	a := &app{Environment: env, file: file, bar: bar}
	root := &cobra.Command{
		Use: "kubectl-etcd", Short: "Status, backups and restores of etcd clusters", Long: long, Version: env.Version,
		Annotations:  map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl etcd"},
		SilenceUsage: true, SilenceErrors: true,
	}
	a.connection.bind(root.PersistentFlags())
	root.AddCommand(a.status(), a.diagnose(), a.backup(), a.backups(), a.restore(), a.undo(), a.defrag(), a.rotate(), a.revoke(),
		a.switchOver(), a.report(), a.adopt(), a.log(), a.keys(), a.fleet())
	root.SetArgs(arguments)
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	if err := root.ExecuteContext(ctx); err != nil {
		_, _ = fmt.Fprintln(env.Err, "error:", err)
		return Failed
	}
	return a.exit
}

// say writes a line of output. If the reader has closed the pipe, the next write to the API server still counts.
func (a *app) say(format string, values ...any) {
	_, _ = fmt.Fprintf(a.Out, format+"\n", values...)
}

// note writes a line that is not what was asked for.
func (a *app) note(format string, values ...any) {
	_, _ = fmt.Fprintf(a.Err, format+"\n", values...)
}

// ofOne is what commands about one cluster require of their arguments.
func ofOne(cmd *cobra.Command, names []string) error {
	if len(names) == 1 {
		return nil
	}
	return fmt.Errorf("one cluster is to be named: %s", cmd.UseLine())
}
