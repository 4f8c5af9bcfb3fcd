// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

const (
	// compareGap is the goal of the longest time without a write, and without a read, in milliseconds.
	compareGap = 100
	// readTry is how long one try to read may take, as one to write may.
	readTry = 200 * time.Millisecond
)

// compare measures what an application notices while members' data is compared by a request: 2 GiB of documents. It writes and reads over
// all members, as clients do. It reads linearizably.
func compare(ctx context.Context, b *bench) ([]row, error) {
	const name, sizeMiB = "gap-compare", 2048
	cluster := b.threeMembers(name)
	cluster.Spec.Storage.Size = ptr.To(resource.MustParse("6Gi"))
	if _, err := b.apply(ctx, cluster); err != nil {
		return nil, err
	}
	if err := b.fillWithDocuments(ctx, name, sizeMiB); err != nil {
		return nil, err
	}
	if err := b.calm(ctx, name, 3); err != nil {
		return nil, err
	}
	var gaps, reads, failed, seconds sample
	for i := range b.n {
		var read, took time.Duration
		beats, err := b.pulse(ctx, name, func() (err error) {
			begin := time.Now()
			read, err = b.reading(ctx, name, func() error { return b.compared(ctx, name, fmt.Sprintf("bench-%d", i)) })
			took = time.Since(begin)
			return err
		})
		if err != nil {
			return nil, err
		}
		b.progress("%d of %d: compared after %.1f s: %s, longest time without a read %s", i+1, b.n, took.Seconds(), beats,
			read.Round(time.Millisecond))
		gaps.milliseconds(beats.Gap)
		reads.milliseconds(read)
		failed.add(float64(beats.Failed))
		seconds.add(took.Seconds())
	}
	return []row{
		alone("gap-compare-2GiB", "ms", gaps.median(), atMost(compareGap), gaps),
		alone("gap-compare-2GiB-reads", "ms", reads.median(), atMost(compareGap), reads),
		alone("gap-compare-2GiB-failed", "writes", failed.percentile(100), atMost(0), failed),
		alone("compare-2GiB", "s", seconds.median(), nil, seconds),
	}, b.remove(ctx, name)
}

// compared asks for a comparison by the annotation, and waits until it was made.
func (b *bench) compared(ctx context.Context, cluster, request string) error {
	var found v1beta1.EtcdCluster
	key := client.ObjectKey{Namespace: b.namespace, Name: cluster}
	if err := b.client.Get(ctx, key, &found); err != nil {
		return fmt.Errorf("get EtcdCluster: %w", err)
	}
	before := client.MergeFrom(found.DeepCopy())
	found.Annotations = map[string]string{v1beta1.AnnotationCheckHashes: request}
	if err := b.client.Patch(ctx, &found, before); err != nil {
		return fmt.Errorf("annotate EtcdCluster: %w", err)
	}
	var last *v1beta1.HashCheck
	err := poll(ctx, "members to be compared", blink, patience, func() (bool, error) {
		if err := b.client.Get(ctx, key, &found); err != nil {
			return false, fmt.Errorf("get EtcdCluster: %w", err)
		}
		last = found.Status.LastHashCheck
		return last != nil && last.Request == request, nil
	})
	if err == nil && last.Verdict != v1beta1.HashesEqual {
		err = fmt.Errorf("the data of members was found %s: %s", last.Verdict, last.Message)
	}
	return err
}

// reading reads a key every 10 ms while something happens, and says for how long none was read.
func (b *bench) reading(ctx context.Context, cluster string, happens func() error) (longest time.Duration, err error) {
	a, err := b.application(ctx, cluster)
	if err != nil {
		return 0, err
	}
	defer a.close()
	reading, stop := context.WithCancel(ctx)
	gap := make(chan time.Duration)
	go func() { gap <- longestWithoutRead(reading, a.etcd) }()
	err = happens()
	stop()
	return <-gap, err
}

func longestWithoutRead(ctx context.Context, etcd *clientv3.Client) (longest time.Duration) {
	last := time.Now()
	for ctx.Err() == nil {
		try, cancel := context.WithTimeout(ctx, readTry)
		_, err := etcd.Get(try, "pulse")
		cancel()
		if longest = max(longest, time.Since(last)); err == nil {
			last = time.Now()
		}
		time.Sleep(10 * time.Millisecond)
	}
	return longest
}
