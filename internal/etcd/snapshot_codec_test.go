// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// TestLenderDecodesAsGRPCDoes, messages in one piece and in several.
func TestLenderDecodesAsGRPCDoes(t *testing.T) {
	source := rand.NewChaCha8([32]byte{})
	codec, random := newLender(), rand.New(source)
	for i := range 200 {
		sent := &etcdserverpb.SnapshotResponse{
			RemainingBytes: random.Uint64() >> random.IntN(64), Version: []string{"", "3.6.0", "3.7.0"}[i%3],
			Blob: make([]byte, random.IntN(40_000)),
		}
		_, _ = source.Read(sent.GetBlob()) // never fails
		if i%2 == 0 {
			sent.Header = &etcdserverpb.ResponseHeader{ClusterId: random.Uint64(), Revision: random.Int64()}
		}
		wire, err := proto.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		wire = protowire.AppendTag(wire, 77, protowire.Fixed64Type) // of an etcd to come
		wire = protowire.AppendFixed64(wire, 7)
		want, got := &etcdserverpb.SnapshotResponse{}, &etcdserverpb.SnapshotResponse{}
		if err := codec.CodecV2.Unmarshal(pieces(wire, 1+i%4), want); err != nil {
			t.Fatal(err)
		}
		if err := codec.Unmarshal(pieces(wire, 1+i%4), got); err != nil {
			t.Fatal(err)
		}
		if got.GetRemainingBytes() != want.GetRemainingBytes() || got.GetVersion() != want.GetVersion() ||
			!bytes.Equal(got.GetBlob(), want.GetBlob()) {
			t.Fatalf("message %d: %d bytes remain, version %q, a blob of %d bytes; want %d, %q, %d", i, got.GetRemainingBytes(), got.GetVersion(),
				len(got.GetBlob()), want.GetRemainingBytes(), want.GetVersion(), len(want.GetBlob()))
		}
	}
}

// TestLenderRefusesWhatIsCutShort, wherever that is.
func TestLenderRefusesWhatIsCutShort(t *testing.T) {
	wire, err := proto.Marshal(&etcdserverpb.SnapshotResponse{RemainingBytes: 1 << 40, Blob: []byte("blob"), Version: "3.7.0"})
	if err != nil {
		t.Fatal(err)
	}
	for n := range wire {
		message := &etcdserverpb.SnapshotResponse{}
		err := newLender().Unmarshal(pieces(wire[:n], 1), message)
		if whole := proto.Unmarshal(wire[:n], &etcdserverpb.SnapshotResponse{}) == nil; whole != (err == nil) {
			t.Errorf("%d bytes of %d: %v", n, len(wire), err)
		}
	}
}

// pieces cuts a message as HTTP/2 does.
func pieces(wire []byte, n int) mem.BufferSlice {
	var all mem.BufferSlice
	for size := len(wire)/n + 1; len(wire) > 0; {
		cut := min(size, len(wire))
		all, wire = append(all, mem.SliceBuffer(wire[:cut])), wire[cut:]
	}
	return all
}
