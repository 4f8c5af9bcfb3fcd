// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/worker"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
	"github.com/etcd-operator/etcd-operator/internal/restore/datadir"
)

// running is a world with a cluster that can be backed up.
type running struct {
	*world
	cluster *process.Cluster
	names   []string
}

func newRunning(t *testing.T, version string, size int) *running {
	t.Helper()
	if testing.Short() {
		t.Skip("starts etcd: run it without -short")
	}
	r := &running{world: newWorld(t), cluster: process.Run(t, version, size)}
	for n := range size {
		r.names = append(r.names, fmt.Sprintf("m%d", n+1))
	}
	return r
}

// backup is the order of a backup as the operator gives it.
func (r *running) backup() jobspec.Order {
	r.Helper()
	o := &jobspec.BackupOrder{
		ID: "uid-1", Name: "first", Namespace: "default", Cluster: "example", ClusterUID: "u", HashBelow: 1 << 30, Reason: "test",
		Spec: json.RawMessage(`{"size":3}`),
	}
	for _, name := range r.names {
		m := jobspec.Member{Name: name, Address: r.cluster.Member(name).Client}
		r.cluster.Until(name+" to answer", func(ctx context.Context) error {
			status, err := r.cluster.Client(name).Status(ctx)
			o.ClusterID, m.ID = fmt.Sprintf("%x", status.ClusterID), fmt.Sprintf("%x", status.MemberID)
			return err
		})
		o.Members = append(o.Members, m)
	}
	return jobspec.Order{Verb: jobspec.Backup, Operator: "0.5.0", Backup: o}
}

func (r *running) client(cluster *process.Cluster, name string) *clientv3.Client {
	r.Helper()
	config := clientv3.Config{Endpoints: []string{cluster.Member(name).Client}, DialTimeout: 20 * time.Second, Logger: zap.NewNop()}
	client, err := clientv3.New(config)
	must(r, err)
	r.Cleanup(func() { _ = client.Close() })
	return client
}

func (r *running) fill(keys int) {
	r.Helper()
	client := r.client(r.cluster, "m1")
	for n := range keys {
		_, err := client.Put(r.Context(), fmt.Sprintf("key-%03d", n), strings.Repeat("x", n))
		must(r, err)
	}
}

// full has one of everything: history, a compaction, users and leases.
func (r *running) full() {
	r.Helper()
	r.fill(100)
	client := r.client(r.cluster, "m1")
	_, err := client.Delete(r.Context(), "key-00", clientv3.WithPrefix())
	must(r, err)
	_, err = client.Compact(r.Context(), 50, clientv3.WithCompactPhysical())
	must(r, err)
	lease, err := client.Grant(r.Context(), 3600)
	must(r, err)
	_, err = client.Put(r.Context(), "leased", "1", clientv3.WithLease(lease.ID))
	must(r, err)
	_, err = client.UserAdd(r.Context(), "alice", "secret")
	must(r, err)
}

