// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/cluster/memory"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// kept is a running cluster whose volumes are kept: the claims data-old-N are those of members of the EtcdCluster data-old.
func kept() *facts.Snapshot {
	s := running()
	c := s.Cluster
	c.Name, c.Spec.Bootstrap.Adopt.Volumes = "data-old", v1beta1.KeepVolumes
	s.Workload = &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "old", Annotations: map[string]string{v1beta1.AnnotationAdoptedBy: c.Consent()},
	}}
	s.Workload.Spec.Replicas = ptr.To[int32](3)
	s.SourceServices = map[string]*corev1.Service{"old": {
		ObjectMeta: *s.Workload.ObjectMeta.DeepCopy(), Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "old"}},
	}}
	s.SourcePods, s.SourceClaims = map[string]*corev1.Pod{}, map[string]*corev1.PersistentVolumeClaim{}
	for i := range 3 {
		name, claim := fmt.Sprintf("old-%d", i), fmt.Sprintf("data-old-%d", i)
		s.SourcePods[name] = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec: corev1.PodSpec{
				Containers: []corev1.Container{{
					Name: "etcd", Command: []string{"etcd"}, Args: []string{"--name=" + name, "--data-dir=/var/run/etcd/default.etcd"},
					VolumeMounts: []corev1.VolumeMount{{Name: "other", MountPath: "/var"}, {Name: "data", MountPath: "/var/run/etcd"}},
				}},
				Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
				}}},
			},
		}
		s.SourceClaims[claim] = &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: claim},
			Spec:       corev1.PersistentVolumeClaimSpec{StorageClassName: ptr.To("fast")},
			Status: corev1.PersistentVolumeClaimStatus{
				Phase: corev1.ClaimBound, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")},
			},
		}
		s.Volumes = append(s.Volumes, *s.SourceClaims[claim])
	}
	return s
}

func etcdOf(s *facts.Snapshot, i int) *corev1.Container {
	return &s.SourcePods[fmt.Sprintf("old-%d", i)].Spec.Containers[0]
}

// TestVolumesThatCanBeKept: claims of the sources are not in the way, and it is known where the data is on them.
func TestVolumesThatCanBeKept(t *testing.T) {
	v := facts.View(*kept(), &memory.Cluster{})
	if a := v.Adoption; a.Unfit+a.Unreachable != "" || len(v.Volumes)+len(v.Foreign) > 0 {
		t.Fatalf("%q %q, volumes %v, foreign %v", a.Unfit, a.Unreachable, v.Volumes, v.Foreign)
	}
	want := cluster.SourceVolume{Source: "old-2", Member: "data-old-2", Directory: "default.etcd", InUse: true}
	if got := v.Adoption.Volumes[2]; got != want {
		t.Errorf("got %+v", got)
	}
	if v.Record.NextSerial != 3 {
		t.Errorf("a member that joins would have the number %d", v.Record.NextSerial)
	}
}

// TestDataDirectories: in each way to write it.
func TestDataDirectories(t *testing.T) {
	for name, is := range map[string]struct {
		set  func(*corev1.Container)
		want string
	}{
		"a variable": {func(c *corev1.Container) {
			c.Args, c.Env = nil, []corev1.EnvVar{{Name: "ETCD_DATA_DIR", Value: "/var/run/etcd/a/b/"}}
		}, "a/b"},
		"the root":           {func(c *corev1.Container) { c.Args = []string{"--data-dir", "/var/run/etcd"} }, "."},
		"a flag before it":   {func(c *corev1.Container) { c.Env = []corev1.EnvVar{{Name: "ETCD_DATA_DIR", Value: "/tmp"}} }, "default.etcd"},
		"a path of a volume": {func(c *corev1.Container) { c.VolumeMounts[1].SubPath = "etcd" }, "etcd/default.etcd"},
		"a script": {func(c *corev1.Container) {
			c.Command, c.Args = []string{"/bin/sh", "-ec"}, []string{"exec etcd --name x \\\n  -data-dir=\"/var/run/etcd/x\" \\\n --y"}
		}, "x"},
	} {
		s := kept()
		is.set(etcdOf(s, 1))
		v := facts.View(*s, &memory.Cluster{})
		if got := v.Adoption.Volumes[1]; got.Directory != is.want || v.Adoption.Unfit != "" {
			t.Errorf("%s: got %+v, %s", name, got, v.Adoption.Unfit)
		}
	}
}

