// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// Cluster is a set of members, m1 and so on, which may be of several versions.
type Cluster struct {
	t       testing.TB
	folder  string
	pool    *etcd.Pool
	members map[string]*Member
}

// New makes members that do not run yet.
func New(t testing.TB, size int) *Cluster {
	t.Helper()
	c := &Cluster{t: t, folder: t.TempDir(), pool: etcd.NewPool(), members: map[string]*Member{}}
	t.Cleanup(func() {
		c.pool.Keep("test", nil)
		for _, name := range c.names() {
			c.members[name].Stop()
			if t.Failed() {
				t.Logf("%s said at last:\n%s", name, c.members[name].last())
			}
		}
	})
	for n := range size {
		c.Add(fmt.Sprintf("m%d", n+1))
	}
	return c
}

// Run starts a new cluster of one version, and waits until it serves.
func Run(t testing.TB, version string, size int) *Cluster {
	t.Helper()
	c := New(t, size)
	names := c.names()
	for _, name := range names {
		c.Member(name).Start(version, c.Joins("new", names...)...)
	}
	for _, name := range names {
		c.Serves(name)
	}
	return c
}

// Add makes one more member that does not run yet.
func (c *Cluster) Add(name string) *Member {
	c.t.Helper()
	m := &Member{
		Name: name, Data: filepath.Join(c.folder, name), Peer: FreeAddress(c.t), Client: FreeAddress(c.t), t: c.t,
	}
	c.members[name] = m
	return m
}

// Member is the one of this name.
func (c *Cluster) Member(name string) *Member {
	c.t.Helper()
	m, found := c.members[name]
	if !found {
		c.t.Fatalf("there is no member %s", name)
	}
	return m
}

func (c *Cluster) names() []string {
	var names []string
	for n := range len(c.members) {
		names = append(names, fmt.Sprintf("m%d", n+1))
	}
	return names
}

// Joins are the flags of joining, with a list of these members.
func (c *Cluster) Joins(state string, names ...string) []string {
	c.t.Helper()
	var list []string
	for _, name := range names {
		list = append(list, name+"="+c.PeerURL(name))
	}
	return []string{"--initial-cluster=" + strings.Join(list, ","), "--initial-cluster-state=" + state}
}

// PeerURL is where the member is found by its peers.
func (c *Cluster) PeerURL(name string) string { return "http://" + c.Member(name).Peer }

// Client talks to a member.
func (c *Cluster) Client(name string) etcd.Client {
	c.t.Helper()
	client, err := c.pool.Client("test", etcd.Target{Instance: name, Address: c.Member(name).Client})
	if err != nil {
		c.t.Fatal(err)
	}
	return client
}

// Status is what a member says of itself, as soon as it answers.
func (c *Cluster) Status(name string) (status etcd.Status) {
	c.t.Helper()
	c.Until(name+" to answer", func(ctx context.Context) (err error) {
		status, err = c.Client(name).Status(ctx)
		return err
	})
	return status
}

// Leader is the name of the one that leads, which there must be.
func (c *Cluster) Leader() string {
	c.t.Helper()
	var leader string
	c.Until("a leader", func(ctx context.Context) error {
		for _, name := range c.names() {
			status, err := c.Client(name).Status(ctx)
			if err == nil && status.LeaderID == status.MemberID {
				leader = name
				return nil
			}
		}
		return fmt.Errorf("there is none")
	})
	return leader
}

// Lead makes a member lead.
func (c *Cluster) Lead(name string) {
	c.t.Helper()
	c.Until(name+" to lead", func(ctx context.Context) error {
		return c.Client(c.Leader()).MoveLeader(ctx, c.Status(name).MemberID)
	})
}

// Serves waits until the member answers, with a quorum.
func (c *Cluster) Serves(name string) {
	c.t.Helper()
	c.Until(name+" to serve", c.Client(name).Read)
}

// Until repeats until there is no error.
func (c *Cluster) Until(what string, try func(context.Context) error) {
	c.t.Helper()
	deadline := time.After(patience)
	for {
		ctx, cancel := context.WithTimeout(c.t.Context(), time.Second)
		err := try(ctx)
		cancel()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			c.t.Fatalf("waited %s for %s: %v", patience, what, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
