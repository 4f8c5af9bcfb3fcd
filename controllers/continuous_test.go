// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// A keptLog is a namespace with a cluster whose log is wanted, in which a reconciler is called by hand.
type keptLog struct {
	*backups
	now    time.Time
	events *events.FakeRecorder
	line   jobspec.Line // what the Job that keeps the log has said last
}

func newKeptLog(t *testing.T, namespace string) *keptLog {
	l := &keptLog{backups: newBackups(t, namespace, v1beta1.RetainBackup), events: events.NewFakeRecorder(1000)}
	l.now = l.cluster.CreationTimestamp.Time
	l.cluster.Spec.Backup = &v1beta1.Backup{Store: "offsite", Continuous: &v1beta1.Continuous{}}
	if err := server.Update(t.Context(), l.cluster); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *keptLog) operator(through interceptor.Funcs) *controllers.ContinuousReconciler {
	return controllers.NewContinuousReconciler(interceptor.NewClient(live, through), l.events, func() time.Time { return l.now },
		func(string) string {
			text, _ := json.Marshal(l.line) // of a line that Parse reads again
			return string(text) + "\n"
		})
}

// settleLog calls the reconciler until it waits.
func (l *keptLog) settleLog(r *controllers.ContinuousReconciler) {
	l.t.Helper()
	for range 50 {
		result, err := r.Reconcile(l.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(l.cluster)})
		if err != nil {
			l.t.Fatal(err)
		}
		if result.RequeueAfter == 0 || result.RequeueAfter >= time.Second {
			return
		}
	}
	l.t.Fatal("it never settles")
}

func (l *keptLog) status() v1beta1.LogStatus {
	l.t.Helper()
	if err := server.Get(l.t.Context(), client.ObjectKeyFromObject(l.cluster), l.cluster); err != nil {
		l.t.Fatal(err)
	}
	if l.cluster.Status.Log == nil {
		return v1beta1.LogStatus{}
	}
	return *l.cluster.Status.Log
}

// is fails unless LogCurrent has that reason.
func (l *keptLog) is(reason string) {
	l.t.Helper()
	s := l.status()
	if c := meta.FindStatusCondition(s.Conditions, v1beta1.ConditionLogCurrent); c == nil || c.Reason != reason {
		l.t.Fatalf("it is %+v, want %s", c, reason)
	}
}

// completes has the full backup that was requested be in the store.
func (l *keptLog) completes(revision int64) {
	l.t.Helper()
	b := &v1beta1.EtcdBackup{}
	if err := server.Get(l.t.Context(), client.ObjectKey{Namespace: l.namespace, Name: l.status().FullBackup}, b); err != nil {
		l.t.Fatal(err)
	}
	isOurs := b.Annotations[v1beta1.AnnotationClusterUID] == string(l.cluster.UID) && b.Labels[v1beta1.LabelScheduled] != ""
	if !isOurs || len(b.OwnerReferences) > 0 {
		l.t.Errorf("%+v", b.ObjectMeta)
	}
	b.Status.Phase, b.Status.Cluster, b.Status.ClusterUID, b.Status.Store = v1beta1.BackupComplete, "a", string(l.cluster.UID), "offsite"
	b.Status.ClusterID, b.Status.Revision, b.Status.StartedAt = l.cluster.Status.ClusterID, revision, &metav1.Time{Time: l.now}
	meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{
		Type: v1beta1.ConditionComplete, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonStored,
	})
	l.write(b)
}

// job is the one that keeps the log; nil if there is none.
func (l *keptLog) job() *batchv1.Job {
	l.t.Helper()
	var all batchv1.JobList
	if err := server.List(l.t.Context(), &all, client.InNamespace(l.namespace)); err != nil {
		l.t.Fatal(err)
	}
	if len(all.Items) > 1 {
		l.t.Fatalf("%d Jobs", len(all.Items))
	}
	if len(all.Items) == 0 {
		return nil
	}
	return &all.Items[0]
}

