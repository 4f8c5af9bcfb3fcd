// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"slices"
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// authenticated adds the token of a user to each call to the members of one cluster, and asks for another one when that is not accepted: a
// call that is refused for it has had no effect. Every member that runs learns of a token through the log. A learner gives none, and one
// that has just joined knows none of before: then another member is asked for a new one. Where authentication is not enabled no token is
// needed.
type authenticated struct {
	user, password string

	mutex       sync.Mutex
	token       string
	connections []*grpc.ClientConn
}

// over adds a connection by which tokens may be asked for.
func (u *authenticated) over(connection *grpc.ClientConn) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.connections = append(u.connections, connection)
}

// without drops a connection that is closed.
func (u *authenticated) without(connection *grpc.ClientConn) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.connections = slices.DeleteFunc(u.connections, func(c *grpc.ClientConn) bool { return c == connection })
}

func (u *authenticated) intercept(ctx context.Context, method string, request, reply any, connection *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	if method == etcdserverpb.Auth_Authenticate_FullMethodName {
		return invoke(ctx, method, request, reply, connection, options...)
	}
	err := invoke(u.with(ctx), method, request, reply, connection, options...)
	if !is(err, rpctypes.ErrInvalidAuthToken) && !is(err, rpctypes.ErrUserEmpty) && !is(err, rpctypes.ErrPermissionDenied) {
		return err
	}
	if refused := u.renew(ctx, connection); refused != nil {
		return refused
	}
	return invoke(u.with(ctx), method, request, reply, connection, options...)
}

// renew asks for another token: the member of the connection first, then the others.
func (u *authenticated) renew(ctx context.Context, first *grpc.ClientConn) error {
	u.mutex.Lock()
	ways := append([]*grpc.ClientConn{first}, u.connections...)
	u.mutex.Unlock()
	var refused error
	for _, way := range slices.Compact(ways) {
		answer, err := etcdserverpb.NewAuthClient(way).Authenticate(ctx, &etcdserverpb.AuthenticateRequest{Name: u.user, Password: u.password})
		if err == nil {
			u.mutex.Lock()
			u.token = answer.GetToken()
			u.mutex.Unlock()
			return nil
		}
		if refused == nil {
			refused = err
		}
	}
	return refused
}

func (u *authenticated) with(ctx context.Context) context.Context {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, rpctypes.TokenFieldNameGRPC, u.token)
}
