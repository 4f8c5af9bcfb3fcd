// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/limits"
)

// TestLimitsOfTheAdministrator: an EtcdCluster that requests more says so, and gets nothing, also not what a restore makes. One that runs
// keeps what it has, and is looked after again when its spec is allowed.
func TestLimitsOfTheAdministrator(t *testing.T) {
	config, _ := few(t, "limited", []string{"limited"}, true)
	runs(t, config, []string{"limited"}, limits.Limits{Images: limits.Names{"registry.example/*"}})
	begun := create(t, "limited", "begun")
	whole(t, begun)
	with := func(c *v1beta1.EtcdCluster, image string) {
		t.Helper()
		eventually(t, "the spec to change", func() error {
			err := get(t, c, c.Name, c)
			c.Spec.Image = image
			return errors.Join(err, server.Update(t.Context(), c))
		})
	}
	with(begun, "evil.example/etcd:v3.6.16")
	isTold(t, begun)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "limited", Name: "begun-1"}}
	if err := server.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}

	restored := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "limited", Name: "restored"}}
	restored.Spec.Version, restored.Spec.Image = "3.6.16", "evil.example/etcd:v3.6.16"
	restored.Spec.Bootstrap = &v1beta1.BootstrapSpec{Restore: &v1beta1.Restore{Backup: "none"}}
	if err := server.Create(t.Context(), restored); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Delete(context.Background(), restored) })
	isTold(t, restored)
	eventually(t, "the restore to say it", func() error {
		err := get(t, restored, "restored", restored)
		if r := restored.Status.Restore; r == nil || !strings.Contains(r.Problem, "spec.image") {
			return errors.Join(err, fmt.Errorf("restore %+v", r))
		}
		return err
	})
	time.Sleep(quiet)
	var pods corev1.PodList
	var volumes corev1.PersistentVolumeClaimList
	if err := errors.Join(server.List(t.Context(), &pods, client.InNamespace("limited")),
		server.List(t.Context(), &volumes, client.InNamespace("limited"))); err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) != 2 || len(volumes.Items) != 3 {
		t.Errorf("%d pods and %d volumes, want those that begun had left", len(pods.Items), len(volumes.Items))
	}
	for _, p := range pods.Items {
		if strings.HasPrefix(p.Spec.Containers[0].Image, "evil") {
			t.Errorf("%s runs %s", p.Name, p.Spec.Containers[0].Image)
		}
	}
	with(begun, "registry.example/etcd:v3.6.16")
	eventually(t, "the pod to come back", func() error { return get(t, begun, "begun-1", pod) })
}

// isTold waits until the cluster says what of its spec is not allowed.
func isTold(t *testing.T, c *v1beta1.EtcdCluster) {
	t.Helper()
	eventually(t, c.Name+" to say what is not allowed", func() error {
		err := get(t, c, c.Name, c)
		told := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionDegraded)
		if told == nil || told.Reason != v1beta1.ReasonActionRequired || !strings.Contains(told.Message,
			`spec.image "evil.example/etcd:v3.6.16"`) {
			return errors.Join(err, fmt.Errorf("degraded: %+v", told))
		}
		return err
	})
}
