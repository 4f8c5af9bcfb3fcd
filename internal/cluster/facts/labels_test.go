// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"crypto/rand"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestAstray: a Pod and a volume whose labels were removed are neither watched nor listed,
// and found by their name. They are ours while we own them, or while they have no owner and
// still name the cluster.
func TestAstray(t *testing.T) {
	managed := "app.kubernetes.io/managed-by"
	for what, test := range map[string]struct {
		labels      map[string]string
		owned, ours bool
	}{
		"another manager":         {map[string]string{managed: "Helm", v1beta1.LabelCluster: "a"}, false, true},
		"another, owned":          {map[string]string{managed: "Helm", v1beta1.LabelCluster: "a"}, true, true},
		"another cluster":         {map[string]string{managed: v1beta1.FieldOwner, v1beta1.LabelCluster: "b"}, false, false},
		"another cluster, owned":  {map[string]string{managed: v1beta1.FieldOwner, v1beta1.LabelCluster: "b"}, true, true},
		"as the operator made it": {specs.MemberLabels(newScene(t).c, "a-1"), false, false},
	} {
		s := newScene(t)
		good := what == "as the operator made it"
		s.pod("a-1").Labels, s.claim("a-1").Labels = test.labels, test.labels
		s.stale = []string{"Pod a-1", "PersistentVolumeClaim a-1"}
		if test.owned {
			s.claim("a-1").OwnerReferences = []metav1.OwnerReference{specs.Owner(s.c)}
		}
		v := s.look()
		m, _ := v.Member("a-1")
		if !m.Pod.Exists() || m.Pod.LabelsMissing == good || m.Volume != cluster.Kept {
			t.Errorf("%s: saw %+v", what, m)
		}
		found := false
		for _, o := range v.Misfits {
			found = found || o.Part == cluster.Labels && o.Name == "a-1"
		}
		if found != test.ours {
			t.Errorf("%s: misfits %v", what, v.Misfits)
		}
	}
}

// TestAuthorityWithoutItsLabel: it is not lost, and gets the label back. One that is another's is none of ours.
func TestAuthorityWithoutItsLabel(t *testing.T) {
	for what, test := range map[string]struct {
		spoil   func(*corev1.Secret)
		lost    int
		objects []string
	}{
		"without its label": {func(s *corev1.Secret) { delete(s.Labels, specs.ManagedByLabel) }, 0, []string{"Secret a-peer-ca"}},
		"as it was made":    {func(*corev1.Secret) {}, 0, nil},
		"another's": {func(s *corev1.Secret) { s.OwnerReferences, s.Labels = nil, nil }, 1, []string{
			"Secret a-peer-ca", "Secret a-member-tls",
		}},
	} {
		s := newScene(t)
		for _, object := range s.objects {
			if secret, is := object.(*corev1.Secret); is && secret.Name == "a-peer-ca" {
				test.spoil(secret)
			}
		}
		v := s.look()
		var objects []string
		for _, o := range v.Objects {
			objects = append(objects, o.String())
		}
		if len(v.Lost) != test.lost || !slices.Equal(objects, test.objects) {
			t.Errorf("%s: lost %v, objects %v", what, v.Lost, objects)
		}
	}
}

// TestAuthorityThatEnds is seen by the clock of the observer, whatever it has signed since.
func TestAuthorityThatEnds(t *testing.T) {
	s := newScene(t)
	old := certs.Read(s.c, func(string) *corev1.Secret { return nil })
	for _, object := range s.objects {
		if secret, is := object.(*corev1.Secret); is && slices.Contains(certs.Authorities(s.c), secret.Name) {
			made, err := old.Make(rand.Reader, now.Add(24*time.Hour-v1beta1.DefaultAuthorityLifetime), s.c, secret.Name)
			if err != nil {
				t.Fatal(err)
			}
			secret.Data = made.Data
		}
	}
	want := []cluster.Ending{
		{Secret: "a-client-ca", On: "2026-01-02", Near: true},
		{Secret: "a-peer-ca", On: "2026-01-02", Near: true},
	}
	if got := s.look().Ending; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := newScene(t).look().Ending; len(got) > 0 {
		t.Errorf("new ones end: %+v", got)
	}
}
