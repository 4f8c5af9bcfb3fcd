// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"slices"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// lender decodes the messages of one snapshot, and lends their blobs: each is good until the next message is received.
//
// gRPC's own codec makes a copy of each, which a database of many GiB leaves to the garbage collector, from a buffer of its pool. That has
// buffers of 32 KiB and then of 1 MiB, and zeroes a whole one before it is used: for the messages of etcd, which are a little
// larger than 32 KiB, it zeroes thirty times as much as is read.
type lender struct {
	encoding.CodecV2 // for what is sent, and for the name
	message          []byte
}

func newLender() *lender { return &lender{CodecV2: encoding.GetCodecV2(proto.Name)} }

// Fields of a SnapshotResponse; the rest is skipped. See rpc.proto in go.etcd.io/etcd/api/v3/etcdserverpb.
const (
	remainingBytesField protowire.Number = 2
	blobField           protowire.Number = 3
	versionField        protowire.Number = 4
)

// Unmarshal takes back what it has lent.
func (l *lender) Unmarshal(data mem.BufferSlice, message any) error {
	response, ok := message.(*etcdserverpb.SnapshotResponse)
	if !ok {
		return l.CodecV2.Unmarshal(data, message)
	}
	l.message = slices.Grow(l.message[:0], data.Len())[:data.Len()]
	data.CopyTo(l.message)
	for rest := l.message; len(rest) > 0; {
		number, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return protowire.ParseError(n)
		}
		rest = rest[n:]
		switch {
		case number == remainingBytesField && kind == protowire.VarintType:
			response.RemainingBytes, n = protowire.ConsumeVarint(rest)
		case number == blobField && kind == protowire.BytesType:
			response.Blob, n = protowire.ConsumeBytes(rest)
		case number == versionField && kind == protowire.BytesType:
			response.Version, n = protowire.ConsumeString(rest)
		default:
			n = protowire.ConsumeFieldValue(number, kind, rest)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		rest = rest[n:]
	}
	return nil
}
