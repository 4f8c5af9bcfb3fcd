// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestServicesAreRoutedThereAndBack: nothing but the selector of a Service of others is changed, and it comes back as it was.
func TestServicesAreRoutedThereAndBack(t *testing.T) {
	before := map[string]string{"app": "old", "role": "etcd"}
	s := newScene(t, example(), seen(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "old", Labels: map[string]string{"helm": "yes"}},
		Spec:       corev1.ServiceSpec{Selector: before, Ports: []corev1.ServicePort{{Port: 2379}}},
	})
	service := func() *corev1.Service {
		found := &corev1.Service{}
		if !s.get("old", found) {
			t.Fatal("the Service is gone")
		}
		return found
	}
	s.mustDo(plan.RouteService{Name: "old"})
	if routed := service(); !specs.Selects(s.c, routed) || len(routed.Spec.Ports) != 1 || routed.Labels["helm"] != "yes" {
		t.Errorf("got %+v", routed)
	}
	s.mustDo(plan.RouteService{Name: "old", Back: true})
	if back := service(); !maps.Equal(back.Spec.Selector, before) || back.Annotations[v1beta1.AnnotationSourceSelector] != "" {
		t.Errorf("got %+v", back)
	}
}

// TestMembersJoinBesideSources: a member without data is told of the members that were there, one that has data of none.
func TestMembersJoinBesideSources(t *testing.T) {
	v := seen()
	v.Unknown = []cluster.UnknownMember{
		{ID: 5, Name: "old-0", PeerURL: "http://old-0:2380,http://10.0.0.5:2380", Voter: true, Source: true},
		{ID: 6, Name: "somebody", PeerURL: "http://somebody:2380", Voter: true},
	}
	v.Members = append(v.Members, cluster.Member{Name: "a-3", ID: 9, Role: cluster.Learner})
	s := newScene(t, example(), v)
	s.mustDo(plan.CreatePods{Names: []string{"a-3"}})
	var made corev1.Pod
	if !s.get("a-3", &made) {
		t.Fatal("there is no Pod")
	}
	const want = "old-0=http://old-0:2380,old-0=http://10.0.0.5:2380"
	if got := made.Annotations[v1beta1.AnnotationInitialCluster]; !strings.HasSuffix(got, want) || strings.Contains(got, "somebody") {
		t.Errorf("got %s", got)
	}
	if peers := specs.Peers(&made); len(peers) != 5 || peers[4] != "old-0" {
		t.Errorf("got %v", peers)
	}
}

// TestVolumesOfSourcesAreMarked: a claim that a StatefulSet has made is marked as a member's, and that is undone; one of another
// EtcdCluster is not touched, and none is made where there is none.
func TestVolumesOfSourcesAreMarked(t *testing.T) {
	theirs := func(name string, labels map[string]string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels}}
	}
	s := newScene(t, example(), seen(), theirs("a-3", map[string]string{"app": "old"}),
		theirs("a-4", map[string]string{v1beta1.LabelCluster: "b"}))
	labelled := func() map[string]string {
		found := &corev1.PersistentVolumeClaim{}
		if !s.get("a-3", found) {
			t.Fatal("the claim is gone")
		}
		return found.Labels
	}
	for range 2 {
		s.mustDo(plan.AdoptVolume{Name: "a-3", Directory: "default.etcd"})
		if got := labelled(); got[v1beta1.LabelCluster] != "a" || got[v1beta1.LabelMember] != "a-3" || got["app"] != "old" {
			t.Errorf("got %v", got)
		}
	}
	s.mustDo(plan.AdoptVolume{Name: "a-3", Back: true})
	if got := labelled(); !maps.Equal(got, map[string]string{"app": "old"}) {
		t.Errorf("got %v", got)
	}
	for _, name := range []string{"a-4", "a-5"} {
		if s.do(plan.AdoptVolume{Name: name, Directory: "data"}) == nil {
			t.Errorf("%s was marked", name)
		}
	}
}

// TestSourceBecomesAMember: etcd lists it by the URLs of the member, once Kubernetes would take the Pod of that, which finds the data where
// it is.
func TestSourceBecomesAMember(t *testing.T) {
	v := seen()
	v.Unknown = []cluster.UnknownMember{{ID: 3, Name: "old-2", PeerURL: "http://old-2:2380", Voter: true, Source: true}}
	v.Members[2] = cluster.Member{Name: "a-2", Volume: cluster.Kept, DataDirectory: "default.etcd"}
	s := newScene(t, example(), v, claim("a-2"))
	s.api.refusal = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a-2", errors.New("violates PodSecurity"))
	step := plan.UpdatePeerURLs{Name: "a-2", Of: "old-2"}
	if err := s.do(step); err == nil || !strings.Contains(err.Error(), "violates PodSecurity") {
		t.Errorf("got %v", err)
	}
	s.api.refusal = nil
	s.mustDo(step)
	if got := s.etcd.Log(); !slices.Contains(got, "update a-2 to "+specs.PeerURL(s.c, "a-2")) {
		t.Errorf("got %v", got)
	}
	s.mustDo(plan.CreatePods{Names: []string{"a-2"}})
	var made corev1.Pod
	if !s.get("a-2", &made) || specs.Etcd(&made).VolumeMounts[0].SubPath != "default.etcd" {
		t.Errorf("got %+v", specs.Etcd(&made).VolumeMounts)
	}
}
