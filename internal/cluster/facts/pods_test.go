// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	_ "embed"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd/etcdtest"
)

// TestFault6CacheThatMissedSomethingIsNotBelieved: what a decision may rest on is
// asked of the API server itself.
func TestFault6CacheThatMissedSomethingIsNotBelieved(t *testing.T) {
	t.Run("a pod lives that the cache does not show", func(t *testing.T) {
		s := newScene(t)
		s.stale = []string{"Pod a-1"}
		if m := s.member("a-1"); !m.Pod.Exists() || m.Pod.UID != "pod-a-1" || cluster.IsLost(m) {
			t.Errorf("saw %+v", m)
		}
	})
	t.Run("a volume is kept that the cache does not show", func(t *testing.T) {
		s := newScene(t)
		s.stale = []string{"PersistentVolumeClaim a-1", "Pod a-1"}
		s.drop("Pod a-2")
		s.etcd.Stop("a-1")
		if m := s.member("a-1"); m.Volume != cluster.Kept || cluster.IsLost(m) {
			t.Errorf("saw %+v", m)
		}
	})
	t.Run("a pod is gone that the cache still shows", func(t *testing.T) {
		s := newScene(t)
		s.vanish = []string{"Pod a-1"}
		s.etcd.Stop("a-1")
		if m := s.member("a-1"); m.Pod.Exists() || m.Answers || m.Healthy || m.Volume != cluster.Kept {
			t.Errorf("saw %+v", m)
		}
	})
	t.Run("a pod is gone that the cache still shows terminating, past its grace period", func(t *testing.T) {
		// A short grace period does not make it due earlier: 27 s of 30 are left after it.
		for over, exists := range map[time.Duration]bool{26 * time.Second: true, 28 * time.Second: false} {
			s := newScene(t)
			pod := s.pod("a-1")
			pod.DeletionGracePeriodSeconds = ptr.To[int64](3)
			pod.DeletionTimestamp, pod.Finalizers = &metav1.Time{Time: now.Add(-over)}, []string{"example.com/wait"}
			s.vanish = []string{"Pod a-1"}
			s.etcd.Stop("a-1")
			if m := s.member("a-1"); m.Pod.Exists() != exists {
				t.Errorf("%s past the grace period saw %+v", over, m)
			}
		}
	})
	t.Run("both are gone", func(t *testing.T) {
		s := newScene(t)
		s.drop("Pod a-1", "PersistentVolumeClaim a-1")
		s.etcd.Stop("a-1")
		if m := s.member("a-1"); !cluster.IsLost(m) {
			t.Errorf("saw %+v", m)
		}
		if asked := strings.Join(s.callsOf("Get"), ", "); asked != "PersistentVolumeClaim a-1, Pod a-1" {
			t.Errorf("asked the API server itself for %s", asked)
		}
	})
	t.Run("a quarantined volume is not the member's", func(t *testing.T) {
		s := newScene(t)
		metav1.SetMetaDataLabel(&s.claim("a-1").ObjectMeta, v1beta1.LabelQuarantined, "true")
		if m := s.member("a-1"); m.Volume != cluster.NoVolume {
			t.Errorf("saw %+v", m)
		}
	})
}

// TestVolumeStates: where a member's data stands.
func TestVolumeStates(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.PersistentVolumeClaim)
		want   cluster.VolumeState
	}{
		"bound":   {func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimBound }, cluster.Kept},
		"pending": {func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimPending }, cluster.Kept},
		"lost":    {func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimLost }, cluster.NoVolume},
		"terminating": {func(c *corev1.PersistentVolumeClaim) {
			c.DeletionTimestamp, c.Finalizers = &metav1.Time{Time: now}, []string{"kubernetes.io/pvc-protection"}
		}, cluster.Going},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			test.change(s.claim("a-1"))
			v := s.look()
			if m, _ := v.Member("a-1"); m.Volume != test.want {
				t.Errorf("saw %v, want %v", m.Volume, test.want)
			}
			if kept := len(v.Volumes); (kept == 3) != (test.want == cluster.Kept) {
				t.Errorf("%d volumes are kept", kept)
			}
		})
	}
}

