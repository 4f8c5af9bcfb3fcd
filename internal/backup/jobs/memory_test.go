// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobs_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// TestMemoryOfARestoreHasABound: a large database is restored in a namespace with a small quota, too. What members may have, a Job may have
// in their place, and not beside them.
func TestMemoryOfARestoreHasABound(t *testing.T) {
	for name, c := range map[string]struct {
		size, members    string
		inPlace, replays bool
		want             string
	}{
		"small":                       {size: "16Mi", want: "208Mi"},
		"as large as the bound":       {size: "1Gi", want: "1Gi"},
		"large":                       {size: "8Gi", want: "1Gi"},
		"large, of large members":     {size: "4Gi", members: "6Gi", want: "4288Mi"},
		"larger than members may be":  {size: "8Gi", members: "6Gi", want: "6Gi"},
		"large, of small members":     {size: "8Gi", members: "512Mi", want: "1Gi"},
		"small, of large members":     {size: "16Mi", members: "6Gi", want: "208Mi"},
		"beside the members that run": {size: "4Gi", members: "6Gi", inPlace: true, want: "1Gi"},
		"what replays a log":          {size: "4Gi", members: "6Gi", replays: true, want: "1344Mi"},
	} {
		ec := example.DeepCopy()
		ec.Status.Restore = &v1beta1.RestoreStatus{DatabaseSize: ptr.To(resource.MustParse(c.size))}
		if c.inPlace {
			ec.Status.Restore.Request = "er"
		}
		if c.members != "" {
			ec.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(c.members)}
		}
		if ec.IsRestoring() != c.inPlace {
			t.Fatalf("%s: in place: %t", name, ec.IsRestoring())
		}
		order := jobspec.Order{Verb: jobspec.Restore, Restore: &jobspec.RestoreOrder{}}
		if c.replays {
			order.Restore.Target = &jobspec.TargetOrder{}
		}
		job := jobs.Restore(ec, onVolume, "example-0", order, image)
		if got := job.Spec.Template.Spec.Containers[0].Resources.Limits.Memory(); got.Cmp(resource.MustParse(c.want)) != 0 {
			t.Errorf("%s: the limit is %s", name, got)
		}
	}
}

// TestMemoryOfASearch: the headers of a day of a busy log have room.
func TestMemoryOfASearch(t *testing.T) {
	order := jobspec.Order{Verb: jobspec.Locate, Locate: &jobspec.LocateOrder{}}
	job := jobs.Locate(example, "EtcdCluster", example, onVolume, order, nil, image)
	if got := job.Spec.Template.Spec.Containers[0].Resources.Limits.Memory(); got.Cmp(resource.MustParse("1Gi")) != 0 {
		t.Errorf("the limit is %s", got)
	}
}

// TestMemoryOfALog: three segments wait at most, so that larger ones need more.
func TestMemoryOfALog(t *testing.T) {
	for size, want := range map[int]string{64 << 10: "96Mi", 8 << 20: "96Mi", 15 << 20: "124Mi"} {
		order := jobspec.Order{Verb: jobspec.Follow, Follow: &jobspec.FollowOrder{SegmentSize: size}}
		job := jobs.Follow(example, onVolume, order, image)
		if got := job.Spec.Template.Spec.Containers[0].Resources.Limits.Memory(); got.Cmp(resource.MustParse(want)) != 0 {
			t.Errorf("segments of %d bytes: the limit is %s", size, got)
		}
		if job.Spec.ActiveDeadlineSeconds != nil {
			t.Errorf("it ends after %d s", *job.Spec.ActiveDeadlineSeconds)
		}
	}
}