// runs has the Pod of the Job run, and say how far the log is.
func (l *keptLog) runs(revision int64) {
	l.t.Helper()
	l.line = jobspec.Line{Progress: &jobspec.Progress{Follow: &jobspec.Logged{Revision: revision, Until: l.now}}}
	job := l.job()
	if job == nil {
		l.t.Fatal("there is no Job")
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: l.namespace, Name: fmt.Sprint("p-", job.UID), Labels: map[string]string{batchv1.JobNameLabel: job.Name},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
	}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "follow", Image: "x"}}}}
	if err := server.Get(l.t.Context(), client.ObjectKeyFromObject(pod), pod); err == nil {
		return
	}
	l.create(pod)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "follow", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}
	l.write(pod)
}

// fails has the Job end, for that reason.
func (l *keptLog) fails(reason jobspec.Reason, final bool) {
	l.t.Helper()
	l.line = jobspec.Line{Failed: &jobspec.Failed{Reason: reason, Message: "it has failed", Final: final}}
	job, now := l.job(), metav1.Now()
	l.now = now.Truncate(time.Second) // the API server has created all that was there before
	job.Status.StartTime = &now
	job.Status.Conditions = []batchv1.JobCondition{
		{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, LastTransitionTime: now},
		{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, LastTransitionTime: now},
	}
	l.write(job)
}

func (l *keptLog) emitted() string {
	var all []string
	for {
		select {
		case event := <-l.events.Events:
			all = append(all, event)
		default:
			return strings.Join(all, "\n")
		}
	}
}

// TestLogIsKept: with the rights of the generated roles, after a full backup, by one Job, over the end of a Pod and a change of members,
// until it is not wanted any more.
func TestLogIsKept(t *testing.T) {
	t.Parallel()
	l := newKeptLog(t, "log-life")
	operator := l.operator(interceptor.Funcs{})
	l.settleLog(operator)
	l.is(v1beta1.ReasonFullBackupPending)
	if l.job() != nil {
		t.Fatal("there is a Job without a full backup")
	}
	l.completes(100)
	l.settleLog(operator)
	job := l.job()
	order, err := jobspec.ParseOrder(job.Spec.Template.Spec.Containers[0].Args[1])
	if err != nil || order.Follow.Base != 100 || len(order.Follow.Members) != 3 || order.Follow.Flush != time.Second {
		t.Fatalf("%+v, %v", order.Follow, err)
	}
	l.is(v1beta1.ReasonLogStarting)
	l.runs(120)
	l.settleLog(operator)
	l.is(v1beta1.ReasonLogCurrent)
	if s := l.status(); s.From == nil || s.From.Revision != 100 || s.Until.Revision != 120 || len(s.Gaps) > 0 {
		t.Errorf("%+v", s)
	}
	l.fails(jobspec.Fenced, false)
	l.settleLog(operator)
	l.is(v1beta1.ReasonLogRetrying)
	l.now = l.now.Add(2 * time.Second)
	l.settleLog(operator)
	second := l.job()
	if second.UID == job.UID {
		t.Error("the Job that has failed is still there")
	}
	l.status()
	l.cluster.Status.Members = l.cluster.Status.Members[:2]
	l.write(l.cluster)
	l.settleLog(operator)
	if third := l.job(); third.UID == second.UID {
		t.Error("a member is gone, and the Job may yet read it")
	}
	l.status()
	l.cluster.Spec.Backup.Continuous = nil
	if err := server.Update(t.Context(), l.cluster); err != nil {
		t.Fatal(err)
	}
	l.settleLog(operator)
	if s := l.status(); l.job() != nil || s.Until != nil || s.FullBackups != 1 {
		t.Errorf("after it: %v, %+v", l.job(), s)
	}
	if l.cluster.Status.ClusterID != "c1" || len(l.cluster.Status.Members) != 2 {
		t.Errorf("the rest of the status has changed: %+v", l.cluster.Status)
	}
}

