// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// TestAuthenticationIsSwitchedUnderClients: a client with a certificate with the name of a user writes on while authentication is
// enabled and disabled, by the leader and by a follower, even if it tries each call once. What a change of a user or role or the
// disabling may refuse are calls that are under way, by ErrAuthOldRevision, which etcd's own client repeats.
func TestAuthenticationIsSwitchedUnderClients(t *testing.T) {
	t.Parallel()
	w := newRealWorld(t, "m1", "m2")
	root := w.pairOfVoters(t)
	ctx := t.Context()
	prepareAuth(t, root, "app", "")
	time.Sleep(time.Second) // as the operator does
	var clients []*caller
	for _, member := range []string{"m1", "m2"} {
		for _, tries := range []uint{1, 0} {
			clients = append(clients, w.caller(t, member, tries))
		}
	}
	for range 10 {
		want(t, "enabling", root.EnableAuth(ctx), nil)
		time.Sleep(50 * time.Millisecond)
		want(t, "disabling", root.DisableAuth(ctx), nil)
		time.Sleep(50 * time.Millisecond)
	}
	for _, c := range clients {
		c.ended(t)
	}
}

// TestWhatAuthenticationReachesLate: a client with a password that has connected before authentication was enabled is no user until it
// connects again, and a watch goes on that was opened before its user was deleted. Guides say so.
func TestWhatAuthenticationReachesLate(t *testing.T) {
	t.Parallel()
	w := newRealWorld(t, "m1")
	w.start(t, "m1")
	root := w.client(t, "m1")
	eventually(t, "m1 to serve", func() error { return root.Read(t.Context()) })
	prepareAuth(t, root, "app", "secret")
	connect := func(name, user, password string) *clientv3.Client {
		config := w.settings(t, "m1", name)
		config.Username, config.Password = user, password
		made := must(clientv3.New(config))(t)
		t.Cleanup(func() { _ = made.Close() })
		return made
	}
	early := connect("", "app", "secret")
	want(t, "a write before", second(early.Put(t.Context(), "key", "value")), nil)
	want(t, "enabling", root.EnableAuth(t.Context()), nil)
	want(t, "a write of one that connected before", second(early.Put(t.Context(), "key", "value")), rpctypes.ErrPermissionDenied)
	want(t, "a write of one that connects now", second(connect("", "app", "secret").Put(t.Context(), "key", "value")), nil)

	app := connect("app", "", "")
	watch := app.Watch(t.Context(), "key", clientv3.WithCreatedNotify())
	if created := <-watch; !created.Created {
		t.Fatalf("the watch is not open: %v", created.Err())
	}
	must(root.DeleteUser(t.Context(), "app"))(t)
	want(t, "a read of a user that is gone", second(app.Get(t.Context(), "key")), rpctypes.ErrPermissionDenied)
	want(t, "a write of root", second(connect("root", "", "").Put(t.Context(), "key", "seen")), nil)
	select {
	case seen := <-watch:
		if seen.Err() != nil || len(seen.Events) == 0 || string(seen.Events[0].Kv.Value) != "seen" {
			t.Errorf("the watch shows %+v: %v", seen.Events, seen.Err())
		}
	case <-time.After(patience):
		t.Error("the watch shows nothing")
	}
}

// prepareAuth makes a user with a role that may do everything with keys, and root.
func prepareAuth(t *testing.T, root etcd.Client, user, password string) {
	t.Helper()
	ctx := t.Context()
	all := etcd.Permission{Read: true, Write: true, Key: etcd.NoEnd, End: etcd.NoEnd}
	for _, do := range []func() error{
		func() error { return second(root.AddRole(ctx, user)) },
		func() error { return root.Grant(ctx, user, all) },
		func() error { return second(root.AddUser(ctx, user, password)) },
		func() error { return second(root.GrantRole(ctx, user, user)) },
		func() error { return second(root.AddUser(ctx, "root", "")) },
		func() error { return second(root.AddRole(ctx, "root")) },
		func() error { return second(root.GrantRole(ctx, "root", "root")) },
	} {
		want(t, "preparing", do(), nil)
	}
}

// settings are those of a client of one member, with a certificate of that name.
func (w *realWorld) settings(t *testing.T, member, name string) clientv3.Config {
	t.Helper()
	request := pki.Request{CommonName: name, Client: true}
	if name == "" { // beside a password
		request.Organization, request.DNSNames = "test", []string{"app.example"}
	}
	config := must(pki.ClientConfig(w.ca.CertPEM, w.issue(t, request)))(t)
	config.ServerName = serverName(member)
	return clientv3.Config{
		Endpoints: []string{"https://" + w.members[member].client}, TLS: config, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithAuthority(config.ServerName), grpc.WithNoProxy()},
	}
}

// pairOfVoters starts m1, and m2 as its follower.
func (w *realWorld) pairOfVoters(t *testing.T) etcd.Client {
	t.Helper()
	w.start(t, "m1")
	root := w.client(t, "m1")
	eventually(t, "m1 to serve", func() error { return root.Read(t.Context()) })
	var id uint64
	eventuallyReady(t, "m2 to be added", func() error {
		added, err := root.AddLearner(t.Context(), w.peerURL("m2"))
		id = added.ID
		return err
	})
	w.start(t, "m2")
	eventuallyReady(t, "m2 to be promoted", func() error { return root.Promote(t.Context(), id) })
	eventually(t, "m2 to serve", func() error { return w.client(t, "m2").Read(t.Context()) })
	return root
}

// enough is how many writes a caller makes at least, however slow the disk is.
const enough = 20

// A caller writes and reads all the time, by way of one member, as the user app.
type caller struct {
	once                      bool // tries each call once
	stop                      context.CancelFunc
	done                      sync.WaitGroup
	writes, reads             int
	failedWrites, failedReads []error
}

// caller tries each call so often; 0 is the default of etcd's client.
func (w *realWorld) caller(t *testing.T, member string, tries uint) *caller {
	t.Helper()
	config := w.settings(t, member, "app")
	config.MaxUnaryRetries = tries
	made := must(clientv3.New(config))(t)
	ctx, cancel := context.WithCancel(t.Context())
	c := &caller{once: tries == 1, stop: cancel}
	c.done.Go(func() {
		defer made.Close() //nolint:errcheck // nothing is under way
		for ctx.Err() == nil || c.writes < enough {
			if _, err := made.Put(context.WithoutCancel(ctx), "key", "value"); err != nil {
				c.failedWrites = append(c.failedWrites, err)
			}
			if _, err := made.Get(context.WithoutCancel(ctx), "key"); err != nil {
				c.failedReads = append(c.failedReads, err)
			}
			c.writes, c.reads = c.writes+1, c.reads+1
		}
	})
	return c
}

// ended wants that nothing has failed but what a client that tries once must expect.
func (c *caller) ended(t *testing.T) {
	t.Helper()
	c.stop()
	c.done.Wait()
	t.Logf("tries once: %t; %d writes, %d failed, %d reads, %d failed", c.once, c.writes, len(c.failedWrites), c.reads, len(c.failedReads))
	if len(c.failedWrites) > 0 {
		t.Errorf("of %d writes failed %v", c.writes, c.failedWrites)
	}
	for _, err := range c.failedReads {
		if !c.once || !errors.Is(err, rpctypes.ErrAuthOldRevision) {
			t.Errorf("a read failed: %v", err)
		}
	}
}
