// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

const (
	// The operator's memory beside any number of hibernated clusters, and its requests a minute:
	// as many as for one that runs.
	hibernatedMiB, hibernatedPerMinute = 80, 36
	// besideThem is how much longer a cluster may take to be made beside them: what two
	// medians of the same differ by.
	besideThem = 1.1
	// elections is how many times as many clusters are timed as for other rows: the first election of etcd
	// takes one second or three by chance, so that two medians of ten of the same differ by a third.
	elections = 4
)

// hibernated measures what many clusters of size 0 cost the operator, and those that others make
// beside them.
func hibernated(ctx context.Context, b *bench) ([]row, error) {
	without, err := b.createSome(ctx, "without")
	if err != nil {
		return nil, err
	}
	count := strconv.Itoa(b.many)
	if err := b.hibernate(ctx, b.many); err != nil {
		return nil, err
	}
	writes, requests, err := b.countSettled(ctx, b.many)
	if err != nil {
		return nil, err
	}
	perMinute := float64(requests) / b.options.idle.Minutes()
	rows := []row{
		alone("hibernated-requests-"+count, "requests/min", perMinute, atMost(hibernatedPerMinute), sample{perMinute}),
		alone("hibernated-writes-"+count, "requests", float64(writes), atMost(0), sample{float64(writes)}),
	}
	resident, err := b.leaderMemory(ctx)
	if err != nil && !errors.Is(err, errNoLeader) {
		return nil, err
	}
	if err == nil {
		b.progress("the leader holds %.1f MiB", resident)
		rows = append(rows, alone("hibernated-memory-"+count, "MiB", resident, atMost(hibernatedMiB), sample{resident}))
	}
	with, err := b.createSome(ctx, "with")
	if err != nil {
		return nil, err
	}
	rows = append(rows, ratio("hibernated-create-"+count, with, without, besideThem))
	return rows, b.forgetAll(ctx)
}

// createSome times new clusters, one after the other.
func (b *bench) createSome(ctx context.Context, name string) (sample, error) {
	var all sample
	count := elections * b.n
	for i := range count {
		took, err := b.createOnce(ctx, fmt.Sprintf("%s-%d", name, i))
		if err != nil {
			return nil, err
		}
		b.progress("%d of %d: created %s in %s", i+1, count, name, took)
		all.seconds(took[0])
	}
	return all, nil
}

// hibernate makes so many clusters that never had a member, and waits until the operator says
// that nothing is left to do for them.
func (b *bench) hibernate(ctx context.Context, count int) error {
	begin := time.Now()
	for i := range count {
		c := b.threeMembers(fmt.Sprintf("asleep-%d", i))
		c.Spec.Size = ptr.To[int32](0)
		if err := b.client.Create(ctx, c); err != nil {
			return fmt.Errorf("create EtcdCluster: %w", err)
		}
	}
	err := poll(ctx, "all to hibernate", rest, patience, func() (bool, error) {
		asleep, err := b.asleep(ctx)
		return asleep == count, err
	})
	b.progress("%d clusters hibernate after %s", count, time.Since(begin).Round(time.Second))
	return err
}

func (b *bench) asleep(ctx context.Context) (count int, err error) {
	var clusters v1beta1.EtcdClusterList
	if err := b.seen.List(ctx, &clusters, client.InNamespace(b.namespace)); err != nil {
		return 0, fmt.Errorf("list EtcdClusters: %w", err)
	}
	for _, c := range clusters.Items {
		settled := meta.IsStatusConditionPresentAndEqual(c.Status.Conditions, v1beta1.ConditionProgressing, metav1.ConditionFalse)
		if c.Size() == 0 && settled {
			count++
		}
	}
	return count, nil
}

// forgetAll deletes them.
func (b *bench) forgetAll(ctx context.Context) error {
	if err := b.client.DeleteAllOf(ctx, &v1beta1.EtcdCluster{}, client.InNamespace(b.namespace)); err != nil {
		return fmt.Errorf("delete EtcdClusters: %w", err)
	}
	return poll(ctx, "all to be gone", rest, patience, func() (bool, error) {
		asleep, err := b.asleep(ctx)
		return asleep == 0, err
	})
}