// TestPastOfVolumes: what was written on them is read again.
func TestPastOfVolumes(t *testing.T) {
	s := newScene(t)
	s.claim("a-0").Annotations[v1beta1.AnnotationClusterID] = "c1"
	s.claim("a-2").Annotations = nil
	v := s.look()
	if v.Volumes[0].ClusterID != "c1" || v.Volumes[1].ClusterID != "" || v.Volumes[2].Token != "" || v.Volumes[2].First != nil {
		t.Errorf("saw %+v", v.Volumes)
	}
}

// TestFault4NumberOfAQuarantinedVolumeIsNotUsedAgain: it still holds a removed
// member's data, also for a later EtcdCluster of the same name.
func TestFault4NumberOfAQuarantinedVolumeIsNotUsedAgain(t *testing.T) {
	s := newScene(t)
	aside := specs.Volume(s.c, "a-8", nil)
	metav1.SetMetaDataLabel(&aside.ObjectMeta, v1beta1.LabelQuarantined, "true")
	s.objects = append(s.objects, aside)
	v := s.look()
	if _, seen := v.Member("a-8"); seen || len(v.Volumes) != 3 || v.Record.NextSerial != 9 {
		t.Errorf("members %v, %d volumes, next is %d", cluster.Names(v.Members), len(v.Volumes), v.Record.NextSerial)
	}
}

// TestPodFacts: each is read from where Kubernetes puts it.
func TestPodFacts(t *testing.T) {
	healthy := cluster.Pod{
		Phase: cluster.Running, UID: "pod-a-1", Made: made.Unix(), Address: "10.0.0.1",
		Ready: true, Proven: true, Lingers: true, Entry: cluster.Ends, Image: image, DefaultImage: true,
		Quota: 3 << 29,
	}
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   func(*cluster.Pod)
	}{
		"healthy": {func(*corev1.Pod) {}, func(*cluster.Pod) {}},
		"terminating": {func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: now}, []string{"example.com/wait"}
		}, func(p *cluster.Pod) { p.Deletion = cluster.Terminating }},
		"failed": {func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "The node was low on memory."
		}, func(p *cluster.Pod) {
			p.Phase, p.Trouble = cluster.Finished, "it failed: Evicted The node was low on memory."
		}},
		"succeeded": {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, func(p *cluster.Pod) { p.Phase = cluster.Finished }},
		"outdated": {func(p *corev1.Pod) {
			p.Annotations[v1beta1.AnnotationTemplate] = "old"
		}, func(p *cluster.Pod) { p.Change = cluster.Rebuild }},
		"not ready": {func(p *corev1.Pod) {
			p.Status.Conditions[0].Status = corev1.ConditionFalse
			p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-time.Hour + time.Second))
		}, func(p *cluster.Pod) { p.Ready, p.Proven = false, false }},
		"no longer ready": {func(p *corev1.Pod) {
			p.Status.Conditions[0].Status = corev1.ConditionFalse
			p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now)
		}, func(p *cluster.Pod) { p.Ready = false }},
		"that has started with all others": {func(p *corev1.Pod) {
			delete(p.Annotations, v1beta1.AnnotationInitialCorruptCheck)
		}, func(p *cluster.Pod) { p.Unchecked = true }},
		"of a release whose Pods do not linger": {func(p *corev1.Pod) {
			p.Spec.Containers[0].Lifecycle = nil
		}, func(p *cluster.Pod) { p.Lingers = false }},
		"that failed a moment ago": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0] = restarted(1, now.Add(-9*time.Second))
		}, func(p *cluster.Pod) { p.RecentlyRestarted = true }},
		"that has run since it failed": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0] = restarted(1, now.Add(-10*time.Second))
		}, func(*cluster.Pod) {}},
		"that was killed for another image": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0] = restarted(137, now)
			p.Status.ContainerStatuses[0].LastTerminationState.Terminated.ContainerID = "old"
			p.Annotations[v1beta1.AnnotationReplaced] = "old"
		}, func(*cluster.Pod) {}},
		"that ended as it should": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0] = restarted(0, now)
		}, func(*cluster.Pod) {}},
		"new": {func(p *corev1.Pod) { p.Status = corev1.PodStatus{} }, func(p *cluster.Pod) {
			p.Phase, p.Address, p.Ready, p.Proven = cluster.Placed, "", false, false
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			test.change(s.pod("a-1"))
			want := healthy
			test.want(&want)
			if got := s.member("a-1").Pod; got != want {
				t.Errorf("saw %+v, want %+v", got, want)
			}
		})
	}
}

