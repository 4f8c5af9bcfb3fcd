// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// Snapshot waits for the first message, which has the size.
func (c *client) Snapshot(ctx context.Context) (Snapshot, error) {
	const verb = "take snapshot"
	ctx, cancel := context.WithCancel(ctx)
	stream, err := c.maintenance.Snapshot(ctx, &etcdserverpb.SnapshotRequest{}, grpc.ForceCodecV2(newLender()))
	if err != nil {
		cancel()
		return Snapshot{}, failed(verb, err)
	}
	first, err := stream.Recv()
	if err != nil {
		cancel()
		return Snapshot{}, failed(verb, err)
	}
	return Snapshot{
		ReadCloser: &snapshotReader{stream: stream, cancel: cancel, blob: first.GetBlob()},
		// What remains does not count the sum.
		Size:           int64(first.GetRemainingBytes()) + int64(len(first.GetBlob())) + sha256.Size,
		StorageVersion: first.GetVersion(),
	}, nil
}

type snapshotReader struct {
	stream grpc.ServerStreamingClient[etcdserverpb.SnapshotResponse]
	cancel context.CancelFunc
	blob   []byte // of the last message, what is not read yet; it is lent
}

func (r *snapshotReader) Read(p []byte) (int, error) {
	for len(r.blob) == 0 {
		message, err := r.stream.Recv()
		if errors.Is(err, io.EOF) {
			return 0, io.EOF
		}
		if err != nil {
			return 0, failed("read snapshot", err)
		}
		r.blob = message.GetBlob()
	}
	n := copy(p, r.blob)
	r.blob = r.blob[n:]
	return n, nil
}

// Close ends the snapshot, so that the member may free its pages.
func (r *snapshotReader) Close() error {
	r.cancel()
	return nil
}
