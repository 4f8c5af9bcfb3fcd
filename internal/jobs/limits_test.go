package jobs_test

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/internal/jobs"
	"github.com/etcd-operator/etcd-operator/internal/task"
)

// TestEveryContainerHasLimits: a quota of limits.cpu or limits.memory takes no Pod of which one container has none.
func TestEveryContainerHasLimits(t *testing.T) {
	trial := task.Order{Verb: task.Unpack, Trial: &task.TrialOrder{}}
	for name, job := range map[string]*batchv1.Job{
		"check":  jobs.Check(onVolume, "a", task.Order{Verb: task.Check}, image),
		"verify": jobs.Verify(backup, onVolume, "a", trial, trial, "etcd", resource.MustParse("2Gi"), image),
		"delete": jobs.Delete(backup, onVolume, "a", task.Order{Verb: task.Delete}, image),
		"rescue": jobs.Rescue(ofVolume, onVolume, example, "a", task.Order{Verb: task.Rescue}, task.Order{Verb: task.Backup}, "etcd",
			resource.MustParse("2Gi"), image),
		"backup":  jobs.Backup(backup, onVolume, example, "a", task.Order{Verb: task.Backup}, image),
		"restore": jobs.Restore(example, onVolume, "example-0", task.Order{Verb: task.Restore}, image),
	} {
		spec := job.Spec.Template.Spec
		for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
			if c.Resources.Limits.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() {
				t.Errorf("%s: container %s has the limits %v", name, c.Name, c.Resources.Limits)
			}
		}
	}
}
