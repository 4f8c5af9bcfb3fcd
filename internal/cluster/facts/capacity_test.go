// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// TestSizeIsThatOfTheDisk: a volume is as large as its disk, whatever its claim asks for. A claim that has no disk yet gets one of the size
// that it asks for. A disk that is larger than was asked for does not count as more.
func TestSizeIsThatOfTheDisk(t *testing.T) {
	for what, test := range map[string]struct{ asked, has, want string }{
		"it is as wanted":            {"4Gi", "4Gi", "4Gi"},
		"it has yet to grow":         {"4Gi", "1Gi", "1Gi"},
		"it has no disk yet":         {"4Gi", "", "4Gi"},
		"its disk has another shape": {"4Gi", "10Gi", "4Gi"},
	} {
		s := newScene(t)
		s.c.Spec.Storage.Size = ptr.To(resource.MustParse("4Gi"))
		resized(s.claim("a-1"), test.asked, test.has)
		v := s.look()
		if want := resource.MustParse(test.want); v.Volumes[1].Size != want.Value() {
			t.Errorf("%s: %d, want %s", what, v.Volumes[1].Size, test.want)
		}
	}
}

// TestGrowthThatDoesNotCome is reported ten minutes after it was asked for, with the claim's own words, until the disk has it or the size
// is set back to what disks have.
func TestGrowthThatDoesNotCome(t *testing.T) {
	asked := func(ago time.Duration) func(*corev1.PersistentVolumeClaim) {
		return func(claim *corev1.PersistentVolumeClaim) {
			metav1.SetMetaDataAnnotation(&claim.ObjectMeta, v1beta1.AnnotationGrowthAsked, now.Add(-ago).Format(time.RFC3339))
		}
	}
	pending := func(claim *corev1.PersistentVolumeClaim) {
		asked(time.Hour)(claim)
		claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{
			Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue, Message: "waiting for the pod to start again",
		}}
	}
	infeasible := func(claim *corev1.PersistentVolumeClaim) {
		asked(time.Hour)(claim)
		claim.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{
			corev1.ResourceStorage: corev1.PersistentVolumeClaimControllerResizeInfeasible,
		}
	}
	for what, test := range map[string]struct {
		has  string
		size string // of the spec
		set  func(*corev1.PersistentVolumeClaim)
		want string
	}{
		"just now":             {"1Gi", "4Gi", asked(9 * time.Minute), ""},
		"ten minutes ago":      {"1Gi", "4Gi", asked(10 * time.Minute), "it has 1Gi, 4Gi was asked for, and its claim says nothing of it"},
		"by somebody else":     {"1Gi", "4Gi", func(*corev1.PersistentVolumeClaim) {}, "its claim says nothing of it"},
		"its pod has to start": {"1Gi", "4Gi", pending, "its claim says FileSystemResizePending: waiting for the pod to start again"},
		"it cannot be":         {"1Gi", "4Gi", infeasible, "its claim says ControllerResizeInfeasible"},
		"it has come":          {"4Gi", "4Gi", pending, ""},
		"the size is set back": {"1Gi", "1Gi", infeasible, ""},
	} {
		t.Run(what, func(t *testing.T) {
			s := newScene(t)
			s.c.Spec.Storage.Size = ptr.To(resource.MustParse(test.size))
			for _, name := range []string{"a-0", "a-2"} {
				resized(s.claim(name), "4Gi", "4Gi")
			}
			resized(s.claim("a-1"), "4Gi", test.has)
			test.set(s.claim("a-1"))
			v, got := s.look(), ""
			for _, o := range v.Refused {
				got += o.Name + ": " + o.Why
			}
			if !strings.Contains(got, test.want) || (got == "") != (test.want == "") || len(sizes(v)) > 0 {
				t.Errorf("got %q, want %q; misfits %v", got, test.want, sizes(v))
			}
		})
	}
}

func sizes(v cluster.View) (all []string) {
	for _, o := range v.Misfits {
		if o.Part == cluster.Size {
			all = append(all, o.Name)
		}
	}
	return all
}

// resized has a claim ask for one size and have another; it has no disk if that is empty.
func resized(claim *corev1.PersistentVolumeClaim, asks, has string) {
	claim.Status.Phase = corev1.ClaimBound
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(asks)}
	if claim.Status.Capacity = nil; has != "" {
		claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(has)}
	}
}
