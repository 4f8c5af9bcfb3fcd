// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

func (c *client) Downgrade(ctx context.Context, to string) error {
	request := &etcdserverpb.DowngradeRequest{Action: etcdserverpb.DowngradeRequest_ENABLE, Version: to}
	_, err := c.maintenance.Downgrade(ctx, request)
	if err == nil {
		return nil
	}
	verb := "enable downgrade to " + to
	if !is(err, rpctypes.ErrInvalidDowngradeTargetVersion) && !is(err, rpctypes.ErrDowngradeInProcess) {
		return failed(verb, err)
	}
	status, statusErr := c.Status(ctx)
	switch {
	case statusErr != nil:
		return failed(verb, err)
	case status.Downgrade == to:
		return nil
	case is(err, rpctypes.ErrDowngradeInProcess), to == version.MinorBelow(status.Version):
		// etcd judges a target by the version of the cluster, which follows that of the members
		// only after some seconds.
		return fmt.Errorf("%s: %w: %s", verb, ErrNotReady, rpctypes.ErrorDesc(err))
	}
	return failed(verb, err)
}

// unanswered is how long it takes to see that etcd 3.5 does not answer: its applier has no
// result for a change of a downgrade (etcdserver/apply.go), which the caller waits for.
const unanswered = 500 * time.Millisecond

// CancelDowngrade checks whether it was done, regardless of the answer: from 3.6 on etcd
// answers well in any case, and 3.5 does not. The read makes what the member says of
// itself current.
func (c *client) CancelDowngrade(ctx context.Context) error {
	const verb = "cancel downgrade"
	brief, end := context.WithTimeout(ctx, unanswered)
	defer end()
	_, answer := c.maintenance.Downgrade(brief, &etcdserverpb.DowngradeRequest{Action: etcdserverpb.DowngradeRequest_CANCEL})
	if err := c.Read(ctx); err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	goes, err := c.DowngradeEnabled(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", verb, err)
	case goes && answer != nil:
		return failed(verb, answer)
	case goes:
		return errors.New(verb + ": it is still enabled")
	}
	return nil
}

// DowngradeEnabled asks etcd 3.5 whether the next downgrade would be valid, which has no effect. While
// the cluster's version has yet to rise to that of its members, a refusal proves nothing.
func (c *client) DowngradeEnabled(ctx context.Context) (bool, error) {
	const verb = "ask for a downgrade"
	status, err := c.Status(ctx)
	if err != nil {
		return false, fmt.Errorf("%s: %w", verb, err)
	}
	below := version.MinorBelow(status.Version)
	if below == "" || status.StorageVersion != "" {
		return status.Downgrade != "", nil
	}
	request := &etcdserverpb.DowngradeRequest{Action: etcdserverpb.DowngradeRequest_VALIDATE, Version: below}
	_, err = c.maintenance.Downgrade(ctx, request)
	switch {
	case is(err, rpctypes.ErrDowngradeInProcess):
		return true, nil
	case err == nil, is(err, rpctypes.ErrInvalidDowngradeTargetVersion), is(err, rpctypes.ErrClusterVersionUnavailable):
		return false, nil
	}
	return false, failed(verb, err)
}

// enabledDowngrade is the minor version that etcd may go down to; etcd reports a patch version of it.
func enabledDowngrade(info *etcdserverpb.DowngradeInfo) string {
	if !info.GetEnabled() {
		return ""
	}
	return cmp.Or(version.MinorOf(info.GetTargetVersion()), info.GetTargetVersion())
}
