// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdtest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

type client struct {
	etcd.Data // none but Page: what copies data is tested with real processes
	cluster   *Cluster
	name      string
}

func (c *client) Members(ctx context.Context) (members []etcd.Member, err error) {
	err = c.cluster.do(ctx, c.name, Members, func(*member) error {
		for _, m := range c.cluster.members {
			members = append(members, m.copy())
		}
		return nil
	})
	return members, err
}

func (m *member) copy() etcd.Member {
	out := m.Member
	out.PeerURLs, out.ClientURLs = slices.Clone(m.PeerURLs), slices.Clone(m.ClientURLs)
	return out
}

func (c *client) Status(ctx context.Context) (status etcd.Status, err error) {
	err = c.cluster.do(ctx, c.name, Status, func(self *member) error {
		status = c.cluster.status(self)
		return nil
	})
	return status, err
}

func (c *Cluster) status(self *member) etcd.Status {
	status := etcd.Status{
		ClusterID: clusterID, MemberID: self.ID, LeaderID: c.leader,
		Version: c.version, DBSize: 1 << 20, DBSizeInUse: 1 << 20, Revision: c.written,
		RaftTerm: c.term, RaftIndex: c.index, RaftAppliedIndex: c.index, Learner: self.Learner,
	}
	if !strings.HasPrefix(c.version, "3.5.") {
		status.Downgrade, status.StorageVersion = c.target, cmp.Or(c.target, below(c.version, 0))+".0"
	}
	if c.leader == 0 {
		status.Errors = append(status.Errors, "etcdserver: no leader")
	}
	status.Alarms = slices.Clone(c.alarms)
	for _, a := range c.alarms {
		status.Errors = append(status.Errors, fmt.Sprintf("memberID:%d alarm:%s ", a.MemberID, a.Kind))
	}
	return status
}

// maxTxnOps is etcd's --max-txn-ops.
const maxTxnOps = 128

func (c *client) PutMissing(ctx context.Context, keys []etcd.KeyValue) (put int, revision int64, err error) {
	err = c.cluster.do(ctx, c.name, PutMissing, func(*member) error {
		if len(keys) >= maxTxnOps {
			return errors.New("too many operations in txn request")
		}
		put, err = c.cluster.putMissing(keys)
		revision = c.cluster.written
		return err
	})
	return put, revision, err
}

func (c *Cluster) putMissing(keys []etcd.KeyValue) (put int, err error) {
	named := map[string]bool{}
	for _, k := range keys {
		switch name := string(k.Key); {
		case name == "":
			return 0, errors.New("key is not provided")
		case named[name]:
			return 0, errors.New("duplicate key given in txn request")
		default:
			named[name] = true
		}
	}
	for _, k := range keys {
		if _, there := c.keys[string(k.Key)]; !there {
			c.keys[string(k.Key)] = string(k.Value)
			put++
		}
	}
	if put > 0 {
		c.written++
		c.did("put %d keys", put)
	}
	return put, nil
}

// HashKV knows of one revision only: nothing writes to the fake.
func (c *client) HashKV(ctx context.Context, revision int64) (hash etcd.Hash, err error) {
	err = c.cluster.do(ctx, c.name, HashKV, func(self *member) error {
		if revision > 1 {
			return errors.New("required revision is a future revision")
		}
		hash.Sum = 7
		if c.cluster.odd[self.Name] {
			hash.Sum = uint32(self.ID) << 8 //nolint:gosec // a small number
		}
		return nil
	})
	return hash, err
}

// Snapshot is as long as a database, and has its sum, but nothing can be read from it.
func (c *client) Snapshot(ctx context.Context) (snapshot etcd.Snapshot, err error) {
	err = c.cluster.do(ctx, c.name, Snapshot, func(self *member) error {
		database := bytes.Repeat([]byte{1}, 1<<13)
		sum := sha256.Sum256(database)
		content := append(database, sum[:]...)
		snapshot = etcd.Snapshot{
			ReadCloser: io.NopCloser(bytes.NewReader(content)), Size: int64(len(content)),
			StorageVersion: c.cluster.status(self).StorageVersion,
		}
		return nil
	})
	return snapshot, err
}

