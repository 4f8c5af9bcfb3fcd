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
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var (
	// ErrCompacted means that etcd no longer has the history that was asked for.
	ErrCompacted = errors.New("the revision was compacted")
	// ErrTooLarge means that a request or an answer has more bytes than it may have: ask for less at once.
	ErrTooLarge = errors.New("too large")
	// ErrChanged means that a key was written meanwhile, so that a transaction which depends on it had no effect.
	ErrChanged = errors.New("the key has changed meanwhile")
)

// Data are the calls that copy keys from one cluster to another, or make them as they were. They need a quorum, except Watch.
type Data interface {
	// Page is at most limit keys from one key on, in their order, as they were at that revision; 0: as they are. It is ErrTooLarge if
	// they have more than largestPage bytes, and ErrCompacted if the revision was.
	Page(ctx context.Context, from []byte, revision, limit int64) (Page, error)
	// Get is one key; its Changed is 0 if it does not exist.
	Get(ctx context.Context, key []byte) (Item, error)
	// Watch calls each with changes of all keys from a revision on, in their order, until the context ends or each returns an error.
	// Everything up to the revision complete was passed then. It is ErrCompacted if the revision was.
	Watch(ctx context.Context, from int64, each func(changes []Change, complete int64) error) error
	// History calls each with every change of every key from a revision on, in their order, until the context ends or each returns an error.
	// Every ask, which is more than 0, the member says how far it is; if it does not, it is a *SilenceError. It is a *CompactedError if the
	// revision was compacted. A revision that is not written yet is waited for; some releases tell older ones then.
	History(ctx context.Context, from int64, ask time.Duration, each func(Delivery) error) error
	// Apply makes changes and puts one more key, the mark, in one transaction, if the mark was last changed at the revision before; 0: if
	// there is none. It returns the revision that the data then has. No two changes may have one key. It is ErrChanged if the mark is
	// another one.
	Apply(ctx context.Context, changes []Change, mark KeyValue, before int64) (int64, error)
	// ApplyIf makes those of the changes whose key still has the revision that it must have, all in one transaction. It says for each
	// whether it was made, and returns the revision that the data then has. No two changes may have one key. It is ErrTooLarge, and nothing
	// is made, if they are more bytes than a request may have, or more than --max-txn-ops, less one.
	ApplyIf(ctx context.Context, changes []Guarded) (made []bool, revision int64, err error)
	// Put writes one key, and returns the revision that the data then has.
	Put(ctx context.Context, key KeyValue) (int64, error)
	// Delete deletes a key, if there is one.
	Delete(ctx context.Context, key []byte) error

	// Raise raises an alarm.
	Raise(ctx context.Context, alarm Alarm) error

	// Leases are the IDs of all leases.
	Leases(ctx context.Context) ([]int64, error)
	// Lease is what etcd knows of a lease; ErrNoLease if it has ended.
	Lease(ctx context.Context, id int64) (Lease, error)
	// GrantLease makes a lease with that ID, unless there is one.
	GrantLease(ctx context.Context, lease Lease) error
	// Attach binds those of the keys to the lease that were not written after a revision; their values stay. It returns how many.
	Attach(ctx context.Context, id int64, keys [][]byte, revision int64) (int, error)
}

// Item is a key with its value, and with what etcd has noted of it.
type Item struct {
	KeyValue
	Lease    int64 // 0: none
	Changed  int64 // the revision at which it was last written
	Revision int64 // of all data when it was read
}

// Page is some of all keys.
type Page struct {
	Items    []Item
	More     bool
	Revision int64 // of all data when it was read
}

// Change is a write of a key.
type Change struct {
	KeyValue
	Deleted bool
	Lease   int64
}

// Guarded is a change of a key that must not have been written by others.
type Guarded struct {
	Change
	ModRevision int64 // that the key must have; 0: it must not exist
}

// Lease has an ID, the seconds that it was granted for, and the keys that are bound to it.
type Lease struct {
	ID, TTL int64
	Keys    [][]byte
}

// largestPage is how many bytes a page, or what a watch sends at once, has at most: some of the largest values that etcd takes.
const largestPage = 32 << 20

// large marks a call whose answer may be a page.
type large struct{}

func (c *client) Page(ctx context.Context, from []byte, revision, limit int64) (Page, error) {
	request := &etcdserverpb.RangeRequest{Key: from, RangeEnd: []byte{0}, Revision: revision, Limit: limit}
	if len(from) == 0 {
		request.Key = []byte{0}
	}
	response, err := c.keys.Range(context.WithValue(ctx, large{}, true), request)
	if err != nil {
		return Page{}, dataFailed("read keys", err)
	}
	page := Page{More: response.GetMore(), Revision: response.GetHeader().GetRevision()}
	for _, kv := range response.GetKvs() {
		page.Items = append(page.Items, itemFrom(kv, page.Revision))
	}
	return page, nil
}

