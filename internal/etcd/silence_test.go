// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// TestSilence: the kinds of a member that does not answer: it is slow, it does not listen, it is not reached, or it has
// no leader.
func TestSilence(t *testing.T) {
	t.Parallel()
	pool, server := etcd.NewPool(), newSilent(t)
	defer pool.Keep(owner, nil)
	asked := func(target etcd.Target, limit time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		_, err := must(pool.Client(owner, target))(t).Status(ctx)
		return err
	}
	unreached := asked(server.target("pod-1"), pause) // TCP alone is no connection of gRPC
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	refusing := asked(server.target("pod-2"), patience)
	for _, test := range []struct {
		err  error
		want string
		slow bool
	}{
		{nil, "", false},
		{unreached, "no connection in time", false},
		{refusing, "it refuses connections", false},
		{context.DeadlineExceeded, "it has taken the connection, and does not answer in time", true},
		{rpctypes.ErrGRPCTimeout, "it has taken the connection, and does not answer in time", true},
		{rpctypes.ErrGRPCNoLeader, "it has no leader", false},
		{rpctypes.ErrGRPCTimeoutDueToLeaderFail, "it has no leader", false},
		{errors.New("something else"), "", false},
	} {
		if got := etcd.Silence(test.err); got != test.want || etcd.IsSlow(test.err) != test.slow {
			t.Errorf("%v: %q, slow: %t", test.err, got, etcd.IsSlow(test.err))
		}
	}
}
