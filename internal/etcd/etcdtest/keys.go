// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

func (c *client) Count(ctx context.Context, revision int64) (int64, error) {
	return c.CountPrefix(ctx, nil, revision)
}

func (c *client) CountPrefix(ctx context.Context, prefix []byte, revision int64) (count int64, err error) {
	err = c.cluster.do(ctx, c.name, Read, func(*member) error {
		for key := range c.cluster.keys {
			if strings.HasPrefix(key, string(prefix)) {
				count++
			}
		}
		return c.cluster.has(revision)
	})
	return count, err
}

func (c *client) Page(ctx context.Context, from []byte, revision, limit int64) (page etcd.Page, err error) {
	err = c.cluster.do(ctx, c.name, Read, func(*member) error {
		page.Revision = c.cluster.written
		for _, key := range slices.Sorted(maps.Keys(c.cluster.keys)) {
			if key < string(from) {
				continue
			}
			if page.More = int64(len(page.Items)) == limit; page.More {
				break
			}
			item := etcd.KeyValue{Key: []byte(key), Value: []byte(c.cluster.keys[key])}
			page.Items = append(page.Items, etcd.Item{KeyValue: item, Revision: page.Revision})
		}
		return c.cluster.has(revision)
	})
	return page, err
}

// has is nil if keys can be read at a revision. The fake has the same keys at each.
func (c *Cluster) has(revision int64) error {
	switch {
	case revision > c.written:
		return errors.New("required revision is a future revision")
	case revision > 0 && revision < c.compacted:
		return fmt.Errorf("read keys: %w", etcd.ErrCompacted)
	}
	return nil
}
