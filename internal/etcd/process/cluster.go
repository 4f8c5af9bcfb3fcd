package process

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"sync"
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
		Name: name, Data: filepath.Join(c.folder, name), Peer: freeAddress(c.t), Client: freeAddress(c.t), t: c.t,
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

// Status is what a member says of itself, which it must.
func (c *Cluster) Status(name string) etcd.Status {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Second)
	defer cancel()
	status, err := c.Client(name).Status(ctx)
	if err != nil {
		c.t.Fatalf("%s: %v", name, err)
	}
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

// The ports of members are below those that the kernel gives to connections: a
// member that is down for a while must find its own free again.
const lowestPort, ports = 10000, 20000

// freeAddress is an address that no member of another test is given, of this test binary or of
// another one that runs beside it: this process holds the UDP port of the same number, which
// etcd does not use, until it ends.
func freeAddress(t testing.TB) string {
	t.Helper()
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", lowestPort+rand.IntN(ports))
		reserved, err := net.ListenPacket("udp", address)
		if err != nil {
			continue // it is another member's
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			_ = reserved.Close() // it is in use
			continue
		}
		_ = listener.Close() // it was only asked whether it is free
		reservations.Store(address, reserved)
		return address
	}
	t.Fatal("found no free port")
	return ""
}

// reservations keeps what is held open from being collected, which would close it.
var reservations sync.Map