// TestOtherContainersAreNoMembers: a container that a webhook has added to the Pod,
// before etcd's container or behind it, says nothing of the member, whatever its state.
func TestOtherContainersAreNoMembers(t *testing.T) {
	plain := newScene(t)
	plain.pod("a-1").Annotations[v1beta1.AnnotationReplaced] = "containerd://old"
	want := plain.member("a-1")
	for name, other := range map[string]corev1.ContainerStatus{
		"keeps failing":      {State: waiting("CrashLoopBackOff", ""), LastTerminationState: ended("Error", 1, "panic: mesh")},
		"failed just now":    restarted(1, now),
		"was marked instead": {ContainerID: "containerd://old", State: plain.pod("a-1").Status.ContainerStatuses[0].State},
	} {
		for place := range 2 {
			s := newScene(t)
			p := s.pod("a-1")
			p.Annotations[v1beta1.AnnotationReplaced] = "containerd://old"
			other.Name = "mesh"
			p.Spec.Containers = slices.Insert(p.Spec.Containers, place, corev1.Container{Name: "mesh", Image: "mesh:v1"})
			p.Status.ContainerStatuses = slices.Insert(p.Status.ContainerStatuses, place, other)
			if v := s.look(); v.Fresh {
				t.Errorf("%s in place %d: fresh", name, place)
			}
			if got := s.member("a-1"); got != want {
				t.Errorf("%s in place %d:\nsaw  %+v\nwant %+v", name, place, got, want)
			}
		}
	}
	s := newScene(t)
	s.etcd.Stop("a-1")
	s.pod("a-1").Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "mesh", State: plain.pod("a-1").Status.ContainerStatuses[0].State}}
	if s.member("a-1").Pod.Phase == cluster.Running {
		t.Error("etcd is taken to run because another container does")
	}
}

// TestFresh: a Pod whose container started within half a minute.
func TestFresh(t *testing.T) {
	for age, want := range map[time.Duration]bool{0: true, 29 * time.Second: true, 30 * time.Second: false, time.Hour: false} {
		s := newScene(t)
		s.pod("a-2").Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(now.Add(-age))
		if got := s.look().Fresh; got != want {
			t.Errorf("started %s ago: fresh is %v", age, got)
		}
	}
}

// ephemeral makes the scene's members keep their data in their Pods.
func ephemeral(s *scene) *scene {
	s.c.Spec.Storage = v1beta1.Storage{Ephemeral: &v1beta1.Ephemeral{SizeLimit: resource.MustParse("1Gi")}}
	for _, name := range []string{"a-0", "a-1", "a-2"} {
		s.drop("PersistentVolumeClaim "+name, "Pod "+name)
		s.objects = append(s.objects, s.newPod(name))
	}
	return s
}

