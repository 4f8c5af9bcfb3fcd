// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package etcdtest is an etcd cluster in memory, for the tests of others.
//
// It keeps to what etcd does to callers of etcd.Client, and the same test runs
// against it and against real etcd. It must never grow a behaviour that this
// test does not check, nor be used outside tests. It has no clock: what etcd
// refuses for some seconds is refused here with FailBefore.
package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// Call names a method of etcd.Client.
type Call string

// The calls that can be made to fail.
const (
	Members    Call = "Members"
	Status     Call = "Status"
	Read       Call = "Read"
	WriteEntry Call = "WriteEntry"
	AddLearner Call = "AddLearner"
	// UpdatePeerURLs changes where a member is found.
	UpdatePeerURLs Call = "UpdatePeerURLs"
	Promote        Call = "Promote"
	Remove         Call = "Remove"
	MoveLeader     Call = "MoveLeader"

	Downgrade        Call = "Downgrade"
	CancelDowngrade  Call = "CancelDowngrade"
	DowngradeEnabled Call = "DowngradeEnabled"

	HashKV   Call = "HashKV"
	Disarm   Call = "Disarm"
	Compact  Call = "Compact"
	Snapshot Call = "Snapshot"

	PutMissing Call = "PutMissing"
)

// ErrUnreachable is what calls to a member that does not run return.
var ErrUnreachable = errors.New("connection refused")

// Cluster is a set of members. It may be used by many goroutines at once.
type Cluster struct {
	mutex     sync.Mutex
	members   []*member // in the order of their IDs
	lastID    uint64
	leader    uint64 // 0: none
	term      uint64
	index     uint64
	written   int64 // revision, as every member has applied it
	compacted int64 // revision up to which there is no history
	version   string
	target    string // of an enabled downgrade
	alarms    []etcd.Alarm
	odd       map[string]bool // members whose data differs from that of all others
	before    map[Call][]error
	after     map[Call][]error
	log       []string
	access    access
	keys      map[string]string
}

type member struct {
	etcd.Member
	running, synced bool
}

const clusterID = 0xc1

// New makes a cluster of running voters. The first one leads.
func New(names ...string) *Cluster {
	c := &Cluster{
		version: "3.6.16", written: 1, access: newAccess(), odd: map[string]bool{}, before: map[Call][]error{}, after: map[Call][]error{},
		keys: map[string]string{},
	}
	for _, name := range names {
		added := c.add(false, PeerURL(name))
		added.Name, added.ClientURLs = name, []string{ClientURL(name)}
		added.running, added.synced = true, true
	}
	c.elect()
	return c
}

// PeerURL is where the member of this name is found by its peers.
func PeerURL(name string) string { return "https://" + name + ":2380" }

// ClientURL is where the member of this name is found by clients.
func ClientURL(name string) string { return "https://" + name + ":2379" }

// Start runs the member of this name: one that was stopped, or one that was
// added with its peer URL and never ran. A learner that starts is in sync only
// after Sync.
func (c *Cluster) Start(name string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, m := range c.members {
		if m.Name == name || slices.Contains(m.PeerURLs, PeerURL(name)) {
			m.Name, m.ClientURLs, m.running = name, []string{ClientURL(name)}, true
		}
	}
	c.elect()
}

// Stop makes the member of this name unreachable.
func (c *Cluster) Stop(name string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if m := c.named(name); m != nil {
		m.running = false
	}
	c.elect()
}

// Sync lets a learner that runs catch up with the leader.
func (c *Cluster) Sync(name string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if m := c.named(name); m != nil && m.running {
		m.synced = true
	}
}

// Raise raises an alarm, such as NOSPACE, for one member. All members report it.
func (c *Cluster) Raise(id uint64, alarm string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.alarms = append(c.alarms, etcd.Alarm{MemberID: id, Kind: alarm})
}

// Corrupt has a member report another hash of its data than the others.
func (c *Cluster) Corrupt(name string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.odd[name] = true
}

