// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// TestVolumeThatANodeSelectorExcludes (fault 123): a Pod finds no node, because the spec wants labels that no node has which its volume can
// be used on. What to do is said, until that is done.
func TestVolumeThatANodeSelectorExcludes(t *testing.T) {
	in := func(key string, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: key, Operator: corev1.NodeSelectorOpIn, Values: values,
		}}}
	}
	zone, host := corev1.LabelTopologyZone, corev1.LabelHostname
	for what, test := range map[string]struct {
		selector map[string]string
		terms    []corev1.NodeSelectorTerm
		asked    string
		says     string
	}{
		"another zone":           {map[string]string{zone: "z2"}, []corev1.NodeSelectorTerm{in(zone, "z1")}, "", zone + " is z1"},
		"the same zone":          {map[string]string{zone: "z1"}, []corev1.NodeSelectorTerm{in(zone, "z1")}, "", ""},
		"one of two zones":       {map[string]string{zone: "z2"}, []corev1.NodeSelectorTerm{in(zone, "z1"), in(zone, "z2")}, "", ""},
		"another pool":           {map[string]string{"pool": "new"}, []corev1.NodeSelectorTerm{in(host, "n1")}, "", host + " is n1"},
		"its pool":               {map[string]string{"pool": "old"}, []corev1.NodeSelectorTerm{in(host, "n1")}, "", ""},
		"a node that is unknown": {map[string]string{"pool": "new"}, []corev1.NodeSelectorTerm{in(host, "n9")}, "", ""},
		"nothing is selected":    {nil, []corev1.NodeSelectorTerm{in(host, "n1")}, "", ""},
		"it is asked for":        {map[string]string{zone: "z2"}, []corev1.NodeSelectorTerm{in(zone, "z1")}, "a-1", ""},
		"anything":               {map[string]string{zone: "z2"}, []corev1.NodeSelectorTerm{{}}, "", ""},
	} {
		t.Run(what, func(t *testing.T) {
			s := newScene(t)
			homeless(s, map[string]corev1.ConditionStatus{"n1": corev1.ConditionTrue}, time.Hour)
			s.find("Node vm-n1").(*corev1.Node).Labels["pool"] = "old"
			s.find("PersistentVolume v1").(*corev1.PersistentVolume).Spec.NodeAffinity.Required.NodeSelectorTerms = test.terms
			s.pod("a-1").Spec.NodeSelector = test.selector
			s.c.Annotations = map[string]string{v1beta1.AnnotationReplaceMembers: test.asked}
			trouble := s.member("a-1").Pod.Trouble
			const advice = "etcd-operator.dev/replace-members=a-1"
			if strings.Contains(trouble, advice) != (test.says != "") || !strings.Contains(trouble, test.says) {
				t.Errorf("got %q", trouble)
			}
		})
	}
}
