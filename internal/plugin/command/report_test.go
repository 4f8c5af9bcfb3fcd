// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// hurt is a namespace with a cluster, all that belongs to it, its neighbour, and the operator in another namespace. Wherever a secret
// may be, there is a canary.
func hurt() []client.Object {
	named := func(namespace, name string, labels map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: labels,
			Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: `{"x":"canary-applied"}`, "vault.example/x": "canary-annotation"},
		}
	}
	of := func(cluster string) map[string]string { return map[string]string{v1beta1.LabelCluster: cluster} }
	operator := map[string]string{"app.kubernetes.io/name": operatorName}
	containers := []corev1.Container{{
		Name: "etcd", Args: []string{"--name=a-0", "--auth-token=canary-arg-1"},
		Env: []corev1.EnvVar{{Name: "DB_PASSWORD", Value: "canary-env-1"}},
	}}
	pod := func(namespace, name string, labels map[string]string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: named(namespace, name, labels), Spec: corev1.PodSpec{Containers: containers},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "etcd", RestartCount: 1}}},
		}
	}
	c := &v1beta1.EtcdCluster{ObjectMeta: named("default", "a", nil)}
	c.Spec.Etcd.ExtraArgs = map[string]string{"auth-token": "canary-extra-1"}
	c.Spec.Backup = &v1beta1.Backup{Store: "offsite"}
	c.Status.Operator = "operators/lease"
	store := &v1beta1.EtcdBackupStore{ObjectMeta: named("default", "offsite", nil)}
	store.Spec.S3 = &v1beta1.S3Store{
		Bucket: "bucket", Endpoint: "https://user:canary-url@s3.example", CA: &v1beta1.CASource{ConfigMap: "authorities"},
		Credentials: &v1beta1.SecretReference{Secret: "keys"},
	}
	backup := &v1beta1.EtcdBackup{ObjectMeta: named("default", "b1", nil), Spec: v1beta1.EtcdBackupSpec{Cluster: "a", Store: "offsite"}}
	job := &batchv1.Job{ObjectMeta: named("default", "b1-1", map[string]string{v1beta1.LabelBackup: "b1"})}
	job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "backup", Args: []string{"task", `{"sessionToken":"canary-order"}`}}}
	deployment := &appsv1.Deployment{ObjectMeta: named("operators", "manager", nil)}
	deployment.Spec.Template.Labels, deployment.Spec.Template.Spec.Containers = operator, containers
	return []client.Object{
		c, store, backup, job, deployment, pod("default", "a-0", of("a")), pod("default", "ab-0", of("ab")),
		pod("operators", "manager-0", operator),
		&corev1.Secret{ObjectMeta: named("default", "keys", of("a")), Data: map[string][]byte{"k": []byte("canary-secret")}},
		&corev1.ConfigMap{ObjectMeta: named("default", "authorities", nil), Data: map[string]string{"ca.crt": "canary-configmap"}},
		&corev1.PersistentVolumeClaim{ObjectMeta: named("default", "a-0", of("a"))},
		&corev1.Service{ObjectMeta: named("default", "a-client", of("a"))},
		&networkingv1.NetworkPolicy{ObjectMeta: named("default", "a-members", of("a"))},
		event("e1", "a-0", "BackOff", "Bearer canary-event was refused"), event("e2", "zz", "NotOurs", ""),
	}
}

func event(name, pod, reason, message string) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: pod},
		Reason: reason, Message: message,
	}
}

// TestReport: everything that belongs to the cluster is in it, nothing of its neighbours, and no secret.
func TestReport(t *testing.T) {
	w := newWorld(t, hurt()...)
	file := filepath.Join(t.TempDir(), "report.tar.gz")
	wantExit(t, w.run(t.Context(), "report", "a", "--output", file), Done)
	wantText(t, &w.out, "files are in "+file)
	all := unpack(t, file)
	for _, part := range []string{
		"objects/default/etcdcluster/a.yaml", "objects/default/etcdbackup/b1.yaml", "objects/default/etcdbackupstore/offsite.yaml",
		"objects/default/job/b1-1.yaml", "objects/default/pod/a-0.yaml", "objects/default/persistentvolumeclaim/a-0.yaml",
		"objects/default/service/a-client.yaml", "objects/default/networkpolicy/a-members.yaml",
		"objects/default/configmap/authorities.yaml", "objects/operators/deployment/manager.yaml",
		"objects/operators/pod/manager-0.yaml", "logs/default/a-0/etcd.log", "logs/default/a-0/etcd.previous.log",
		"logs/operators/manager-0/etcd.log", "log of operators/manager-0", "BackOff Pod/a-0", "default/a: ", "secret: keys",
	} {
		if !strings.Contains(all, part) {
			t.Errorf("%q is missing", part)
		}
	}
	for _, not := range []string{"canary", "ab-0", "NotOurs"} {
		if strings.Contains(all, not) {
			t.Errorf("%q is in the report:\n%s", not, all[strings.Index(all, not)-min(300, strings.Index(all, not)):])
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Error("others may read it:", info.Mode(), err)
	}
}

// TestReportWithoutRights: what may not be read is said in the report, and on the screen.
func TestReportWithoutRights(t *testing.T) {
	w := newWorld(t, hurt()...)
	w.client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			all := client.ListOptions{}
			all.ApplyOptions(options)
			if all.Namespace == "operators" {
				return errors.New("operators is forbidden")
			}
			return c.List(ctx, list, options...)
		},
	})
	file := filepath.Join(t.TempDir(), "report.tar.gz")
	wantExit(t, w.run(t.Context(), "report", "a", "--output", file), Done)
	wantText(t, &w.err, "not in it: Deployments in namespace operators: operators is forbidden")
	if all := unpack(t, file); !strings.Contains(all, "operators is forbidden") || !strings.Contains(all, "pod/a-0.yaml") {
		t.Error(all)
	}
	wantExit(t, w.run(t.Context(), "report", "nobody", "--output", file), Failed)
}

func unpack(t *testing.T, name string) string {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return all.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString("## " + header.Name + "\n")
		if _, err := io.Copy(&all, archive); err != nil {
			t.Fatal(err)
		}
	}
}
