// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/plugin/diagnosis"
)

// TestDiagnoseEnds: with 0 where nothing is worse than a hint, else with 2, and with 1 only what could not be looked at.
func TestDiagnoseEnds(t *testing.T) {
	lost := condition(v1beta1.ConditionAvailable, metav1.ConditionFalse, v1beta1.ReasonQuorumLost)
	w := newWorld(t, cluster("well", available), cluster("lost", lost), cluster("new"))
	for name, want := range map[string]int{"well": Done, "lost": Unwell, "new": Unwell, "none": Failed} {
		wantExit(t, w.run(t.Context(), "diagnose", name), want)
	}
	wantExit(t, w.run(t.Context(), "diagnose"), Unwell)
	wantText(t, &w.out, "default/well: Healthy", "Nothing is wrong.", "default/lost: QuorumLost", "THE SERVICE IS DOWN")
	wantExit(t, w.run(t.Context(), "diagnose", "-n", "empty"), Done)
	wantText(t, &w.err, "there is no EtcdCluster in namespace empty")
	wantExit(t, w.run(t.Context(), "diagnose", "-o", "yaml"), Failed)
}

// TestDiagnoseReads: backups, stores and events of the namespace, and the Lease of the operator that manages the cluster.
func TestDiagnoseReads(t *testing.T) {
	c := cluster("a", available)
	c.Status.Operator = "operators/the-lease"
	c.Status.Members = []v1beta1.MemberStatus{{Name: "a-0"}}
	warning := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "e"}, Type: corev1.EventTypeWarning, Reason: "FailedMount",
		LastTimestamp:  metav1.NewTime(noon),
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "a-0"},
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "operators", Name: "the-lease"}}
	lease.Spec.HolderIdentity, lease.Spec.RenewTime = ptr.To("o"), ptr.To(metav1.NewMicroTime(noon.Add(-time.Hour)))
	w := newWorld(t, c, warning, lease, store("offsite"))
	wantExit(t, w.run(t.Context(), "diagnose", "a", "-o", "json"), Unwell)
	wantText(t, &w.out, "no replica of the operator holds Lease operators/the-lease", "kubectl get pods -n operators", "Pod a-0: FailedMount",
		"1 EtcdBackupStores")
	var d diagnosis.Diagnosis
	if err := json.Unmarshal(w.out.Bytes(), &d); err != nil || d.Name != "a" || len(d.Findings) != 2 || len(d.Unread) > 0 {
		t.Error(d, err)
	}
}

// TestDiagnoseWithoutRights: what may not be read is named, is not missing, and the rest is looked at.
func TestDiagnoseWithoutRights(t *testing.T) {
	w := newWorld(t, cluster("a", available))
	w.client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, is := list.(*corev1.EventList); is {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", nil)
			}
			return c.List(ctx, list, options...)
		},
	})
	wantExit(t, w.run(t.Context(), "diagnose", "a"), Done)
	wantText(t, &w.out, "COULD NOT BE READ", "Events could not be read: events is forbidden",
		"status.operator of the EtcdCluster does not say", "0 EtcdBackups")
}
