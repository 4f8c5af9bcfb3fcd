package jobs_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/etcd-operator/etcd-operator/internal/build"
	"github.com/etcd-operator/etcd-operator/internal/jobs"
	"github.com/etcd-operator/etcd-operator/internal/task"
)

// TestNetworkPolicyLetsBackupsIn, and no Job that has nothing to ask of members.
func TestNetworkPolicyLetsBackupsIn(t *testing.T) {
	order := func(verb task.Verb) task.Order { return task.Order{Verb: verb} }
	for verb, job := range map[task.Verb]*batchv1.Job{
		task.Backup:  jobs.Backup(backup, onVolume, example, "first-1", order(task.Backup), image),
		task.Check:   jobs.Check(inS3, "etcd-store-uid", order(task.Check), image),
		task.Restore: jobs.Restore(example, inS3, "example-0", order(task.Restore), image),
	} {
		pod := labels.Set(job.Spec.Template.Labels)
		if got := labels.SelectorFromSet(build.BackupSelector()).Matches(pod); got != (verb == task.Backup) {
			t.Errorf("%s is let in: %t, with labels %v", verb, got, pod)
		}
		if labels.SelectorFromSet(build.MemberSelector(example)).Matches(pod) {
			t.Errorf("%s counts as a member, with labels %v", verb, pod)
		}
	}
}
