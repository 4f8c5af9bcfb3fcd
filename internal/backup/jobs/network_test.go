// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobs_test

import (
	"reflect"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestNetworkPolicyLetsLogsIn: the Pod that keeps a log, and no other Job.
func TestNetworkPolicyLetsLogsIn(t *testing.T) {
	follow := jobs.Follow(example, inS3, jobspec.Order{Verb: jobspec.Follow, Follow: &jobspec.FollowOrder{}}, image)
	check := jobs.Check(inS3, "etcd-store-uid", jobspec.Order{Verb: jobspec.Check}, image)
	allowed := labels.SelectorFromSet(specs.LogSelector())
	if !allowed.Matches(labels.Set(follow.Spec.Template.Labels)) || allowed.Matches(labels.Set(check.Spec.Template.Labels)) {
		t.Errorf("%v lets in %v, or %v", allowed, follow.Spec.Template.Labels, check.Spec.Template.Labels)
	}
	if labels.SelectorFromSet(specs.MemberSelector(example)).Matches(labels.Set(follow.Spec.Template.Labels)) {
		t.Error("it counts as a member")
	}
}

// TestNetworkPolicyLetsRestoresOfPrefixesIn: each of their Jobs, and no other one.
func TestNetworkPolicyLetsRestoresOfPrefixesIn(t *testing.T) {
	allowed, err := metav1.LabelSelectorAsSelector(specs.PrefixSelector())
	if err != nil {
		t.Fatal(err)
	}
	er := &v1beta1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: example.Namespace}}
	for _, verb := range []jobspec.Verb{jobspec.Compare, jobspec.Apply, jobspec.Revert, jobspec.State} {
		pod := labels.Set(jobs.OnPrefix(er, example, inS3, jobspec.Order{Verb: verb}, resource.MustParse("64Mi"), image).Spec.Template.Labels)
		if got := allowed.Matches(pod); got != (verb != jobspec.State) {
			t.Errorf("%s is let in: %t, with labels %v", verb, got, pod)
		}
		if labels.SelectorFromSet(specs.MemberSelector(example)).Matches(pod) {
			t.Errorf("%s counts as a member, with labels %v", verb, pod)
		}
	}
}

// TestNamesOfJobsOnPrefixes: each of the longest EtcdRestore is short enough for a label.
func TestNamesOfJobsOnPrefixes(t *testing.T) {
	er := &v1beta1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("a", 56)}}
	for _, verb := range []jobspec.Verb{jobspec.Compare, jobspec.Apply, jobspec.Revert} {
		if name := jobs.OnPrefixName(er, verb); len(name) > 63 {
			t.Errorf("%s has %d characters", name, len(name))
		}
	}
}

// TestNetworkPolicyLetsBackupsIn, and no Job that has nothing to ask of members.
func TestNetworkPolicyLetsBackupsIn(t *testing.T) {
	order := func(verb jobspec.Verb) jobspec.Order { return jobspec.Order{Verb: verb} }
	for verb, job := range map[jobspec.Verb]*batchv1.Job{
		jobspec.Backup: jobs.Backup(backup, onVolume, example, "first-1", order(jobspec.Backup), image),
		jobspec.Check:  jobs.Check(inS3, "etcd-store-uid", order(jobspec.Check), image),
		jobspec.Locate: jobs.Locate(backup, "EtcdRestore", example, inS3, jobspec.Order{
			Verb: jobspec.Locate, Locate: &jobspec.LocateOrder{},
		}, nil, image),
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

// TestImageOfAnotherJob: a Job that a user creates runs the image of the operator's, with its proxies and nothing that others have put into
// the Pod, and no operator takes it for its own.
func TestImageOfAnotherJob(t *testing.T) {
	all := forAll
	all.Proxy, all.Endpoints = []corev1.EnvVar{{Name: "NO_PROXY", Value: "svc"}}, []string{"minio.example"}
	spec := jobs.Follow(example, inS3, jobspec.Order{Verb: jobspec.Follow, Follow: &jobspec.FollowOrder{}}, all).Spec.Template.Spec
	spec.Containers[0].Env = append(spec.Containers[0].Env, corev1.EnvVar{Name: "AWS_ROLE_ARN", Value: "role"})
	spec.Containers = append([]corev1.Container{{Name: "sidecar", Image: "mesh"}}, spec.Containers...)
	if got, ok := jobs.ImageOf(spec); !ok || !reflect.DeepEqual(got, all) {
		t.Errorf("%+v, %t", got, ok)
	}
	if got, ok := jobs.ImageOf(corev1.PodSpec{Containers: []corev1.Container{{Image: "mesh"}}}); ok {
		t.Errorf("%+v", got)
	}
	job := jobs.Search(example, inS3, jobspec.Order{Verb: jobspec.Search, Search: &jobspec.SearchOrder{}}, nil, 0, all)
	if metav1.IsControlledBy(job, example) || job.OwnerReferences[0].BlockOwnerDeletion != nil || job.OwnerReferences[0].UID != example.UID {
		t.Errorf("owner %+v", job.OwnerReferences)
	}
}
