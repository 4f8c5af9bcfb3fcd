// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

const ttl = 3600 // seconds of the lease

// source is a snapshot of a real cluster, and what its etcd said of it.
type source struct {
	version  string
	snapshot []byte // with etcd's sum at its end
	hash     HashKV
	keys     int64
}

// TestInspectSaysWhatEtcdSays follows a member through its history.
func TestInspectSaysWhatEtcdSays(t *testing.T) {
	ofVersions(t, func(t *testing.T, version string) {
		c := process.Run(t, version, 1)
		client := dial(t, c, "m1")
		for _, chapter := range []struct {
			name string
			do   func(*testing.T)
		}{
			{"nothing was written", func(*testing.T) {}},
			{"put", func(t *testing.T) { puts(t, client, 100) }},
			{"overwritten", func(t *testing.T) { puts(t, client, 50) }},
			{"deleted", func(t *testing.T) { deletes(t, client, "key-00") }},
			{"compacted", func(t *testing.T) { compacts(t, client) }},
			{"written after the compaction", func(t *testing.T) { puts(t, client, 30) }},
			{"deleted after the compaction", func(t *testing.T) { deletes(t, client, "key-01") }},
			{"compacted again", func(t *testing.T) { compacts(t, client) }},
			{"all deleted", func(t *testing.T) { deletes(t, client, "") }},
			{"all deleted and compacted", func(t *testing.T) { compacts(t, client) }},
			{"written again", func(t *testing.T) { puts(t, client, 10) }},
		} {
			t.Run(chapter.name, func(t *testing.T) {
				chapter.do(t)
				s := takes(t, version, client)
				info := inspects(t, write(t, s.snapshot))
				if info.HashKV != s.hash || info.Keys != s.keys {
					t.Errorf("%+v and %d keys; etcd says %+v and %d", info.HashKV, info.Keys, s.hash, s.keys)
				}
				if len(info.Members) != 1 || info.Members[0].Name != "m1" {
					t.Errorf("members: %+v", info.Members)
				}
			})
		}
	})
}

// TestUnfinishedCompaction: an etcd that ends while it compacts leaves the rest to the one that starts next.
func TestUnfinishedCompaction(t *testing.T) {
	ofVersions(t, func(t *testing.T, version string) {
		s := fullSource(t, version)
		path := write(t, s.snapshot[:databaseSize(int64(len(s.snapshot)))])
		edit(t, path, set(bucketMeta, keyScheduledCompact, string(revisionName(s.hash.Revision-3))))
		info := inspects(t, path)
		if info.ScheduledCompaction != s.hash.Revision-3 {
			t.Errorf("%+v", info)
		}
		s.snapshot = content(t, path)
		c := restores(t, s, version, 1, 0)
		if got := hashOfEtcd(t, c, "m1", info.Revision); got != info.HashKV {
			t.Errorf("%+v; etcd says %+v", info.HashKV, got)
		}
	})
}

// TestRestoredClusters: snapshots of each version, under each version that may run them.
func TestRestoredClusters(t *testing.T) {
	ofVersions(t, func(t *testing.T, from string) {
		s := fullSource(t, from)
		for _, to := range process.Versions[slices.Index(process.Versions, from):] {
			for _, size := range []int{1, 3} {
				t.Run(fmt.Sprintf("%d of %s", size, to), func(t *testing.T) {
					t.Parallel()
					const bump = 1_800_000_000_000_000 // as restores take it: the time in microseconds
					c := restores(t, s, to, size, bump)
					hasTheData(t, c, s, bump)
					growsBy(t, c, size, to)
				})
			}
		}
	})
}

// TestOlderVersionsAreRefused: etcd 3.5 would start on them without a word.
func TestOlderVersionsAreRefused(t *testing.T) {
	ofVersions(t, func(t *testing.T, from string) {
		s := fullSource(t, from)
		for _, to := range process.Versions[:slices.Index(process.Versions, from)] {
			o := options(t, s.snapshot[:databaseSize(int64(len(s.snapshot)))])
			o.Size, o.Minor = int64(len(s.snapshot)), minor(to)
			var older *VersionError
			if err := Make(t.Context(), o, bytes.NewReader(s.snapshot)); !errors.As(err, &older) || older.Database != minor(from) {
				t.Errorf("to %s: %v", to, err)
			}
		}
	})
}

// TestRestoredAsItWas: without a bump, etcd has the very revision and hash of the snapshot.
func TestRestoredAsItWas(t *testing.T) {
	ofVersions(t, func(t *testing.T, version string) {
		s := fullSource(t, version)
		c := restores(t, s, version, 1, 0)
		if got := hashOfEtcd(t, c, "m1", s.hash.Revision); got != s.hash {
			t.Errorf("%+v, was %+v", got, s.hash)
		}
	})
}

