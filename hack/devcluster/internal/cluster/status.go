package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/addons"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/build"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/daemons"
)

// ErrNotWell says that some part of the cluster does not work.
var ErrNotWell = errors.New("the cluster is not well: 'devcluster up' heals it")

// Status prints one line per component.
func (c *Cluster) Status(ctx context.Context, out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tPID\tSTATE\tVERSION\tUPTIME")
	versions, well := versions(), true
	for _, daemon := range c.daemons {
		line, ok := c.line(ctx, daemon)
		well = well && ok
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", daemon.Name, line.pid, line.state, versions[daemon.Component], line.uptime)
	}
	names := c.coredns(ctx)
	well = well && names == "running"
	fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", "coredns", "-", names, versions["coredns"], "-")
	if err := table.Flush(); err != nil {
		return err
	}
	if !well {
		return ErrNotWell
	}
	return nil
}

type line struct{ pid, state, uptime string }

func (c *Cluster) line(ctx context.Context, daemon daemons.Daemon) (line, bool) {
	record, alive := c.book.Find(daemon.Name)
	if !alive {
		return line{pid: "-", state: "stopped", uptime: "-"}, false
	}
	running := line{
		pid: fmt.Sprint(record.PID), state: "running",
		uptime: time.Since(record.Started).Round(time.Second).String(),
	}
	if err := daemon.Well(ctx); err != nil {
		running.state = "unwell"
		return running, false
	}
	return running, true
}

func (c *Cluster) coredns(ctx context.Context) string {
	installer, err := addons.Connect(c.layout)
	if err != nil || installer.Available(ctx, "kube-system", "coredns") != nil {
		return "unwell"
	}
	return "running"
}

func versions() map[string]string {
	all := map[string]string{"devcluster": "-"}
	for _, component := range build.All() {
		all[component.Name] = component.Version
	}
	return all
}
