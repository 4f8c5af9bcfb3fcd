// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// TestSlowClusterHoldsUpNoOther: while one cluster has yet to answer, another is looked at.
func TestSlowClusterHoldsUpNoOther(t *testing.T) {
	slow := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "slow"}}
	other := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "other"}}
	inside := make(chan reconcile.Request, 2)
	chosen := options()
	chosen.SkipNameValidation = ptr.To(true)
	chosen.Reconciler = reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		inside <- request
		if request == slow {
			<-ctx.Done()
		}
		return reconcile.Result{}, nil
	})
	c, err := controller.NewUnmanaged("slow", chosen)
	if err != nil {
		t.Fatal(err)
	}
	queues := make(chan workqueue.TypedRateLimitingInterface[reconcile.Request], 1)
	err = c.Watch(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queues <- queue
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- c.Start(t.Context()) }()
	t.Cleanup(func() {
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	queue := <-queues
	for _, request := range []reconcile.Request{slow, other} {
		queue.Add(request)
		select {
		case got := <-inside:
			if got != request {
				t.Fatalf("%s was looked at and not %s", got, request)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s is not looked at", request)
		}
	}
}
