// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
)

// readKey need not exist: reading nothing needs the same quorum.
var readKey = []byte("health")

type client struct {
	cluster     etcdserverpb.ClusterClient
	maintenance etcdserverpb.MaintenanceClient
	keys        etcdserverpb.KVClient
	access      etcdserverpb.AuthClient
	watch       etcdserverpb.WatchClient
	leases      etcdserverpb.LeaseClient
}

func newClient(connection *grpc.ClientConn) *client {
	return &client{
		cluster:     etcdserverpb.NewClusterClient(connection),
		maintenance: etcdserverpb.NewMaintenanceClient(connection),
		keys:        etcdserverpb.NewKVClient(connection),
		access:      etcdserverpb.NewAuthClient(connection),
		watch:       etcdserverpb.NewWatchClient(connection),
		leases:      etcdserverpb.NewLeaseClient(connection),
	}
}

func (c *client) Members(ctx context.Context) ([]Member, error) {
	members, err := c.list(ctx, false)
	if err != nil {
		return nil, failed("list members", err)
	}
	return members, nil
}

// list returns errors as they come from gRPC. Only a linearizable list may
// confirm that a refused change was made before: a local one can be behind.
func (c *client) list(ctx context.Context, linearizable bool) ([]Member, error) {
	response, err := c.cluster.MemberList(ctx, &etcdserverpb.MemberListRequest{Linearizable: linearizable})
	if err != nil {
		return nil, err
	}
	members := make([]Member, 0, len(response.GetMembers()))
	for _, m := range response.GetMembers() {
		members = append(members, memberFrom(m))
	}
	slices.SortFunc(members, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	return members, nil
}

func memberFrom(m *etcdserverpb.Member) Member {
	return Member{
		ID:         m.GetID(),
		Name:       m.GetName(),
		PeerURLs:   m.GetPeerURLs(),
		ClientURLs: m.GetClientURLs(),
		Learner:    m.GetIsLearner(),
	}
}

func (c *client) Status(ctx context.Context) (Status, error) {
	response, err := c.maintenance.Status(ctx, &etcdserverpb.StatusRequest{})
	if err != nil {
		return Status{}, failed("get status", err)
	}
	return Status{
		ClusterID:        response.GetHeader().GetClusterId(),
		MemberID:         response.GetHeader().GetMemberId(),
		LeaderID:         response.GetLeader(),
		Version:          response.GetVersion(),
		DBSize:           response.GetDbSize(),
		DBSizeInUse:      response.GetDbSizeInUse(),
		Revision:         response.GetHeader().GetRevision(),
		RaftTerm:         response.GetRaftTerm(),
		RaftIndex:        response.GetRaftIndex(),
		RaftAppliedIndex: response.GetRaftAppliedIndex(),
		Learner:          response.GetIsLearner(),
		StorageVersion:   response.GetStorageVersion(),
		Downgrade:        enabledDowngrade(response.GetDowngradeInfo()),
		Alarms:           AlarmsIn(response.GetErrors()),
		Errors:           response.GetErrors(),
	}, nil
}

// Read counts "permission denied" as success, as etcdctl does: etcd looks at
// permissions only after the quorum has confirmed the read.
func (c *client) Read(ctx context.Context) error {
	_, err := c.Revision(ctx)
	return err
}

func (c *client) Revision(ctx context.Context) (int64, error) {
	request := &etcdserverpb.RangeRequest{Key: readKey, Limit: 1, KeysOnly: true}
	response, err := c.keys.Range(ctx, request)
	if err != nil && !is(err, rpctypes.ErrPermissionDenied) {
		return 0, failed("read linearizably", err)
	}
	return response.GetHeader().GetRevision(), nil
}

func (c *client) Count(ctx context.Context, revision int64) (int64, error) {
	return c.CountPrefix(ctx, nil, revision)
}

func (c *client) CountPrefix(ctx context.Context, prefix []byte, revision int64) (int64, error) {
	request := &etcdserverpb.RangeRequest{Key: prefix, RangeEnd: after(string(prefix)), Revision: revision, CountOnly: true}
	if len(prefix) == 0 {
		request.Key = []byte{0} // from the first key to the end
	}
	response, err := c.keys.Range(ctx, request)
	if err != nil {
		return 0, dataFailed("count keys", err)
	}
	return response.GetCount(), nil
}

// PutMissing asks for each key by itself, in a nested transaction: a key that exists keeps no other from being put.
func (c *client) PutMissing(ctx context.Context, keys []KeyValue) (int, int64, error) {
	request := &etcdserverpb.TxnRequest{}
	for _, k := range keys {
		request.Success = append(request.Success, &etcdserverpb.RequestOp{
			Request: &etcdserverpb.RequestOp_RequestTxn{RequestTxn: ifMissing(k)},
		})
	}
	response, err := c.keys.Txn(ctx, request)
	if err != nil {
		return 0, 0, failed("put keys", err)
	}
	put := 0
	for _, one := range response.GetResponses() {
		if one.GetResponseTxn().GetSucceeded() {
			put++
		}
	}
	return put, response.GetHeader().GetRevision(), nil
}

func ifMissing(k KeyValue) *etcdserverpb.TxnRequest {
	return &etcdserverpb.TxnRequest{
		Compare: []*etcdserverpb.Compare{{
			Key: k.Key, Target: etcdserverpb.Compare_CREATE, Result: etcdserverpb.Compare_EQUAL,
			TargetUnion: &etcdserverpb.Compare_CreateRevision{CreateRevision: 0},
		}},
		Success: []*etcdserverpb.RequestOp{{
			Request: &etcdserverpb.RequestOp_RequestPut{RequestPut: &etcdserverpb.PutRequest{Key: k.Key, Value: k.Value}},
		}},
	}
}

func (c *client) WriteEntry(ctx context.Context) error {
	request := &etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_GET}
	if _, err := c.maintenance.Alarm(ctx, request); err != nil {
		return failed("list alarms", err)
	}
	return nil
}

