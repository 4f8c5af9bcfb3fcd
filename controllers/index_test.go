// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !envtest

package controllers

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/cache"
	"github.com/etcd-operator/etcd-operator/controllers/metrics"
)

// TestALookListsWhatIsOfItsCluster: with 100 clusters in a namespace that have ten backups and a drill each, a look at one copies those of
// that one.
func TestALookListsWhatIsOfItsCluster(t *testing.T) {
	const clusters, backups = 100, 10
	scheme := runtime.NewScheme()
	must(t, v1beta1.AddToScheme(scheme))
	var objects []client.Object
	for i := range clusters {
		name := fmt.Sprintf("c%d", i)
		objects = append(objects, &v1beta1.EtcdDrill{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: v1beta1.EtcdDrillSpec{Cluster: name},
		})
		for n := range backups {
			b := &v1beta1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("%s-%d", name, n)}}
			if n > 0 {
				b.Spec.Cluster = name
			} else {
				b.Status.Cluster = name // of a store in which it was found
			}
			objects = append(objects, b)
		}
	}
	built := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...)
	must(t, cache.Index(t.Context(), indexes{built}))
	listed := map[string]int{}
	server := interceptor.NewClient(built.Build(), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			err := c.List(ctx, list, options...)
			listed[fmt.Sprintf("%T", list)] += meta.LenList(list)
			return err
		},
	})
	now := func() time.Time { return noon }
	c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c7", UID: "u7"}}
	c.Spec.Backup = &v1beta1.Backup{Store: "s"}
	looks := &EtcdClusterReconciler{Client: server, figures: &metrics.Clusters{Now: now}}
	must(t, looks.show(t.Context(), &clusterLook{ec: c}, c.Status))
	schedules := &ScheduleReconciler{client: server, now: now, off: func() time.Duration { return 0 }}
	seen, err := schedules.see(t.Context(), c)
	must(t, err)
	if len(seen.Backups) != backups {
		t.Errorf("the schedule has %d backups", len(seen.Backups))
	}
	if got := listed["*v1beta1.EtcdBackupList"]; got != 2*backups || listed["*v1beta1.EtcdDrillList"] != 1 {
		t.Errorf("a look has copied %v", listed)
	}
}

// indexes are those of a fake API server, which takes them before it is built.
type indexes struct{ of *fake.ClientBuilder }

func (i indexes) IndexField(_ context.Context, o client.Object, field string, values client.IndexerFunc) error {
	i.of.WithIndex(o, field, values)
	return nil
}
