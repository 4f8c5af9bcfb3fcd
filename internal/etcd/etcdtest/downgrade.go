// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdtest

import (
	"context"
	"errors"
	"fmt"
)

func (c *client) Downgrade(ctx context.Context, to string) error {
	return c.cluster.do(ctx, c.name, Downgrade, func(*member) error {
		switch {
		case c.cluster.target == to:
			return nil
		case to != below(c.cluster.version, 1):
			return errors.New("invalid downgrade target version")
		}
		c.cluster.target = to
		c.cluster.did("enable downgrade to %s", to)
		return nil
	})
}

func (c *client) CancelDowngrade(ctx context.Context) error {
	return c.cluster.do(ctx, c.name, CancelDowngrade, func(*member) error {
		if c.cluster.target != "" {
			c.cluster.target = ""
			c.cluster.did("cancel downgrade")
		}
		return nil
	})
}

func (c *client) DowngradeEnabled(ctx context.Context) (goes bool, err error) {
	err = c.cluster.do(ctx, c.name, DowngradeEnabled, func(*member) error {
		goes = c.cluster.target != ""
		return nil
	})
	return goes, err
}

// below is the minor version so many steps older.
func below(version string, steps int) string {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d.", &major, &minor); err != nil {
		panic(err) // of the test that set this version
	}
	return fmt.Sprintf("%d.%d", major, minor-steps)
}
