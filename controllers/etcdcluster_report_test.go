// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/cache"
	"github.com/etcd-operator/etcd-operator/controllers/metrics"
	"github.com/etcd-operator/etcd-operator/internal/cluster/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// TestStepHasAnEventAlthoughTheStatusIsNotWritten: the next look writes the status, and sees nothing more of the step.
func TestStepHasAnEventAlthoughTheStatusIsNotWritten(t *testing.T) {
	changed := apierrors.NewConflict(schema.GroupResource{Resource: "etcdclusters"}, "a", errors.New("it has changed"))
	server := interceptor.NewClient(nil, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return nil },
		SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
			return changed
		},
	})
	recorder := events.NewFakeRecorder(10)
	r := &EtcdClusterReconciler{
		Client: server, Actor: &act.Actor{Live: server, Now: func() time.Time { return noon }}, Events: recorder,
		secrets: &cache.Secrets{}, figures: &metrics.Clusters{Now: func() time.Time { return noon }},
	}
	look := &clusterLook{ec: &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, step: plan.ResizePod{Name: "a-0"}}
	if err := r.report(t.Context(), look, look.step, nil); !apierrors.IsConflict(err) {
		t.Errorf("%v, want the conflict", err)
	}
	close(recorder.Events)
	var emitted []string
	for event := range recorder.Events {
		emitted = append(emitted, event)
	}
	if len(emitted) != 1 || !strings.Contains(emitted[0], "PodResized") {
		t.Errorf("%q, want one event of the step, and none of the status", emitted)
	}
}
