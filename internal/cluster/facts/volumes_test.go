// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestRefusedGrowthIsLeftAlone for an hour, and reported meanwhile. Another size is tried at
// once, and so is one whose note cannot be read.
func TestRefusedGrowthIsLeftAlone(t *testing.T) {
	at := func(since time.Duration) string { return now.Add(-since).Format(time.RFC3339) }
	for name, test := range map[string]struct {
		note    string
		refused bool
	}{
		"just now":             {"4Gi " + at(0) + " the class does not", true},
		"in other words":       {"4096Mi " + at(time.Minute) + " the class does not", true},
		"almost an hour ago":   {"4Gi " + at(time.Hour-time.Second) + " the class does not", true},
		"an hour ago":          {"4Gi " + at(time.Hour) + " the class does not", false},
		"another size":         {"3Gi " + at(0) + " the class does not", false},
		"never":                {"", false},
		"at a time that is no": {"4Gi yesterday the class does not", false},
		"a size that is none":  {"much " + at(0) + " the class does not", false},
		"without words":        {"4Gi " + at(0), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.c.Spec.Storage.Size, s.c.Status.VolumeSize = ptr.To(resource.MustParse("4Gi")), ptr.To(resource.MustParse("2Gi"))
			for _, member := range []string{"a-0", "a-1", "a-2"} {
				s.claim(member).Spec.StorageClassName = ptr.To("plain")
				metav1.SetMetaDataAnnotation(&s.claim(member).ObjectMeta, v1beta1.AnnotationGrowthRefused, test.note)
			}
			v := s.look()
			if test.refused != (len(v.Refused) == 3) || test.refused != (len(v.Misfits) == 0) {
				t.Fatalf("refused %v, misfits %v", v.Refused, v.Misfits)
			}
			want := `it has 2Gi, 4Gi is wanted, and with storage class "plain" Kubernetes refuses it: the class does not; ` +
				"allow it there, the operator tries once an hour"
			if step, _ := plan.Next(v); test.refused && (v.Refused[0].Why != want || step != plan.Refuse{Because: plan.Ungrown(v), Denied: true}) {
				t.Errorf("%s; %s", v.Refused[0].Why, step)
			}
		})
	}
}

// TestUnboundVolumeDoesNotGrow: there is no disk yet that could.
func TestUnboundVolumeDoesNotGrow(t *testing.T) {
	s := newScene(t)
	s.c.Spec.Storage.Size = ptr.To(resource.MustParse("4Gi"))
	s.claim("a-1").Status.Phase = corev1.ClaimPending
	s.claim("a-2").Status.Phase = corev1.ClaimBound
	if v := s.look(); len(v.Misfits) != 2 || v.Misfits[1].Name != "a-2" {
		t.Errorf("misfits %v", v.Misfits)
	}
}

// TestVolumesThatToolsMayDelete: those of an earlier version have a label by which Argo CD may
// take them for what it has applied; also those that are set aside.
func TestVolumesThatToolsMayDelete(t *testing.T) {
	s := newScene(t)
	s.claim("a-1").Labels[specs.InstanceLabel] = "a"
	s.claim("a-2").Labels[specs.InstanceLabel] = "theirs"
	v := s.look()
	if len(v.Misfits) != 1 || v.Misfits[0].Name != "a-1" || v.Misfits[0].Part != cluster.Labels {
		t.Errorf("misfits %v", v.Misfits)
	}
}