// TestRestoredHistoryIsDropped although nothing was written yet: etcd compacts up to the revision that is the newest, so that nobody could
// have it compact once more, and a database that is full of history would stay full (docs/adr/0082).
func TestRestoredHistoryIsDropped(t *testing.T) {
	ofVersions(t, func(t *testing.T, version string) {
		source := process.Run(t, version, 1)
		client := dial(t, source, "m1")
		for range 20 {
			must(client.Put(t.Context(), "large", strings.Repeat("x", 1<<20)))(t)
		}
		s := takes(t, version, client)
		source.Member("m1").Stop()
		c := restores(t, s, version, 1, 1000)
		c.Until("the history to be gone", func(ctx context.Context) error {
			status, err := c.Client("m1").Status(ctx)
			if err == nil && status.DBSizeInUse > status.DBSize/4 {
				err = fmt.Errorf("%d of %d bytes are in use", status.DBSizeInUse, status.DBSize)
			}
			return err
		})
		revision := must(dial(t, c, "m1").Get(t.Context(), "large"))(t).Header.Revision
		if _, err := dial(t, c, "m1").Compact(t.Context(), revision); !errors.Is(err, rpctypes.ErrCompacted) {
			t.Errorf("compacted at %d once more: %v", revision, err)
		}
	})
}

// fullSource is of a cluster that has one of everything, and no room left.
func fullSource(t *testing.T, version string) source {
	t.Helper()
	c := process.Run(t, version, 1)
	client := dial(t, c, "m1")
	puts(t, client, 100)
	deletes(t, client, "key-00")
	compacts(t, client)
	puts(t, client, 60)
	deletes(t, client, "key-01")
	lease := must(client.Grant(t.Context(), ttl))(t)
	must(client.Put(t.Context(), "leased", "1", clientv3.WithLease(lease.ID)))(t)
	must(client.RoleAdd(t.Context(), "reader"))(t)
	must(client.UserAdd(t.Context(), "alice", "secret"))(t)
	must(client.UserGrantRole(t.Context(), "alice", "reader"))(t)
	full := &etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_ACTIVATE, Alarm: etcdserverpb.AlarmType_NOSPACE}
	must(etcdserverpb.NewMaintenanceClient(client.ActiveConnection()).Alarm(t.Context(), full))(t)
	s := takes(t, version, client)
	info := inspects(t, write(t, s.snapshot))
	if len(info.Alarms) != 1 || info.ClusterVersion != minor(version)+".0" {
		t.Fatalf("%+v", info)
	}
	if info.Leases != 1 || info.AuthEnabled || info.HashKV != s.hash {
		t.Fatalf("%+v; etcd says %+v", info, s.hash)
	}
	c.Member("m1").Stop()
	return s
}

// restores makes data directories of all members, and starts them with that version.
func restores(t *testing.T, s source, to string, size int, bump int64) *process.Cluster {
	t.Helper()
	c := process.New(t, size)
	o := Options{
		InitialCluster: map[string]string{}, Token: t.Name(), Minor: minor(to),
		Size: int64(len(s.snapshot)), SHA256: sha256.Sum256(s.snapshot[:databaseSize(int64(len(s.snapshot)))]),
		BumpRevision: bump, MarkCompacted: bump > 0, DropNoSpaceAlarm: true,
	}
	names := members(size)
	for _, name := range names {
		o.InitialCluster[name] = c.PeerURL(name)
	}
	for _, name := range names {
		data := c.Member(name).Data
		o.Folder, o.Name, o.Member = filepath.Dir(data), filepath.Base(data), name
		makes(t, o, s.snapshot)
	}
	for _, name := range names {
		c.Member(name).Start(to, c.Joins("existing", names...)...)
	}
	for _, name := range names {
		c.Serves(name)
		status := c.Status(name)
		if want := must(ClusterID(o.InitialCluster, o.Token))(t); status.ClusterID != want {
			t.Errorf("%s is of cluster %x, not %x", name, status.ClusterID, want)
		}
		if want := must(MemberID(c.PeerURL(name), o.Token))(t); status.MemberID != want {
			t.Errorf("%s has ID %x, not %x", name, status.MemberID, want)
		}
	}
	return c
}

// hasTheData: revision bumped, history gone, and the rest as it was, on every member.
func hasTheData(t *testing.T, c *process.Cluster, s source, bump int64) {
	t.Helper()
	names := members(len(must(c.Client("m1").Members(t.Context()))(t)))
	var first HashKV
	for i, name := range names {
		client := dial(t, c, name)
		all := must(client.Get(t.Context(), "\x00", clientv3.WithFromKey(), clientv3.WithCountOnly(), clientv3.WithSerializable()))(t)
		if all.Header.Revision != s.hash.Revision+bump || all.Count != s.keys {
			t.Errorf("%s: revision %d and %d keys, was %d and %d", name, all.Header.Revision, all.Count, s.hash.Revision, s.keys)
		}
		hash := hashOfEtcd(t, c, name, all.Header.Revision)
		if i == 0 {
			first = hash
		}
		if hash != first || hash.CompactRevision != hash.Revision {
			t.Errorf("%s has %+v, m1 has %+v", name, hash, first)
		}
		watch := <-client.Watch(t.Context(), "key-50", clientv3.WithRev(s.hash.Revision+1))
		if !errors.Is(watch.Err(), rpctypes.ErrCompacted) {
			t.Errorf("%s: an old watch got %v", name, watch.Err())
		}
	}
	client := dial(t, c, "m1")
	if user := must(client.UserGet(t.Context(), "alice"))(t); !slices.Equal(user.Roles, []string{"reader"}) {
		t.Errorf("alice has the roles %v", user.Roles)
	}
	leases := must(client.Leases(t.Context()))(t).Leases
	if len(leases) != 1 {
		t.Fatalf("leases: %v", leases)
	}
	alive := must(client.TimeToLive(t.Context(), leases[0].ID, clientv3.WithAttachedKeys()))(t)
	if alive.GrantedTTL != ttl || len(alive.Keys) != 1 || string(alive.Keys[0]) != "leased" {
		t.Errorf("lease: %+v", alive)
	}
	put := must(client.Put(t.Context(), "after", "restore"))(t)
	if put.Header.Revision != s.hash.Revision+bump+1 {
		t.Errorf("the first write has revision %d", put.Header.Revision)
	}
}