func (c *client) AddLearner(ctx context.Context, peerURLs ...string) (Member, error) {
	request := &etcdserverpb.MemberAddRequest{PeerURLs: peerURLs, IsLearner: true}
	response, err := c.cluster.MemberAdd(ctx, request)
	if err == nil {
		return memberFrom(response.GetMember()), nil
	}
	listed, found := c.find(ctx, err, func(m Member) bool { return slices.Contains(m.PeerURLs, peerURLs[0]) })
	if found {
		return listed, nil
	}
	return Member{}, failed("add learner "+peerURLs[0], err)
}

func (c *client) UpdatePeerURLs(ctx context.Context, id uint64, peerURLs ...string) error {
	if _, err := c.cluster.MemberUpdate(ctx, &etcdserverpb.MemberUpdateRequest{ID: id, PeerURLs: peerURLs}); err != nil {
		return failed(fmt.Sprintf("update peer URLs of member %x", id), err)
	}
	return nil
}

func (c *client) Promote(ctx context.Context, id uint64) error {
	_, err := c.cluster.MemberPromote(ctx, &etcdserverpb.MemberPromoteRequest{ID: id})
	if err == nil || is(err, rpctypes.ErrMemberNotLearner) {
		return nil
	}
	if _, voter := c.find(ctx, err, func(m Member) bool { return m.ID == id && !m.Learner }); voter {
		return nil
	}
	return failed(fmt.Sprintf("promote member %x", id), err)
}

func (c *client) Remove(ctx context.Context, id uint64) error {
	_, err := c.cluster.MemberRemove(ctx, &etcdserverpb.MemberRemoveRequest{ID: id})
	if err != nil && !is(err, rpctypes.ErrMemberNotFound) {
		return failed(fmt.Sprintf("remove member %x", id), err)
	}
	return nil
}

func (c *client) MoveLeader(ctx context.Context, to uint64) error {
	_, err := c.maintenance.MoveLeader(ctx, &etcdserverpb.MoveLeaderRequest{TargetID: to})
	if err == nil {
		return nil
	}
	if is(err, rpctypes.ErrNotLeader) {
		if status, statusErr := c.Status(ctx); statusErr == nil && status.LeaderID == to {
			return nil
		}
	}
	return failed(fmt.Sprintf("move leadership to member %x", to), err)
}

// find looks for the effect of a change that etcd refused. etcd checks whether
// the cluster is ready before it checks whether there is anything to do, so a
// refusal can hide that the change was made long ago.
func (c *client) find(ctx context.Context, refusal error, match func(Member) bool) (Member, bool) {
	if !refused(refusal) {
		return Member{}, false
	}
	members, err := c.list(ctx, true)
	if err != nil {
		return Member{}, false
	}
	i := slices.IndexFunc(members, match)
	if i < 0 {
		return Member{}, false
	}
	return members[i], true
}
