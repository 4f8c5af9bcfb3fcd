// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// hibernated is a cluster of size 0 whose Pods are gone, and whose status does not say so yet.
func hibernated(t *testing.T) *scene {
	s := newScene(t)
	s.drop("Pod a-0", "Pod a-1", "Pod a-2")
	s.c.Spec.Size, s.c.Generation = ptr.To[int32](0), 2
	return s
}

// looksAgain looks, writes the status, looks once more and returns what that asked the API
// server for.
func (s *scene) looksAgain() []string {
	s.t.Helper()
	v := s.look()
	step, _ := plan.Next(v)
	s.c.Status = report.Status(s.c, v, step, nil)
	s.calls = nil
	s.look()
	return append(s.callsOf("Get"), s.callsOf("List")...)
}

// TestHibernatedClustersAskForNothing: neither one that has had members, nor one that never had any.
func TestHibernatedClustersAskForNothing(t *testing.T) {
	for name, spoil := range map[string]func(*scene){
		"formed":      func(*scene) {},
		"never begun": func(s *scene) { s.objects, s.c.Status = nil, v1beta1.EtcdClusterStatus{} },
	} {
		s := hibernated(t)
		if spoil(s); len(s.looksAgain()) > 0 {
			t.Errorf("%s: it asks for %v", name, s.calls)
		}
		available := meta.FindStatusCondition(s.c.Status.Conditions, v1beta1.ConditionAvailable)
		if available.Reason != v1beta1.ReasonHibernated {
			t.Errorf("%s: %+v", name, available)
		}
	}
}

// TestHibernatedClustersThatAreLookedAt: as long as something is wrong, or is to be done.
func TestHibernatedClustersThatAreLookedAt(t *testing.T) {
	for name, spoil := range map[string]func(*scene){
		"a Pod is there that the cache does not show": func(s *scene) {
			s.objects = append(s.objects, s.newPod("a-1"))
			s.stale = []string{"Pod a-1"}
		},
		"an authority is lost": func(s *scene) { s.drop("Secret a-client-ca") },
	} {
		s := hibernated(t)
		if spoil(s); len(s.looksAgain()) == 0 {
			t.Errorf("%s: it is not looked for", name)
		}
	}
	for name, change := range map[string]func(*v1beta1.EtcdCluster){
		"another spec":                    func(c *v1beta1.EtcdCluster) { c.Generation++ },
		"it wakes":                        func(c *v1beta1.EtcdCluster) { c.Spec.Size = ptr.To[int32](3) },
		"it was not seen to have no Pods": func(c *v1beta1.EtcdCluster) { c.Status.Replicas = 1 },
		"its status says something else": func(c *v1beta1.EtcdCluster) {
			other := metav1.Condition{Type: v1beta1.ConditionAvailable, Status: metav1.ConditionFalse, Reason: "x"}
			meta.SetStatusCondition(&c.Status.Conditions, other)
		},
	} {
		s := hibernated(t)
		s.looksAgain()
		change(s.c)
		s.calls = nil
		if s.look(); len(s.calls) == 0 {
			t.Errorf("%s: it is not looked at", name)
		}
	}
}