func itemFrom(kv *mvccpb.KeyValue, revision int64) Item {
	return Item{KeyValue{kv.GetKey(), kv.GetValue()}, kv.GetLease(), kv.GetModRevision(), revision}
}

func (c *client) Get(ctx context.Context, key []byte) (Item, error) {
	response, err := c.keys.Range(context.WithValue(ctx, large{}, true), &etcdserverpb.RangeRequest{Key: key})
	if err != nil {
		return Item{}, dataFailed("read a key", err)
	}
	if len(response.GetKvs()) == 0 {
		return Item{Revision: response.GetHeader().GetRevision()}, nil
	}
	return itemFrom(response.GetKvs()[0], response.GetHeader().GetRevision()), nil
}

func (c *client) Watch(ctx context.Context, from int64, each func([]Change, int64) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // which ends the stream
	stream, err := c.watch.Watch(ctx, grpc.MaxCallRecvMsgSize(largestPage))
	if err == nil {
		// A member sends what is more than a request may have in fragments: the last one ends a revision.
		err = stream.Send(&etcdserverpb.WatchRequest{RequestUnion: &etcdserverpb.WatchRequest_CreateRequest{
			CreateRequest: &etcdserverpb.WatchCreateRequest{Key: []byte{0}, RangeEnd: []byte{0}, StartRevision: from, Fragment: true},
		}})
	}
	for err == nil {
		var response *etcdserverpb.WatchResponse
		if response, err = stream.Recv(); err != nil {
			break
		}
		if response.GetCompactRevision() > 0 {
			return fmt.Errorf("watch from revision %d on: %w", from, ErrCompacted)
		}
		if response.GetCanceled() {
			return fmt.Errorf("watch from revision %d on: etcd ends it: %s", from, response.GetCancelReason())
		}
		if changes, complete := changesIn(response); len(changes) > 0 {
			if err := each(changes, complete); err != nil {
				return err
			}
		}
	}
	return dataFailed("watch", err)
}

func changesIn(response *etcdserverpb.WatchResponse) (changes []Change, complete int64) {
	for _, event := range response.GetEvents() {
		kv := event.GetKv()
		changes = append(changes, Change{KeyValue{kv.GetKey(), kv.GetValue()}, event.GetType() == mvccpb.Event_DELETE, kv.GetLease()})
		complete = kv.GetModRevision()
	}
	if response.GetFragment() {
		complete--
	}
	return changes, complete
}

func (c *client) Apply(ctx context.Context, changes []Change, mark KeyValue, before int64) (int64, error) {
	request := &etcdserverpb.TxnRequest{Compare: []*etcdserverpb.Compare{{
		Key: mark.Key, Target: etcdserverpb.Compare_MOD, Result: etcdserverpb.Compare_EQUAL,
		TargetUnion: &etcdserverpb.Compare_ModRevision{ModRevision: before},
	}}}
	for _, change := range changes {
		request.Success = append(request.Success, operation(change))
	}
	request.Success = append(request.Success, operation(Change{KeyValue: mark}))
	response, err := c.keys.Txn(ctx, request)
	switch {
	case err != nil:
		return 0, dataFailed("write keys", err)
	case !response.GetSucceeded():
		return 0, fmt.Errorf("write keys: %w", ErrChanged)
	}
	return response.GetHeader().GetRevision(), nil
}

// ApplyIf asks for each key by itself, in a nested transaction, as PutMissing does.
func (c *client) ApplyIf(ctx context.Context, changes []Guarded) ([]bool, int64, error) {
	request := &etcdserverpb.TxnRequest{}
	for _, change := range changes {
		request.Success = append(request.Success, &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestTxn{
			RequestTxn: &etcdserverpb.TxnRequest{
				Compare: []*etcdserverpb.Compare{{
					Key: change.Key, Target: etcdserverpb.Compare_MOD, Result: etcdserverpb.Compare_EQUAL,
					TargetUnion: &etcdserverpb.Compare_ModRevision{ModRevision: change.ModRevision},
				}},
				Success: []*etcdserverpb.RequestOp{operation(change.Change)},
			},
		}})
	}
	response, err := c.keys.Txn(ctx, request)
	if err != nil {
		return nil, 0, dataFailed("write keys", err)
	}
	if len(response.GetResponses()) != len(changes) {
		return nil, 0, fmt.Errorf("write keys: etcd answers for %d of %d", len(response.GetResponses()), len(changes))
	}
	made := make([]bool, len(changes))
	for i, one := range response.GetResponses() {
		made[i] = one.GetResponseTxn().GetSucceeded()
	}
	return made, response.GetHeader().GetRevision(), nil
}

func operation(change Change) *etcdserverpb.RequestOp {
	if change.Deleted {
		return &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestDeleteRange{
			RequestDeleteRange: &etcdserverpb.DeleteRangeRequest{Key: change.Key},
		}}
	}
	return &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestPut{
		RequestPut: &etcdserverpb.PutRequest{Key: change.Key, Value: change.Value},
	}}
}

