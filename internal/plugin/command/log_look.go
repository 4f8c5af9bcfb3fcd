// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/continuous"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
)

// storeOfLog is the store of a cluster's log, if it is ready.
func storeOfLog(ctx context.Context, k *Kubernetes, c *v1beta1.EtcdCluster, name string) (*v1beta1.EtcdBackupStore, error) {
	if name == "" && c.Spec.Backup != nil {
		name = c.Spec.Backup.Store
	}
	if name == "" {
		return nil, fmt.Errorf("EtcdCluster %s keeps no log: set spec.backup.store and spec.backup.continuous, or name the store of an "+
			"earlier log with --store", c.Name)
	}
	var store v1beta1.EtcdBackupStore
	err := k.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: name}, &store)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf(
			"there is no EtcdBackupStore %s in namespace %s; 'kubectl get etcdbackupstores.etcd-operator.dev -n %s' lists them",
			name, k.Namespace, k.Namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("get EtcdBackupStore %s: %w", name, err)
	}
	ready := meta.FindStatusCondition(store.Status.Conditions, v1beta1.ConditionReady)
	switch {
	case ready == nil:
		return nil, fmt.Errorf("EtcdBackupStore %s was not looked at yet: try again when "+
			"'kubectl get etcdbackupstores.etcd-operator.dev %s -n %s' says that it is ready",
			name, name, k.Namespace)
	case ready.Status != metav1.ConditionTrue:
		return nil, fmt.Errorf("EtcdBackupStore %s is not ready: %s", name, ready.Message)
	}
	return &store, nil
}

// lineageOf is the history of a cluster that is searched.
func lineageOf(c *v1beta1.EtcdCluster, asked string) (string, error) {
	present := continuous.Lineage(c)
	switch {
	case asked != "":
		return asked, nil
	case present == "":
		return "", fmt.Errorf("EtcdCluster %s has not formed yet: it has no log", c.Name)
	case c.Status.Log != nil && c.Status.Log.Lineage != "":
		return c.Status.Log.Lineage, nil
	case !c.KeepsLog():
		return "", fmt.Errorf("EtcdCluster %s keeps no log: set spec.backup.continuous; if it has kept one before, search that with --lineage %s",
			c.Name, present)
	}
	return present, nil
}

// imageOfLog is what the Job runs: the image of the operator, as the Job has it that keeps the log, or its last Pod.
func imageOfLog(ctx context.Context, k *Kubernetes, c *v1beta1.EtcdCluster, asked string) (jobs.Image, error) {
	image, err := imageFound(ctx, k, c)
	if asked != "" {
		image.Operator = asked
		return image, nil
	}
	if err != nil {
		return image, err
	}
	if image.Operator == "" {
		return image, fmt.Errorf("the image of the operator is not known: no Job %s keeps a log right now; give --image, such as that of the "+
			"operator's Deployment", jobs.FollowName(c.Name))
	}
	return image, nil
}

// imageFound is empty where none is found.
func imageFound(ctx context.Context, k *Kubernetes, c *v1beta1.EtcdCluster) (jobs.Image, error) {
	var job batchv1.Job
	err := k.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: jobs.FollowName(c.Name)}, &job)
	if image, ok := jobs.ImageOf(job.Spec.Template.Spec); err == nil && ok && metav1.IsControlledBy(&job, c) {
		return image, nil
	}
	if client.IgnoreNotFound(err) != nil {
		return jobs.Image{}, fmt.Errorf("get Job %s: %w", jobs.FollowName(c.Name), err)
	}
	var pods corev1.PodList
	if err := k.List(ctx, &pods, client.InNamespace(k.Namespace), client.MatchingLabels{v1beta1.LabelLogs: c.Name}); err != nil {
		return jobs.Image{}, fmt.Errorf("list Pods: %w", err)
	}
	if pod := newestOf(pods.Items); pod != nil {
		image, _ := jobs.ImageOf(pod.Spec)
		return image, nil
	}
	return jobs.Image{}, nil
}

// newestOf is the newest Pod; nil if there is none.
func newestOf(all []corev1.Pod) (newest *corev1.Pod) {
	for i := range all {
		if newest == nil || all[i].CreationTimestamp.After(newest.CreationTimestamp.Time) {
			newest = &all[i]
		}
	}
	return newest
}
