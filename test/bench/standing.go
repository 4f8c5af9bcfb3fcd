// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// A seat is a member's Pod, and what the member says of itself.
type seat struct {
	pod    *corev1.Pod
	member etcd.Client
	status etcd.Status
}

// A standing is a whole cluster at one time, followers by the age of their names.
type standing struct {
	leader    seat
	followers []seat
}

// pods are all Pods of a cluster, as the watch brought them.
func (b *bench) pods(ctx context.Context, cluster string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := b.seen.List(ctx, &pods, client.InNamespace(b.namespace), client.MatchingLabels{instanceLabel: cluster}); err != nil {
		return nil, fmt.Errorf("list pods of %s: %w", cluster, err)
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int {
		return cmp.Or(len(a.Name)-len(b.Name), cmp.Compare(a.Name, b.Name))
	})
	return pods.Items, nil
}

// whole waits until a cluster has so many members and nothing else: each has a Pod
// that is ready, answers a linearizable read and knows all others as voters.
func (b *bench) whole(ctx context.Context, cluster string, size int) (standing, error) {
	return b.wholeOf(ctx, cluster, size, func(s seat) bool { return isReady(s.pod) })
}

// serving waits for the same, whether or not the kubelet has noticed.
func (b *bench) serving(ctx context.Context, cluster string, size int) (standing, error) {
	return b.wholeOf(ctx, cluster, size, func(seat) bool { return true })
}

func (b *bench) wholeOf(ctx context.Context, cluster string, size int, also func(seat) bool) (standing, error) {
	var found standing
	err := poll(ctx, fmt.Sprintf("%d members of %s", size, cluster), blink, patience, func() (bool, error) {
		pods, err := b.pods(ctx, cluster)
		if err != nil || len(pods) != size {
			return false, err
		}
		found = standing{}
		for i := range pods {
			s, ok, err := b.sit(ctx, cluster, &pods[i], size)
			if err != nil || !ok || !also(s) {
				return false, err
			}
			if s.status.LeaderID == s.status.MemberID {
				found.leader = s
			} else {
				found.followers = append(found.followers, s)
			}
		}
		return len(found.followers) == size-1, nil
	})
	return found, err
}

// sit asks one member; not answering is an answer too.
func (b *bench) sit(ctx context.Context, cluster string, pod *corev1.Pod, size int) (seat, bool, error) {
	if pod.DeletionTimestamp != nil || pod.Status.PodIP == "" {
		return seat{}, false, nil
	}
	member, err := b.dial(ctx, cluster, pod)
	if err != nil {
		return seat{}, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	s := seat{pod: pod, member: member}
	if s.status, err = member.Status(ctx); err != nil || s.status.Learner || member.Read(ctx) != nil {
		return seat{}, false, nil // it does not serve yet
	}
	list, err := member.Members(ctx)
	voters := slices.DeleteFunc(list, func(m etcd.Member) bool { return m.Learner })
	return s, err == nil && len(voters) == size && len(list) == size, nil
}

// isReady says whether the Service lists the Pod, or is about to.
func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// follower is the Pod of a member that does not lead: the last of them.
func (b *bench) follower(ctx context.Context, cluster string) (*corev1.Pod, error) {
	now, err := b.serving(ctx, cluster, 3)
	if err != nil {
		return nil, err
	}
	return now.followers[len(now.followers)-1].pod, nil
}
