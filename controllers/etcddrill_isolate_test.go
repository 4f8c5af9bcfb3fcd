//go:build envtest

package controllers_test

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers"
)

// TestDrillIsolates: the Pod of a follower has a policy and a label for a while, and neither afterwards. An operator that dies at any write
// changes nothing of that, and an object that is deleted goes only after it.
func TestDrillIsolates(t *testing.T) {
	dies(t, "drill-isolate", 12, func(t *testing.T, namespace string, dying *mortal) {
		w := newDrills(t, namespace, v1beta1.DrillsAllowed, v1beta1.IsolateMember)
		before := w.uids()
		err := w.isolates(w.operator(dying.funcs()))
		if errors.Is(err, errDead) {
			err = w.isolates(w.operator(interceptor.Funcs{}))
		}
		if err != nil || w.drill.Status.Phase != v1beta1.DrillRecovered || w.drill.Status.ReleasedAt == nil || len(w.drill.Finalizers) > 0 {
			t.Fatalf("%v; %+v", err, w.drill)
		}
		if after := w.uids(); fmt.Sprint(before) != fmt.Sprint(after) || w.isIsolated() || len(w.policies()) > 0 || len(w.jobs()) > 0 {
			t.Errorf("Pods were %v, and are %v; policies %v", before, after, w.policies())
		}
	})
}

// TestDrillOfAReplacedPod: a Pod that has the name of the isolated one is left alone, and a drill that is deleted leaves nothing behind.
func TestDrillOfAReplacedPod(t *testing.T) {
	w := newDrills(t, "drill-isolated", v1beta1.DrillsAllowed, v1beta1.IsolateMember)
	operator := w.operator(interceptor.Funcs{})
	for range 15 {
		w.look(operator)
	}
	if !w.isIsolated() || len(w.policies()) != 1 {
		t.Fatalf("it is not isolated: %+v", w.drill.Status)
	}
	w.delete(&corev1.Pod{ObjectMeta: w.named("a-2")})
	w.repair()
	w.delete(w.drill)
	for range 5 {
		if _, err := w.reconcile(operator); err != nil {
			t.Fatal(err)
		}
	}
	if w.isIsolated() || len(w.policies()) > 0 || !w.isGone(w.drill) {
		t.Errorf("left: %v, %+v", w.policies(), w.drill)
	}
}

// isolates is settle where the status of the cluster shows who is isolated.
func (w *drills) isolates(operator *controllers.EtcdDrillReconciler) error {
	for range 120 {
		result, err := w.reconcile(operator)
		if w.get(w.drill); err != nil || result.RequeueAfter == 0 && w.drill.HasEnded() {
			return err
		}
		w.jobs()
		w.show()
	}
	return errors.New("it never settles")
}

func (w *drills) look(operator *controllers.EtcdDrillReconciler) {
	w.t.Helper()
	if _, err := w.reconcile(operator); err != nil {
		w.t.Fatal(err)
	}
	w.jobs()
	w.show()
}

// show has the status of the cluster say whether a-2 is healthy.
func (w *drills) show() {
	w.t.Helper()
	healthy := !w.isIsolated()
	if w.get(w.cluster); w.cluster.Status.Members[2].Healthy == healthy {
		return
	}
	w.cluster.Status.Members[2].Healthy = healthy
	reason := v1beta1.ReasonQuorumHealthy
	if healthy {
		reason = v1beta1.ReasonHealthy
	}
	meta.SetStatusCondition(&w.cluster.Status.Conditions, metav1.Condition{
		Type: v1beta1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: reason,
	})
	w.write(w.cluster)
}

func (w *drills) isIsolated() bool {
	w.t.Helper()
	pod := &corev1.Pod{ObjectMeta: w.named("a-2")}
	w.get(pod)
	return pod.Labels[v1beta1.LabelIsolated] != ""
}

func (w *drills) policies() (names []string) {
	w.t.Helper()
	var list networkingv1.NetworkPolicyList
	if err := server.List(w.t.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	for _, p := range list.Items {
		names = append(names, p.Name)
	}
	return names
}
