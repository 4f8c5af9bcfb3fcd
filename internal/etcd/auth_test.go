// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// TestAuthenticationWithoutTLS: if no certificate names the user, etcd reports even its
// status to authenticated users only.
func TestAuthenticationWithoutTLS(t *testing.T) {
	ofVersions(t, process.Versions, func(t *testing.T, version string) {
		c := process.Run(t, version, 1)
		if _, err := c.Client("m1").Status(t.Context()); err != nil {
			t.Fatal(err)
		}
		enableAuth(t, c.Member("m1").Client)
		if _, err := c.Client("m1").Status(t.Context()); !etcd.WantsUser(err) {
			t.Errorf("status: %v", err)
		}
		if err := c.Client("m1").Read(t.Context()); !etcd.WantsUser(err) {
			t.Errorf("read: %v", err)
		}
		if _, err := c.Client("m1").Snapshot(t.Context()); !etcd.WantsRoot(err) {
			t.Errorf("snapshot: %v", err)
		}
		c.Member("m1").Stop()
		if _, err := c.Client("m1").Status(t.Context()); err == nil || etcd.WantsUser(err) {
			t.Errorf("status of one that has stopped: %v", err)
		}
	})
}

// TestWantsRoot: a user of etcd that has another role is not enough for a snapshot.
func TestWantsRoot(t *testing.T) {
	for _, err := range []error{
		rpctypes.ErrUserEmpty, rpctypes.ErrPermissionDenied, rpctypes.ErrUserNotFound, errors.New("auth: user not found"),
	} {
		if !etcd.WantsRoot(fmt.Errorf("take snapshot: %w", err)) {
			t.Errorf("%v is not understood", err)
		}
	}
	if etcd.WantsRoot(fmt.Errorf("take snapshot: %w", rpctypes.ErrNoLeader)) {
		t.Error("root cannot help where there is no leader")
	}
}

// enableAuth does what etcdctl does, with the user root that it takes.
func enableAuth(t *testing.T, address string) {
	t.Helper()
	connection, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	auth := etcdserverpb.NewAuthClient(connection)
	for _, do := range []func(context.Context) error{
		func(ctx context.Context) error {
			_, err := auth.UserAdd(ctx, &etcdserverpb.AuthUserAddRequest{Name: "root", Password: "secret"})
			return err
		},
		func(ctx context.Context) error {
			_, err := auth.RoleAdd(ctx, &etcdserverpb.AuthRoleAddRequest{Name: "root"})
			return err
		},
		func(ctx context.Context) error {
			_, err := auth.UserGrantRole(ctx, &etcdserverpb.AuthUserGrantRoleRequest{User: "root", Role: "root"})
			return err
		},
		func(ctx context.Context) error {
			_, err := auth.AuthEnable(ctx, &etcdserverpb.AuthEnableRequest{})
			return err
		},
	} {
		if err := do(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
