// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// TestReplayOfRealEtcd: a snapshot and a log of what came after it give the database that the cluster has at a revision, as HashKV proves,
// although the cluster has compacted its history meanwhile. An etcd that starts on it has the keys and leases.
func TestReplayOfRealEtcd(t *testing.T) {
	ofVersions(t, func(t *testing.T, version string) {
		c := process.Run(t, version, 1)
		client := dial(t, c, "m1")
		random := rand.New(rand.NewPCG(uint64(len(version)), 3))
		leases := []clientv3.LeaseID{0, must(client.Grant(t.Context(), ttl))(t).ID}
		mixed(t, client, random, leases, 300)
		compacts(t, client)
		mixed(t, client, random, leases, 200)
		source := takes(t, version, client)
		logged := make(chan logged, 1)
		go func() { logged <- follow(t, c.Client("m1"), source.hash.Revision, "last") }()

		leases = append(leases, must(client.Grant(t.Context(), ttl))(t).ID) // which the snapshot does not know
		for range 3 {
			mixed(t, client, random, leases, 700)
			compacts(t, client)
		}
		mixed(t, client, random, leases, 300)
		must(client.Put(t.Context(), "unknown", "1", clientv3.WithLease(leases[2])))(t)
		must(client.Revoke(t.Context(), leases[1]))(t) // deletes its keys at one revision
		last := must(client.Put(t.Context(), "last", "1"))(t).Header.Revision
		want := must(c.Client("m1").HashKV(t.Context(), last))(t)
		keys := must(client.Get(t.Context(), "\x00", clientv3.WithFromKey(), clientv3.WithCountOnly()))(t).Count

		found := <-logged
		if found.err != nil {
			t.Fatal(found.err)
		}
		bases := []log.Base{{ID: "b", Revision: source.hash.Revision, Finished: time.Unix(1, 0)}}
		plan := must(log.Choose(found.folder, bases, found.listed, log.Target{Revision: last}))(t)
		path := write(t, source.snapshot[:databaseSize(int64(len(source.snapshot)))])
		done, err := Replay(t.Context(), path, found.events(plan))
		if err != nil || done.Revision != last {
			t.Fatalf("%+v: %v", done, err)
		}
		got := must(HashAsOf(t.Context(), path, want.Compacted))(t)
		if got != (HashKV{want.Sum, last, want.Compacted}) {
			t.Errorf("hash %+v; etcd says %+v of revision %d", got, want, last)
		}
		t.Logf("%d events of %d revisions in %d segments, compacted from %d to %d, hash %d", done.Events, last-source.hash.Revision,
			len(found.listed), source.hash.CompactRevision, want.Compacted, want.Sum)
		startsOn(t, path, version, source.hash.Revision, keys)
	})
}

// startsOn makes a data directory of the database, and compares what its etcd says.
func startsOn(t *testing.T, path, version string, base, keys int64) {
	t.Helper()
	if n, err := DetachUnknownLeases(t.Context(), path, base); err != nil || n == 0 {
		t.Errorf("%d entries have an unknown lease: %v", n, err)
	}
	info := inspects(t, path)
	c := restores(t, sourceOf(t, path), version, 1, 0)
	if hash := hashOfEtcd(t, c, "m1", info.Revision); hash != info.HashKV || info.Keys != keys {
		t.Errorf("%+v and %d keys; etcd says %+v, the source had %d keys", info.HashKV, info.Keys, hash, keys)
	}
	client := dial(t, c, "m1")
	if kv := must(client.Get(t.Context(), "unknown"))(t).Kvs[0]; kv.GetLease() != 0 || string(kv.GetValue()) != "1" {
		t.Errorf("%+v", kv)
	}
	if all := must(client.Leases(t.Context()))(t).Leases; len(all) != 1 {
		t.Errorf("leases %v", all)
	}
	if put := must(client.Put(t.Context(), "after", "1"))(t); put.Header.Revision != info.Revision+1 {
		t.Errorf("the first write has revision %d", put.Header.Revision)
	}
}

func sourceOf(t *testing.T, path string) source {
	t.Helper()
	return source{snapshot: content(t, path)}
}

// mixed writes so many revisions: puts with and without leases, deletions of one key and of many, and transactions of several.
func mixed(t *testing.T, client *clientv3.Client, random *rand.Rand, leases []clientv3.LeaseID, revisions int) {
	t.Helper()
	key := func() string { return fmt.Sprintf("key-%02d", random.IntN(60)) }
	put := func(key string) clientv3.Op {
		lease := leases[random.IntN(len(leases))]
		return clientv3.OpPut(key, fmt.Sprint(random.Int()), clientv3.WithLease(lease))
	}
	for range revisions {
		var err error
		switch random.IntN(10) {
		case 0:
			_, err = client.Delete(t.Context(), key())
		case 1:
			_, err = client.Delete(t.Context(), "key-3", clientv3.WithPrefix())
		case 2, 3:
			first := random.IntN(40)
			var operations []clientv3.Op
			for n := range 1 + random.IntN(20) {
				if name := fmt.Sprintf("key-%02d", first+n); n%4 == 3 {
					operations = append(operations, clientv3.OpDelete(name))
				} else {
					operations = append(operations, put(name))
				}
			}
			_, err = client.Txn(t.Context()).Then(operations...).Commit()
		default:
			_, err = client.Do(t.Context(), put(key()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// logged is a log in memory.
type logged struct {
	folder  log.Folder
	listed  []log.Listed
	content map[string][]byte
	err     error
}

// follow logs everything after a revision until a key is written.
func follow(t *testing.T, client etcd.Client, base int64, until string) logged {
	l := logged{folder: log.Folder{Namespace: "a", Cluster: "b", Lineage: "c"}, content: map[string][]byte{}}
	encoder := log.NewEncoder(log.Start{Lineage: "c", Base: base, First: log.Position{Revision: base + 1}})
	end := errors.New("it is written")
	err := client.History(t.Context(), base+1, time.Second, func(d etcd.Delivery) error {
		b := log.Batch{Time: time.Now(), Complete: true}
		for _, e := range d.Events {
			b.Events = append(b.Events, log.Event(e))
			b.Complete = e.Revision <= d.Complete
		}
		err := encoder.Add(b)
		isLast := len(d.Events) > 0 && string(d.Events[len(d.Events)-1].Key) == until
		if err != nil || encoder.Events() < 300 && !isLast {
			return err
		}
		s, err := encoder.Close(nil)
		name := l.folder.Object(s.Header.First)
		l.content[name] = s.Content
		l.listed = append(l.listed, log.Listed{Object: name, Size: int64(len(s.Content)), Header: s.Header})
		encoder = log.NewEncoder(log.Follows(s.Header, ""))
		if err == nil && isLast {
			return end
		}
		return err
	})
	if !errors.Is(err, end) {
		l.err = fmt.Errorf("it ends early: %w", err)
	}
	return l
}

func (l logged) events(plan log.Plan) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for e, err := range plan.Follow().Events(func(object string) ([]byte, error) { return l.content[object], nil }) {
			if !yield(Event(e), err) {
				return
			}
		}
	}
}
