// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// ofVolume is a backup of the volume of a-1, which does not run.
func ofVolume() backup.Seen {
	s := seen()
	s.Backup.Spec.Volume = "a-1"
	s.Backup.Annotations = map[string]string{v1beta1.AnnotationUpload: string(s.Backup.UID)}
	s.Volume = specs.Volume(s.Cluster, "a-1", &v1beta1.Bootstrap{Token: string(s.Cluster.UID), Members: []string{"a-1"}})
	s.Volume.Annotations[v1beta1.AnnotationVersion], s.Volume.Annotations[v1beta1.AnnotationClusterID] = "3.5.35", "c7"
	s.Volume.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("8Gi")}
	return s
}

// TestOrderToRescue: the data is copied, an etcd of the member's own version is started on the copy, and that is backed up, whatever the
// cluster serves.
func TestOrderToRescue(t *testing.T) {
	s := ofVolume()
	s.Cluster.Status.Recoveries = 1
	job, orders := ordered(t, s, backup.Backup, nil)
	if len(orders) != 2 || orders[0].Verb != jobspec.Rescue || orders[1].Verb != jobspec.Backup {
		t.Fatalf("orders %+v", orders)
	}
	o := orders[1].Backup
	if !o.Stopped || !o.Secure || o.Recoveries != 0 || o.ClusterID != "c7" || len(o.Members) != 1 ||
		o.Members[0].Address != jobspec.TrialAddress ||
		o.Members[0].ID != "" {
		t.Errorf("order %+v", o)
	}
	if image := job.Spec.Template.Spec.InitContainers[1].Image; !strings.Contains(image, "3.5.35") {
		t.Errorf("image %s", image)
	}
}

// TestVolumesThatAreNotRescued: what is waited for, and that a cluster which does not answer holds up nothing.
func TestVolumesThatAreNotRescued(t *testing.T) {
	for words, change := range map[string]func(*backup.Seen){
		"is next, attempt 1":               func(s *backup.Seen) { s.Cluster.Status.Members = nil },
		"volume a-1, which does not exist": func(s *backup.Seen) { s.Volume = nil },
		"pod a-1 to be gone":               func(s *backup.Seen) { s.Pod = &corev1.Pod{} },
		"volume a-1 to be one of":          func(s *backup.Seen) { s.Volume.Labels[v1beta1.LabelCluster] = "another" },
	} {
		s := ofVolume()
		change(&s)
		if step, _ := backup.Next(backup.Facts(s)); !strings.Contains(step.String(), words) {
			t.Errorf("%s; it should say %q", step, words)
		}
	}
}