func (c *client) Put(ctx context.Context, key KeyValue) (int64, error) {
	response, err := c.keys.Put(ctx, &etcdserverpb.PutRequest{Key: key.Key, Value: key.Value})
	if err != nil {
		return 0, dataFailed("write a key", err)
	}
	return response.GetHeader().GetRevision(), nil
}

func (c *client) Delete(ctx context.Context, key []byte) error {
	if _, err := c.keys.DeleteRange(ctx, &etcdserverpb.DeleteRangeRequest{Key: key}); err != nil {
		return dataFailed("delete a key", err)
	}
	return nil
}

func (c *client) Raise(ctx context.Context, alarm Alarm) error {
	kind, known := etcdserverpb.AlarmType_value[alarm.Kind]
	if !known {
		return fmt.Errorf("raise %s: there is no such alarm", alarm.Kind)
	}
	request := &etcdserverpb.AlarmRequest{
		Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: alarm.MemberID, Alarm: etcdserverpb.AlarmType(kind),
	}
	if _, err := c.maintenance.Alarm(ctx, request); err != nil {
		return failed("raise the alarm "+alarm.Kind, err)
	}
	return nil
}

func (c *client) Leases(ctx context.Context) ([]int64, error) {
	response, err := c.leases.LeaseLeases(context.WithValue(ctx, large{}, true), &etcdserverpb.LeaseLeasesRequest{})
	if err != nil {
		return nil, failed("list leases", err)
	}
	var ids []int64
	for _, lease := range response.GetLeases() {
		ids = append(ids, lease.GetID())
	}
	return ids, nil
}

func (c *client) Lease(ctx context.Context, id int64) (Lease, error) {
	response, err := c.leases.LeaseTimeToLive(context.WithValue(ctx, large{}, true), &etcdserverpb.LeaseTimeToLiveRequest{ID: id, Keys: true})
	switch {
	case err != nil && is(err, rpctypes.ErrLeaseNotFound), err == nil && response.GetGrantedTTL() == 0:
		return Lease{}, ErrNoLease
	case err != nil:
		return Lease{}, failed("read a lease", err)
	}
	return Lease{id, response.GetGrantedTTL(), response.GetKeys()}, nil
}

func (c *client) GrantLease(ctx context.Context, lease Lease) error {
	_, err := c.leases.LeaseGrant(ctx, &etcdserverpb.LeaseGrantRequest{ID: lease.ID, TTL: lease.TTL})
	if err != nil && !is(err, rpctypes.ErrLeaseExist) {
		return failed("grant a lease", err)
	}
	return nil
}

// Attach asks for each key by itself, in a nested transaction, as PutMissing does.
func (c *client) Attach(ctx context.Context, id int64, keys [][]byte, revision int64) (int, error) {
	request := &etcdserverpb.TxnRequest{}
	for _, key := range keys {
		there := func(target etcdserverpb.Compare_CompareTarget, result etcdserverpb.Compare_CompareResult, value int64) *etcdserverpb.Compare {
			compare := &etcdserverpb.Compare{Key: key, Target: target, Result: result}
			compare.TargetUnion = &etcdserverpb.Compare_ModRevision{ModRevision: value}
			return compare
		}
		request.Success = append(request.Success, &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestTxn{
			RequestTxn: &etcdserverpb.TxnRequest{
				Compare: []*etcdserverpb.Compare{
					there(etcdserverpb.Compare_MOD, etcdserverpb.Compare_GREATER, 0),
					there(etcdserverpb.Compare_MOD, etcdserverpb.Compare_LESS, revision+1),
				},
				Success: []*etcdserverpb.RequestOp{{Request: &etcdserverpb.RequestOp_RequestPut{
					RequestPut: &etcdserverpb.PutRequest{Key: key, Lease: id, IgnoreValue: true},
				}}},
			},
		}})
	}
	response, err := c.keys.Txn(ctx, request)
	if err != nil {
		return 0, dataFailed("bind keys to a lease", err)
	}
	bound := 0
	for _, one := range response.GetResponses() {
		if one.GetResponseTxn().GetSucceeded() {
			bound++
		}
	}
	return bound, nil
}

// dataFailed is failed, with the errors that depend on how much was asked for.
func dataFailed(verb string, err error) error {
	switch {
	case is(err, rpctypes.ErrCompacted):
		return fmt.Errorf("%s: %w", verb, ErrCompacted)
	case is(err, rpctypes.ErrRequestTooLarge), is(err, rpctypes.ErrTooManyOps),
		status.Code(err) == codes.ResourceExhausted && !is(err, rpctypes.ErrNoSpace):
		return fmt.Errorf("%s: %w: %s", verb, ErrTooLarge, rpctypes.ErrorDesc(err))
	}
	return failed(verb, err)
}