// growsBy adds a member that gets all data from the others.
func growsBy(t *testing.T, c *process.Cluster, size int, version string) {
	t.Helper()
	names := members(size + 1)
	name := names[size]
	c.Add(name)
	var added etcd.Member
	c.Until("a learner to be added", func(ctx context.Context) (err error) {
		added, err = c.Client(c.Leader()).AddLearner(ctx, c.PeerURL(name))
		return err
	})
	c.Member(name).Start(version, c.Joins("existing", names...)...)
	c.Until("the learner to be promoted", func(ctx context.Context) error {
		return c.Client(c.Leader()).Promote(ctx, added.ID)
	})
	c.Serves(name)
	client := dial(t, c, name)
	revision := must(client.Get(t.Context(), "after"))(t).Header.Revision
	if ours, theirs := hashOfEtcd(t, c, name, revision), hashOfEtcd(t, c, "m1", revision); ours != theirs {
		t.Errorf("%s has %+v, m1 has %+v", name, ours, theirs)
	}
}

// restarts starts etcd on a data directory, as a Pod would.
func restarts(t *testing.T, o Options) {
	t.Helper()
	c := process.New(t, 1)
	m := c.Member("m1")
	m.Data = filepath.Join(o.Folder, o.Name)
	m.Start("3.7.3", c.Joins("existing", "m1")...)
	c.Serves("m1")
	m.Stop()
}

func minor(release string) string { return version.MinorOf(release) }

func members(size int) []string {
	var names []string
	for n := range size {
		names = append(names, fmt.Sprintf("m%d", n+1))
	}
	return names
}

// takes takes a snapshot, and asks etcd for what must be in it.
func takes(t *testing.T, version string, client *clientv3.Client) source {
	t.Helper()
	stream := must(client.Snapshot(t.Context()))(t)
	snapshot := must(io.ReadAll(stream))(t)
	all := must(client.Get(t.Context(), "\x00", clientv3.WithFromKey(), clientv3.WithCountOnly()))(t)
	hash := must(client.HashKV(t.Context(), client.Endpoints()[0], all.Header.Revision))(t)
	return source{
		version: version, snapshot: snapshot, keys: all.Count,
		hash: HashKV{hash.Hash, all.Header.Revision, hash.CompactRevision},
	}
}

// hashOfEtcd asks a member, which may compact yet.
func hashOfEtcd(t *testing.T, c *process.Cluster, name string, revision int64) HashKV {
	t.Helper()
	var hash etcd.Hash
	c.Until(name+" to have revision "+fmt.Sprint(revision), func(ctx context.Context) (err error) {
		hash, err = c.Client(name).HashKV(ctx, revision)
		return err
	})
	return HashKV{hash.Sum, revision, hash.Compacted}
}

func dial(t *testing.T, c *process.Cluster, name string) *clientv3.Client {
	t.Helper()
	config := clientv3.Config{Endpoints: []string{c.Member(name).Client}, DialTimeout: 20 * time.Second, Logger: zap.NewNop()}
	client := must(clientv3.New(config))(t)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func puts(t *testing.T, client *clientv3.Client, keys int) {
	t.Helper()
	for i := range keys {
		must(client.Put(t.Context(), fmt.Sprintf("key-%02d", i), string(bytes.Repeat([]byte{'x'}, 1+i*10))))(t)
	}
}

func deletes(t *testing.T, client *clientv3.Client, prefix string) {
	t.Helper()
	must(client.Delete(t.Context(), prefix, clientv3.WithPrefix()))(t)
}

// compacts waits until the compaction is done, at a revision that is not the newest: there etcd
// may answer with a hash that it computed before.
func compacts(t *testing.T, client *clientv3.Client) {
	t.Helper()
	revision := must(client.Get(t.Context(), "x"))(t).Header.Revision
	must(client.Compact(t.Context(), revision-1, clientv3.WithCompactPhysical()))(t)
}

func ofVersions(t *testing.T, test func(t *testing.T, version string)) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs etcd processes of several versions, which -short leaves out")
	}
	t.Parallel()
	for _, version := range process.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel() // they mostly wait
			test(t, version)
		})
	}
}
