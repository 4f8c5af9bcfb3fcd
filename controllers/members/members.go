// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package members asks a member of a cluster something that any of them can answer.
//
// It must never take the answer of a member of another cluster, nor choose what to do by an answer.
package members

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/observe"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// Timeout bounds a call, which may pass through the log of the cluster.
const Timeout = 5 * time.Second

// Finder finds a member of a cluster that answers.
type Finder struct {
	Client client.Client // reads Pods
	Dialer observe.Members
}

// FirstToAnswer is the first member that answers the question, of those whose Pods run, and its answer; nil if none runs. A question is one
// that a quorum has to answer: it ends with the first voter.
func FirstToAnswer[T any](
	ctx context.Context, f Finder, c *v1beta1.EtcdCluster, ask func(etcd.Client, context.Context) (T, error),
) (etcd.Client, T, error) {
	var none T
	var pods corev1.PodList
	if err := f.Client.List(ctx, &pods, client.InNamespace(c.Namespace), client.MatchingLabels(specs.MemberSelector(c))); err != nil {
		return nil, none, fmt.Errorf("list pods: %w", err)
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int {
		return cmp.Or(-cmp.Compare(boolean(isPodReady(&a)), boolean(isPodReady(&b))), cmp.Compare(a.Name, b.Name))
	})
	var failed error
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Status.PodIP == "" || pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
			continue
		}
		member, err := f.inPod(ctx, c, pod)
		if err == nil {
			var answer T
			answer, err = Within(ctx, func(ctx context.Context) (T, error) { return ask(member, ctx) })
			if err == nil {
				return member, answer, nil
			}
		}
		failed = errors.Join(failed, err)
	}
	return nil, none, failed
}

// Named is the member with that name, if its Pod runs.
func (f Finder) Named(ctx context.Context, c *v1beta1.EtcdCluster, name string) (etcd.Client, error) {
	var pod corev1.Pod
	if err := f.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &pod); err != nil {
		return nil, fmt.Errorf("get Pod: %w", err)
	}
	if pod.Status.PodIP == "" || pod.DeletionTimestamp != nil {
		return nil, errors.New("its Pod does not run")
	}
	return f.inPod(ctx, c, &pod)
}

// inPod is the member in a Pod, if it is one of this cluster: a member with data of another cluster has other users and keys.
func (f Finder) inPod(ctx context.Context, c *v1beta1.EtcdCluster, pod *corev1.Pod) (etcd.Client, error) {
	member, err := f.Dialer.Member(ctx, c, cluster.Member{
		Name: pod.Name, Pod: cluster.Pod{UID: string(pod.UID), Address: pod.Status.PodIP},
	})
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	status, err := Within(ctx, member.Status)
	switch id := strconv.FormatUint(status.ClusterID, 16); {
	case err != nil:
		return nil, err
	case id != c.Status.ClusterID:
		return nil, fmt.Errorf("%s is a member of cluster %s, not of %s", pod.Name, id, c.Status.ClusterID)
	}
	return member, nil
}

func isPodReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func boolean(is bool) int {
	if is {
		return 1
	}
	return 0
}

// Within asks a member, and gives up after some seconds.
func Within[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	return call(ctx)
}
