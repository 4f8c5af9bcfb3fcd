// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestDrillRestores: the newest verified backup is restored into a cluster that is thrown away; an operator that dies at any write changes
// nothing of that.
func TestDrillRestores(t *testing.T) {
	dies(t, "drill-restore", 4, func(t *testing.T, namespace string, dying *mortal) {
		w := newDrills(t, namespace, v1beta1.DrillsAllowed, v1beta1.RestoreBackup)
		w.backedUp(0)
		err := w.restores(w.operator(dying.funcs()))
		if errors.Is(err, errDead) {
			err = w.restores(w.operator(interceptor.Funcs{}))
		}
		s := w.drill.Status
		if err != nil || s.Phase != v1beta1.DrillRecovered || s.Keys == nil || *s.Keys != 0 || s.RecoveredIn == nil || s.Job != nil {
			t.Fatalf("%v; %+v", err, s)
		}
		if !w.isGone(&v1beta1.EtcdCluster{ObjectMeta: w.named(s.Restored)}) {
			t.Error("the throw-away cluster stays")
		}
	})
}

// TestDrillExpects: what spec.expect says is read of the throw-away cluster, as it is now if the revision that was restored is compacted.
func TestDrillExpects(t *testing.T) {
	all := []v1beta1.DrillExpectation{
		{Prefix: "/ns/", Min: new(int64(2)), Max: new(int64(2))}, {Key: "/ns/a"}, {Key: "/ns/b", Value: new("secret")},
	}
	for name, c := range map[string]struct {
		expect    []v1beta1.DrillExpectation
		compacted bool
		reason    string
		says      string
	}{
		"met":       {all, false, v1beta1.ReasonRecovered, "3 expectations are met"},
		"few":       {[]v1beta1.DrillExpectation{{Prefix: "/ns/", Min: new(int64(3))}}, false, v1beta1.ReasonNotAsExpected, "has 2 keys"},
		"missing":   {[]v1beta1.DrillExpectation{{Key: "/ns/"}, {Key: "/z"}}, false, v1beta1.ReasonNotAsExpected, "key /z does not exist"},
		"other":     {[]v1beta1.DrillExpectation{{Key: "/ns/b", Value: new("")}}, false, v1beta1.ReasonNotAsExpected, "/ns/b has another value"},
		"compacted": {all, true, v1beta1.ReasonRecovered, "3 expectations are met"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newDrills(t, "drill-expect-"+name, v1beta1.DrillsAllowed, v1beta1.RestoreBackup)
			w.drill.Spec.Expect = c.expect
			if err := server.Update(t.Context(), w.drill); err != nil {
				t.Fatal(err)
			}
			w.etcd.Put("/ns/a", "1")
			w.etcd.Put("/ns/b", "secret")
			w.etcd.Put("/other", "3")
			w.backedUp(3)
			w.begun = &v1beta1.RestoreStatus{Path: "b", Revision: 2, Bump: 1}
			if c.compacted {
				if err := w.etcd.Client("a-0").Compact(t.Context(), 4); err != nil {
					t.Fatal(err)
				}
			}
			err := w.restores(w.operator(interceptor.Funcs{}))
			s := w.drill.Status
			complete := meta.FindStatusCondition(s.Conditions, v1beta1.ConditionComplete)
			if err != nil || complete.Reason != c.reason || !strings.Contains(s.Report, c.says) || strings.Contains(s.Report, "secret") {
				t.Errorf("%v; %+v; %+v", err, complete, s)
			}
		})
	}
}

// restores is settle where the throw-away cluster comes to serve.
func (w *drills) restores(operator *controllers.EtcdDrillReconciler) error {
	for range 60 {
		result, err := w.reconcile(operator)
		if w.get(w.drill); err != nil || result.RequeueAfter == 0 && w.drill.HasEnded() {
			return err
		}
		c := &v1beta1.EtcdCluster{ObjectMeta: w.named(w.drill.Status.Restored)}
		if c.Name == "" || w.isGone(c) {
			continue
		}
		c.Status.ClusterID, c.Status.Restore = "c1", w.begun
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
			Type: v1beta1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonHealthy,
		})
		w.write(c)
		pod := &corev1.Pod{ObjectMeta: w.named(c.Name + "-0")}
		pod.Spec.Containers = []corev1.Container{{Name: "etcd", Image: "etcd"}}
		pod.Labels = specs.MemberSelector(c)
		if err := server.Create(w.t.Context(), pod); err == nil {
			pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, "10.0.0.1", []corev1.PodIP{{IP: "10.0.0.1"}}
			w.write(pod)
		}
	}
	return errors.New("it never settles")
}

// backedUp is a verified backup with so many keys.
func (w *drills) backedUp(keys int64) {
	w.t.Helper()
	b := &v1beta1.EtcdBackup{ObjectMeta: w.named("b"), Spec: v1beta1.EtcdBackupSpec{Cluster: "a", Store: "s"}}
	w.create(b)
	s := &b.Status
	s.ClusterUID, s.ClusterID, s.StartedAt = string(w.cluster.UID), "c1", &metav1.Time{Time: time.Now()}
	s.EtcdVersion, s.Revision, s.Keys = "3.6.16", 7, &keys
	for _, kind := range []string{v1beta1.ConditionComplete, v1beta1.ConditionVerified} {
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Good"})
	}
	w.write(b)
}
