// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/controllers"
)

// TestUsersOfASilentClusterRest: while a cluster does not answer, nothing can be done for its users; their Secrets are not read again and
// again, and the pauses grow. While it hibernates there is nothing to look at.
func TestUsersOfASilentClusterRest(t *testing.T) {
	w := newUsers(t, "users-rest")
	var reads atomic.Int32 // they are read in parallel
	counting := interceptor.NewClient(live, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			if _, is := object.(*corev1.Secret); is && strings.HasPrefix(key.Name, "a-user-") {
				reads.Add(1)
			}
			return c.Get(ctx, key, object, opts...)
		},
	})
	operator := controllers.NewRememberingUsersReconciler(counting, w, w.events, time.Now)
	for _, name := range []string{"x", "y", "z"} {
		w.user(name)
	}
	w.mustSettle(operator)
	w.etcd.Stop("a-0")
	look := func() time.Duration {
		t.Helper()
		result, err := operator.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: "a"}})
		if err != nil {
			t.Fatal(err)
		}
		return result.RequeueAfter
	}
	look()
	reads.Store(0)
	first := look()
	for range 6 {
		look()
	}
	if last := look(); reads.Load() > 0 || first > time.Minute || last < 2*time.Minute {
		t.Errorf("%d Secrets were read in eight looks; looks again after %s, later after %s", reads.Load(), first, last)
	}
	w.update(w.cluster, func() { w.cluster.Spec.Size = ptr.To(int32(0)) })
	if pause := look(); pause < 5*time.Minute || reads.Load() > 0 {
		t.Errorf("hibernating: %d Secrets were read; looks again after %s", reads.Load(), pause)
	}
}
