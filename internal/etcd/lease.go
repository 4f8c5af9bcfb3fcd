// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// ErrNoLease means that etcd does not have the lease, or no longer.
var ErrNoLease = errors.New("etcd has no such lease")

// Leases writes keys that do not stay. The operator itself never does: the Job of a drill does, which measures how a cluster takes writes.
type Leases struct {
	leases etcdserverpb.LeaseClient
	keys   etcdserverpb.KVClient
}

// Leases returns the owner's client for a target, over the connection that Client uses.
func (p *Pool) Leases(owner string, target Target) (Leases, error) {
	connection, err := p.connection(owner, target)
	if err != nil {
		return Leases{}, err
	}
	return Leases{etcdserverpb.NewLeaseClient(connection), etcdserverpb.NewKVClient(connection)}, nil
}

// Grant makes a lease that ends after that time, unless it is kept alive. etcd counts in whole seconds.
func (l Leases) Grant(ctx context.Context, lasts time.Duration) (int64, error) {
	response, err := l.leases.LeaseGrant(ctx, &etcdserverpb.LeaseGrantRequest{TTL: int64(lasts / time.Second)})
	if err != nil {
		return 0, failed("grant lease", err)
	}
	return response.GetID(), nil
}

// KeepAlive makes a lease last for its whole time again. It is ErrNoLease if it has ended.
func (l Leases) KeepAlive(ctx context.Context, lease int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // which ends the stream
	stream, err := l.leases.LeaseKeepAlive(ctx)
	if err == nil {
		err = stream.Send(&etcdserverpb.LeaseKeepAliveRequest{ID: lease})
	}
	var response *etcdserverpb.LeaseKeepAliveResponse
	if err == nil {
		response, err = stream.Recv()
	}
	switch {
	case err != nil:
		return failed("keep lease alive", err)
	case response.GetTTL() <= 0:
		return ErrNoLease
	}
	return nil
}

// Revoke ends a lease, and deletes the keys that are bound to it. One that has ended is no error.
func (l Leases) Revoke(ctx context.Context, lease int64) error {
	_, err := l.leases.LeaseRevoke(ctx, &etcdserverpb.LeaseRevokeRequest{ID: lease})
	if err != nil && !is(err, rpctypes.ErrLeaseNotFound) {
		return failed("revoke lease", err)
	}
	return nil
}

// Put writes a key that is deleted with the lease. It is acknowledged once a quorum has it.
func (l Leases) Put(ctx context.Context, key KeyValue, lease int64) error {
	_, err := l.keys.Put(ctx, &etcdserverpb.PutRequest{Key: key.Key, Value: key.Value, Lease: lease})
	switch {
	case is(err, rpctypes.ErrLeaseNotFound):
		return ErrNoLease
	case err != nil:
		return failed("put key", err)
	}
	return nil
}
