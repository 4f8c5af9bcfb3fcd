// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"
	"path"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// A member may be compromised, and answer with what takes all memory of the operator: two bytes on the wire are an
// empty member, which takes a hundred when it is decoded. So the bytes of an answer are limited, and how many fields it has, before
// it is decoded. A snapshot is a stream, and is not limited here.
const (
	longestAnswer = 64 << 10 // bytes: that of a list of members has one or two thousand
	mostFields    = 256      // an import puts 100 keys at once
	longestNames  = 1 << 20  // lists of users and roles, and the permissions of a role
	mostNames     = 20000
	mostItems     = 1 << 20  // a page of keys is limited by its bytes; leases, and the keys of one, are as many as there are
	longestHeader = 16 << 10 // words of an error, among others
)

// limitAnswer refuses an answer that is larger than any that etcd gives.
func limitAnswer(ctx context.Context, method string, request, reply any, connection *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	bytes, fields := longestAnswer, mostFields
	if ctx.Value(large{}) != nil {
		bytes, fields = largestPage, mostItems
	}
	switch path.Base(method) {
	case "UserList", "UserGet", "RoleList", "RoleGet":
		bytes, fields = longestNames, mostNames
	case "Range":
		if r, is := request.(*etcdserverpb.RangeRequest); is && r.GetLimit() == sampledKeys {
			bytes = sampledKeys * largestValue
		}
	}
	counting := counter{encoding.GetCodecV2(proto.Name), fields}
	return invoke(ctx, method, request, reply, connection,
		append(options, grpc.MaxCallRecvMsgSize(bytes), grpc.ForceCodecV2(counting))...)
}

// counter decodes no message that has more fields, repetitions counted.
type counter struct {
	encoding.CodecV2
	most int
}

func (c counter) Unmarshal(data mem.BufferSlice, message any) error {
	rest := data.Materialize()
	for fields := 0; len(rest) > 0; fields++ {
		if fields == c.most {
			return fmt.Errorf("the answer has more than %d fields, as no etcd gives", c.most)
		}
		_, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			return protowire.ParseError(n)
		}
		rest = rest[n:]
	}
	return c.CodecV2.Unmarshal(data, message)
}