// TestEphemeralDataLivesInThePod: and is lost with it, whatever the cache says.
func TestEphemeralDataLivesInThePod(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*scene)
		lost  bool
	}{
		"healthy":             {func(*scene) {}, false},
		"stale, and it lives": {func(s *scene) { s.stale = []string{"Pod a-1"} }, false},
		"its pod is gone":     {func(s *scene) { s.drop("Pod a-1"); s.etcd.Stop("a-1") }, true},
		"its pod has ended":   {func(s *scene) { s.pod("a-1").Status.Phase = corev1.PodFailed; s.etcd.Stop("a-1") }, true},
		"stale, and it is gone": {func(s *scene) {
			s.vanish = []string{"Pod a-1"}
			s.etcd.Stop("a-1")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := ephemeral(newScene(t))
			test.spoil(s)
			v := s.look()
			if m, _ := v.Member("a-1"); cluster.IsLost(m) != test.lost || (m.Volume == cluster.Kept) == test.lost {
				t.Errorf("saw %+v", m)
			}
			step, _ := plan.Next(v)
			if start, starts := step.(plan.CreatePods); starts && test.lost {
				t.Errorf("an empty member would take its old place: %s", start)
			}
		})
	}
}

// TestKeptVolumesAreNothingToAnEphemeralCluster: those of an earlier one of its
// name are neither adopted nor changed.
func TestKeptVolumesAreNothingToAnEphemeralCluster(t *testing.T) {
	s := newScene(t)
	s.c.Spec.Storage = v1beta1.Storage{Ephemeral: &v1beta1.Ephemeral{SizeLimit: resource.MustParse("9Gi")}}
	s.c.Spec.DeletionPolicy, s.c.Status = v1beta1.Delete, v1beta1.EtcdClusterStatus{}
	s.drop("Pod a-0", "Pod a-1", "Pod a-2")
	if v := s.look(); len(v.Volumes)+len(v.Misfits) > 0 {
		t.Errorf("volumes %+v, misfits %+v", v.Volumes, v.Misfits)
	}
}

func owner(kind, name, uid string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: kind, Name: name, UID: types.UID(uid), Controller: ptr.To(true)}}
}

// TestForeignObjectsAreNamed: what has our name and another owner, of every kind;
// those of an earlier EtcdCluster of this name are being deleted. etcd is not queried
// meanwhile.
func TestForeignObjectsAreNamed(t *testing.T) {
	for _, test := range []struct {
		name   string
		owners []metav1.OwnerReference
		going  bool
		why    string
		gone   bool
	}{
		{"another kind", owner("StatefulSet", "a", "u9"), false, "it belongs to StatefulSet a", false},
		{"another cluster", owner("EtcdCluster", "b", "u9"), false, "it belongs to EtcdCluster b", false},
		{"an earlier cluster of this name", owner("EtcdCluster", "a", "u0"), false, "it belongs to EtcdCluster a", true},
		{"none, and it is being deleted", nil, true, "no EtcdCluster owns it", true},
	} {
		for _, name := range []string{"Pod a-1", "PersistentVolumeClaim a-1", "Secret a-client-ca", "Service a", "PodDisruptionBudget a"} {
			if test.owners == nil && strings.HasPrefix(name, "PersistentVolumeClaim") {
				continue // a volume that is kept has no owner
			}
			t.Run(test.name+": "+name, func(t *testing.T) {
				s := newScene(t)
				s.find(name).SetOwnerReferences(test.owners)
				if test.going {
					s.find(name).SetFinalizers([]string{"example.com/wait"})
					s.find(name).SetDeletionTimestamp(&metav1.Time{Time: now})
				}
				v := s.look()
				if len(v.Foreign) != 1 || v.Foreign[0].String() != name || v.Foreign[0].Why != test.why || v.Foreign[0].Gone != test.gone {
					t.Errorf("foreign: %+v", v.Foreign)
				}
				isMember, unread := strings.HasSuffix(name, " a-1"), ""
				if isMember {
					unread = "members are not queried: " + name + " blocks the name of a member"
				}
				if asked := s.callsOf("Status"); (len(asked) == 0) != isMember || v.Unread != unread {
					t.Errorf("asked %v, unread: %q", asked, v.Unread)
				}
			})
		}
	}
}

