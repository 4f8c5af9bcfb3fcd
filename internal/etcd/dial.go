// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"net"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

const (
	// A dead peer is noticed by the kernel: it probes a silent connection every
	// probeInterval, and drops it when nothing was acknowledged for peerTimeout.
	// gRPC's own pings cannot do this, as they must be at least 10 s apart and
	// etcd hangs up on clients that ping an idle connection.
	probeInterval = 2 * time.Second
	peerTimeout   = 6 * time.Second
	pingInterval  = 10 * time.Second // least that gRPC allows; switches peerTimeout on

	// dialTimeout leaves time for one repetition of a lost first packet.
	dialTimeout = 2 * time.Second

	// redialGrace is how long a call to a member that was down waits for a new
	// attempt to connect: a few times what a TLS handshake takes.
	redialGrace = 50 * time.Millisecond

	// outdatedTries is how often a call is tried that etcd refuses because users have changed meanwhile, as by etcd's own client.
	outdatedTries = 100

	// window in bytes is what a member may send before the answer is read. It matters for snapshots alone, in which gRPC would
	// look for one of its own by a ping in each round trip.
	window = 1 << 20
)

// reconnect is how gRPC redials on its own, between calls.
var reconnect = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
	MinConnectTimeout: dialTimeout,
}

// dial makes a connection that connects when it is first used. The address is
// taken as it is: no resolver, no proxy, no service config. The user is nil where certificates say who a client is.
func dial(target Target, user *authenticated) (*grpc.ClientConn, error) {
	interceptors := []grpc.UnaryClientInterceptor{repeatOutdated, redialFirst, limitAnswer}
	if user != nil {
		interceptors = append([]grpc.UnaryClientInterceptor{user.intercept}, interceptors...)
	}
	return grpc.NewClient("passthrough:///"+target.Address,
		grpc.WithTransportCredentials(target.credentials()),
		grpc.WithContextDialer(dialTCP),
		grpc.WithConnectParams(reconnect),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingInterval, Timeout: peerTimeout}),
		grpc.WithStaticStreamWindowSize(window),
		grpc.WithStaticConnWindowSize(window),
		grpc.WithChainUnaryInterceptor(interceptors...),
		grpc.WithMaxHeaderListSize(longestHeader),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
	)
}

// credentials verify the member's certificate against its name although the
// address is an IP that no certificate need have.
func (t Target) credentials() credentials.TransportCredentials {
	if t.TLS == nil {
		return insecure.NewCredentials()
	}
	config := t.TLS.Clone()
	if t.ServerName != "" {
		config.ServerName = t.ServerName
	}
	return credentials.NewTLS(config)
}

func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	dialer := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable:   true,
		Idle:     probeInterval,
		Interval: probeInterval,
		Count:    int(peerTimeout / probeInterval),
	}}
	return dialer.DialContext(ctx, "tcp", address)
}

// redialFirst makes a call to a member that was down try the connection at
// once instead of reporting the failure of an earlier attempt. While it is
// still down the call fails after redialGrace with the reason.
func redialFirst(ctx context.Context, method string, request, reply any, connection *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	if connection.GetState() == connectivity.TransientFailure {
		connection.ResetConnectBackoff()
		grace, cancel := context.WithTimeout(ctx, redialGrace)
		connection.WaitForStateChange(grace, connectivity.TransientFailure)
		cancel()
	}
	return invoke(ctx, method, request, reply, connection, options...)
}

// repeatOutdated repeats a call that etcd refused because a user, a role or the authentication has changed while it was under way. etcd
// has done nothing then, and the refusal says nothing of its health: etcd's own client repeats such calls, too.
func repeatOutdated(ctx context.Context, method string, request, reply any, connection *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	var err error
	for range outdatedTries {
		err = invoke(ctx, method, request, reply, connection, options...)
		if !is(err, rpctypes.ErrAuthOldRevision) {
			break
		}
	}
	return err
}
