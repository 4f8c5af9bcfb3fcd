// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/addons"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/daemons"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/host"
)

// ErrNotWell says that some part of the cluster does not work.
var ErrNotWell = errors.New("the cluster is not well: 'devcluster up' heals it")

// Status prints one line per component.
func (c *Cluster) Status(ctx context.Context, out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tPID\tSTATE\tVERSION\tUPTIME")
	well := true
	for index, line := range c.lines(ctx) {
		daemon := c.daemons[index]
		well = well && line.ok
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", daemon.Name, line.pid, line.state, version(daemon.Argv[0]), line.uptime)
	}
	for _, inside := range c.inside(ctx) {
		well = well && inside.ok
		fmt.Fprintf(table, "%s\t-\t%s\t%s\t-\n", inside.name, inside.state, version(filepath.Join(c.layout.Bin(), inside.name)))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if !well {
		return ErrNotWell
	}
	return nil
}

type line struct {
	pid, state, uptime string
	ok                 bool
}

// lines asks all daemons at once: those of a cut node take long to not answer.
func (c *Cluster) lines(ctx context.Context) []line {
	all := make([]line, len(c.daemons))
	var group sync.WaitGroup
	for index, daemon := range c.daemons {
		group.Go(func() { all[index] = c.line(ctx, daemon) })
	}
	group.Wait()
	return all
}

func (c *Cluster) line(ctx context.Context, daemon daemons.Daemon) line {
	record, alive := c.book.Find(daemon.Name)
	if !alive {
		return line{pid: "-", state: "stopped", uptime: "-"}
	}
	running := line{
		pid: fmt.Sprint(record.PID), state: "running", ok: true,
		uptime: time.Since(record.Started).Round(time.Second).String(),
	}
	if err := daemon.Well(ctx); err != nil {
		running.state, running.ok = "unwell", false
	}
	return running
}

type part struct {
	name, state string
	ok          bool
}

// inside lists what the API server knows about: names and nodes.
func (c *Cluster) inside(ctx context.Context) []part {
	installer, err := addons.Connect(c.layout)
	names := part{name: "coredns", state: "running", ok: true}
	if err != nil || installer.Available(ctx, "kube-system", "coredns") != nil {
		names = part{name: "coredns", state: "unwell"}
	}
	all := []part{names}
	for _, node := range c.layout.Nodes() {
		ready := err == nil && installer.NodeReady(ctx, node.Name, c.began(node.Name)) == nil
		state := condition(c.runs(node.Name), host.IsCut(node), ready)
		all = append(all, part{name: node.Name, state: state, ok: state == wellNode})
	}
	return all
}

const wellNode = "ready"

// condition knows that a node is gone before the API server does.
func condition(runs, cut, ready bool) string {
	switch {
	case !runs:
		return "stopped"
	case cut:
		return "cut"
	case !ready:
		return "not ready"
	}
	return wellNode
}

// version is that of a program, by the build that it links to; what is built of this checkout has none.
func version(program string) string {
	target, err := os.Readlink(program)
	if err != nil {
		return "-"
	}
	parts := strings.Split(filepath.Base(filepath.Dir(target)), "-")
	return parts[max(0, len(parts)-2)]
}
