// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// onNode puts a-1 on a node that has been in that state since then.
func onNode(s *scene, status corev1.ConditionStatus, since time.Duration) *corev1.Node {
	s.c.Spec.Recovery.MemberTimeout.Duration = 5 * time.Minute
	s.pod("a-1").Spec.NodeName = "n1"
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1"},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(now.Add(-since))},
		}},
	}
	s.objects = append(s.objects, node)
	return node
}

// TestFault22SilentNode: a member is stranded once its node has been silent for
// longer than the user allows, and not a moment before.
func TestFault22SilentNode(t *testing.T) {
	for _, test := range []struct {
		status corev1.ConditionStatus
		since  time.Duration
		want   bool
	}{
		{corev1.ConditionTrue, time.Hour, false},
		{corev1.ConditionUnknown, 5*time.Minute - time.Second, false},
		{corev1.ConditionUnknown, 5 * time.Minute, true},
		{corev1.ConditionFalse, time.Hour, true},
	} {
		s := newScene(t)
		onNode(s, test.status, test.since)
		if m := s.member("a-1"); (m.NodeUnreachable != "") != test.want || m.Damage != "" {
			t.Errorf("%s for %s: stranded %q, damage %q", test.status, test.since, m.NodeUnreachable, m.Damage)
		} else if (m.Pod.Silent == "n1") != (test.status != corev1.ConditionTrue) {
			t.Errorf("%s for %s: silent: %q", test.status, test.since, m.Pod.Silent)
		}
	}
}

// TestFault23Cordoned: a drain may follow.
func TestFault23Cordoned(t *testing.T) {
	s := newScene(t)
	onNode(s, corev1.ConditionTrue, 0).Spec.Unschedulable = true
	v := s.look()
	if names := cluster.Names(v.Select(cluster.IsDisturbed)); len(names) != 1 || names[0] != "a-1" {
		t.Errorf("disturbed: %v", names)
	}
}

// TestVolumeThatWentBeforeItsPodHadANode: neither of them can come back. Where the API server
// itself knows of a node, or of the volume, the Pod may run.
func TestVolumeThatWentBeforeItsPodHadANode(t *testing.T) {
	waiting := func() *scene {
		s := newScene(t)
		s.etcd.Stop("a-1")
		s.pod("a-1").Spec.NodeName, s.pod("a-1").Status = "", corev1.PodStatus{Phase: corev1.PodPending}
		return s
	}
	for name, test := range map[string]struct {
		arrange func(*scene)
		lost    bool
	}{
		"gone":                        {func(s *scene) { s.drop("PersistentVolumeClaim a-1") }, true},
		"there":                       {func(*scene) {}, false},
		"there, and not in the cache": {func(s *scene) { s.stale = []string{"PersistentVolumeClaim a-1"} }, false},
		"has a node": {func(s *scene) {
			s.drop("PersistentVolumeClaim a-1")
			s.pod("a-1").Spec.NodeName = "n1"
		}, false},
		"has a node that the cache does not show": {func(s *scene) {
			s.drop("PersistentVolumeClaim a-1")
			s.pod("a-1").Spec.NodeName = "n1"
			s.arrange = func(list client.ObjectList) {
				if pods, is := list.(*corev1.PodList); is {
					for i := range pods.Items {
						pods.Items[i].Spec.NodeName = ""
					}
				}
			}
		}, false},
		"data goes with its Pod": {func(s *scene) {
			s.drop("PersistentVolumeClaim a-1")
			s.c.Spec.Storage = v1beta1.Storage{Ephemeral: &v1beta1.Ephemeral{}}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := waiting()
			test.arrange(s)
			if m := s.member("a-1"); cluster.IsLost(m) != test.lost || !m.Pod.Exists() {
				t.Errorf("%+v", m)
			}
		})
	}
}

