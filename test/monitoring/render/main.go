// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command render draws a dashboard of Grafana, for the pictures of the documentation: it reads the JSON, asks a real Prometheus what its
// panels ask, and draws them in their places.
//
//	go run ./render -prometheus=http://localhost:9090 -dashboard=../../config/monitoring/dashboards/etcd-cluster.json \
//	    -set=namespace=default -set=cluster=example -range=1h -out=../../docs/pictures/etcd-cluster.png
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
)

// order is what is to be drawn.
type order struct {
	prometheus, dashboard, out string
	until                      time.Time
	lasts, step                time.Duration
	variables                  variables
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "error:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context, arguments []string) error {
	want, err := parsed(arguments)
	if err != nil {
		return err
	}
	d, err := read(want.dashboard)
	if err != nil {
		return err
	}
	client, err := api.NewClient(api.Config{Address: want.prometheus})
	if err != nil {
		return fmt.Errorf("-prometheus %s: %w", want.prometheus, err)
	}
	shown := prometheus.Range{Start: want.until.Add(-want.lasts), End: want.until, Step: want.step}
	panels, err := ask(ctx, prometheus.NewAPI(client), d, want.variables, shown)
	if err != nil {
		return err
	}
	return draw(want.out, d.Title, panels, shown)
}

// parsed reads the flags.
func parsed(arguments []string) (order, error) {
	want := order{variables: variables{"__rate_interval": "1m"}}
	var until string
	flags := flag.NewFlagSet("render", flag.ContinueOnError)
	flags.StringVar(&want.prometheus, "prometheus", "", "base URL of Prometheus, such as http://localhost:9090")
	flags.StringVar(&want.dashboard, "dashboard", "", "file of the dashboard, JSON of Grafana")
	flags.StringVar(&want.out, "out", "", "file to write: .png or .svg")
	flags.DurationVar(&want.lasts, "range", time.Hour, "how much time is drawn")
	flags.StringVar(&until, "until", "", "its end (RFC 3339); default: now")
	flags.DurationVar(&want.step, "step", 0, "time between two points; default: a 300th of the range, at least 1s")
	flags.Var(want.variables, "set", "NAME=VALUE of a variable of the dashboard, such as namespace=default; may be given again. "+
		"__rate_interval, four times the scrape interval, is 1m by default")
	if err := flags.Parse(arguments); err != nil {
		return order{}, err
	}
	if want.prometheus == "" || want.dashboard == "" || want.out == "" {
		return order{}, fmt.Errorf("-prometheus, -dashboard and -out are needed")
	}
	if !strings.HasSuffix(want.out, ".png") && !strings.HasSuffix(want.out, ".svg") {
		return order{}, fmt.Errorf("-out must end with .png or .svg, not %s", want.out)
	}
	want.until = time.Now()
	if until != "" {
		at, err := time.Parse(time.RFC3339, until)
		if err != nil {
			return order{}, fmt.Errorf("-until: %w", err)
		}
		want.until = at
	}
	if want.lasts <= 0 {
		return order{}, fmt.Errorf("-range must be longer than 0s")
	}
	if want.step <= 0 {
		want.step = max(want.lasts/300, time.Second).Truncate(time.Second)
	}
	return want, nil
}

// variables are those of a dashboard, without the dollar.
type variables map[string]string

// String is what the flag says of its default.
func (v variables) String() string { return "" }

// Set is one -set.
func (v variables) Set(text string) error {
	name, value, is := strings.Cut(text, "=")
	if !is || name == "" {
		return fmt.Errorf("it must be NAME=VALUE, not %q", text)
	}
	v[name] = value
	return nil
}
