package act_test

import (
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
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
	if back := service(); !maps.Equal(back.Spec.Selector, before) || back.Annotations[v1alpha1.AnnotationSourceSelector] != "" {
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
	if got := made.Annotations[v1alpha1.AnnotationInitialCluster]; !strings.HasSuffix(got, want) || strings.Contains(got, "somebody") {
		t.Errorf("got %s", got)
	}
	if peers := specs.Peers(&made); len(peers) != 5 || peers[4] != "old-0" {
		t.Errorf("got %v", peers)
	}
}
