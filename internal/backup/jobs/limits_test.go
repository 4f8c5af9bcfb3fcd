// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobs_test

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// TestEveryContainerHasLimits: a quota of limits.cpu or limits.memory takes no Pod of which one container has none.
func TestEveryContainerHasLimits(t *testing.T) {
	trial := jobspec.Order{Verb: jobspec.Unpack, Trial: &jobspec.TrialOrder{}}
	for name, job := range map[string]*batchv1.Job{
		"check":  jobs.Check(onVolume, "a", jobspec.Order{Verb: jobspec.Check}, image),
		"verify": jobs.Verify(backup, onVolume, "a", trial, trial, "etcd", resource.MustParse("2Gi"), image),
		"delete": jobs.Delete(backup, onVolume, "a", jobspec.Order{Verb: jobspec.Delete}, image),
		"rescue": jobs.Rescue(ofVolume, onVolume, example, "a", jobspec.Order{Verb: jobspec.Rescue}, jobspec.Order{Verb: jobspec.Backup}, "etcd",
			resource.MustParse("2Gi"), image),
		"backup":  jobs.Backup(backup, onVolume, example, "a", jobspec.Order{Verb: jobspec.Backup}, image),
		"restore": jobs.Restore(example, onVolume, "example-0", jobspec.Order{Verb: jobspec.Restore}, image),
	} {
		spec := job.Spec.Template.Spec
		for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
			if c.Resources.Limits.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() {
				t.Errorf("%s: container %s has the limits %v", name, c.Name, c.Resources.Limits)
			}
		}
	}
}
