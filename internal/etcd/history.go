// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Event is one change of one key, with all that etcd keeps of it.
type Event struct {
	Revision, Sub int64
	Deleted       bool
	Key, Value    []byte

	// Of a put only: the revision at which the key was created, how often it was put since, and its lease; 0: none.
	CreateRevision, Version, Lease int64
}

// Delivery is what a member sends of its history at once.
type Delivery struct {
	// Events are in the order of the history. If there are none, the member only says how far it is.
	Events []Event
	// Complete is the revision up to which everything was delivered. The last event may be of the revision after it: one with very many events
	// comes in several deliveries.
	Complete int64
}

// CompactedError is ErrCompacted, with the revision up to which the member has no history any more.
type CompactedError struct{ From, Compacted int64 }

func (e *CompactedError) Error() string {
	return fmt.Sprintf("the history from revision %d on cannot be read: it was compacted up to revision %d", e.From, e.Compacted)
}

// Unwrap is ErrCompacted.
func (e *CompactedError) Unwrap() error { return ErrCompacted }

// SilenceError means that a member has not answered for so long, on a watch that was open.
type SilenceError struct{ Lasted time.Duration }

func (e *SilenceError) Error() string {
	return fmt.Sprintf("the member has sent nothing for %s, and was asked how far it is", e.Lasted)
}

// silences is how many questions in a row a member may leave without an answer. It answers none while it reads what a watch has to catch
// up with, all of it at once: a minute is given for that, at one question each five seconds. For each event of a fragment it computes the
// size of all before it again: for 28,000 small ones a member of 3.7.3 takes 20 s, and one of 3.6.16 4 s. A connection that is dead, and a
// member without a leader, are noticed earlier.
const silences = 12

func (c *client) History(ctx context.Context, from int64, ask time.Duration, each func(Delivery) error) error {
	// Without it a member that was cut off from the others would be silent, and the watch would stay open.
	ctx = metadata.AppendToOutgoingContext(ctx, rpctypes.MetadataRequireLeaderKey, rpctypes.MetadataHasLeader)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil) // which ends the stream
	stream, err := c.watch.Watch(ctx, grpc.MaxCallRecvMsgSize(largestPage))
	if err == nil {
		err = stream.Send(&etcdserverpb.WatchRequest{RequestUnion: &etcdserverpb.WatchRequest_CreateRequest{
			CreateRequest: &etcdserverpb.WatchCreateRequest{
				Key: []byte{0}, RangeEnd: []byte{0}, StartRevision: from, Fragment: true, ProgressNotify: true,
			},
		}})
	}
	if err != nil {
		return dataFailed("watch the history", err)
	}
	heard := make(chan struct{}, 1)
	go askProgress(ctx, stop, stream, ask, heard)
	h := history{from: from}
	for {
		response, err := stream.Recv()
		if silent := (*SilenceError)(nil); errors.As(context.Cause(ctx), &silent) {
			return silent
		}
		if err != nil {
			return dataFailed("watch the history", err)
		}
		select {
		case heard <- struct{}{}:
		default:
		}
		if err := h.pass(response, each); err != nil {
			return err
		}
	}
}

// askProgress asks the member how far it is, and stops a watch on which nothing comes.
func askProgress(ctx context.Context, stop context.CancelCauseFunc, stream etcdserverpb.Watch_WatchClient, every time.Duration,
	heard <-chan struct{},
) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for unheard := 0; unheard <= silences; {
		select {
		case <-ctx.Done():
			return
		case <-heard:
			unheard = 0
		case <-ticker.C:
			unheard++
			request := &etcdserverpb.WatchRequest_ProgressRequest{ProgressRequest: &etcdserverpb.WatchProgressRequest{}}
			if stream.Send(&etcdserverpb.WatchRequest{RequestUnion: request}) != nil {
				return // receiving fails, too
			}
		}
	}
	stop(&SilenceError{silences * every})
}

// history numbers the events of a watch within their revisions.
type history struct {
	from           int64
	revision, subs int64 // of the last event
}

// pass calls each with what a response has, if it has anything.
func (h *history) pass(response *etcdserverpb.WatchResponse, each func(Delivery) error) error {
	d, err := h.read(response)
	if err != nil || d.Complete == 0 && len(d.Events) == 0 {
		return err
	}
	return each(d)
}

func (h *history) read(response *etcdserverpb.WatchResponse) (Delivery, error) {
	switch {
	case response.GetCompactRevision() > 0:
		return Delivery{}, &CompactedError{From: h.from, Compacted: response.GetCompactRevision()}
	case response.GetCanceled():
		return Delivery{}, fmt.Errorf("watch the history: etcd ends it: %s", response.GetCancelReason())
	case response.GetCreated():
		return Delivery{}, nil // its revision is that of the member, which says nothing of what was delivered
	}
	d := Delivery{Complete: response.GetHeader().GetRevision()}
	for _, event := range response.GetEvents() {
		kv := event.GetKv()
		if h.subs++; kv.GetModRevision() != h.revision {
			h.revision, h.subs = kv.GetModRevision(), 0
		}
		e := Event{Revision: h.revision, Sub: h.subs, Key: kv.GetKey(), Deleted: event.GetType() == mvccpb.Event_DELETE}
		if !e.Deleted {
			e.Value, e.CreateRevision, e.Version, e.Lease = kv.GetValue(), kv.GetCreateRevision(), kv.GetVersion(), kv.GetLease()
		}
		d.Events = append(d.Events, e)
		d.Complete = h.revision
	}
	if response.GetFragment() {
		d.Complete--
	}
	return d, nil
}
