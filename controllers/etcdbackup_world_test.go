// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// A backups is a namespace with a store, a cluster and one EtcdBackup, in which a reconciler is called by hand and the test
// does what Kubernetes and the Jobs do.
type backups struct {
	t         *testing.T
	namespace string
	backup    *v1beta1.EtcdBackup
	cluster   *v1beta1.EtcdCluster
	orders    []jobspec.Order // of all Jobs that were seen
	jobs      []string        // their names
	most      int             // Jobs that were there at a time
}

func newBackups(t *testing.T, namespace string, policy v1beta1.BackupDeletionPolicy) *backups {
	b := &backups{t: t, namespace: namespace}
	b.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	store := &v1beta1.EtcdBackupStore{ObjectMeta: b.named("offsite")}
	store.Spec.Volume = &v1beta1.VolumeStore{Claim: "backups"}
	b.create(store)
	ready := metav1.Condition{Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Ready"}
	meta.SetStatusCondition(&store.Status.Conditions, ready)
	b.write(store)
	b.cluster = &v1beta1.EtcdCluster{ObjectMeta: b.named("a")}
	b.create(b.cluster)
	b.cluster.Status = v1beta1.EtcdClusterStatus{ClusterID: "c1", Version: "3.6.16"}
	for i, role := range []string{v1beta1.RoleLeader, v1beta1.RoleVoter, v1beta1.RoleVoter} {
		b.cluster.Status.Members = append(b.cluster.Status.Members,
			v1beta1.MemberStatus{Name: fmt.Sprintf("a-%d", i), ID: fmt.Sprint(10 + i), Role: role, Healthy: i != 1})
	}
	b.write(b.cluster)
	b.backup = &v1beta1.EtcdBackup{ObjectMeta: b.named("b")}
	b.backup.Spec = v1beta1.EtcdBackupSpec{Cluster: "a", Store: "offsite", DeletionPolicy: policy}
	b.create(b.backup)
	return b
}

func (b *backups) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: b.namespace, Name: name}
}

func (b *backups) create(object client.Object) {
	b.t.Helper()
	if err := server.Create(b.t.Context(), object); err != nil {
		b.t.Fatal(err)
	}
}

func (b *backups) write(object client.Object) {
	b.t.Helper()
	if err := server.Status().Update(b.t.Context(), object); err != nil {
		b.t.Fatal(err)
	}
}

// reconciler is an operator whose writes go through that.
func (b *backups) reconciler(through interceptor.Funcs) *controllers.EtcdBackupReconciler {
	return controllers.NewBackupReconciler(interceptor.NewClient(live, through), events.NewFakeRecorder(1000), time.Now, b.said)
}

// said is what the containers of Jobs print.
func (b *backups) said(container string) string {
	line := map[string]jobspec.Line{
		"backup": {Done: &jobspec.Done{Source: "a-1", Backup: &jobspec.Facts{
			Cluster: "a", ClusterUID: string(b.cluster.UID), ClusterID: "c1", Revision: 7, Keys: ptr.To[int64](3),
			Database: 20 << 20, Stored: 4 << 20, EtcdVersion: "3.6.16", StartedAt: time.Now(), FinishedAt: time.Now(), ManifestSHA256: "m1",
		}}},
		"verify": {Done: &jobspec.Done{Trial: &jobspec.Trial{Revision: 7, Keys: 3, Database: 20 << 20, Took: time.Second}}},
		"delete": {Done: &jobspec.Done{}},
	}[container]
	text, err := json.Marshal(line)
	if err != nil {
		b.t.Fatal(err)
	}
	return "{\"progress\":{\"read\":1,\"total\":2,\"message\":\"uploading\"}}\n" + string(text) + "\n"
}

// runJobs has each Job that is there run to its end.
func (b *backups) runJobs() {
	b.t.Helper()
	var jobs batchv1.JobList
	if err := server.List(b.t.Context(), &jobs, client.InNamespace(b.namespace)); err != nil {
		b.t.Fatal(err)
	}
	b.most = max(b.most, len(jobs.Items))
	for i := range jobs.Items {
		if job := &jobs.Items[i]; !slices.Contains(b.jobs, job.Name) {
			b.jobs = append(b.jobs, job.Name)
			b.run(job)
		}
	}
}