// SetVersion sets the version that all members report.
func (c *Cluster) SetVersion(version string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.version = version
}

// SetRevision gives the data of all members another revision.
func (c *Cluster) SetRevision(revision int64) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.written = revision
}

// Put has a client put a key.
func (c *Cluster) Put(key, value string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.keys[key] = value
	c.written++
}

// Keys are all keys with their values.
func (c *Cluster) Keys() map[string]string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return maps.Clone(c.keys)
}

// FailBefore makes the next such call, of any member, return err without effect.
func (c *Cluster) FailBefore(call Call, err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.before[call] = append(c.before[call], err)
}

// FailAfter makes the next such call that takes effect return err all the
// same, as when its response is lost.
func (c *Cluster) FailAfter(call Call, err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.after[call] = append(c.after[call], err)
}

// Log lists the changes that took effect, in order.
func (c *Cluster) Log() []string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Clone(c.log)
}

// Client talks to the member of this name, which need not exist yet.
func (c *Cluster) Client(name string) etcd.Client { return &client{cluster: c, name: name} }

func (c *Cluster) add(learner bool, peerURLs ...string) *member {
	c.lastID++
	added := &member{Member: etcd.Member{ID: c.lastID, PeerURLs: slices.Clone(peerURLs), Learner: learner}}
	c.members = append(c.members, added)
	return added
}

func (c *Cluster) named(name string) *member {
	return c.first(func(m *member) bool { return m.Name == name && name != "" })
}

func (c *Cluster) first(match func(*member) bool) *member {
	if i := slices.IndexFunc(c.members, match); i >= 0 {
		return c.members[i]
	}
	return nil
}

// elect keeps the leader while it runs and a quorum does, else takes the first
// running voter.
func (c *Cluster) elect() {
	old := c.leader
	c.leader = 0
	if c.hasQuorum() {
		stays := func(m *member) bool { return m.ID == old && m.running && !m.Learner }
		next := c.first(stays)
		if next == nil {
			next = c.first(func(m *member) bool { return m.running && !m.Learner })
		}
		c.leader = next.ID
	}
	if c.leader != old && c.leader != 0 {
		c.term++
	}
}

func (c *Cluster) voters(match func(*member) bool) int {
	count := 0
	for _, m := range c.members {
		if !m.Learner && match(m) {
			count++
		}
	}
	return count
}

func (c *Cluster) running() int { return c.voters(func(m *member) bool { return m.running }) }

func (c *Cluster) all() int { return c.voters(func(*member) bool { return true }) }

func (c *Cluster) hasQuorum() bool { return c.running() >= c.all()/2+1 }

// did records a change of the cluster.
func (c *Cluster) did(format string, arguments ...any) {
	c.index++
	c.log = append(c.log, fmt.Sprintf(format, arguments...))
	c.elect()
}

// take returns the next error planned for a call, if any.
func take(planned map[Call][]error, call Call) error {
	if len(planned[call]) == 0 {
		return nil
	}
	err := planned[call][0]
	planned[call] = planned[call][1:]
	return err
}

// local are the calls that a member answers from what it has.
var local = []Call{Status, Members, HashKV, Snapshot}

// do runs one call on the member of this name.
func (c *Cluster) do(ctx context.Context, name string, call Call, effect func(self *member) error) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}
	if err := take(c.before, call); err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}
	self := c.named(name)
	if self == nil || !self.running {
		return fmt.Errorf("%s: %w", call, ErrUnreachable)
	}
	if self.Learner && call != Status && call != Snapshot {
		return fmt.Errorf("%s: %w", call, etcd.ErrLearner)
	}
	if c.leader == 0 && !slices.Contains(local, call) {
		return fmt.Errorf("%s: no quorum: %w", call, context.DeadlineExceeded)
	}
	if err := effect(self); err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}
	if err := take(c.after, call); err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}
	return nil
}
