// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const (
	mebibyte  = 1 << 20
	valueSize = 100 << 10
	// A member that joins gets a snapshot of the database once etcd has dropped the
	// log of it: it keeps 5,000 entries, and drops others every 10,000.
	smallWrites = 16_000
	// writers write at once, so that the disk is the limit and not the way to it.
	writers = 32
)

// replace times a member whose Pod and volume were deleted: from when the Pod is
// gone, until another one votes and serves in its place. etcd makes that take one of two
// times, seven seconds apart, and a median would be the one that happened more often by
// chance: the means are compared.
func replace(name string, databaseMiB int, volume string) func(context.Context, *bench) ([]row, error) {
	return func(ctx context.Context, b *bench) ([]row, error) {
		size := resource.MustParse(volume)
		cluster := strings.ToLower(name)
		ours, f := b.threeMembers(cluster), b.floorOf(cluster+"-floor", size)
		ours.Spec.Storage.Size = ptr.To(size)
		return b.both(ctx, ours, f, func() ([]row, error) {
			for _, cluster := range []string{ours.Name, f.Name} {
				if err := b.fill(ctx, cluster, databaseMiB); err != nil {
					return nil, err
				}
			}
			measured, floors, err := b.inTurns(1,
				func(int) (lap, error) { return b.replaceOurs(ctx, ours.Name) },
				func(i int) (lap, error) { return b.replaceFloor(ctx, f, successor(f, i)) })
			if err != nil {
				return nil, err
			}
			return []row{beside(name, "s", measured[0].mean(), floors[0].mean(), atMost(1.5), measured[0], floors[0])}, nil
		})
	}
}

// successor is a name that no member of the floor has had before the round.
func successor(f floor, round int) string {
	return f.Name + "-" + strconv.Itoa(len(f.Members)+round)
}

func (b *bench) replaceOurs(ctx context.Context, cluster string) (lap, error) {
	if err := b.rested(ctx, cluster, 3); err != nil {
		return nil, err
	}
	pod, err := b.follower(ctx, cluster)
	if err != nil {
		return nil, err
	}
	if err := b.lose(ctx, pod); err != nil {
		return nil, err
	}
	begin := time.Now()
	_, err = b.serving(ctx, cluster, 3)
	return lap{time.Since(begin)}, err
}

func (b *bench) replaceFloor(ctx context.Context, f floor, successor string) (lap, error) {
	now, err := b.restedFloor(ctx, f, 3)
	if err != nil {
		return nil, err
	}
	lost := now.followers[len(now.followers)-1]
	if err := b.lose(ctx, lost.pod); err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := now.leader.member.Remove(ctx, lost.status.MemberID); err != nil {
		return nil, fmt.Errorf("remove %s: %w", lost.pod.Name, err)
	}
	rest := []string{now.leader.pod.Name}
	for _, s := range now.followers[:len(now.followers)-1] {
		rest = append(rest, s.pod.Name)
	}
	if err := b.joinFloor(ctx, f, now.leader.member, successor, rest); err != nil {
		return nil, err
	}
	_, err = b.serving(ctx, f.Name, 3)
	return lap{time.Since(begin)}, err
}

// lose deletes a member's volume and Pod, and waits until the Pod is gone.
func (b *bench) lose(ctx context.Context, pod *corev1.Pod) error {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}}
	if err := b.client.Delete(ctx, claim); err != nil {
		return fmt.Errorf("delete volume: %w", err)
	}
	if err := b.client.Delete(ctx, pod); err != nil {
		return fmt.Errorf("delete pod: %w", err)
	}
	return b.podGone(ctx, pod)
}

// fill makes the database large, and then the log of its making short.
func (b *bench) fill(ctx context.Context, cluster string, size int) error {
	a, err := b.application(ctx, cluster)
	if err != nil {
		return err
	}
	defer a.close()
	value := make([]byte, valueSize)
	_, _ = rand.Read(value) // never fails
	begin := time.Now()
	if err := write(ctx, a.etcd, "large", string(value), size*mebibyte/valueSize); err != nil {
		return err
	}
	if err := write(ctx, a.etcd, "small", "", smallWrites); err != nil {
		return err
	}
	now, err := b.serving(ctx, cluster, 3)
	if err != nil {
		return err
	}
	b.progress("%s has a database of %d MiB after %s", cluster, now.leader.status.DBSize/mebibyte, time.Since(begin).Round(time.Second))
	return nil
}

// write writes so many keys, some at once.
func write(ctx context.Context, etcd *clientv3.Client, prefix, value string, count int) error {
	var next atomic.Int64
	return atOnce(make([]struct{}, writers), func(struct{}) error {
		for i := next.Add(1); i <= int64(count); i = next.Add(1) {
			ctx, cancel := context.WithTimeout(ctx, patience)
			_, err := etcd.Put(ctx, fmt.Sprintf("%s/%d", prefix, i), value)
			cancel()
			if err != nil {
				return fmt.Errorf("fill the database: %w", err)
			}
		}
		return nil
	})
}
