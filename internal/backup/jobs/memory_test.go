package jobs_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// TestMemoryOfARestoreHasABound: a large database is restored in a namespace with a small quota, too.
func TestMemoryOfARestoreHasABound(t *testing.T) {
	for size, want := range map[string]string{"16Mi": "208Mi", "1Gi": "1Gi", "8Gi": "1Gi"} {
		ec := example.DeepCopy()
		ec.Status.Restore = &v1alpha1.RestoreStatus{DatabaseSize: ptr.To(resource.MustParse(size))}
		job := jobs.Restore(ec, onVolume, "example-0", jobspec.Order{Verb: jobspec.Restore}, image)
		if got := job.Spec.Template.Spec.Containers[0].Resources.Limits.Memory(); got.Cmp(resource.MustParse(want)) != 0 {
			t.Errorf("a database of %s: the limit is %s", size, got)
		}
	}
}
