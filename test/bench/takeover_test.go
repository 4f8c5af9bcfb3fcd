// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func TestHandoverIsFromTheOldHolderToAnother(t *testing.T) {
	begun := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for what, c := range map[string]struct {
		holders        []string // one each second
		whole, vacancy time.Duration
	}{
		"given away":         {[]string{"a_1", "a_1", "", "", "b_1", "c_1"}, 5 * time.Second, 2 * time.Second},
		"run out":            {[]string{"a_1", "b_1"}, 2 * time.Second, 0},
		"the same Pod again": {[]string{"a_1", "a_2"}, 2 * time.Second, 0},
	} {
		h := handover{old: "a_1", begun: begun}
		for i, holder := range c.holders {
			h.see(holder, begun.Add(time.Duration(i+1)*time.Second))
		}
		if h.whole() != c.whole || h.vacancy() != c.vacancy {
			t.Errorf("%s: %s and %s, want %s and %s", what, h.whole(), h.vacancy(), c.whole, c.vacancy)
		}
	}
}

func TestHandoverIsFollowedUntilItIsOver(t *testing.T) {
	events := make(chan watch.Event, 3)
	for _, holder := range []string{"a", "", "b"} {
		events <- watch.Event{Object: &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}}
	}
	h := handover{old: "a", begun: time.Now()}
	if err := h.follow(t.Context(), events); err != nil || h.whole() < h.vacancy() {
		t.Errorf("%v, %s and %s", err, h.whole(), h.vacancy())
	}
	close(events)
	if err := (&handover{old: "b"}).follow(t.Context(), events); err == nil {
		t.Error("a watch that ends is taken for a handover")
	}
}

func TestLeaderOf(t *testing.T) {
	pod := func(name string, ready corev1.ConditionStatus, deleted *metav1.Time) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, DeletionTimestamp: deleted},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
		}
	}
	a, b := pod("a", corev1.ConditionTrue, nil), pod("b", corev1.ConditionTrue, nil)
	for what, c := range map[string]struct {
		pods   []corev1.Pod
		holder string
		want   string
	}{
		"two are ready":          {[]corev1.Pod{a, b}, "b_1", "b"},
		"nobody stands by":       {[]corev1.Pod{a}, "a_1", ""},
		"the holder is gone":     {[]corev1.Pod{a, b}, "c_1", ""},
		"nobody holds it":        {[]corev1.Pod{a, b}, "", ""},
		"the other is not ready": {[]corev1.Pod{a, pod("b", corev1.ConditionFalse, nil)}, "a_1", ""},
		"an earlier one ends":    {[]corev1.Pod{a, b, pod("c", corev1.ConditionTrue, &metav1.Time{})}, "a_1", ""},
	} {
		got := ""
		if leader := leaderOf(c.pods, c.holder); leader != nil {
			got = leader.Name
		}
		if got != c.want {
			t.Errorf("%s: %q leads, want %q", what, got, c.want)
		}
	}
}