// TestForeignPodBehindAStaleCache: found only when the API server itself is asked.
func TestForeignPodBehindAStaleCache(t *testing.T) {
	s := newScene(t)
	s.stale = []string{"Pod a-1"}
	s.pod("a-1").OwnerReferences = owner("EtcdCluster", "a", "u0")
	if v := s.look(); len(v.Foreign) != 1 || !v.Foreign[0].Gone {
		t.Errorf("foreign: %+v", v.Foreign)
	}
}

// TestOthersWithOurLabelsAreNoMembers: a Pod of ours whose name is no member's.
func TestOthersWithOurLabelsAreNoMembers(t *testing.T) {
	s := newScene(t)
	s.objects = append(s.objects, s.newPod("a-backup"), specs.Volume(s.c, "a-backup", nil))
	if v := s.look(); len(v.Members) != 3 || len(v.Volumes) != 3 || v.Record.NextSerial != 3 {
		t.Errorf("members %v, volumes %v, next %d", cluster.Names(v.Members), v.Volumes, v.Record.NextSerial)
	}
}

// TestCopiesAreTheirMakers: an object that was copied with its labels has no member's name,
// whatever its owner, and is neither grown nor owned nor deleted.
func TestCopiesAreTheirMakers(t *testing.T) {
	for _, owners := range [][]metav1.OwnerReference{nil, owner("Job", "copy", "u9")} {
		s := newScene(t)
		s.c.Spec.Storage.Size = ptr.To(resource.MustParse("1Gi"))
		pod, claim, aside := s.newPod("a-0-debug"), specs.Volume(s.c, "a-0-backup", nil), specs.Volume(s.c, "a-3-backup", nil)
		s.c.Spec.Storage.Size = ptr.To(resource.MustParse("2Gi"))
		setAside(aside, now.Add(-1000*time.Hour))
		for _, copied := range []client.Object{pod, claim, aside} {
			copied.SetOwnerReferences(owners)
			s.objects = append(s.objects, copied)
		}
		if len(owners) == 0 {
			s.c.Spec.DeletionPolicy = v1beta1.Delete
			for _, name := range []string{"a-0", "a-1", "a-2"} {
				s.claim(name).OwnerReferences = []metav1.OwnerReference{specs.Owner(s.c)}
			}
		}
		v := s.look()
		if len(v.Foreign)+len(v.Misfits)+len(v.Expired) > 0 || v.Unread != "" || v.Count(cluster.IsHealthy) != 3 {
			t.Errorf("foreign %v, misfits %v, expired %v, unread %q", v.Foreign, v.Misfits, v.Expired, v.Unread)
		}
	}
}

