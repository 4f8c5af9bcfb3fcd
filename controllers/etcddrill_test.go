// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/drill"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// drills is a namespace with a cluster of three, of which a-0 leads and is a fake etcd, and one EtcdDrill. The test does what Kubernetes
// and the reconciler of clusters do.
type drills struct {
	*users
	drill *v1beta1.EtcdDrill
	begun *v1beta1.RestoreStatus // of the throw-away cluster
	later time.Duration          // by which the operator's clock is ahead: each look takes a second
}

func newDrills(t *testing.T, namespace string, policy v1beta1.DrillPolicy, action v1beta1.DrillAction) *drills {
	w := &drills{users: newEtcd(t, namespace, v1beta1.EtcdClusterSpec{Drills: policy})}
	status, err := w.etcd.Client("a-0").Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := &w.cluster.Status
	s.ObservedGeneration = w.cluster.Generation
	for i, role := range []string{v1beta1.RoleLeader, v1beta1.RoleVoter, v1beta1.RoleVoter} {
		id := strconv.FormatUint(status.MemberID+uint64(i), 16)
		s.Members = append(s.Members, v1beta1.MemberStatus{Name: fmt.Sprintf("a-%d", i), ID: id, Role: role, Healthy: true})
		w.create(specs.Volume(w.cluster, s.Members[i].Name, nil))
	}
	for kind, reason := range map[string]string{
		v1beta1.ConditionAvailable: v1beta1.ReasonHealthy, v1beta1.ConditionProgressing: v1beta1.ReasonUpToDate,
	} {
		is := metav1.ConditionFalse
		if kind == v1beta1.ConditionAvailable {
			is = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: kind, Status: is, Reason: reason})
	}
	w.write(w.cluster)
	w.repair()
	w.drill = &v1beta1.EtcdDrill{ObjectMeta: w.named("d"), Spec: v1beta1.EtcdDrillSpec{Cluster: "a", Action: action}}
	w.create(w.drill)
	return w
}

// repair creates the Pods that are missing, and has each be ready.
func (w *drills) repair() {
	w.t.Helper()
	for _, m := range w.cluster.Status.Members {
		pod := &corev1.Pod{ObjectMeta: w.named(m.Name), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "etcd", Image: "etcd"}}}}
		pod.Labels = specs.MemberSelector(w.cluster)
		if err := server.Create(w.t.Context(), pod); err != nil && !apierrors.IsAlreadyExists(err) {
			w.t.Fatal(err)
		}
		w.get(pod)
		pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, "10.0.0.1", []corev1.PodIP{{IP: "10.0.0.1"}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		w.write(pod)
	}
}

// uids are those of the members' Pods.
func (w *drills) uids() (all []string) {
	w.t.Helper()
	for _, m := range w.cluster.Status.Members {
		pod := &corev1.Pod{ObjectMeta: w.named(m.Name)}
		w.get(pod)
		all = append(all, string(pod.UID))
	}
	return all
}

func (w *drills) operator(through interceptor.Funcs) *controllers.EtcdDrillReconciler {
	now := func() time.Time { w.later += time.Second; return time.Now().Add(w.later) }
	const line = `{"progress":{"read":0,"message":"m","writes":{"acknowledged":100,"failed":2,"longestGap":1200000000}}}` + "\n"
	return controllers.NewDrillReconciler(interceptor.NewClient(live, through), oneEtcd{w.users}, w.events, now, line)
}

// oneEtcd is the fake etcd behind every Pod, also that of the throw-away cluster.
type oneEtcd struct{ *users }

func (o oneEtcd) Member(ctx context.Context, c *v1beta1.EtcdCluster, m cluster.Member) (etcd.Client, error) {
	m.Name = "a-0"
	return o.users.Member(ctx, c, m)
}

// jobs has each Job run a Pod.
func (w *drills) jobs() (all []batchv1.Job) {
	w.t.Helper()
	var list batchv1.JobList
	if err := server.List(w.t.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	for i := range list.Items {
		job := &list.Items[i]
		pod := &corev1.Pod{ObjectMeta: w.named(job.Name + "-x"), Spec: *job.Spec.Template.Spec.DeepCopy()}
		pod.Spec.ServiceAccountName, pod.Labels = "", map[string]string{batchv1.JobNameLabel: job.Name}
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
		if err := server.Create(w.t.Context(), pod); err != nil {
			if !apierrors.IsAlreadyExists(err) {
				w.t.Fatal(err)
			}
			continue
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: string(jobspec.Write), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}
		w.write(pod)
	}
	return list.Items
}

// settle has an operator look until the drill has ended and nothing is left to do.
func (w *drills) settle(operator *controllers.EtcdDrillReconciler) error {
	for range 60 {
		result, err := operator.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.drill)})
		if w.get(w.drill); err != nil || result.RequeueAfter == 0 && w.drill.HasEnded() {
			return err
		}
		w.jobs()
		w.repair()
	}
	return errors.New("it never settles")
}