// TestFault133VolumesThatCannotBeKept: each is said in words that name what is wrong and what to do.
func TestFault133VolumesThatCannotBeKept(t *testing.T) {
	for says, spoil := range map[string]func(*facts.Snapshot){
		"leave out spec.storage.ephemeral": func(s *facts.Snapshot) {
			s.Cluster.Spec.Storage.Ephemeral = &v1beta1.Ephemeral{SizeLimit: resource.MustParse("2Gi")}
		},
		"at least 3 are needed": func(s *facts.Snapshot) { s.List, s.Answers = s.List[:1], s.Answers[:1] },
		"spec.size is 5":        func(s *facts.Snapshot) { s.Cluster.Spec.Size = ptr.To[int32](5) },
		"has 4 replicas":        func(s *facts.Snapshot) { s.Workload.Spec.Replicas = ptr.To[int32](4) },
		"are numbered from 1": func(s *facts.Snapshot) {
			s.Workload.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 1}
		},
		"persistentVolumeClaimRetentionPolicy to Retain": func(s *facts.Snapshot) {
			s.Workload.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
			}
		},
		"old-2 is no Pod of StatefulSet old": func(s *facts.Snapshot) { s.SourcePods["old-2"] = nil },
		"name the EtcdCluster disk-old": func(s *facts.Snapshot) {
			s.SourcePods["old-2"].Spec.Volumes[0].PersistentVolumeClaim.ClaimName = "disk-old-2"
		},
		"names no data directory": func(s *facts.Snapshot) { etcdOf(s, 0).Args = nil },
		"write it as a plain path": func(s *facts.Snapshot) {
			etcdOf(s, 0).Args = []string{"--data-dir=/var/run/etcd/$(NAME)"}
		},
		"has its log in a directory of its own": func(s *facts.Snapshot) {
			etcdOf(s, 0).Args = append(etcdOf(s, 0).Args, "--wal-dir=/wal")
		},
		"is on no PersistentVolumeClaim": func(s *facts.Snapshot) { etcdOf(s, 0).VolumeMounts = nil },
		"runs a preStop hook": func(s *facts.Snapshot) {
			etcdOf(s, 0).Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{}}}
		},
		"is not bound": func(s *facts.Snapshot) { s.SourceClaims["data-old-1"] = nil },
		"remove its ownerReferen": func(s *facts.Snapshot) {
			s.SourceClaims["data-old-1"].OwnerReferences = []metav1.OwnerReference{{Kind: "Pod"}}
		},
		"has 1Gi, and spec.storage.size is 2Gi": func(s *facts.Snapshot) {
			s.SourceClaims["data-old-0"].Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		},
		"is in quarantine": func(s *facts.Snapshot) {
			s.SourceClaims["data-old-1"].Labels = map[string]string{v1beta1.LabelQuarantined: "true"}
		},
		"of another EtcdCluster": func(s *facts.Snapshot) {
			s.SourceClaims["data-old-1"].Labels = map[string]string{v1beta1.LabelCluster: "b"}
		},
		`has the storage class "fast"`: func(s *facts.Snapshot) { s.Cluster.Spec.Storage.StorageClassName = ptr.To("slow") },
	} {
		t.Run(says, func(t *testing.T) {
			s := kept()
			spoil(s)
			if a := facts.View(*s, &memory.Cluster{}).Adoption; !strings.Contains(a.Unfit, says) {
				t.Errorf("got %q, unreachable %q", a.Unfit, a.Unreachable)
			}
		})
	}
}

// TestVolumesThatWereTakenOver: a volume that is marked is that of a member, with its data where it was, also beside the Pod of the source;
// it does not go with the EtcdCluster while that adopts; and a marked one that was not recorded is of an earlier EtcdCluster.
func TestVolumesThatWereTakenOver(t *testing.T) {
	s := kept()
	s.Cluster.Spec.DeletionPolicy = v1beta1.Delete
	s.Volumes = []corev1.PersistentVolumeClaim{*specs.AdoptedVolume(s.Cluster, s.SourceClaims["data-old-2"], "default.etcd")}
	if v := facts.View(*s, &memory.Cluster{}); len(v.Volumes) != 1 {
		t.Errorf("before anything is recorded: %+v", v.Volumes)
	}
	s.Cluster.Status = v1beta1.EtcdClusterStatus{ClusterID: "7", Bootstrap: &v1beta1.Bootstrap{Token: "u1"}, Adoption: &v1beta1.AdoptionStatus{
		StartedAt: metav1.NewTime(now),
		Sources:   []v1beta1.SourceMember{{ID: "1", Name: "old-0"}, {ID: "2", Name: "old-1"}, {ID: "3", Name: "old-2"}},
	}}
	s.List[2].PeerURLs = specs.PeerURLs(s.Cluster, "data-old-2")
	v := facts.View(*s, &memory.Cluster{})
	m, _ := v.Member("data-old-2")
	if m.ID != 3 || m.Role != cluster.Voter || m.Volume != cluster.Kept || m.DataDirectory != "default.etcd" || m.Healthy {
		t.Errorf("got %+v", m)
	}
	if volume, of := v.SourceVolume(m.Name); !of || !volume.InUse || volume.Unfit != "" {
		t.Errorf("got %+v", volume)
	}
	for _, misfit := range v.Misfits {
		if misfit.Part == cluster.Owner {
			t.Errorf("it would go with the EtcdCluster: %+v", misfit)
		}
	}
}