// TestMisfits: volumes that are too small, whose owner is not what the deletion
// policy says, or that do not say what their members run.
func TestMisfits(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*scene)
		part  cluster.Part
		want  []string
	}{
		"grown":     {func(s *scene) { s.c.Spec.Storage.Size = ptr.To(resource.MustParse("3Gi")) }, cluster.Size, []string{"a-0", "a-1", "a-2"}},
		"as wanted": {func(*scene) {}, "", nil},
		"larger than wanted": {func(s *scene) {
			s.claim("a-1").Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("1Ti")
		}, "", nil},
		"one is small": {func(s *scene) {
			s.claim("a-1").Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("1Gi")
		}, cluster.Size, []string{"a-1"}},
		"the same in other words": {func(s *scene) { s.c.Spec.Storage.Size = ptr.To(resource.MustParse("2048Mi")) }, "", nil},
		"set aside and small": {func(s *scene) {
			s.claim("a-1").Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("1Gi")
			setAside(s.claim("a-1"), now)
		}, "", nil},
		"set aside, but not since when": {func(s *scene) {
			metav1.SetMetaDataLabel(&s.claim("a-1").ObjectMeta, v1beta1.LabelQuarantined, "true")
		}, cluster.Mark, []string{"a-1"}},
		"to be deleted": {func(s *scene) { s.c.Spec.DeletionPolicy = v1beta1.Delete }, cluster.Owner, []string{"a-0", "a-1", "a-2"}},
		"owned and to be kept": {func(s *scene) {
			s.claim("a-2").OwnerReferences = []metav1.OwnerReference{specs.Owner(s.c)}
		}, cluster.Owner, []string{"a-2"}},
		"brought to another version": {func(s *scene) { s.runs("3.6.16", "3.6.17", "3.6.16") }, cluster.Version, []string{"a-1"}},
		"made by an earlier operator": {func(s *scene) {
			delete(s.claim("a-2").Annotations, v1beta1.AnnotationVersion)
		}, cluster.Version, []string{"a-2"}},
		"silent": {func(s *scene) {
			s.stop("a-1")
			s.claim("a-1").Annotations[v1beta1.AnnotationVersion] = "3.6.15"
		}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			test.spoil(s)
			var names []string
			for _, o := range s.look().Misfits {
				if o.Kind != "PersistentVolumeClaim" || o.Why == "" || o.Part != test.part {
					t.Errorf("saw %+v", o)
				}
				names = append(names, o.Name)
			}
			if !slices.Equal(names, test.want) {
				t.Errorf("misfits %v, want %v", names, test.want)
			}
		})
	}
}

func setAside(claim *corev1.PersistentVolumeClaim, since time.Time) {
	metav1.SetMetaDataLabel(&claim.ObjectMeta, v1beta1.LabelQuarantined, "true")
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, v1beta1.AnnotationQuarantinedAt, since.Format(time.RFC3339))
}

// TestExpired: only what was set aside for longer than the user wants it kept.
func TestExpired(t *testing.T) {
	for age, want := range map[time.Duration]int{0: 0, 59 * time.Minute: 0, time.Hour: 1, 9999 * time.Hour: 1} {
		s := newScene(t)
		s.c.Spec.Storage.Quarantine = &metav1.Duration{Duration: time.Hour}
		aside := specs.Volume(s.c, "a-8", nil)
		aside.UID = "volume"
		setAside(aside, now.Add(-age))
		s.objects = append(s.objects, aside)
		expired := s.look().Expired
		if len(expired) != want || want == 1 && (expired[0].Name != "a-8" || expired[0].UID != "volume") {
			t.Errorf("set aside for %s: saw %+v, want %d", age, expired, want)
		}
	}
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func ended(reason string, code int32, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code, Message: message}}
}

// wrongFlag is all that etcd 3.6.16 prints when it is given a quota of 8Gi; 3.5 and 3.7 print
// the same.
//
//go:embed testdata/wrong-flag-3.6.16.txt
var wrongFlag string