func (w *drills) reconcile(operator *controllers.EtcdDrillReconciler) (ctrl.Result, error) {
	return operator.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.drill)})
}

// TestDrill: with the rights of the generated roles the Pod of a follower is deleted, and no other one; what was measured is in the
// status, and the Job is gone. An operator that dies at any write changes nothing of that.
func TestDrill(t *testing.T) {
	dies(t, "drill-kill", 7, func(t *testing.T, namespace string, dying *mortal) {
		w := newDrills(t, namespace, v1beta1.DrillsAllowed, v1beta1.KillMember)
		before := w.uids()
		err := w.settle(w.operator(dying.funcs()))
		if errors.Is(err, errDead) {
			w.jobs()
			w.repair()
			err = w.settle(w.operator(interceptor.Funcs{}))
		}
		if err != nil {
			t.Fatal(err)
		}
		s := w.drill.Status
		if s.Phase != v1beta1.DrillRecovered || s.LongestGap == nil || s.LongestGap.Duration != 1200*time.Millisecond ||
			*s.Writes != 100 || *s.FailedWrites != 2 || s.RecoveredIn == nil || s.Report == "" {
			t.Errorf("status %+v", s)
		}
		after := w.uids()
		if before[0] != after[0] || before[1] != after[1] || before[2] == after[2] {
			t.Errorf("Pods were %v, and are %v", before, after)
		}
		if left := w.jobs(); len(left) > 0 {
			t.Errorf("Job %s is left", left[0].Name)
		}
	})
}

// TestDrillIsForbidden: without spec.drills nothing is created and nothing deleted, and the drill says what to do.
func TestDrillIsForbidden(t *testing.T) {
	t.Parallel()
	w := newDrills(t, "drill-forbidden", "", v1beta1.KillAll)
	before := w.uids()
	if err := w.settle(w.operator(interceptor.Funcs{})); err != nil {
		t.Fatal(err)
	}
	if s := w.drill.Status; s.Phase != v1beta1.DrillRefused || reasonIn(s.Conditions) != v1beta1.ReasonDrillsForbidden ||
		!strings.Contains(s.Report, "spec.drills") {
		t.Errorf("status %+v", s)
	}
	if after := w.uids(); fmt.Sprint(before) != fmt.Sprint(after) || len(w.jobs()) > 0 {
		t.Errorf("Pods were %v, and are %v", before, after)
	}
}

// TestDrillLosesAVolume: it is deleted with the Pod that uses it, and the drill waits until both are gone.
func TestDrillLosesAVolume(t *testing.T) {
	t.Parallel()
	w := newDrills(t, "drill-volume", v1beta1.DrillsAllowed, v1beta1.LoseVolume)
	operator := w.operator(interceptor.Funcs{})
	w.backedUp(0)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: w.named("a-2")}
	for range 20 {
		if _, err := operator.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.drill)}); err != nil {
			t.Fatal(err)
		}
		w.jobs()
		w.repair()
	}
	if w.get(w.drill); w.drill.Status.StartedAt == nil || w.drill.Status.RecoveredAt != nil {
		t.Errorf("status %+v", w.drill.Status)
	}
	if w.get(claim); claim.DeletionTimestamp == nil {
		t.Error("the volume is not being deleted")
	}
	w.update(claim, func() { claim.Finalizers = nil }) // as Kubernetes does when no Pod uses it
	w.create(specs.Volume(w.cluster, "a-2", nil))
	if err := w.settle(operator); err != nil || w.drill.Status.Phase != v1beta1.DrillRecovered {
		t.Errorf("%v; status %+v", err, w.drill.Status)
	}
}

// TestDrillOfAnEarlierVersion: a drill that had isolated a member keeps neither its NetworkPolicy nor its finalizer, and touches no policy
// of its name that is not its own.
func TestDrillOfAnEarlierVersion(t *testing.T) {
	for _, isOurs := range []bool{true, false} {
		t.Run(fmt.Sprint(isOurs), func(t *testing.T) {
			w := newDrills(t, fmt.Sprintf("drill-held-%t", isOurs), v1beta1.DrillsAllowed, v1beta1.Measure)
			w.update(w.drill, func() { w.drill.Finalizers = []string{v1beta1.FinalizerDrill} })
			policy := &networkingv1.NetworkPolicy{ObjectMeta: w.named(drill.PolicyName(w.drill))}
			if isOurs {
				policy.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(w.drill, v1beta1.GroupVersion.WithKind("EtcdDrill"))}
			}
			w.create(policy)
			w.delete(w.drill)
			for range 3 {
				if _, err := w.reconcile(w.operator(interceptor.Funcs{})); err != nil {
					t.Fatal(err)
				}
			}
			if !w.isGone(w.drill) || w.isGone(policy) != isOurs {
				t.Errorf("the policy is gone: %t; %+v", w.isGone(policy), w.drill)
			}
		})
	}
}

func reasonIn(conditions []metav1.Condition) string {
	if c := meta.FindStatusCondition(conditions, v1beta1.ConditionComplete); c != nil {
		return c.Reason
	}
	return ""
}