func (b *backups) run(job *batchv1.Job) {
	b.t.Helper()
	for _, c := range slices.Concat(job.Spec.Template.Spec.InitContainers, job.Spec.Template.Spec.Containers) {
		if len(c.Args) == 2 && c.Args[0] == "task" {
			order, err := jobspec.ParseOrder(c.Args[1])
			if err != nil {
				b.t.Fatal(err)
			}
			b.orders = append(b.orders, order)
		}
	}
	name := job.Spec.Template.Spec.Containers[0].Name
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: b.namespace, Name: job.Name + "-x", Labels: map[string]string{batchv1.JobNameLabel: job.Name},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
	}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: "x"}}}}
	b.create(pod)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}},
	}}
	b.write(pod)
	now := metav1.Now()
	job.Status.StartTime, job.Status.CompletionTime = &now, &now
	// Kubernetes 1.32 and newer want the first of these beside the second; older ones refuse it for most Jobs.
	job.Status.Conditions = []batchv1.JobCondition{
		{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: now},
		{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now},
	}
	if err := server.Status().Update(b.t.Context(), job); !apierrors.IsInvalid(err) {
		if err != nil {
			b.t.Fatal(err)
		}
		return
	}
	job.Status.Conditions = job.Status.Conditions[1:]
	b.write(job)
}

// settle calls the reconciler until it does nothing more, and says how often.
func (b *backups) settle(r *controllers.EtcdBackupReconciler) error {
	for range 100 {
		result, err := r.Reconcile(b.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(b.backup)})
		if err != nil {
			return err
		}
		if result.RequeueAfter == 0 {
			return nil
		}
		b.runJobs()
	}
	return errors.New("it never settles")
}

func (b *backups) read() v1beta1.EtcdBackupStatus {
	b.t.Helper()
	if err := server.Get(b.t.Context(), client.ObjectKeyFromObject(b.backup), b.backup); err != nil {
		b.t.Fatal(err)
	}
	return b.backup.Status
}

// mustBeVerified says that the backup is as it is to be, and that nothing is left behind.
func (b *backups) mustBeVerified() {
	b.t.Helper()
	s := b.read()
	for _, kind := range []string{v1beta1.ConditionComplete, v1beta1.ConditionVerified} {
		if !meta.IsStatusConditionTrue(s.Conditions, kind) {
			b.t.Errorf("%s is %+v", kind, meta.FindStatusCondition(s.Conditions, kind))
		}
	}
	if s.Phase != v1beta1.BackupComplete || s.Job != nil || s.Progress != nil ||
		s.Revision != 7 || s.Source != "a-1" || s.StoredSize.String() != "4Mi" {
		b.t.Errorf("status %+v", s)
	}
	if jobs := b.left(); len(jobs) > 0 {
		b.t.Errorf("left: %v", jobs)
	}
	if b.most > 1 {
		b.t.Errorf("%d Jobs at a time", b.most)
	}
}

func (b *backups) left() []string {
	var jobs batchv1.JobList
	if err := server.List(b.t.Context(), &jobs, client.InNamespace(b.namespace)); err != nil {
		b.t.Fatal(err)
	}
	var names []string
	for _, job := range jobs.Items {
		names = append(names, job.Name)
	}
	return names
}

func (b *backups) deleteJob() {
	b.t.Helper()
	job := &batchv1.Job{ObjectMeta: b.named(b.read().Job.Name)}
	if err := server.Delete(b.t.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *backups) becomes(what string, is func(v1beta1.EtcdBackupStatus) bool) {
	b.t.Helper()
	eventually(b.t, "the backup to be so that "+what, func() error {
		if s := b.read(); !is(s) {
			return fmt.Errorf("status %+v", s)
		}
		return nil
	})
}

func reasonOf(s v1beta1.EtcdBackupStatus, kind string) string {
	c := meta.FindStatusCondition(s.Conditions, kind)
	if c == nil {
		return ""
	}
	return c.Reason
}
