// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// TestDryRun: a Pod that runs is not stopped for one that Kubernetes would refuse. What
// says nothing of that one does not hold it up.
func TestDryRun(t *testing.T) {
	pods, of := schema.GroupResource{Resource: "pods"}, "a-1-dry-run"
	for name, c := range map[string]struct {
		refusal error
		stops   bool
	}{
		"well":              {nil, true},
		"invalid":           {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, of, nil), false},
		"forbidden":         {apierrors.NewForbidden(pods, of, errors.New("no PriorityClass with name hurry was found")), false},
		"quota":             {apierrors.NewForbidden(pods, of, errors.New("exceeded quota: pods, requested: pods=1, used: pods=3")), true},
		"no dry run":        {apierrors.NewBadRequest("admission webhook does not support dry run"), true},
		"no answer in time": {apierrors.NewTimeoutError("busy", 1), true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, example(), seen(), pod("a-1", "pod-1"))
			s.api.refusal = c.refusal
			err := s.do(plan.DeletePods{Pods: []plan.PodRef{{Name: "a-1", UID: "pod-1"}}, How: plan.DryRun, Because: "the spec has changed"})
			if stopped := !s.get("a-1", &corev1.Pod{}); stopped != c.stops || (err == nil) != c.stops {
				t.Errorf("stopped: %t, %v", stopped, err)
			}
			if err != nil && (!errors.Is(err, c.refusal) || !strings.Contains(err.Error(), "a-1 goes on as it is")) {
				t.Errorf("said: %v", err)
			}
			if !slices.Equal(s.api.dryRuns, []string{of}) {
				t.Errorf("dry runs of %v", s.api.dryRuns)
			}
		})
	}
}

// TestNoDryRunOfAnEnd: a Pod that is not replaced needs none.
func TestNoDryRunOfAnEnd(t *testing.T) {
	s := newScene(t, example(), seen(), pod("a-1", "pod-1"))
	s.mustDo(plan.DeletePods{Pods: []plan.PodRef{{Name: "a-1", UID: "pod-1"}}, Because: "etcd no longer lists it"})
	if len(s.api.dryRuns) > 0 {
		t.Errorf("dry runs of %v", s.api.dryRuns)
	}
}