// TestTroubleHasAStableMessage: every pair of looks at the same trouble has the same
// message, because each change would be a write of the status.
func TestTroubleHasAStableMessage(t *testing.T) {
	unschedulable := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available."}
	replaced := ended("Completed", 0, "")
	replaced.Terminated.ContainerID = "containerd://replaced"
	const fatal = `{"level":"info"}` + "\n" + `{"level":"fatal","ts":"2026-01-01T00:00:0%s","msg":"discovery failed","error":"x"}` + "\n"
	const refused = `rpc error: code = Unknown desc = failed to resolve reference "etcd:wanted": ` +
		"dial tcp: lookup mirror.example on 10.96.0.10:53: read udp 10.0.0.7:%s->10.96.0.10:53: i/o timeout"
	for name, test := range map[string]struct {
		looks []corev1.PodStatus
		want  string
	}{
		"being created": {[]corev1.PodStatus{state(waiting("ContainerCreating", ""), corev1.ContainerState{})}, ""},
		"no image": {[]corev1.PodStatus{
			state(waiting("ErrImagePull", strings.ReplaceAll(refused, "%s", "43210")), corev1.ContainerState{}),
			state(waiting("ImagePullBackOff", `Back-off pulling image "etcd:wanted": ErrImagePull: `+strings.ReplaceAll(refused, "%s", "54321")),
				corev1.ContainerState{}),
		}, `its image etcd:wanted cannot be pulled: failed to resolve reference "etcd:wanted": dial tcp: lookup mirror.example ` +
			"on 10.96.0.10:53: read udp 10.0.0.7->10.96.0.10:53: i/o timeout"},
		"no image, and the kubelet does not say why while it waits": {[]corev1.PodStatus{
			state(waiting("ImagePullBackOff", `Back-off pulling image "etcd:wanted"`), corev1.ContainerState{}),
		}, "its image etcd:wanted cannot be pulled"},
		"unschedulable": {[]corev1.PodStatus{
			{Conditions: []corev1.PodCondition{unschedulable}},
		}, "it cannot be scheduled: 0/3 nodes are available."},
		"crash loop": {[]corev1.PodStatus{
			state(waiting("CrashLoopBackOff", "back-off 10s"), ended("Error", 1, strings.ReplaceAll(fatal, "%s", "1"))),
			state(waiting("CrashLoopBackOff", "back-off 5m0s"), ended("Error", 1, strings.ReplaceAll(fatal, "%s", "2"))),
			state(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, ended("Error", 1, strings.ReplaceAll(fatal, "%s", "3"))),
			state(ended("Error", 1, strings.ReplaceAll(fatal, "%s", "4")), corev1.ContainerState{}),
		}, `its container ended: Error, exit code 1: discovery failed: x`},
		"killed after a slow request": {[]corev1.PodStatus{
			state(ended("OOMKilled", 137, `rt"}`+"\n"+`{"level":"warn","msg":"apply request took too long","request":"key:\"/secret\""}`+"\n"),
				corev1.ContainerState{}),
			state(ended("OOMKilled", 137, `{"level":"warn","msg":"apply request took too long","took":"2s","request":"key:\"/other\""}`),
				corev1.ContainerState{}),
		}, "its container ended: OOMKilled, exit code 137: apply request took too long"},
		"killed, and only a part of a line is left": {[]corev1.PodStatus{
			state(ended("OOMKilled", 137, `request":"key:\"/secret\""}`), corev1.ContainerState{}),
		}, "its container ended: OOMKilled, exit code 137"},
		"a flag that is none": {[]corev1.PodStatus{
			state(ended("Error", 2, "flag provided but not defined: -x\n"), corev1.ContainerState{}),
		}, "its container ended: Error, exit code 2: flag provided but not defined: -x"},
		"a flag whose value is none, and how etcd is used": {[]corev1.PodStatus{
			state(waiting("CrashLoopBackOff", "back-off 10s"), ended("Error", 2, wrongFlag)),
		}, `its container ended: Error, exit code 2: invalid value "8Gi" for flag -quota-backend-bytes: parse error`},
		"out of memory": {[]corev1.PodStatus{
			state(waiting("CrashLoopBackOff", "back-off 10s"), ended("OOMKilled", 137, "")),
		}, "its container ended: OOMKilled, exit code 137"},
		"image exchanged": {[]corev1.PodStatus{
			state(replaced, corev1.ContainerState{}),
			state(waiting("ContainerCreating", ""), replaced),
		}, ""},
		"image exchanged for one that does not start": {[]corev1.PodStatus{
			state(waiting("CrashLoopBackOff", "back-off 10s"), replaced),
			state(waiting("CrashLoopBackOff", "back-off 5m0s"), replaced),
		}, "its container does not start with image etcd:wanted"},
		"image exchanged for one that cannot be pulled": {[]corev1.PodStatus{
			state(waiting("ErrImagePull", "not found"), replaced),
			state(waiting("ImagePullBackOff", `Back-off pulling image "etcd:wanted": ErrImagePull: not found`), replaced),
		}, "its image etcd:wanted cannot be pulled: not found"},
		"no secret": {[]corev1.PodStatus{
			state(waiting("CreateContainerConfigError", `secret "x" not found`), corev1.ContainerState{}),
		}, `its container does not start: CreateContainerConfigError: secret "x" not found`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, look := range test.looks {
				s := newScene(t)
				s.etcd.Stop("a-1")
				s.pod("a-1").Status = look
				s.pod("a-1").Spec.Containers[0].Image = "etcd:wanted"
				metav1.SetMetaDataAnnotation(&s.pod("a-1").ObjectMeta, v1beta1.AnnotationReplaced, "containerd://replaced")
				if got := s.member("a-1").Pod.Trouble; got != test.want {
					t.Errorf("got  %s\nwant %s", got, test.want)
				}
			}
		})
	}
}

