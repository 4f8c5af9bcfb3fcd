// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures the operator that is deployed in the cluster of
// KUBECONFIG, beside a floor: the same etcd members made by hand, with nobody to
// look after them.
//
// It judges nothing. A goal that is missed is marked, and only errors fail.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A benchmark measures and returns rows of the table.
type benchmark struct {
	name      string
	onRequest bool // run only when it is named
	run       func(context.Context, *bench) ([]row, error)
}

var benchmarks = []benchmark{
	{name: "create", run: create},
	{name: "create-auth", run: createAuth},
	{name: "restart", run: restart},
	{name: "detect", run: detect},
	{name: "writes", run: writes},
	{name: "idle", run: idle},
	{name: "hibernated", run: hibernated},
	{name: "pauses", run: pauses, onRequest: true},
	{name: "scale", run: scale},
	{name: "upgrade", run: upgrade},
	{name: "upgrade-watched", run: upgradeWatched},
	{name: "allkilled", run: allKilled},
	{name: "replace-100MiB", run: replace("replace-100MiB", 100, volumeSize)},
	{name: "replace-1GiB", run: replace("replace-1GiB", 1024, "4Gi")},
	{name: "replace-4GiB", run: replace("replace-4GiB", 4096, "10Gi"), onRequest: true},
	{name: "corrupt", run: corrupt},
	{name: "adopt-256MiB", run: adopt("adopt-256MiB", 256, "1Gi"), onRequest: true},
	{name: "adopt-1GiB", run: adopt("adopt-1GiB", 1024, "4Gi")},
	{name: "gap-roll", run: disturbance{3, (*bench).rollFlag}.named("gap-roll")},
	{name: "gap-upgrade", run: disturbance{3, (*bench).upgradeOnce}.named("gap-upgrade")},
	{name: "gap-scale", run: disturbance{1, (*bench).scaleUpAndDown}.named("gap-scale")},
	{name: "gap-drain", run: disturbance{3, (*bench).drain}.named("gap-drain")},
	{name: "gap-leader", run: disturbance{3, (*bench).deleteLeader}.named("gap-leader")},
	{name: "gap-auth", run: disturbance{3, (*bench).switchAuth}.named("gap-auth")},
	{name: "gap-rotate", run: disturbance{3, (*bench).rotateAuthorities}.named("gap-rotate")},
	{name: "gap-reissue", run: disturbance{3, (*bench).reissue}.named("gap-reissue")},
	{name: "gap-defrag", run: defragment},
	{name: "gap-compare", run: compare},
	{name: "nospace", run: noSpace},
	{name: "slow-leader", run: slowLeader},
	{name: "scrape", run: scrape},
	{name: "gap-loss", run: lossOfVolume},
	{name: "gap-handover", run: handOver},
	{name: "gap-kill", run: crash},
	{name: "users", run: users},
	{name: "takeover-planned", run: takeoverPlanned},
	{name: "takeover-kill", run: takeoverKill},
	{name: "backup-small", run: backupSmall},
	{name: "backup-1GiB", run: backupLarge("backup-1GiB", 1024, "4Gi")},
	{name: "backup-4GiB", run: backupLarge("backup-4GiB", 4096, "10Gi"), onRequest: true},
	{name: "restore-1GiB", run: restoreLarge("restore-1GiB", 1024, "4Gi")},
	{name: "restore-4GiB", run: restoreLarge("restore-4GiB", 4096, "10Gi"), onRequest: true},
	{name: "restore-in-place-1GiB", run: restoreInPlace("restore-in-place-1GiB", 1024, "4Gi")},
	{name: "restore-in-place-4GiB", run: restoreInPlace("restore-in-place-4GiB", 4096, "10Gi"), onRequest: true},
}

type options struct {
	only      string
	n         int
	json, md  string
	namespace string
	audit     string
	operator  operator
	idle      time.Duration
	many      int
	pause     time.Duration
	trace     bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, parse())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse() options {
	var o options
	flag.StringVar(&o.only, "only", "", "benchmarks to run, separated by commas: "+strings.Join(names(), ", ")+
		"; gap stands for all that begin with gap-, and so on; default: all but pauses and those of 4 GiB")
	flag.IntVar(&o.n, "n", 10, "repetitions; detect makes twice as many, hibernated four times")
	flag.StringVar(&o.json, "json", inCheckout("docs/benchmarks.json"), "file of results; those that are not measured now are kept")
	flag.StringVar(&o.md, "md", inCheckout("docs/benchmarks.md"), "page whose table is rewritten")
	flag.StringVar(&o.namespace, "namespace", "bench-etcd", "namespace to work in, which is made and deleted; it must begin with bench-")
	flag.StringVar(&o.audit, "audit", inCheckout(".devcluster/logs/audit.log"), "audit log of the API server")
	flag.StringVar(&o.operator.user, "operator-user", "system:serviceaccount:etcd-operator-system:etcd-operator-controller-manager",
		"user by which the audit log knows the operator")
	flag.StringVar(&o.operator.agent, "operator-agent", "", "know the operator by this prefix of its user agent instead")
	flag.DurationVar(&o.idle, "idle", 3*time.Minute, "how long to count the requests of settled clusters")
	flag.IntVar(&o.many, "many", 1000, "hibernated clusters to measure beside")
	flag.DurationVar(&o.pause, "pause", floorPause, "pause between the Pods of the floor")
	flag.BoolVar(&o.trace, "trace", false, "print who wrote what, and what went wrong for clients")
	flag.Parse()
	return o
}

func names() []string {
	var all []string
	for _, b := range benchmarks {
		all = append(all, b.name)
	}
	return all
}

func run(ctx context.Context, o options) error {
	chosen, err := choose(o.only)
	if err != nil {
		return err
	}
	b, err := start(ctx, o)
	if err != nil {
		return err
	}
	defer b.stop()
	for _, one := range chosen {
		fmt.Printf("==> %s\n", one.name)
		rows, err := one.run(ctx, b)
		if err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		fmt.Print(table(rows, version()))
		// Written after each one: what was measured is kept when a later one fails.
		if err := save(o, b.machine, rows); err != nil {
			return err
		}
	}
	return nil
}

func choose(only string) ([]benchmark, error) {
	var chosen []benchmark
	if only == "" {
		return slices.DeleteFunc(slices.Clone(benchmarks), func(b benchmark) bool { return b.onRequest }), nil
	}
	for _, name := range strings.Split(only, ",") {
		before := len(chosen)
		for _, b := range benchmarks {
			if b.name == name || !b.onRequest && strings.HasPrefix(b.name, name+"-") {
				chosen = append(chosen, b)
			}
		}
		if len(chosen) == before {
			return nil, fmt.Errorf("unknown benchmark %q; there are %s", name, strings.Join(names(), ", "))
		}
	}
	return chosen, nil
}
