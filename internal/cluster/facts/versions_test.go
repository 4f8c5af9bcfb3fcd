// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// adopt makes a scene of volumes alone, which a later EtcdCluster has just adopted, with the
// versions that are written on them; nothing is written for an empty one.
func (s *scene) adopt(versions ...string) {
	s.c.Status = v1beta1.EtcdClusterStatus{
		Format: v1beta1.StatusFormat, NextSerial: 3, LegacyEntries: true,
		Bootstrap: &v1beta1.Bootstrap{Token: "u1", Members: []string{"a-0", "a-1", "a-2"}, Adopted: true},
	}
	for i, had := range versions {
		name := cluster.MemberName("a", i)
		s.drop("Pod " + name)
		s.etcd.Stop(name)
		delete(s.claim(name).Annotations, v1beta1.AnnotationVersion)
		if had != "" {
			s.claim(name).Annotations[v1beta1.AnnotationVersion] = had
		}
	}
}

// TestFault43AdoptedVersion: what adopted members start with follows from what is written on
// their volumes, by the ways between versions.
func TestFault43AdoptedVersion(t *testing.T) {
	const twoDown = "members run 3.7.3, and etcd goes down by one minor version at a time: " +
		"set spec.version to 3.6.16 first, and to 3.5.35 when all members run that"
	const past = "the way from 3.5.20 to 3.6.16 leads over 3.5.35, and spec.image holds only 3.6.16: " +
		"set spec.version to 3.5.35 with an image of that version first, or remove spec.image"
	for name, test := range map[string]struct {
		version, image string
		had            [3]string
		want           cluster.Target
	}{
		"as they were":            {"3.6.16", "", [3]string{"3.6.16", "3.6.16", "3.6.16"}, cluster.Target{Version: "3.6.16"}},
		"another patch":           {"3.6.16", "", [3]string{"3.6.11", "3.6.11", "3.6.11"}, cluster.Target{Version: "3.6.16"}},
		"a patch down, own image": {"3.6.11", "x", [3]string{"3.6.16", "3.6.16", "3.6.16"}, cluster.Target{Version: "3.6.11", Image: "x"}},
		"a minor up":              {"3.6.16", "", [3]string{"3.5.30", "3.5.30", "3.5.30"}, cluster.Target{Version: "3.5.30"}},
		"a minor up, own image":   {"3.6.16", "x", [3]string{"3.5.30", "3.5.30", "3.5.30"}, cluster.Target{Version: "3.5.30"}},
		"from an unsafe patch":    {"3.6.16", "", [3]string{"3.5.20", "3.5.20", "3.5.20"}, cluster.Target{Version: "3.5.35"}},
		"own image, no way": {"3.6.16", "x", [3]string{"3.5.20", "3.5.20", "3.5.20"}, cluster.Target{
			Version:       "3.5.20",
			NoUpgradePath: past,
		}},
		"two minors up": {"3.7.3", "", [3]string{"3.5.35", "3.5.35", "3.5.35"}, cluster.Target{Version: "3.5.35"}},
		"old entries go first": {"3.7.3", "", [3]string{"3.6.16", "3.6.16", "3.6.16"}, cluster.Target{
			Version:           "3.6.16",
			DropLegacyEntries: true,
		}},
		"a minor down": {"3.6.16", "", [3]string{"3.7.3", "3.7.3", "3.7.3"}, cluster.Target{Version: "3.7.3", Downgrade: "3.6"}},
		"two minors down": {"3.5.35", "", [3]string{"3.7.3", "3.7.3", "3.7.3"}, cluster.Target{
			Version:       "3.7.3",
			NoUpgradePath: twoDown,
		}},
		"in the middle of a change": {"3.6.16", "", [3]string{"3.5.35", "3.6.16", "3.5.35"}, cluster.Target{Version: "3.6.16"}},
		"one does not say":          {"3.6.16", "", [3]string{"", "3.5.35", "3.5.35"}, cluster.Target{Version: "3.5.35"}},
		"none says":                 {"3.6.16", "x", [3]string{"", "", ""}, cluster.Target{Version: "3.6.16", Image: "x"}},
		"that is no release":        {"3.6.16", "x", [3]string{"3.6.0-rc.1", "main", "3.6"}, cluster.Target{Version: "3.6.16", Image: "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.c.Spec.Version, s.c.Spec.Image = test.version, test.image
			s.adopt(test.had[:]...)
			if got := s.look().Target; got != test.want {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

// TestAdoptedMembersFindEachOther: while they start with what they had they are not given
// anything else, whichever member answers first. Then they are rolled.
func TestAdoptedMembersFindEachOther(t *testing.T) {
	s := newScene(t)
	s.adopt("3.5.35", "3.5.35", "3.5.35")
	s.runs("3.5.35", "3.5.35", "3.5.35")
	for i := range 3 {
		pod := s.newPod(cluster.MemberName("a", i))
		c := specs.Targeted(s.c, cluster.Target{Version: "3.5.35"})
		pod.Annotations = specs.Pod(c, pod.Name, specs.Joining{Members: []string{pod.Name}}).Annotations
		specs.CompareAtStart(c, pod)
		pod.Status.Conditions = nil
		s.objects = append(s.objects, pod)
	}
	for _, back := range []string{"", "a-2", "a-1"} {
		if back != "" {
			s.etcd.Start(back)
		}
		v := s.look()
		for _, m := range v.Members {
			if m.Pod.Change != cluster.Same || m.Version != "3.5.35" {
				t.Errorf("with %q back: %s runs %s, change %d", back, m.Name, m.Version, m.Pod.Change)
			}
		}
		step, _ := plan.Next(v)
		s.c.Status = report.Status(s.c, v, step, nil)
	}
	if s.c.Status.ClusterID == "" || s.c.Status.Version != "3.5.35" {
		t.Fatalf("cluster %q of version %s", s.c.Status.ClusterID, s.c.Status.Version)
	}
	if v := s.look(); v.Target.Version != "3.6.16" {
		t.Errorf("then they go to %s", v.Target.Version)
	}
}

// TestWhatMembersSaidCounts, not what an old mark says, once they were seen to run.
func TestWhatMembersSaidCounts(t *testing.T) {
	s := newScene(t)
	s.stop("a-1")
	metav1.SetMetaDataAnnotation(&s.claim("a-1").ObjectMeta, v1beta1.AnnotationVersion, "3.5.20")
	if m := s.member("a-1"); m.Version != "3.6.16" {
		t.Errorf("a-1 ran %s", m.Version)
	}
	s.c.Status.Members[1].Version = ""
	if m := s.member("a-1"); m.Version != "" {
		t.Errorf("a-1 ran %s, which was not seen", m.Version)
	}
}
