// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/members"
	"github.com/etcd-operator/etcd-operator/internal/drill"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// restored reads the throw-away cluster of a drill that may have one, and what it has once it serves.
func (r *EtcdDrillReconciler) restored(ctx context.Context, seen *drill.Seen) error {
	if !drill.Restores(seen.Drill.Spec.Action) {
		return nil
	}
	var c v1beta1.EtcdCluster
	err := r.tasks.Live.Get(ctx, client.ObjectKey{Namespace: seen.Drill.Namespace, Name: drill.RestoredName(seen.Drill)}, &c)
	if err != nil {
		return wrapped("get EtcdCluster", client.IgnoreNotFound(err))
	}
	seen.Restored = &c
	if seen.Clone, err = r.parts(ctx, r.tasks.Live, &c); err != nil {
		return err
	}
	if !drill.CountsKeys(*seen) {
		return nil
	}
	at := drill.RestoredRevision(&c)
	_, served, err := members.FirstToAnswer(ctx, r.asked, &c, func(member etcd.Client, ctx context.Context) (drill.Served, error) {
		return servedBy(ctx, member, at, seen.Drill.Spec.Expect)
	})
	if err == nil { // that none answers is a fact
		seen.Served = &served
	}
	return nil
}

// servedBy reads what a member has at a revision, or what it has now if that was compacted.
func servedBy(ctx context.Context, member etcd.Client, at int64, expect []v1beta1.DrillExpectation) (drill.Served, error) {
	served, err := servedAt(ctx, member, at, expect)
	if errors.Is(err, etcd.ErrCompacted) {
		served, err = servedAt(ctx, member, 0, expect)
		served.IsLater = true
	}
	return served, err
}

func servedAt(ctx context.Context, member etcd.Client, at int64, expect []v1beta1.DrillExpectation) (served drill.Served, err error) {
	if served.Keys, err = member.Count(ctx, at); err != nil {
		return served, err
	}
	for _, e := range expect {
		found, err := foundFor(ctx, member, at, e)
		if err != nil {
			return served, err
		}
		served.Found = append(served.Found, found)
	}
	return served, nil
}

// foundFor reads a key as the first one from it on: that of a page is as of a revision.
func foundFor(ctx context.Context, member etcd.Client, at int64, e v1beta1.DrillExpectation) (drill.Found, error) {
	if e.Key == "" {
		keys, err := member.CountPrefix(ctx, []byte(e.Prefix), at)
		return drill.Found{Keys: keys}, err
	}
	page, err := member.Page(ctx, []byte(e.Key), at, 1)
	if err != nil || len(page.Items) == 0 || string(page.Items[0].Key) != e.Key {
		return drill.Found{}, err
	}
	return drill.Found{Keys: 1, Value: string(page.Items[0].Value)}, nil
}
