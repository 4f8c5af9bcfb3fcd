// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"bytes"
	"context"
	"net"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// raw sends bytes as they are.
type raw struct{}

func (raw) Name() string { return "proto" }
func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil //nolint:forcetypeassert // nothing else is sent here
}
func (raw) Unmarshal(mem.BufferSlice, any) error { return nil }

// hostile is a member that answers every call with these bytes, or with an error of these words.
func hostile(t *testing.T, answer []byte, words string) etcd.Client {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.ForceServerCodecV2(raw{}), grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if words != "" {
			return status.Error(codes.Unknown, words)
		}
		if err := stream.RecvMsg(&[]byte{}); err != nil {
			return err
		}
		return stream.SendMsg(&answer)
	}))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	pool := etcd.NewPool()
	t.Cleanup(func() { pool.Keep("owner", nil) })
	client, err := pool.Client("owner", etcd.Target{Address: listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestFault99HostileAnswers: what a member answers costs the operator a few MiB at most, however many things the answer has. The
// measure has what the server takes, too.
func TestFault99HostileAnswers(t *testing.T) {
	const most = 24 << 20
	calls := map[string]func(context.Context, etcd.Client) error{
		"members": func(ctx context.Context, c etcd.Client) error { _, err := c.Members(ctx); return err },
		"status":  func(ctx context.Context, c etcd.Client) error { _, err := c.Status(ctx); return err },
		"read":    func(ctx context.Context, c etcd.Client) error { return c.Read(ctx) },
		"users":   func(ctx context.Context, c etcd.Client) error { _, err := c.Users(ctx); return err },
		"roles":   func(ctx context.Context, c etcd.Client) error { _, err := c.Roles(ctx); return err },
		"role":    func(ctx context.Context, c etcd.Client) error { _, err := c.Role(ctx, "a"); return err },
	}
	for name, call := range calls {
		for size, answer := range map[string][]byte{
			"as much as gRPC takes":      bytes.Repeat([]byte{0x12, 0}, 2<<20-8),
			"as many as the limit takes": bytes.Repeat([]byte{0x12, 0}, 32<<10-8),
			"errors of a status":         bytes.Repeat([]byte{0x42, 0}, 32<<10-8),
		} {
			t.Run(name+", "+size, func(t *testing.T) {
				client := hostile(t, answer, "")
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				err := call(t.Context(), client)
				runtime.ReadMemStats(&after)
				took := after.TotalAlloc - before.TotalAlloc
				t.Logf("%d KiB were allocated: %v", took>>10, err)
				isAnswered := strings.HasPrefix(size, "errors") && name != "status" // fields that nothing knows are skipped
				if err == nil && !isAnswered || took > most {
					t.Errorf("%d MiB were allocated: %v", took>>20, err)
				}
			})
		}
	}
}

// TestManyUsers: etcd may have more users than any cluster of the operator.
func TestManyUsers(t *testing.T) {
	const many = 10000
	name := "service-account-of-a-team-somewhere"
	answer := bytes.Repeat(append([]byte{0x12, byte(len(name))}, name...), many)
	if all, err := hostile(t, answer, "").Users(t.Context()); err != nil || len(all) != many || all[many-1] != name {
		t.Errorf("%d users: %v", len(all), err)
	}
}

// The words of an error are limited as well.
func TestHostileError(t *testing.T) {
	err := hostile(t, nil, strings.Repeat("x", 1<<20)).Read(t.Context())
	if err == nil || len(err.Error()) > 32<<10 {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
}
