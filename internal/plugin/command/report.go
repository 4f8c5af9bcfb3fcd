// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/internal/plugin/progress"
	"github.com/etcd-operator/etcd-operator/internal/plugin/screen"
	"github.com/etcd-operator/etcd-operator/internal/plugin/support"
)

// Limits of the log of a container in a report.
const (
	logLines = 5000
	logBytes = 2 << 20
)

func (a *app) report() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "report CLUSTER", Short: "Write a support bundle without secrets",
		Long: "Write what helps others to find out what is wrong with a cluster into a tar.gz: its objects, events and logs, and the\n" +
			"operator's. " +
			"Secrets are not read. Values of variables, ConfigMaps, unknown annotations, and what looks like a secret are redacted.\n" +
			"Look through the files before you hand them on.\n\n" +
			"Exit code: 0 it is written, also where something could not be read: report.txt in it says what.",
		Args: ofOne,
		RunE: func(cmd *cobra.Command, names []string) error {
			k, err := a.Connect(&a.connection)
			if err != nil {
				return err
			}
			return a.bundle(cmd.Context(), k, names[0], output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "file to write, or - for the standard output; default: CLUSTER-report-TIME.tar.gz")
	return cmd
}

func (a *app) bundle(ctx context.Context, k *Kubernetes, cluster, output string) error {
	c, err := clusterOf(ctx, k, cluster)
	if err != nil {
		return err
	}
	now := a.Now()
	name := cluster + "-report-" + now.UTC().Format("20060102-150405")
	shown := display{app: a}
	defer shown.end()
	reader := &collector{Kubernetes: k, report: func(what string) { shown.show(progress.Progress{What: "report", Message: what}) }}
	status := screen.Of(around(ctx, k, *c))
	reader.collect(ctx, c)
	if ctx.Err() != nil {
		return fmt.Errorf("no report was written: %w", ctx.Err())
	}
	files, err := support.Files(support.Bundle{
		Name: name, Version: a.Version, At: now, Status: screen.Text(status, now, readable), Objects: reader.objects, Events: reader.events,
		Logs: reader.logs, Unread: reader.unread,
	})
	if err != nil {
		return err
	}
	shown.end()
	if output == "-" {
		return support.Write(a.file, name, now, files)
	}
	if output == "" {
		output = name + ".tar.gz"
	}
	if err := writeFile(output, func(out io.Writer) error { return support.Write(out, name, now, files) }); err != nil {
		return fmt.Errorf("write %s: %w", output, err)
	}
	a.say("%d files are in %s; look through them before you hand them on", len(files), output)
	for _, each := range reader.unread {
		a.note("not in it: %s", each)
	}
	return nil
}

// writeFile writes a file that only its owner may read.
func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		_ = file.Close() // the first error says more
		return err
	}
	return file.Close()
}

// readLogs reads the logs of every container of a Pod, and of the ones before that have restarted.
func (c *collector) readLogs(ctx context.Context, pod corev1.Pod) {
	c.report("the logs of Pod " + pod.Name)
	for _, status := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		isRunOnce := status.State.Waiting == nil || status.RestartCount > 0
		if isRunOnce {
			c.readLog(ctx, pod, status.Name, false)
		}
		if status.RestartCount > 0 {
			c.readLog(ctx, pod, status.Name, true)
		}
	}
}

func (c *collector) readLog(ctx context.Context, pod corev1.Pod, container string, previous bool) {
	stream, err := c.Logs(ctx, pod.Namespace, pod.Name, &corev1.PodLogOptions{
		Container: container, Previous: previous, Timestamps: true, TailLines: ptr.To[int64](logLines), LimitBytes: ptr.To[int64](logBytes),
	})
	if err != nil {
		c.miss("the log of container "+container+" of Pod "+pod.Name, err)
		return
	}
	text, err := io.ReadAll(io.LimitReader(stream, logBytes))
	if err != nil {
		c.miss("the log of container "+container+" of Pod "+pod.Name, err)
	}
	_ = stream.Close() // it was only read
	c.logs = append(c.logs, support.Log{Namespace: pod.Namespace, Pod: pod.Name, Container: container, Previous: previous, Text: string(text)})
}
