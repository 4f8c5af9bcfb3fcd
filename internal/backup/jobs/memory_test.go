package jobs_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// TestMemoryOfARestoreHasABound: a large database is restored in a namespace with a small quota, too.
func TestMemoryOfARestoreHasABound(t *testing.T) {
	for size, want := range map[string]string{"16Mi": "208Mi", "1Gi": "1Gi", "8Gi": "1Gi"} {
		ec := example.DeepCopy()
		ec.Status.Restore = &v1beta1.RestoreStatus{DatabaseSize: ptr.To(resource.MustParse(size))}
		job := jobs.Restore(ec, onVolume, "example-0", jobspec.Order{Verb: jobspec.Restore}, image)
		if got := job.Spec.Template.Spec.Containers[0].Resources.Limits.Memory(); got.Cmp(resource.MustParse(want)) != 0 {
			t.Errorf("a database of %s: the limit is %s", size, got)
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
