package jobs_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestNetworkPolicyLetsBackupsIn, and no Job that has nothing to ask of members.
func TestNetworkPolicyLetsBackupsIn(t *testing.T) {
	order := func(verb jobspec.Verb) jobspec.Order { return jobspec.Order{Verb: verb} }
	for verb, job := range map[jobspec.Verb]*batchv1.Job{
		jobspec.Backup:  jobs.Backup(backup, onVolume, example, "first-1", order(jobspec.Backup), image),
		jobspec.Check:   jobs.Check(inS3, "etcd-store-uid", order(jobspec.Check), image),
		jobspec.Restore: jobs.Restore(example, inS3, "example-0", order(jobspec.Restore), image),
	} {
		pod := labels.Set(job.Spec.Template.Labels)
		if got := labels.SelectorFromSet(specs.BackupSelector()).Matches(pod); got != (verb == jobspec.Backup) {
			t.Errorf("%s is let in: %t, with labels %v", verb, got, pod)
		}
		if labels.SelectorFromSet(specs.MemberSelector(example)).Matches(pod) {
			t.Errorf("%s counts as a member, with labels %v", verb, pod)
		}
	}
}
