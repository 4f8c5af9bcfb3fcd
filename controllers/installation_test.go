package controllers

import (
	"context"
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/act"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/connect"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// TestHoldingOf: a Lease is held until twice its time has passed since it was renewed.
func TestHoldingOf(t *testing.T) {
	leases := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	silent := errors.New("no route to host")
	lease := func(holder string, age time.Duration, lasts *int32) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, RenewTime: &metav1.MicroTime{Time: noon.Add(-age)}, LeaseDurationSeconds: lasts,
		}}
	}
	for _, test := range []struct {
		what  string
		lease *coordinationv1.Lease
		err   error
		want  holding
		fails error
	}{
		{what: "just renewed", lease: lease("a", 0, ptr.To[int32](15)), want: held},
		{what: "renewed by a clock that is ahead", lease: lease("a", -time.Hour, ptr.To[int32](15)), want: held},
		{what: "late", lease: lease("a", 30*time.Second, ptr.To[int32](15)), want: held},
		{what: "over", lease: lease("a", 31*time.Second, ptr.To[int32](15)), want: ended},
		{what: "a longer one", lease: lease("a", 31*time.Second, ptr.To[int32](60)), want: held},
		{what: "without a duration", lease: lease("a", 30*time.Second, nil), want: held},
		{what: "without a duration, over", lease: lease("a", 31*time.Second, nil), want: ended},
		{what: "given up", lease: lease("", 0, ptr.To[int32](1)), want: ended},
		{what: "never held", lease: &coordinationv1.Lease{}, want: ended},
		{what: "gone", err: apierrors.NewNotFound(leases, leaseName), want: ended},
		{what: "not ours to read", err: apierrors.NewForbidden(leases, leaseName, nil), want: hidden},
		{what: "not read", err: silent, want: held, fails: silent},
	} {
		got, err := holdingOf(test.lease, test.err, noon)
		if got != test.want || !errors.Is(err, test.fails) {
			t.Errorf("%s: %d, %v; want %d, %v", test.what, got, err, test.want, test.fails)
		}
	}
}

// beside is an API server with the Lease of another installation. It notes whether a
// status is written.
func beside(other holding, written *bool) client.Client {
	return interceptor.NewClient(nil, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, lease client.Object, _ ...client.GetOption) error {
			switch leases := (schema.GroupResource{Resource: "leases"}); other {
			case ended:
				return apierrors.NewNotFound(leases, leaseName)
			case hidden:
				return apierrors.NewForbidden(leases, leaseName, nil)
			case held:
			}
			lease.(*coordinationv1.Lease).Spec = coordinationv1.LeaseSpec{
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
func charge(t *testing.T, ours string, status v1alpha1.EtcdClusterStatus, other holding) string {
	t.Helper()
	written := false
	server := beside(other, &written)
	r := &EtcdClusterReconciler{
		Client: server, Actor: &act.Actor{Live: server, Now: func() time.Time { return noon }},
		Dialer: &connect.Dialer{Pool: etcd.NewPool()}, Events: events.NewFakeRecorder(1), Installation: ours,
	}
	ec := &v1alpha1.EtcdCluster{Status: status}
	err := r.claimOwnership(t.Context(), ec)
	looksAfter := !errors.Is(err, errNotOwner)
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
	const us, them = "ours/" + leaseName, "theirs/" + leaseName
	written := func(operator string) v1alpha1.EtcdClusterStatus {
		return v1alpha1.EtcdClusterStatus{Operator: operator, ObservedGeneration: 1, Format: v1alpha1.StatusFormat}
	}
	newer := func(operator string) v1alpha1.EtcdClusterStatus {
		status := written(operator)
		status.Format++
		return status
	}
	for _, test := range []struct {
		what   string
		ours   string
		status v1alpha1.EtcdClusterStatus
		other  holding
		want   string
	}{
		{"a new cluster", us, v1alpha1.EtcdClusterStatus{}, ended, first},
		{"a new cluster, without a lease", "", v1alpha1.EtcdClusterStatus{}, ended, inCharge},
		{"ours", us, written(us), ended, inCharge},
		{"nobody's, without a lease", "", written(""), ended, inCharge},
		{"nobody's, which may be that of one without a lease", us, written(""), ended, successor},
		{"theirs", us, written(them), held, passive},
		{"theirs, and they have ended", us, written(them), ended, successor},
		{"theirs, and nobody may know whether they have ended", us, written(them), hidden, passive},
		{"theirs, without a lease", "", written(them), held, passive},
		{"theirs, and they have ended, without a lease", "", written(them), ended, successor},
		{"theirs, whose first status is lost", us, v1alpha1.EtcdClusterStatus{Operator: them}, held, passive},
		{"a newer one's, ours", us, newer(us), ended, inCharge},
		{"a newer one's, theirs", us, newer(them), held, passive},
		{"a newer one's, theirs, ended: its status is not touched", us, newer(them), ended, inCharge},
		{"a newer one's, nobody's: its status is not touched", us, newer(""), ended, inCharge},
	} {
		if got := charge(t, test.ours, test.status, test.other); got != test.want {
			t.Errorf("%s: %s, want %s", test.what, got, test.want)
		}
	}
}

// TestMemoriesAreApart: each cluster has its own, until it is gone.
func TestMemoriesAreApart(t *testing.T) {
	var known clusterCaches
	a, b := types.NamespacedName{Namespace: "x", Name: "a"}, types.NamespacedName{Namespace: "x", Name: "b"}
	if !known.of(a).NoteChanged("1") || known.of(a).NoteChanged("1") || !known.of(b).NoteChanged("1") {
		t.Error("one cluster has the memory of another, or none")
	}
	if known.forget(a); !known.of(a).NoteChanged("1") || known.of(b).NoteChanged("1") {
		t.Error("one was to be forgotten, the other not")
	}
}

// TestPauseOfAnInstallationThatIsPassive: it looks again about when the Lease of the
// other one may have ended.
func TestPauseOfAnInstallationThatIsPassive(t *testing.T) {
	if got, err := requeue(0, errNotOwner); err != nil || got.RequeueAfter < leaseDuration || got.RequeueAfter > 2*leaseDuration {
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