// TestVolumeThatCannotFollow: a Pod that finds no node, because its volume is bound to
// one that is silent or gone.
func TestVolumeThatCannotFollow(t *testing.T) {
	const timeout = 5 * time.Minute
	for name, test := range map[string]struct {
		nodes          map[string]corev1.ConditionStatus // of those that the volume can be used on; "" is gone
		waits          time.Duration
		stranded, gone string
	}{
		"gone":               {map[string]corev1.ConditionStatus{"n1": ""}, timeout, "", "node n1, which no longer exists"},
		"silent":             {map[string]corev1.ConditionStatus{"n1": corev1.ConditionUnknown}, timeout, "node n1, which is silent", ""},
		"not long enough":    {map[string]corev1.ConditionStatus{"n1": ""}, timeout - time.Second, "", ""},
		"well, perhaps full": {map[string]corev1.ConditionStatus{"n1": corev1.ConditionTrue}, timeout, "", ""},
		"one of two is well": {map[string]corev1.ConditionStatus{"n1": "", "n2": corev1.ConditionTrue}, timeout, "", ""},
		"can follow":         {nil, timeout, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			homeless(s, test.nodes, test.waits)
			m := s.member("a-1")
			if !strings.HasSuffix(m.NodeUnreachable, test.stranded) || (m.NodeUnreachable == "") != (test.stranded == "") {
				t.Errorf("stranded %q, want %q", m.NodeUnreachable, test.stranded)
			}
			if !strings.HasSuffix(m.NodeGone, test.gone) || (m.NodeGone == "") != (test.gone == "") || m.Damage != "" {
				t.Errorf("node gone %q, want %q, damage %q", m.NodeGone, test.gone, m.Damage)
			}
		})
	}
}

// TestNodeIsFoundByItsHostname: a volume names the label of a node, which need not be the
// node's name: with a hostname of one's own, or that of a cloud, it is another.
func TestNodeIsFoundByItsHostname(t *testing.T) {
	for name, test := range map[string]struct {
		hostname string // that the volume asks for
		node     corev1.Node
		ready    corev1.ConditionStatus
		which    string // in what is said of the member
	}{
		"another name":         {"192.168.243.210", labelled("vm-5558", "192.168.243.210"), corev1.ConditionTrue, ""},
		"another, silent":      {"192.168.243.210", labelled("vm-5558", "192.168.243.210"), corev1.ConditionUnknown, "is silent"},
		"no label yet":         {"n1", labelled("n1", ""), corev1.ConditionTrue, ""},
		"another one's name":   {"n1", labelled("n1", "n2"), corev1.ConditionTrue, ""},
		"neither":              {"n1", labelled("n2", "n2"), corev1.ConditionTrue, "no longer exists"},
		"a label that is none": {strings.Repeat("n", 64), labelled("n2", "n2"), corev1.ConditionTrue, "no longer exists"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			homeless(s, map[string]corev1.ConditionStatus{test.hostname: ""}, time.Hour)
			test.node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: test.ready}}
			s.objects = append(s.objects, &test.node)
			m := s.member("a-1")
			said := m.NodeUnreachable + m.NodeGone
			if !strings.HasSuffix(said, test.which) || (said == "") != (test.which == "") {
				t.Errorf("stranded %q, node gone %q", m.NodeUnreachable, m.NodeGone)
			}
		})
	}
}

// TestVolumeThatIsNotBoundToNodes: terms are alternatives, so a volume that may be used by
// one without a hostname, as in a zone, is on no node that could be gone.
func TestVolumeThatIsNotBoundToNodes(t *testing.T) {
	requires := func(key string, operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: operator, Values: values}
	}
	host := requires(corev1.LabelHostname, corev1.NodeSelectorOpIn, "n1")
	zone := requires(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, "z1")
	elsewhere := requires(corev1.LabelHostname, corev1.NodeSelectorOpNotIn, "n2")
	term := func(all ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: all}
	}
	field := corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{requires("metadata.name", corev1.NodeSelectorOpIn, "n3")}}
	for what, test := range map[string]struct {
		terms []corev1.NodeSelectorTerm
		gone  bool
	}{
		"a node":                      {[]corev1.NodeSelectorTerm{term(host)}, true},
		"a node of a zone":            {[]corev1.NodeSelectorTerm{term(zone, host)}, true},
		"a zone":                      {[]corev1.NodeSelectorTerm{term(zone)}, false},
		"a node or a zone":            {[]corev1.NodeSelectorTerm{term(host), term(zone)}, false},
		"a zone or a node":            {[]corev1.NodeSelectorTerm{term(zone), term(host)}, false},
		"a node or all but another":   {[]corev1.NodeSelectorTerm{term(host), term(elsewhere)}, false},
		"a node or one by its name":   {[]corev1.NodeSelectorTerm{term(host), field}, false},
		"a node or nothing that is":   {[]corev1.NodeSelectorTerm{term(host), {}}, true},
		"nothing that is":             {[]corev1.NodeSelectorTerm{{}}, false},
		"a node that is twice a node": {[]corev1.NodeSelectorTerm{term(host, host)}, true},
	} {
		s := newScene(t)
		homeless(s, map[string]corev1.ConditionStatus{"n1": ""}, time.Hour)
		s.find("PersistentVolume v1").(*corev1.PersistentVolume).Spec.NodeAffinity.Required.NodeSelectorTerms = test.terms
		if m := s.member("a-1"); (m.NodeGone != "") != test.gone || m.NodeUnreachable != "" {
			t.Errorf("%s: stranded %q, node gone %q", what, m.NodeUnreachable, m.NodeGone)
		}
	}
}

