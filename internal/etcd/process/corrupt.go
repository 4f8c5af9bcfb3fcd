// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Rewrite puts another value of the same length in the place of one in the database of a member
// that does not run. etcd keeps no sum of its pages, and starts on it.
func (m *Member) Rewrite(value, other string) {
	m.t.Helper()
	path := filepath.Join(m.Data, "member", "snap", "db")
	content, err := os.ReadFile(path)
	if err != nil {
		m.t.Fatal(err)
	}
	if !bytes.Contains(content, []byte(value)) || len(value) != len(other) {
		m.t.Fatalf("%q is not in the database of %s, or %q is not as long", value, m.Name, other)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(content, []byte(value), []byte(other)), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// Raise raises the alarm CORRUPT for the member of that ID, as etcd's own checks do.
func (m *Member) Raise(ctx context.Context, id uint64) error {
	connection, err := grpc.NewClient("passthrough:///"+m.Client, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	_, err = etcdserverpb.NewMaintenanceClient(connection).Alarm(ctx, &etcdserverpb.AlarmRequest{
		Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: id, Alarm: etcdserverpb.AlarmType_CORRUPT,
	})
	return errors.Join(err, connection.Close())
}
