// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// TestPodThatNoWatchShowsIsStopped: reads wait for the operator's own writes, but no watch
// ever reports what is done to a Pod without our labels.
func TestPodThatNoWatchShowsIsStopped(t *testing.T) {
	c := create(t, watched, "unseen")
	whole(t, c)
	change := func(what string, edit func()) {
		t.Helper()
		eventually(t, what, func() error {
			if err := get(t, c, c.Name, c); err != nil {
				return err
			}
			edit()
			return server.Update(t.Context(), c)
		})
	}
	eventually(t, "the memory of a cluster", func() error {
		if err := get(t, c, c.Name, c); err != nil {
			return err
		}
		c.Status.ClusterID = "c1"
		c.Status.Members = []v1beta1.MemberStatus{{Name: c.Name + "-0", ID: "1", Role: v1beta1.RoleVoter}}
		return server.Status().Update(t.Context(), c)
	})
	change("a pause", func() { c.Spec.Paused = true })
	eventually(t, "the operator to have read it", func() error {
		if reason := conditionReason(t, c, v1beta1.ConditionProgressing); reason != v1beta1.ReasonPaused {
			return fmt.Errorf("progressing: %q", reason)
		}
		return nil
	})
	pod := &corev1.Pod{}
	if err := get(t, c, c.Name+"-0", pod); err != nil {
		t.Fatal(err)
	}
	relabel(pod)
	if err := server.Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	change("size 0", func() { c.Spec.Paused, c.Spec.Size = false, ptr.To[int32](0) })
	eventually(t, "all Pods to be gone", func() error {
		var pods corev1.PodList
		of := client.MatchingLabels{v1beta1.LabelCluster: c.Name}
		if err := server.List(t.Context(), &pods, client.InNamespace(c.Namespace), of); err != nil {
			return err
		}
		if n := len(pods.Items); n > 0 {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
}
