// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore

import (
	"context"
	"errors"
	"net/http/httptrace"
	"testing"
	"testing/synctest"
	"time"
)

func TestDeadline(t *testing.T) {
	for bytes, want := range map[int64]time.Duration{
		0: 10 * time.Second, 1 << 20: 10 * time.Second, 8 << 20: 64 * time.Second, MaxObject + 1: 128 * time.Second,
	} {
		if got := deadline(bytes); got != want {
			t.Errorf("%d bytes: %s, want %s", bytes, got, want)
		}
	}
}

func TestLateRequests(t *testing.T) {
	connect := func(r *request) { httptrace.ContextClientTrace(r).GotConn(httptrace.GotConnInfo{}) }
	for name, test := range map[string]struct {
		during func(*request)
		after  time.Duration
		want   Kind
	}{
		"no connection":       {func(*request) {}, 10 * time.Second, Unreachable},
		"no answer":           {connect, 10 * time.Second, Slow},
		"a long answer, slow": {func(r *request) { connect(r); r.allow(8 << 20) }, 64 * time.Second, Slow},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := begin(t.Context(), 0)
				defer r.end()
				test.during(r)
				began := time.Now()
				<-r.Done()
				if got := time.Since(began); got != test.after {
					t.Errorf("given up after %s, want %s", got, test.after)
				}
				if err := r.failed("read", "a", r.Err()); !errors.Is(err, test.want) {
					t.Errorf("%v, want %s", err, test.want)
				}
			})
		})
	}
}

func TestCallersReason(t *testing.T) {
	reason := errors.New("the Job ends")
	ctx, cancel := context.WithCancelCause(t.Context())
	r := begin(ctx, 0)
	defer r.end()
	cancel(reason)
	if err := r.failed("read", "a", r.Err()); !errors.Is(err, reason) {
		t.Errorf("%v, want the caller's reason", err)
	}
}
