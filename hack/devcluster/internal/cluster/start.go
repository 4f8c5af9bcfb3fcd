// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/daemons"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/host"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/netns"
	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/process"
)

func (c *Cluster) log(name string) string {
	return filepath.Join(c.layout.Logs(), name+".log")
}

func (c *Cluster) startAll(ctx context.Context, all []daemons.Daemon) error {
	for _, daemon := range all {
		if err := c.start(ctx, daemon); err != nil {
			return err
		}
	}
	return nil
}

// start leaves a process alone that is what it should be, and replaces one
// of an older build or with other flags.
func (c *Cluster) start(ctx context.Context, daemon daemons.Daemon) error {
	command := process.Command{
		Name: daemon.Name, Argv: daemon.Argv, Reads: daemon.Reads,
		Log: c.log(daemon.Name), Dir: c.layout.State(), Network: daemon.Network,
	}
	record, alive := c.book.Find(daemon.Name)
	if alive && record.Runs(command) {
		return nil
	}
	if alive {
		c.out.Say("restarting %s: it has changed", daemon.Name)
		if err := c.book.Stop(daemon.Name, daemon.Grace); err != nil {
			return err
		}
	}
	for _, address := range daemon.Ports {
		// A process that was killed gives its ports back a moment later.
		free := func(context.Context) error { return host.PortFree(address) }
		if until(ctx, 2*time.Second, free) != nil {
			return host.PortTaken(daemon.Name, address)
		}
	}
	return c.book.Start(command)
}

// restarts is how often a daemon may end while it comes up. The kubelet does
// when the runtime, which takes up its old containers first, is not there.
const restarts = 5

// await waits until a daemon is well. One that keeps ending is not waited for.
func (c *Cluster) await(ctx context.Context, name string) error {
	daemon, found := daemons.Find(c.daemons, name)
	if !found {
		return fmt.Errorf("there is no %s", name)
	}
	began, ends := time.Now(), 0
	var ended error
	err := until(ctx, 60*time.Second, func(ctx context.Context) error {
		if _, alive := c.book.Find(name); alive {
			return daemon.Well(ctx)
		}
		if ends++; ends > restarts {
			ended = errors.New("it ended: " + c.lastLine(name))
			return nil
		}
		time.Sleep(300 * time.Millisecond)
		return errors.Join(c.start(ctx, daemon), errors.New("it was started again"))
	})
	if err = errors.Join(err, ended); err != nil {
		return fmt.Errorf("%s does not work, see %s: %w", name, c.log(name), err)
	}
	if time.Since(began) > 100*time.Millisecond {
		c.out.Say("%s is well", name)
	}
	return nil
}

func (c *Cluster) lastLine(name string) string {
	raw, err := os.ReadFile(c.log(name))
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
	return string(lines[len(lines)-1])
}

// Start starts one daemon again and waits until it is well.
func (c *Cluster) Start(ctx context.Context, name string) error {
	daemon, lock, err := c.single(name)
	if err != nil {
		return err
	}
	defer lock.Release()
	if daemon.Network != "" && !netns.Exists(daemon.Network) {
		return fmt.Errorf("%s is stopped: 'devcluster node start %[1]s' brings it back", daemon.Node)
	}
	if err := c.start(ctx, daemon); err != nil {
		return err
	}
	return c.await(ctx, name)
}

// Stop stops one daemon; 'up' or 'start' bring it back. By force, it has no
// chance to say goodbye, as in a crash.
func (c *Cluster) Stop(name string, force bool) error {
	daemon, lock, err := c.single(name)
	if err != nil {
		return err
	}
	defer lock.Release()
	grace := daemon.Grace
	if force {
		grace = 0
	}
	return c.book.Stop(name, grace)
}

func (c *Cluster) single(name string) (daemons.Daemon, *host.Lock, error) {
	daemon, found := daemons.Find(c.daemons, name)
	if !found {
		return daemon, nil, fmt.Errorf("there is no %q: 'devcluster status' lists what there is", name)
	}
	lock, err := c.take()
	return daemon, lock, err
}

// installSelf copies this program to where it can stay: 'go run' removes its
// own when it ends.
func (c *Cluster) installSelf() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	fresh, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	if now, err := os.ReadFile(c.layout.Self()); err == nil && bytes.Equal(now, fresh) {
		return nil
	}
	if err := os.WriteFile(c.layout.Self()+".new", fresh, 0o755); err != nil {
		return err
	}
	return os.Rename(c.layout.Self()+".new", c.layout.Self())
}
