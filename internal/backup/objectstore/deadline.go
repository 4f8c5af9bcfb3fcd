// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore

import (
	"context"
	"fmt"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// SlowestRate is what a store must do, in bytes per second. None of the libraries gives up on a store that
// takes 1 KB/s, and etcd holds a read transaction open for as long as its snapshot is read.
const SlowestRate = 128 << 10

// shortest is for requests with little content: a handshake and a store that thinks.
const shortest = 10 * time.Second

// deadline is how long a request may take, with all its retries.
func deadline(bytes int64) time.Duration {
	return max(shortest, time.Duration(bytes)*time.Second/SlowestRate)
}

// request is the context of one request, and knows why it ended.
type request struct {
	context.Context
	caller    context.Context
	cancel    context.CancelFunc
	timer     *time.Timer
	late      atomic.Bool
	connected atomic.Bool
}

// begin gives a request as long as so many bytes may take. The request must be ended.
func begin(caller context.Context, bytes int64) *request {
	r := &request{caller: caller}
	ctx, cancel := context.WithCancel(caller)
	r.cancel = cancel
	r.Context = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { r.connected.Store(true) },
	})
	r.timer = time.AfterFunc(deadline(bytes), func() {
		r.late.Store(true)
		cancel()
	})
	return r
}

// allow gives the request time for so many more bytes from now.
func (r *request) allow(bytes int64) { r.timer.Reset(deadline(bytes)) }

func (r *request) end() {
	r.timer.Stop()
	r.cancel()
}

// failed is what an error of this request means. A caller that ended it gets its own reason back. A deadline that passed
// means that the store is slow or cannot be reached, unless it did answer, and the library tried again until then.
func (r *request) failed(do, name string, err error) error {
	if err == nil {
		return nil
	}
	_, isAnswered := replyOf(err)
	switch {
	case r.caller.Err() != nil:
		return fmt.Errorf("%s %s: %w", do, name, context.Cause(r.caller))
	case isAnswered:
		return classify(do, name, err)
	case r.late.Load() && r.connected.Load():
		return &Error{Kind: Slow, Do: do, Name: name, Message: "less than 128 KiB per second", cause: err}
	case r.late.Load():
		return &Error{Kind: Unreachable, Do: do, Name: name, Message: "no connection in time", cause: err}
	}
	return classify(do, name, err)
}
