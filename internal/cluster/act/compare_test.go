// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestWhoCompares: a member compares its data with that of its peers if it starts beside a quorum that serves. Members that start together
// would wait for each other, seven seconds for each that does not serve yet.
func TestWhoCompares(t *testing.T) {
	start := func(names ...string) plan.CreatePods { return plan.CreatePods{Names: names} }
	for what, test := range map[string]struct {
		change func(*v1beta1.EtcdCluster, *cluster.View)
		start  plan.CreatePods
		want   []string // who compares
	}{
		"it is formed": {func(c *v1beta1.EtcdCluster, v *cluster.View) {
			was, unseen := unformed()
			*c, *v = *was, unseen
		}, startAll, nil},
		"all are lost, or woken": {without("a-0", "a-1", "a-2"), startAll, nil},
		"two of three are lost":  {without("a-0", "a-1"), start("a-0", "a-1"), nil},
		"one restarts, or rolls": {without("a-1"), start("a-1"), []string{"a-1"}},
		"the others are deleted, too": {func(c *v1beta1.EtcdCluster, v *cluster.View) {
			without("a-1")(c, v)
			v.Members[0].Pod.Deletion, v.Members[2].Pod.Deletion = cluster.Terminating, cluster.Terminating
		}, start("a-1"), nil},
		"it is restored": {func(c *v1beta1.EtcdCluster, v *cluster.View) {
			without("a-0", "a-1", "a-2")(c, v)
			v.Record.ClusterID, v.Record.Adopted = "", true
		}, startAll, nil},
		"it is forced": {func(c *v1beta1.EtcdCluster, v *cluster.View) {
			without("a-0", "a-1", "a-2")(c, v)
			c.Status.Recovering = "a-0"
		}, plan.CreatePods{Names: []string{"a-0"}, Forced: true}, nil},
		"one joins the forced one": {func(_ *v1beta1.EtcdCluster, v *cluster.View) {
			v.Members = append(v.Members[:1], cluster.Member{Name: "a-3", ID: 4, Role: cluster.Learner})
		}, start("a-3"), []string{"a-3"}},
	} {
		c, v := example(), seen()
		test.change(c, &v)
		s := newScene(t, c, v)
		s.mustDo(test.start)
		var compare []string
		for _, name := range test.start.Names {
			var made corev1.Pod
			if s.get(name, &made) && made.Annotations[v1beta1.AnnotationInitialCorruptCheck] != "" {
				compare = append(compare, name)
			}
		}
		if !slices.Equal(compare, test.want) {
			t.Errorf("%s: %v compare, want %v", what, compare, test.want)
		}
	}
}

// without takes the Pods of members away. Without two of three no quorum serves.
func without(names ...string) func(*v1beta1.EtcdCluster, *cluster.View) {
	return func(_ *v1beta1.EtcdCluster, v *cluster.View) {
		for i := range v.Members {
			m := &v.Members[i]
			if slices.Contains(names, m.Name) {
				m.Pod, m.Answers = cluster.Pod{}, false
			}
			m.Healthy = m.Answers && len(names) < 2
		}
	}
}

// TestCompareLater: once a quorum serves, those that have started together compare when they start again, and nothing else of their Pods
// changes.
func TestCompareLater(t *testing.T) {
	for _, as := range []plan.Mark{plan.Existing, plan.Comparing} {
		s := newScene(t, example(), seen(), pod("a-0", "pod-0"), pod("a-1", "pod-1"))
		s.mustDo(plan.MarkPods{As: as, Pods: []plan.PodRef{{Name: "a-0", UID: "pod-0"}, {Name: "a-1", UID: "pod-1"}}})
		for _, name := range []string{"a-0", "a-1"} {
			var changed corev1.Pod
			s.get(name, &changed)
			if specs.IsUnchecked(s.c, &changed) || specs.Change(s.c, &changed) != cluster.Same {
				t.Errorf("%s: %v, change %d", name, changed.Annotations, specs.Change(s.c, &changed))
			}
			if specs.Entry(&changed) != cluster.Ends {
				t.Errorf("%s would enter the cluster again: %v", name, changed.Annotations)
			}
		}
	}
}
