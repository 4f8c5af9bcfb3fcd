// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusters "github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// A world is where a test finds its things, and cleans up after itself.
type world struct {
	api       client.Client
	namespace string
	name      string // of the test's own cluster
	bundle    string // folder
	now       func() time.Time
	pause     time.Duration // between two looks

	made []client.Object
	log  []string
}

func (w *world) say(format string, args ...any) {
	w.log = append(w.log, w.now().UTC().Format("15:04:05 ")+fmt.Sprintf(format, args...))
}

// create makes an object that goes when the test ends.
func (w *world) create(ctx context.Context, object client.Object) error {
	object.SetNamespace(w.namespace)
	if err := w.api.Create(ctx, object); err != nil {
		return fmt.Errorf("create %s: %w", object.GetName(), err)
	}
	w.made = append(w.made, object)
	w.say("created %s", object.GetName())
	return nil
}

// cleanUp deletes what the test made, in a time of its own.
func (w *world) cleanUp() {
	limited, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	for _, object := range w.made {
		if err := client.IgnoreNotFound(w.api.Delete(limited, object)); err != nil {
			w.say("delete %s: %v", object.GetName(), err)
		}
	}
}

// newCluster makes a cluster of small volumes that go with it, and waits for it.
func (w *world) newCluster(ctx context.Context, size int32) (*clusters.EtcdCluster, error) {
	c := &clusters.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: w.name}, Spec: clusters.EtcdClusterSpec{
		Size: ptr.To(size), DeletionPolicy: clusters.Delete,
		Storage: clusters.Storage{Size: ptr.To(resource.MustParse("256Mi"))},
	}}
	if err := w.create(ctx, c); err != nil {
		return nil, err
	}
	return c, w.settles(ctx, c)
}

// settles waits until all of the cluster is as its spec wants it.
func (w *world) settles(ctx context.Context, c *clusters.EtcdCluster) error {
	return w.until(ctx, c.Name+" to be available and as wanted", func() (string, error) {
		now := &clusters.EtcdCluster{} // what is read into an old object keeps what is no longer said
		if err := w.api.Get(ctx, client.ObjectKeyFromObject(c), now); err != nil {
			return "", err
		}
		*c = *now
		return unsettled(c), nil
	})
}

// unsettled says what of the cluster is not yet as wanted, or "".
func unsettled(c *clusters.EtcdCluster) string {
	switch {
	case c.Status.ObservedGeneration != c.Generation:
		return "the operator has not looked at it"
	case !meta.IsStatusConditionTrue(c.Status.Conditions, clusters.ConditionAvailable):
		return "it is not available"
	case !meta.IsStatusConditionFalse(c.Status.Conditions, clusters.ConditionProgressing):
		return "it is still being changed"
	case int(c.Status.ReadyMembers) != c.Size():
		return fmt.Sprintf("%d of %d members are ready", c.Status.ReadyMembers, c.Size())
	}
	return ""
}

// pods are those of the cluster's members.
func (w *world) pods(ctx context.Context, c *clusters.EtcdCluster) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := w.api.List(ctx, &list, client.InNamespace(w.namespace), client.MatchingLabels{clusters.LabelCluster: c.Name})
	return list.Items, err
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}

// until asks what is missing, until nothing is, or the time is up. It asks again
// after errors, and tells the last.
func (w *world) until(ctx context.Context, what string, missing func() (string, error)) error {
	begun := w.now()
	for {
		left, err := missing()
		if err == nil && left == "" {
			w.say("%s: after %s", what, w.now().Sub(begun).Round(time.Second))
			return nil
		}
		if err != nil {
			left = err.Error()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited for %s: %s", what, left)
		case <-time.After(w.pause):
		}
	}
}

// untyped is an object of an example.
func untyped(object map[string]any) (*clusters.EtcdCluster, error) {
	c := &clusters.EtcdCluster{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object, c, true); err != nil {
		return nil, fmt.Errorf("an example is no EtcdCluster: %w", err)
	}
	return c, nil
}
