// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// TestQuotaBelowTheDatabase: a member is only spared a quota that is less than it has now. One
// that has outgrown its own is reported by etcd's alarm.
func TestQuotaBelowTheDatabase(t *testing.T) {
	for name, test := range map[string]struct {
		had, want string
		cramped   bool
	}{
		"less than the database, which has 1Mi": {"2Gi", "900Ki", true},
		"less, and enough":                      {"2Gi", "1Gi", false},
		"as it was":                             {"900Ki", "900Ki", false},
		"more than it was, and still too small": {"800Ki", "900Ki", false},
	} {
		s := newScene(t)
		s.c.Spec.Etcd.Quota = ptr.To(resource.MustParse(test.had))
		for _, member := range []string{"a-0", "a-1", "a-2"} {
			s.pod(member).Spec = s.newPod(member).Spec
		}
		s.c.Spec.Etcd.Quota = ptr.To(resource.MustParse(test.want))
		if m := s.member("a-1"); m.Pod.QuotaBelowDBSize != test.cramped {
			t.Errorf("%s: cramped %t, database of %d", name, m.Pod.QuotaBelowDBSize, m.DBSize)
		}
	}
}

// TestQuotaIsNotLoweredByARestart: no member restarts for a default that is less than what it has, because a disk has not grown. For more
// it does.
func TestQuotaIsNotLoweredByARestart(t *testing.T) {
	for size, want := range map[string]cluster.Change{"1Gi": cluster.Same, "2Gi": cluster.Same, "4Gi": cluster.Rebuild} {
		s := newScene(t)
		s.c.Spec.Storage.Size, s.c.Status.VolumeSize = ptr.To(resource.MustParse("4Gi")), ptr.To(resource.MustParse(size))
		if m := s.member("a-1"); m.Pod.Change != want {
			t.Errorf("disks of %s: change %d, want %d", size, m.Pod.Change, want)
		}
	}
}

// TestDefragmentedWithItsQuota: the Pod of a member that is just defragmented may hold a quota that is refused. It is not made again for it
// before that is done.
func TestDefragmentedWithItsQuota(t *testing.T) {
	for chosen, want := range map[string]cluster.Change{"a-1": cluster.Same, "a-2": cluster.Rebuild} {
		s := newScene(t)
		s.c.Status.Defragmenting = &v1beta1.DefragmentingStatus{Member: chosen, PodUID: "earlier", Size: resource.MustParse("80Mi")}
		s.c.Spec.Etcd.Quota = ptr.To(resource.MustParse("80Mi"))
		s.pod("a-1").Spec = specs.Defragmenting(s.c, s.newPod("a-1")).Spec
		s.pod("a-1").Annotations = specs.Defragmenting(s.c, s.newPod("a-1")).Annotations
		s.c.Spec.Etcd.Quota = ptr.To(resource.MustParse("64Mi"))
		if m := s.member("a-1"); m.Pod.Change != want {
			t.Errorf("%s is chosen: change %d, want %d", chosen, m.Pod.Change, want)
		}
	}
}

// TestDefaultQuotaLeavesRoomToDefragment: with the default quota of every volume a member is defragmented by itself from three quarters of
// it on, where a tenth is free, and a database that is full has room for the copy.
func TestDefaultQuotaLeavesRoomToDefragment(t *testing.T) {
	for _, size := range []string{"512Mi", "1Gi", "1280Mi", "1536Mi", "2Gi", "3Gi", "4Gi", "6Gi", "8Gi", "10Gi", "12Gi", "16Gi"} {
		for _, used := range []int64{76, 85, 95, 100} { // percent of the quota
			s := newScene(t)
			s.c.Spec.Storage.Size = ptr.To(resource.MustParse(size))
			s.c.Spec.Maintenance.Defragmentation = v1beta1.Defragmentation{FreePercent: 45, QuotaPercent: 75}
			s.c.Status.Bootstrap.DefragRoom = true
			for _, name := range []string{"a-0", "a-1", "a-2"} {
				resized(s.claim(name), size, size)
				made := s.newPod(name)
				s.pod(name).Spec, s.pod(name).Annotations = made.Spec, made.Annotations
			}
			s.twist = func(_ string, status *etcd.Status) {
				status.DBSize = s.c.QuotaBytes() / 100 * used
				status.DBSizeInUse = status.DBSize / 100 * 89
			}
			v := s.look()
			step, _ := plan.Next(v)
			if m := v.Members[1]; !strings.HasPrefix(step.String(), "defragment a-1: ") || !hasRoom(m) {
				t.Errorf("%s, %d %% of %d MiB in use: %s, %+v", size, used, m.Pod.Quota>>20, step, m.Room)
			}
		}
	}
}
