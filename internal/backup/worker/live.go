// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/log/state"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

const (
	// servesWithin is how long a member may take for a page of keys, or for a transaction.
	servesWithin = 30 * time.Second
	// rounds is how often each member may fail to answer before the Job fails, with askAgain in between: a leader is elected by then.
	rounds = 3

	// firstPage is how many keys are read before it is known how large they are, mostPage how many are read at once, and pageBytes how many
	// bytes a page should have.
	firstPage, mostPage, pageBytes = 16, 2000, 1 << 20
)

// servesKeys is what a member does for root alone if authentication is enabled.
const servesKeys = "serves these keys"

// liveCluster is one that serves. One member is asked at a time.
type liveCluster struct {
	job
	of     jobspec.Live
	config *tls.Config
	fit    []candidate // the one that is asked, and those after it; none: it is not known which of them answers
}

// live is the cluster that the order is about; without members if it is about none.
func (j job) live() jobspec.Live {
	switch {
	case j.Compare != nil:
		return j.Compare.Live
	case j.Apply != nil:
		return j.Apply.Live
	case j.Revert != nil:
		return j.Revert.Live
	default:
		return jobspec.Live{}
	}
}

func (j job) connect() (*liveCluster, error) {
	l := &liveCluster{job: j, of: j.live()}
	if l.of.ClusterID == "" || len(l.of.Members) == 0 {
		return nil, &unclear{"it names no cluster, or no members"}
	}
	var err error
	if l.config, err = j.tls(); err != nil {
		return nil, &sourceError{"no member can be asked", err}
	}
	return l, nil
}

// serve has a member do what may be done twice. If it does not answer, the next one is asked.
func (l *liveCluster) serve(ctx context.Context, do func(context.Context, etcd.Client) error) error {
	for left := rounds * len(l.of.Members); ; left-- {
		asked, err := l.first(ctx)
		if err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(ctx, servesWithin)
		err = do(limited, asked.client)
		cancel()
		switch {
		case err == nil:
			return nil
		case etcd.WantsRoot(err):
			return &authError{asked.member.Name, servesKeys}
		case ctx.Err() != nil, !etcd.IsAway(err) && etcd.Silence(err) == "":
			return err // it is the answer
		case left == 1:
			return &sourceError{asked.member.Name, err}
		}
		l.fit = l.fit[1:]
		l.say.progress(0, 0, asked.member.Name+" does not answer; the next member is asked")
		select {
		case <-ctx.Done():
		case <-time.After(askAgain):
		}
	}
}

// first is the member that is asked.
func (l *liveCluster) first(ctx context.Context) (candidate, error) {
	if len(l.fit) > 0 {
		return l.fit[0], nil
	}
	var unfit []error
	if l.fit, unfit = rank(l.reach(ctx, l.config, l.of.Members), l.of.ClusterID); len(l.fit) == 0 {
		return candidate{}, none(unfit, servesKeys, "no member can be asked")
	}
	return l.fit[0], nil
}

// revision is that of the cluster's data. What was acknowledged before is not newer.
func (l *liveCluster) revision(ctx context.Context) (revision int64, err error) {
	err = l.serve(ctx, func(ctx context.Context, member etcd.Client) error {
		revision, err = member.Revision(ctx)
		return err
	})
	return revision, err
}

// get is one key as it is now.
func (l *liveCluster) get(ctx context.Context, key []byte) (item etcd.Item, err error) {
	err = l.serve(ctx, func(ctx context.Context, member etcd.Client) error {
		item, err = member.Get(ctx, key)
		return err
	})
	return item, err
}

// keys are those below a prefix at a revision, sorted. One page of them is in memory.
func (l *liveCluster) keys(ctx context.Context, prefix []byte, revision int64, message string) iter.Seq2[state.Key, error] {
	return func(yield func(state.Key, error) bool) {
		p := pages{liveCluster: l, revision: revision, from: prefix, limit: firstPage}
		for more := true; more; {
			var items []etcd.Item
			var err error
			if items, more, err = p.next(ctx); err != nil {
				yield(state.Key{}, err)
				return
			}
			for _, i := range items {
				k := state.Key{Key: i.Key, Value: i.Value, ModRevision: i.Changed, Lease: i.Lease}
				if !bytes.HasPrefix(i.Key, prefix) || !yield(k, nil) {
					return
				}
			}
			l.say.progress(p.read, 0, message)
		}
	}
}

// pages are all keys from one on, at a revision.
type pages struct {
	*liveCluster
	revision, limit int64
	from            []byte
	read            int64 // bytes
}

// next is the next page, and whether there is more after it. It has about as many bytes as it should have, by those of the page before.
func (p *pages) next(ctx context.Context) ([]etcd.Item, bool, error) {
	page, err := p.page(ctx)
	if err != nil || len(page.Items) == 0 {
		return nil, false, err
	}
	size := int64(0)
	for _, i := range page.Items {
		size += int64(len(i.Key) + len(i.Value))
	}
	p.from = append(slices.Clone(page.Items[len(page.Items)-1].Key), 0)
	p.limit = min(max(pageBytes*int64(len(page.Items))/size, 1), 4*p.limit, mostPage) // no key is empty
	p.read += size
	return page.Items, page.More, nil
}

// page reads fewer keys than the limit if their values are too long.
func (p *pages) page(ctx context.Context) (page etcd.Page, err error) {
	for {
		err = p.serve(ctx, func(ctx context.Context, member etcd.Client) error {
			page, err = member.Page(ctx, p.from, p.revision, p.limit)
			return err
		})
		switch {
		case errors.Is(err, etcd.ErrCompacted):
			return page, &compactedError{p.revision}
		case !errors.Is(err, etcd.ErrTooLarge) || p.limit == 1:
			return page, err
		}
		p.limit = max(p.limit/2, 1)
	}
}

// compactedError says that etcd no longer has the keys at the revision that is read.
type compactedError struct{ revision int64 }

func (e *compactedError) Error() string {
	return fmt.Sprintf("etcd has compacted revision %d, at which keys were being read", e.revision)
}
