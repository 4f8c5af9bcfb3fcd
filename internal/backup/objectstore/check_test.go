// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
)

// faulty is a store of which some calls go wrong.
type faulty struct {
	objectstore.Store
	overwrites bool  // it ignores conditions, as old stores do
	read       error // what reading says
	deletes    error
}

func (f faulty) Put(ctx context.Context, name string, content []byte) error {
	if f.overwrites {
		if err := f.Store.Delete(ctx, name); err != nil {
			return err
		}
	}
	return f.Store.Put(ctx, name, content)
}

func (f faulty) Get(ctx context.Context, name string, limit int64) ([]byte, error) {
	if f.read != nil {
		return nil, f.read
	}
	return f.Store.Get(ctx, name, limit)
}

func (f faulty) Delete(ctx context.Context, name string) error {
	if f.deletes != nil {
		return f.deletes
	}
	return f.Store.Delete(ctx, name)
}

func TestCheckFindsOutWhatIsWrong(t *testing.T) {
	forbidden := &objectstore.Error{Kind: objectstore.Forbidden, Do: "read", Name: "a", Code: "AccessDenied"}
	locked := &objectstore.Error{Kind: objectstore.Locked, Do: "delete", Name: "a", Until: time.Unix(1, 0)}
	for name, test := range map[string]struct {
		store faulty
		want  objectstore.Report
	}{
		"it overwrites":    {faulty{overwrites: true}, objectstore.Report{Reachable: true, Writable: true, Readable: true, Deletable: true}},
		"no right to read": {faulty{read: forbidden}, objectstore.Report{Reachable: true, Writable: true, Conditional: true, Deletable: true}},
		"a lock":           {faulty{deletes: locked}, objectstore.Report{Reachable: true, Writable: true, Conditional: true, Readable: true}},
	} {
		t.Run(name, func(t *testing.T) {
			test.store.Store = open(t, onVolume(t.TempDir(), ""))
			got := objectstore.Check(t.Context(), test.store, time.Now)
			if len(got.Problems) == 0 || got.OK() {
				t.Fatalf("no problem: %+v", got)
			}
			problems := got.Problems
			got.Problems = nil
			if got.Reachable != test.want.Reachable || got.Writable != test.want.Writable || got.Readable != test.want.Readable ||
				got.Conditional != test.want.Conditional || got.Deletable != test.want.Deletable {
				t.Errorf("%+v, want %+v; %v", got, test.want, problems)
			}
		})
	}
}

func TestCheckDeletesAfterItsContextEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := open(t, onVolume(t.TempDir(), ""))
	report := objectstore.Check(ctx, cancelled{s, cancel}, time.Now)
	if !slices.ContainsFunc(report.Problems, func(err error) bool { return errors.Is(err, context.Canceled) }) || !report.Deletable {
		t.Errorf("%+v", report)
	}
	wantNames(t, s, "")
}

// cancelled ends its caller's context once something is written.
type cancelled struct {
	objectstore.Store
	cancel context.CancelFunc
}

func (c cancelled) Put(ctx context.Context, name string, content []byte) error {
	defer c.cancel()
	return c.Store.Put(ctx, name, content)
}