func labelled(name, hostname string) corev1.Node {
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if hostname != "" {
		node.Labels = map[string]string{corev1.LabelHostname: hostname}
	}
	return node
}

// homeless makes a-1 wait for a node, with a volume bound to these, by their hostnames.
func homeless(s *scene, nodes map[string]corev1.ConditionStatus, waits time.Duration) {
	s.c.Spec.Recovery.MemberTimeout.Duration = 5 * time.Minute
	s.etcd.Stop("a-1")
	s.pod("a-1").Spec.NodeName = ""
	s.pod("a-1").Status = corev1.PodStatus{Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(now.Add(-waits)),
	}}}
	s.claim("a-1").Spec.VolumeName = "v1"
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v1"}}
	var terms []corev1.NodeSelectorTerm
	for name, status := range nodes {
		terms = append(terms, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{name}},
		}})
		if status != "" {
			node := labelled("vm-"+name, name)
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
			s.objects = append(s.objects, &node)
		}
	}
	if len(terms) > 0 {
		volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: terms}}
	}
	s.objects = append(s.objects, volume)
}

// TestNodesThatMayNotBeRead: an operator that is installed for some namespaces may be
// allowed to read nothing outside of them. It does not know that anything is wrong there,
// and goes on. That the API server does not answer is another thing.
func TestNodesThatMayNotBeRead(t *testing.T) {
	s := newScene(t)
	onNode(s, corev1.ConditionUnknown, time.Hour).Spec.Unschedulable = true
	blind := s.observer()
	blind.NoNodes = true
	if m, _ := s.lookBy(blind).Member("a-1"); m.NodeUnreachable != "" || m.Pod.Cordoned {
		t.Errorf("it sees %+v", m)
	}

	s = newScene(t)
	homeless(s, map[string]corev1.ConditionStatus{"n1": ""}, time.Hour)
	s.broken = apierrors.NewForbidden(schema.GroupResource{Resource: "persistentvolumes"}, "v1", errors.New("no rule"))
	if m := s.member("a-1"); m.NodeUnreachable != "" || m.NodeGone != "" {
		t.Errorf("stranded %q, node gone %q", m.NodeUnreachable, m.NodeGone)
	}
	s.broken = errors.New("no route to host")
	if _, err := s.observer().Cluster(t.Context(), s.c, nil); !errors.Is(err, s.broken) {
		t.Errorf("got error %v", err)
	}
}

// TestPodThatDoesNotEndOnANodeThatIsReady: the message says what to check, and not at once; a silent
// node, or a finalizer, says enough by itself.
func TestPodThatDoesNotEndOnANodeThatIsReady(t *testing.T) {
	for _, test := range []struct {
		since  time.Duration
		status corev1.ConditionStatus
		grace  int64
		says   string
	}{
		{59 * time.Second, corev1.ConditionTrue, 10, ""},
		{time.Minute, corev1.ConditionTrue, 10, "node n1, which is ready, does not stop it"},
		{time.Hour, corev1.ConditionUnknown, 10, ""},
		{time.Hour, corev1.ConditionTrue, 0, "finalizer"},
	} {
		s := newScene(t)
		pod := s.pod("a-1")
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: now.Add(-test.since)}, &test.grace
		pod.Finalizers = []string{"example.com/held"}
		onNode(s, test.status, time.Hour)
		if got := s.member("a-1").Pod.Trouble; test.says == "" && got != "" || !strings.Contains(got, test.says) {
			t.Errorf("%+v: it says %q", test, got)
		}
	}
}