func state(is, last corev1.ContainerState) corev1.PodStatus {
	status := corev1.ContainerStatus{Name: "etcd", Image: "etcd:before", State: is, LastTerminationState: last}
	return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{status}}
}

// TestLongTroubleIsCutBetweenLetters: what is not UTF-8 reads back otherwise than it
// was written, and would be written again for ever.
func TestLongTroubleIsCutBetweenLetters(t *testing.T) {
	s := newScene(t)
	s.etcd = etcdtest.New("a-0", "a-2")
	s.pod("a-1").Status = state(waiting("CrashLoopBackOff", ""), ended("Error", 1, "x"+strings.Repeat("é", 500)))
	if got := s.member("a-1").Pod.Trouble; !utf8.ValidString(got) || len(got) > 300 {
		t.Errorf("got %d bytes: %q", len(got), got)
	}
}

// restarted is a container that ended with that exit code and runs again.
func restarted(code int32, since time.Time) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name:                 "etcd",
		Ready:                true,
		State:                corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(since)}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}},
	}
}

// TestFault111ContainerBesideEtcd: why a Pod is not ready whose etcd is well, in words that do not change; not while it is ready, and not
// for a moment of starting.
func TestFault111ContainerBesideEtcd(t *testing.T) {
	waiting := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	for name, test := range map[string]struct {
		status corev1.ContainerStatus
		ready  bool
		want   string
	}{
		"an image that is not there": {
			corev1.ContainerStatus{State: waiting("ImagePullBackOff", `Back-off pulling image "a:v1": ErrImagePull: not found`)},
			false,
			"its container logs beside etcd: image a:v1 cannot be pulled: not found",
		},
		"one that keeps ending": {corev1.ContainerStatus{
			State:                waiting("CrashLoopBackOff", "back-off 20s"),
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 3}},
		}, false, "its container logs beside etcd keeps ending: Error, exit code 3"},
		"one without its ConfigMap": {
			corev1.ContainerStatus{State: waiting("CreateContainerConfigError", `configmap "a" not found`)},
			false,
			`its container logs beside etcd does not start: CreateContainerConfigError: configmap "a" not found`,
		},
		"one that starts":            {corev1.ContainerStatus{State: waiting("ContainerCreating", "")}, false, ""},
		"a Pod that counts as ready": {corev1.ContainerStatus{State: waiting("CrashLoopBackOff", "")}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			pod := s.pod("a-1")
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "logs", Image: "a:v1"})
			test.status.Name = "logs"
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, test.status)
			if !test.ready {
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
			}
			if m := s.member("a-1"); m.Pod.Trouble != test.want || !m.Healthy {
				t.Errorf("got %q, want %q: %+v", m.Pod.Trouble, test.want, m)
			}
		})
	}
}