// TestGapInALogIsSaid: by a condition and an event, until a full backup of now ends it.
func TestGapInALogIsSaid(t *testing.T) {
	t.Parallel()
	l := newKeptLog(t, "log-gap")
	operator := l.operator(interceptor.Funcs{})
	l.settleLog(operator)
	l.completes(100)
	l.settleLog(operator)
	l.runs(120)
	l.settleLog(operator)
	l.fails(jobspec.Overtaken, true)
	l.settleLog(operator)
	l.is(v1beta1.ReasonLogInterrupted)
	if events := l.emitted(); !strings.Contains(events, "LogInterrupted") || !strings.Contains(events, "after revision 120") {
		t.Errorf("events %s", events)
	}
	l.completes(200)
	l.settleLog(operator)
	l.runs(210)
	l.settleLog(operator)
	l.is(v1beta1.ReasonLogCurrent)
	s := l.status()
	if len(s.Gaps) != 1 || s.Gaps[0].After.Revision != 120 || s.Gaps[0].Before.Revision != 200 || s.From.Revision != 200 {
		t.Errorf("%+v", s)
	}
}

// TestLogOfAPausedCluster is not kept, and nothing is written to a status that has only moved on, more than twice a minute.
func TestLogOfAPausedCluster(t *testing.T) {
	t.Parallel()
	l := newKeptLog(t, "log-pause")
	operator := l.operator(interceptor.Funcs{})
	l.settleLog(operator)
	l.completes(100)
	l.settleLog(operator)
	l.runs(120)
	l.settleLog(operator)
	l.status()
	before := l.cluster.ResourceVersion
	for range 2 {
		l.now = l.now.Add(10 * time.Second)
		l.runs(130)
		l.settleLog(operator)
	}
	if l.status(); l.cluster.ResourceVersion != before {
		t.Error("the status is written at each look")
	}
	l.cluster.Spec.Paused = true
	if err := server.Update(t.Context(), l.cluster); err != nil {
		t.Fatal(err)
	}
	l.settleLog(operator)
	if l.is(v1beta1.ReasonPaused); l.job() != nil {
		t.Error("the Job goes on")
	}
}

// TestOperatorDiesWhileALogIsKept: another one goes on, and there is never more than one Job, nor one full backup more than is needed.
func TestOperatorDiesWhileALogIsKept(t *testing.T) {
	dies(t, "log-dies", 10, func(t *testing.T, namespace string, dying *mortal) {
		t.Helper()
		l := newKeptLog(t, namespace)
		l.survives(dying)
		l.completes(100)
		l.survives(dying)
		l.runs(120)
		l.survives(dying)
		l.fails(jobspec.Overtaken, true)
		l.survives(dying)
		l.completes(200)
		l.survives(dying)
		l.runs(210)
		l.survives(dying)
		l.is(v1beta1.ReasonLogCurrent)
		var all v1beta1.EtcdBackupList
		if err := server.List(t.Context(), &all, client.InNamespace(namespace), client.HasLabels{v1beta1.LabelScheduled}); err != nil {
			t.Fatal(err)
		}
		if s := l.status(); len(all.Items) != 2 || len(s.Gaps) != 1 || s.Until.Revision != 210 || l.job() == nil {
			t.Errorf("%d full backups, %+v", len(all.Items), s)
		}
	})
}

// survives settles by an operator that may die, and if it does by another one.
func (l *keptLog) survives(dying *mortal) {
	l.t.Helper()
	for range 50 {
		through := dying.funcs()
		if dying.isDead() {
			through = interceptor.Funcs{}
		}
		result, err := l.operator(through).Reconcile(l.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(l.cluster)})
		if err != nil && !errors.Is(err, errDead) {
			l.t.Fatal(err)
		}
		if err == nil && (result.RequeueAfter == 0 || result.RequeueAfter >= time.Second) {
			return
		}
		l.job() // there is one at most
	}
	l.t.Fatal("it never settles")
}
