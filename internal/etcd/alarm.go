// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// alarm is how Status lists one among its errors: AlarmMember.String() of etcd's rpc.proto,
// which leaves out an ID of 0 and has one space or two between its parts.
var alarm = regexp.MustCompile(`^(?:memberID:(\d+) +)?alarm:(\w+) *$`)

// AlarmsIn takes alarms from the errors of Status: the call that lists them writes an entry to
// the log of all members each time.
func AlarmsIn(errors []string) []Alarm {
	var all []Alarm
	for _, text := range errors {
		found := alarm.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		id, _ := strconv.ParseUint(found[1], 10, 64) // empty: no member in particular
		all = append(all, Alarm{MemberID: id, Kind: found[2]})
	}
	return all
}

func (c *client) HashKV(ctx context.Context, revision int64) (Hash, error) {
	response, err := c.maintenance.HashKV(ctx, &etcdserverpb.HashKVRequest{Revision: revision})
	if err != nil {
		return Hash{}, failed(fmt.Sprintf("hash the data up to revision %d", revision), err)
	}
	return Hash{Sum: response.GetHash(), Compacted: response.GetCompactRevision()}, nil
}

func (c *client) Compact(ctx context.Context, revision int64) error {
	_, err := c.keys.Compact(ctx, &etcdserverpb.CompactionRequest{Revision: revision, Physical: true})
	if err != nil && !is(err, rpctypes.ErrCompacted) {
		return failed(fmt.Sprintf("compact up to revision %d", revision), err)
	}
	return nil
}

func (c *client) Disarm(ctx context.Context, alarm Alarm) error {
	kind, known := etcdserverpb.AlarmType_value[alarm.Kind]
	if !known {
		return fmt.Errorf("disarm %s: there is no such alarm", alarm.Kind)
	}
	request := &etcdserverpb.AlarmRequest{
		Action: etcdserverpb.AlarmRequest_DEACTIVATE, MemberID: alarm.MemberID, Alarm: etcdserverpb.AlarmType(kind),
	}
	if _, err := c.maintenance.Alarm(ctx, request); err != nil {
		return failed(fmt.Sprintf("disarm %s of member %x", alarm.Kind, alarm.MemberID), err)
	}
	return nil
}
