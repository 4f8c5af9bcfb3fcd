// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package copier

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/copying"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

const (
	// firstPage is how many keys are read before it is known how large they are.
	firstPage = 16
	// mostItems are read at once.
	mostItems = 2000
	// pageBytes is how many bytes a page should have.
	pageBytes = 1 << 20
)

// pages reads all keys of a cluster after one, as they are at a revision; 0: as they are when each page is read.
type pages struct {
	data     etcd.Data
	revision int64
	after    []byte // the last key that was read
	limit    int64
}

// next is the next page, and whether there is more after it. It has about as many bytes as it should have, by those of the page before.
func (p *pages) next(ctx context.Context) ([]etcd.Item, bool, error) {
	if p.limit == 0 {
		p.limit = firstPage
	}
	var from []byte
	if len(p.after) > 0 {
		from = append(slices.Clone(p.after), 0)
	}
	page, err := p.read(ctx, from)
	for errors.Is(err, etcd.ErrTooLarge) && p.limit > 1 {
		p.limit /= 2
		page, err = p.read(ctx, from)
	}
	if err != nil || len(page.Items) == 0 {
		return nil, false, err
	}
	p.after = page.Items[len(page.Items)-1].Key
	size := int64(0)
	for _, item := range page.Items {
		size += int64(len(item.Key) + len(item.Value) + 1)
	}
	p.limit = min(max(pageBytes*int64(len(page.Items))/size, 1), 4*p.limit, mostItems)
	return page.Items, page.More, nil
}

func (p *pages) read(ctx context.Context, from []byte) (etcd.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return p.data.Page(ctx, from, p.revision, p.limit)
}

// Sum is of all keys and values of a cluster, in their order, but for the mark.
type Sum struct {
	Keys   int64
	SHA256 [sha256.Size]byte
}

// SumOf reads all keys at a revision.
func SumOf(ctx context.Context, data etcd.Data, revision int64) (Sum, error) {
	all, sum := pages{data: data, revision: revision}, sha256.New()
	keys := int64(0)
	for more := true; more; {
		var items []etcd.Item
		var err error
		if items, more, err = all.next(ctx); err != nil {
			return Sum{}, err
		}
		for _, item := range items {
			if string(item.Key) == copying.MarkKey {
				continue
			}
			keys++
			add(sum, item.Key)
			add(sum, item.Value)
		}
	}
	return Sum{keys, [sha256.Size]byte(sum.Sum(nil))}, nil
}

// add adds a text with its length before it: other keys and values never give the same bytes.
func add(sum hash.Hash, text []byte) {
	_, _ = sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text)))) // never fails
	_, _ = sum.Write(text)
}
