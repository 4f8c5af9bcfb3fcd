// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

// Prefix is keys that begin in the same way.
type Prefix struct {
	Prefix string
	Keys   int64
	Bytes  int64 // about, by the first keys of it: current values alone, without history
}

const (
	// sampledKeys are read of each prefix, with their values.
	sampledKeys = 8
	// largestValue is more than etcd takes by default (--max-request-bytes is 1.5 MiB).
	largestValue = 2 << 20
	// mostPrefixes are looked at, with two requests each, so that a database of any size and shape costs about a second.
	mostPrefixes = 200
)

// Prefixes walks over the keys from prefix to prefix, without reading all of any.
func (c *client) Prefixes(ctx context.Context) (all []Prefix, whole bool, err error) {
	from, end := []byte{0}, []byte{0} // from the first key to the end
	for range mostPrefixes {
		first := &etcdserverpb.RangeRequest{Key: from, RangeEnd: end, Limit: sampledKeys, Serializable: true}
		sample, err := c.keys.Range(ctx, first)
		if err != nil {
			return nil, false, failed("read the first keys of a prefix", err)
		}
		if len(sample.GetKvs()) == 0 {
			return largestFirst(all), true, nil
		}
		prefix := prefixOf(string(sample.GetKvs()[0].GetKey()))
		next := after(prefix)
		count, err := c.keys.Range(ctx, &etcdserverpb.RangeRequest{Key: []byte(prefix), RangeEnd: next, CountOnly: true, Serializable: true})
		if err != nil {
			return nil, false, failed("count the keys of a prefix", err)
		}
		read, bytes := int64(0), int64(0)
		for _, kv := range sample.GetKvs() {
			if strings.HasPrefix(string(kv.GetKey()), prefix) {
				read++
				bytes += int64(len(kv.GetKey()) + len(kv.GetValue()))
			}
		}
		all = append(all, Prefix{prefix, count.GetCount(), bytes * count.GetCount() / read})
		if slices.Equal(next, end) {
			return largestFirst(all), true, nil
		}
		from = next
	}
	return largestFirst(all), false, nil
}

// prefixOf is what is before the second part of a key with slashes, as of /registry/pods/default/web, and of others what is before the
// first digit or separator. A key that begins with one is a prefix by its first byte.
func prefixOf(key string) string {
	first := strings.TrimLeft(key, "/")
	lead := len(key) - len(first)
	if one := strings.IndexByte(first, '/'); one >= 0 {
		if two := strings.IndexByte(first[one+1:], '/'); two >= 0 && lead > 0 {
			one += 1 + two
		}
		return key[:lead+one+1]
	}
	if end := strings.IndexAny(first, "0123456789-_.:"); end > 0 {
		return key[:lead+end]
	}
	if strings.ContainsAny(key[:1], "0123456789-_.:") {
		return key[:1]
	}
	return key
}

func largestFirst(all []Prefix) []Prefix {
	slices.SortStableFunc(all, func(a, b Prefix) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return all
}

// after is the first key that comes after all that begin with the prefix; the end of all keys if none does.
func after(prefix string) []byte {
	key := []byte(prefix)
	for i := len(key) - 1; i >= 0; i-- {
		if key[i] < 0xff {
			key[i]++
			return key[:i+1]
		}
	}
	return []byte{0}
}
