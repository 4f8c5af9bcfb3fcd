// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/lease"
	"github.com/etcd-operator/etcd-operator/controllers/metrics"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/connect"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// beside is an API server with the Lease of another installation. It notes whether a
// status is written.
func beside(other lease.Holding, written *bool) client.Client {
	return interceptor.NewClient(nil, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, read client.Object, _ ...client.GetOption) error {
			switch leases := (schema.GroupResource{Resource: "leases"}); other {
			case lease.Ended:
				return apierrors.NewNotFound(leases, lease.Name)
			case lease.Hidden:
				return apierrors.NewForbidden(leases, lease.Name, nil)
			case lease.Held:
			}
			read.(*coordinationv1.Lease).Spec = coordinationv1.LeaseSpec{
				HolderIdentity: ptr.To("a"), RenewTime: &metav1.MicroTime{Time: noon},
			}
			return nil
		},
		SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
			*written = true
			return nil
		},
	})
}

const (
	inCharge  = "in charge, and nothing is changed"
	first     = "in charge, and said with the first status"
	successor = "in charge, and written down"
	passive   = "passive"
)

// charge is what an installation makes of a cluster of that status.
func charge(t *testing.T, ours string, status v1beta1.EtcdClusterStatus, other lease.Holding) string {
	t.Helper()
	written := false
	server := beside(other, &written)
	r := &EtcdClusterReconciler{
		Client: server, Actor: &act.Actor{Live: server, Now: func() time.Time { return noon }},
		Dialer: &connect.Dialer{Pool: etcd.NewPool()}, Events: events.NewFakeRecorder(1), Installation: ours,
		figures: &metrics.Clusters{Now: func() time.Time { return noon }},
	}
	ec := &v1beta1.EtcdCluster{Status: status}
	r.figures.Set(client.ObjectKeyFromObject(ec), report.Figures(status, cluster.View{}))
	err := r.claimOwnership(t.Context(), ec)
	looksAfter := !errors.Is(err, errNotOwner)
	shown := make(chan prometheus.Metric, 100)
	if r.figures.Collect(shown); looksAfter != (len(shown) > 0) {
		t.Errorf("it manages the cluster: %t, and %d figures are shown", looksAfter, len(shown))
	}
	switch {
	case looksAfter && err != nil:
		return err.Error()
	case looksAfter && written:
		return successor
	case looksAfter && ec.Status.Operator != status.Operator:
		return first
	case looksAfter:
		return inCharge
	default:
		return passive
	}
}

// TestTakeCharge: one installation manages a cluster, and says so before it
// changes one that another has managed, or none.
func TestTakeCharge(t *testing.T) {
	const us, them = "ours/" + lease.Name, "theirs/" + lease.Name
	written := func(operator string) v1beta1.EtcdClusterStatus {
		return v1beta1.EtcdClusterStatus{Operator: operator, ObservedGeneration: 1, Format: v1beta1.StatusFormat}
	}
	newer := func(operator string) v1beta1.EtcdClusterStatus {
		status := written(operator)
		status.Format++
		return status
	}
	for _, test := range []struct {
		what   string
		ours   string
		status v1beta1.EtcdClusterStatus
		other  lease.Holding
		want   string
	}{
		{"a new cluster", us, v1beta1.EtcdClusterStatus{}, lease.Ended, first},
		{"a new cluster, without a lease", "", v1beta1.EtcdClusterStatus{}, lease.Ended, inCharge},
		{"ours", us, written(us), lease.Ended, inCharge},
		{"nobody's, without a lease", "", written(""), lease.Ended, inCharge},
		{"nobody's, which may be that of one without a lease", us, written(""), lease.Ended, successor},
		{"theirs", us, written(them), lease.Held, passive},
		{"theirs, and they have ended", us, written(them), lease.Ended, successor},
		{"theirs, and nobody may know whether they have ended", us, written(them), lease.Hidden, passive},
		{"theirs, without a lease", "", written(them), lease.Held, passive},
		{"theirs, and they have ended, without a lease", "", written(them), lease.Ended, successor},
		{"theirs, whose first status is lost", us, v1beta1.EtcdClusterStatus{Operator: them}, lease.Held, passive},
		{"a newer one's, ours", us, newer(us), lease.Ended, inCharge},
		{"a newer one's, theirs", us, newer(them), lease.Held, passive},
		{"a newer one's, theirs, ended: its status is not touched", us, newer(them), lease.Ended, inCharge},
		{"a newer one's, nobody's: its status is not touched", us, newer(""), lease.Ended, inCharge},
	} {
		if got := charge(t, test.ours, test.status, test.other); got != test.want {
			t.Errorf("%s: %s, want %s", test.what, got, test.want)
		}
	}
}

// TestPauseOfAnInstallationThatIsPassive: it looks again about when the Lease of the
// other one may have ended.
func TestPauseOfAnInstallationThatIsPassive(t *testing.T) {
	if got, err := requeue(0, errNotOwner); err != nil || got.RequeueAfter < lease.Duration || got.RequeueAfter > 2*lease.Duration {
		t.Errorf("%s, %v", got.RequeueAfter, err)
	}
	failed := errors.New("no route to host")
	if got, err := requeue(0, failed); !errors.Is(err, failed) || got.RequeueAfter != 0 {
		t.Errorf("%s, %v; want the error", got.RequeueAfter, err)
	}
	lost := apierrors.NewConflict(schema.GroupResource{Resource: "etcdclusters"}, "a", failed)
	if got, err := requeue(0, lost); err != nil || got.RequeueAfter != lookAgain {
		t.Errorf("%s, %v; want a look soon", got.RequeueAfter, err)
	}
}