// Prefixes are the keys themselves.
func (c *client) Prefixes(ctx context.Context) (all []etcd.Prefix, whole bool, err error) {
	err = c.cluster.do(ctx, c.name, Read, func(*member) error {
		for _, key := range slices.Sorted(maps.Keys(c.cluster.keys)) {
			all = append(all, etcd.Prefix{Prefix: key, Keys: 1, Bytes: int64(len(key) + len(c.cluster.keys[key]))})
		}
		return nil
	})
	slices.SortStableFunc(all, func(a, b etcd.Prefix) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return all, true, err
}

func (c *client) Compact(ctx context.Context, revision int64) error {
	return c.cluster.do(ctx, c.name, Compact, func(*member) error {
		if revision > c.cluster.compacted {
			c.cluster.compacted = revision
			c.cluster.did("compact up to %d", revision)
		}
		return nil
	})
}

func (c *client) Disarm(ctx context.Context, alarm etcd.Alarm) error {
	return c.cluster.do(ctx, c.name, Disarm, func(*member) error {
		if i := slices.Index(c.cluster.alarms, alarm); i >= 0 {
			c.cluster.alarms = slices.Delete(c.cluster.alarms, i, i+1)
			c.cluster.did("disarm %s of %x", alarm.Kind, alarm.MemberID)
		}
		return nil
	})
}

func (c *client) Read(ctx context.Context) error {
	return c.cluster.do(ctx, c.name, Read, func(*member) error { return nil })
}

func (c *client) Revision(ctx context.Context) (int64, error) {
	var revision int64
	err := c.cluster.do(ctx, c.name, Read, func(*member) error {
		revision = c.cluster.written
		return nil
	})
	return revision, err
}

func (c *client) WriteEntry(ctx context.Context) error {
	return c.cluster.do(ctx, c.name, WriteEntry, func(*member) error { return nil })
}

func (c *client) AddLearner(ctx context.Context, peerURLs ...string) (added etcd.Member, err error) {
	err = c.cluster.do(ctx, c.name, AddLearner, func(*member) error {
		listed := c.cluster.first(func(m *member) bool { return slices.Contains(m.PeerURLs, peerURLs[0]) })
		if listed == nil {
			if err := c.cluster.mayAdd(); err != nil {
				return err
			}
			listed = c.cluster.add(true, peerURLs...)
			c.cluster.did("add learner %s", strings.Join(peerURLs, " "))
		}
		added = listed.copy()
		return nil
	})
	return added, err
}

func (c *client) UpdatePeerURLs(ctx context.Context, id uint64, peerURLs ...string) error {
	return c.cluster.do(ctx, c.name, UpdatePeerURLs, func(*member) error {
		m := c.cluster.first(func(m *member) bool { return m.ID == id })
		switch {
		case m == nil:
			return errors.New("member not found")
		case slices.Equal(m.PeerURLs, peerURLs):
			return nil
		}
		m.PeerURLs = slices.Clone(peerURLs)
		c.cluster.did("update %s to %s", m.Name, strings.Join(peerURLs, " "))
		return nil
	})
}

// mayAdd: etcd allows one learner, and wants a quorum of what would be with
// one voter more, even though it adds a learner. A single voter is exempt.
func (c *Cluster) mayAdd() error {
	if c.first(func(m *member) bool { return m.Learner }) != nil {
		return fmt.Errorf("%w: too many learner members in cluster", etcd.ErrNotReady)
	}
	if c.all() > 1 && c.running() < (c.all()+1)/2+1 {
		return fmt.Errorf("%w: unhealthy cluster", etcd.ErrNotReady)
	}
	return nil
}

func (c *client) Promote(ctx context.Context, id uint64) error {
	return c.cluster.do(ctx, c.name, Promote, func(*member) error {
		m := c.cluster.first(func(m *member) bool { return m.ID == id })
		switch {
		case m == nil:
			return errors.New("member not found")
		case !m.Learner:
			return nil
		case !m.running || !m.synced:
			return fmt.Errorf("%w: the learner is not in sync with the leader", etcd.ErrNotReady)
		}
		m.Learner = false
		c.cluster.did("promote %s", m.Name)
		return nil
	})
}

func (c *client) Remove(ctx context.Context, id uint64) error {
	return c.cluster.do(ctx, c.name, Remove, func(*member) error {
		m := c.cluster.first(func(m *member) bool { return m.ID == id })
		if m == nil {
			return nil
		}
		if err := c.cluster.mayRemove(m); err != nil {
			return err
		}
		c.cluster.members = slices.DeleteFunc(c.cluster.members, func(other *member) bool { return other == m })
		c.cluster.did("remove %s", m.PeerURLs[0])
		return nil
	})
}

// mayRemove: etcd protects the quorum of the voters that would remain, unless
// the member is a learner or does not run.
func (c *Cluster) mayRemove(m *member) error {
	if m.Learner {
		return nil
	}
	rest := c.all() - 1
	if rest == 0 || m.running && c.running()-1 < rest/2+1 {
		return fmt.Errorf("%w: unhealthy cluster", etcd.ErrNotReady)
	}
	return nil
}

func (c *client) MoveLeader(ctx context.Context, to uint64) error {
	return c.cluster.do(ctx, c.name, MoveLeader, func(self *member) error {
		if c.cluster.leader == to {
			return nil
		}
		if c.cluster.leader != self.ID {
			return errors.New("not leader")
		}
		m := c.cluster.first(func(m *member) bool { return m.ID == to && !m.Learner })
		switch {
		case m == nil:
			return errors.New("bad leader transferee")
		case !m.running:
			return fmt.Errorf("leader transfer: %w", context.DeadlineExceeded)
		}
		c.cluster.leader = to
		c.cluster.term++
		c.cluster.did("move leadership to %s", m.Name)
		return nil
	})
}