// TestLifeOfABackup: it is sent by a follower, found, proven by another etcd, restored for each member, and deleted.
func TestLifeOfABackup(t *testing.T) {
	for _, version := range process.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := newRunning(t, version, 3)
			r.full()
			done := r.does(r.backup())
			if leader := r.cluster.Leader(); done.Source == leader || !slices.Contains(r.names, done.Source) {
				t.Errorf("%q sent the snapshot, and %s leads", done.Source, leader)
			}
			facts := *done.Backup
			// 100 puts, one deletion of ten keys, and the one with the lease.
			if facts.Keys == nil || *facts.Keys != 91 || facts.Revision != 103 || facts.CompactRevision != 50 || facts.EtcdVersion != version {
				t.Errorf("%+v", facts)
			}
			again := r.does(r.backup())
			if again.Backup.ManifestSHA256 != facts.ManifestSHA256 || again.Source != "" {
				t.Errorf("a Job whose answer was lost wrote another backup: %+v", again)
			}
			lines := r.says(check(jobspec.CheckOrder{Write: true}))
			if found := lines[0].Found; found == nil || found.Path != path || *found.Backup.Keys != 91 || found.Problem != "" {
				t.Errorf("%+v", lines[0])
			}
			r.passesTrial(version, facts)
			for _, to := range process.Versions[slices.Index(process.Versions, version):] {
				r.formsCluster(to, facts)
			}
			r.does(remove(facts.ManifestSHA256))
			if left := r.stored(path); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

// start runs etcd on the data directory that Unpack has made.
func (r *running) start(release string) *process.Cluster {
	r.Helper()
	trial := process.New(r.T, 1)
	m := trial.Member("m1")
	m.Data = filepath.Join(r.in.Folders.Scratch, jobspec.ScratchData)
	m.Start(release, trial.Joins("new", "m1")...)
	r.in.Folders.Trial = m.Client
	return trial
}

func (r *running) passesTrial(release string, facts jobspec.Facts) {
	r.Helper()
	order := jobspec.Order{Trial: &jobspec.TrialOrder{Path: path, ManifestSHA256: facts.ManifestSHA256, Minor: version.MinorOf(release)}}
	order.Verb = jobspec.Unpack
	r.does(order)
	trial := r.start(release)
	order.Verb = jobspec.Verify
	done := r.does(order)
	if done.Trial == nil || done.Trial.Revision != facts.Revision || done.Trial.Keys != *facts.Keys || done.Trial.Took <= 0 ||
		done.Trial.Database != facts.Database || done.Trial.ClusterVersion != version.MinorOf(release)+".0" {
		r.Errorf("%+v", done.Trial)
	}
	// What Unpack has left is compared with every answer.
	for name, words := range map[string]string{
		"revision": "has revision", "keys": "has number of keys", "hash": "has hash", "compact": "has compacted revision",
	} {
		facts := r.left()
		facts[name] = facts[name].(float64) + 1
		changed, err := json.Marshal(facts)
		must(r, err)
		file := filepath.Join(r.in.Folders.Scratch, jobspec.ScratchFacts)
		right, err := os.ReadFile(file)
		must(r, err)
		must(r, os.WriteFile(file, changed, 0o600))
		r.fails(order, jobspec.Different, true, words)
		must(r, os.WriteFile(file, right, 0o600))
	}
	trial.Member("m1").Stop()
}

// formsCluster restores three members, which form a cluster with all that was in the old one.
func (r *running) formsCluster(release string, facts jobspec.Facts) {
	r.Helper()
	const bump = 1_000_000
	c := process.New(r.T, 3)
	peers := map[string]string{}
	for _, name := range r.names {
		peers[name] = c.PeerURL(name)
	}
	id, err := datadir.ClusterID(peers, "token")
	must(r, err)
	for _, name := range r.names {
		data := c.Member(name).Data
		r.in.Folders.Member = filepath.Dir(data)
		done := r.does(jobspec.Order{Verb: jobspec.Restore, Restore: &jobspec.RestoreOrder{
			Path: path, ManifestSHA256: facts.ManifestSHA256, DataDirectory: filepath.Base(data), Member: name, InitialCluster: peers,
			Token: "token", Minor: version.MinorOf(release), Bump: bump, Verified: name != "m1", // what is not checked again is the same
		}})
		if done.Backup == nil || done.Backup.ManifestSHA256 != facts.ManifestSHA256 {
			r.Errorf("%+v", done)
		}
	}
	for _, name := range r.names {
		c.Member(name).Start(release, c.Joins("existing", r.names...)...)
	}
	for _, name := range r.names {
		c.Serves(name)
		if got := c.Status(name); got.ClusterID != id {
			r.Errorf("%s is of cluster %x, not of %x", name, got.ClusterID, id)
		}
	}
	client := r.client(c, "m2")
	all, err := client.Get(r.Context(), "\x00", clientv3.WithFromKey(), clientv3.WithCountOnly())
	must(r, err)
	if all.Count != *facts.Keys || all.Header.Revision != facts.Revision+bump {
		r.Errorf("%d keys at revision %d", all.Count, all.Header.Revision)
	}
	leases, err := client.Leases(r.Context())
	must(r, err)
	users, err := client.UserList(r.Context())
	must(r, err)
	if len(leases.Leases) != 1 || !slices.Equal(users.Users, []string{"alice"}) {
		r.Errorf("leases %v, users %v", leases.Leases, users.Users)
	}
	for _, name := range r.names {
		c.Member(name).Stop()
	}
}

// TestSourceLost: the backup is sent by a member that can, and says why no member can.
func TestSourceLost(t *testing.T) {
	t.Parallel()
	r := newRunning(t, "3.6.16", 3)
	r.fill(10)
	order := r.backup()
	other := order
	o := *order.Backup
	o.ClusterID = "1234"
	other.Backup = &o
	r.fails(other, jobspec.MemberFailed, false, "m1: it is a member of cluster "+order.Backup.ClusterID+", not of 1234")
	leader := r.cluster.Leader()
	follower := r.names[(slices.Index(r.names, leader)+1)%3]
	r.cluster.Member(follower).Stop()
	if done := r.does(order); done.Source == follower || done.Source == leader {
		t.Errorf("%s sent it, %s leads, and %s does not run", done.Source, leader, follower)
	}
	r.does(remove(""))
	r.cluster.Member(leader).Stop()
	r.fails(order, jobspec.MemberFailed, false, "no member can send a snapshot: ")
	if left := r.stored(path); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// TestReachedLate: a network that lets the Pod reach members some time after it has begun costs no attempt.
func TestReachedLate(t *testing.T) {
	t.Parallel()
	r := newRunning(t, "3.6.16", 1)
	r.fill(10)
	order, member := onVolume(r.backup()), r.cluster.Member("m1")
	member.Stop()
	var out bytes.Buffer
	r.in.Out = &out
	ended := make(chan int, 1)
	go func() { ended <- worker.Main(t.Context(), []string{order.Encode()}, r.in) }()
	select {
	case <-ended:
		t.Fatalf("it does not wait for a member to answer: %s", &out)
	case <-time.After(3 * time.Second):
	}
	member.Start("3.6.16")
	if exit := <-ended; exit != worker.ExitDone || !strings.Contains(out.String(), "no member answers yet") {
		t.Errorf("exit code %d: %s", exit, &out)
	}
}

// TestWithAuthentication: only root gets a snapshot, and what was backed up with authentication can be verified even so.
func TestWithAuthentication(t *testing.T) {
	for _, release := range process.Versions {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			r := newRunning(t, release, 1)
			r.fill(10)
			order := r.backup()
			client := r.client(r.cluster, "m1")
			_, err := client.UserAdd(t.Context(), "root", "secret")
			must(t, err)
			_, err = client.UserGrantRole(t.Context(), "root", "root")
			must(t, err)
			_, err = client.AuthEnable(t.Context())
			must(t, err)
			r.fails(order, jobspec.AuthEnabled, false, "m1 sends snapshots to its user root only")

			root, err := clientv3.New(clientv3.Config{
				Endpoints: []string{r.cluster.Member("m1").Client}, Username: "root", Password: "secret", Logger: zap.NewNop(),
			})
			must(t, err)
			t.Cleanup(func() { _ = root.Close() })
			snapshot, err := root.Snapshot(t.Context())
			must(t, err)
			m, err := archive.Write(t.Context(), r.open(), snapshot, archive.Job{Now: time.Now, Manifest: archive.Manifest{
				ID: "uid-1", Namespace: "default", Cluster: archive.Cluster{Name: "example"}, Etcd: archive.Etcd{Version: release},
			}})
			must(t, err)
			r.does(unpack(jobspec.TrialOrder{Path: path, Minor: version.MinorOf(release)}))
			r.start(release)
			verified := r.does(jobspec.Order{Verb: jobspec.Verify, Trial: &jobspec.TrialOrder{Path: path, Minor: version.MinorOf(release)}})
			if verified.Trial.Revision != m.Revision || verified.Trial.Keys != 10 {
				t.Errorf("%+v", verified.Trial)
			}
		})
	}
}

