// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Gate runs the stages of continuous integration, and its end-to-end specs. A red stage hides no other one: all run, and the
// summary says what failed. Failed specs run once more, alone: those that pass then are reported as flaked, those that fail again are red.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const usage = `usage: gate stages TARGET…         makes each target, and tells at the end which failed and why; TARGET! ends the run early
       gate all TARGET…            the same, recorded in ` + record + `; begun again, it goes on after the stages that are green
       gate changed TARGET STAGE PATH…   makes the target if these files differ from those of the last run in which that stage was green
       gate specs -labels=…        runs end-to-end specs, and those that failed a second time`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string) error {
	if len(arguments) < 2 || arguments[0] == "changed" && len(arguments) < 4 {
		return errors.New(usage)
	}
	switch arguments[0] {
	case "stages":
		_, err := runStages(ctx, "", arguments[1:])
		return err
	case "all":
		return runAll(ctx, arguments[1:])
	case "changed":
		return runChanged(arguments[1], arguments[2], arguments[3:])
	case "specs":
		return runSpecs(ctx, specFlags(arguments[1:]))
	}
	return errors.New(usage)
}

// suite is which specs run, and how.
type suite struct{ ginkgo, labels, files, procs, timeout string }

func specFlags(arguments []string) suite {
	var s suite
	flags := flag.NewFlagSet("specs", flag.ExitOnError)
	flags.StringVar(&s.ginkgo, "ginkgo", "bin/ginkgo", "program of Ginkgo")
	flags.StringVar(&s.labels, "labels", "", "label filter of Ginkgo")
	flags.StringVar(&s.files, "files", "", "regular expression of the files of specs; empty: all")
	flags.StringVar(&s.procs, "procs", "1", "how many specs run side by side")
	flags.StringVar(&s.timeout, "timeout", "60m", "of all of them")
	_ = flags.Parse(arguments) // ends the program
	return s
}