// TestCompactedMeanwhile, and a hash that would hold up writes for too long: the backup goes without them.
func TestBackupWithoutHash(t *testing.T) {
	t.Parallel()
	r := newRunning(t, "3.7.3", 1)
	r.fill(10)
	order := r.backup()
	order.Backup.HashBelow = 0
	r.does(order)
	m, err := archive.ReadManifest(t.Context(), r.open(), archive.Folder{Namespace: "default", Cluster: "example", ID: "uid-1"})
	must(t, err)
	if m.HashKV != nil || m.Keys == nil || *m.Keys != 10 || string(m.Spec) == "" || m.Members[0].Name != "m1" || m.OperatorVersion != "0.5.0" {
		t.Errorf("%+v", m)
	}
	r.passesTrial("3.7.3", r.says(check(jobspec.CheckOrder{}))[0].Found.Backup)
}

// TestWrongRecipient is found before anything is sent.
func TestWrongRecipient(t *testing.T) {
	t.Parallel()
	r := newRunning(t, "3.7.3", 1)
	order := r.backup()
	order.Backup.Recipients = []string{"age1nonsense"}
	r.fails(order, jobspec.WrongKey, true, "correct encryption.recipients")
	order.Backup.Recipients, order.Backup.Secure = nil, true
	r.fails(order, jobspec.MemberFailed, false, "read client certificate")
	r.nothing(r.in.Folders.Volume)
}

// TestOfTwoUploads: what an upload has left that failed goes when another one has done it.
func TestOfTwoUploads(t *testing.T) {
	t.Parallel()
	r := newRunning(t, "3.7.3", 1)
	r.fill(10)
	r.put(path+"/first.000000.part", []byte("of one that was killed"))
	r.does(r.backup())
	for _, file := range r.stored(path) {
		if strings.Contains(file, "first.") {
			t.Errorf("%s is left", file)
		}
	}
	if len(r.stored(path)) != 2 {
		t.Errorf("%v", r.stored(path))
	}
}

// TestToldToEndDuringBackup: what was sent is deleted, unless it is a backup.
func TestToldToEndDuringBackup(t *testing.T) {
	t.Parallel()
	r := newRunning(t, "3.7.3", 1)
	r.fill(100)
	order := r.backup()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.in.Now = func() time.Time {
		if len(r.stored(path)) > 0 { // the first part is there
			cancel()
		}
		return time.Now()
	}
	lines := r.saysWithin(ctx, order)
	if failed := lines[len(lines)-1].Failed; failed != nil {
		if !strings.Contains(failed.Message, "was terminated") || len(r.stored(path)) > 0 {
			t.Errorf("%+v; %v is left", failed, r.stored(path))
		}
	}
	r.in.Now = time.Now
	r.does(order)
	if _, err := os.Stat(r.file(path + "/manifest.json")); errors.Is(err, os.ErrNotExist) {
		t.Error("there is no backup")
	}
}
