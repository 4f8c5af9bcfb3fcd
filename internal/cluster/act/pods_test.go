// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

var startAll = plan.CreatePods{Names: []string{"a-0", "a-1", "a-2"}}

// args are the arguments of a member's Pod, joined for reading.
func (s *scene) args(name string) string {
	s.t.Helper()
	var p corev1.Pod
	if !s.get(name, &p) {
		s.t.Fatalf("pod %s does not exist", name)
	}
	args := strings.Join(p.Spec.Containers[0].Args, " ")
	args += " --initial-cluster-state=" + p.Annotations[v1beta1.AnnotationInitialClusterState]
	return strings.ReplaceAll(args, "$(INITIAL_CLUSTER)", p.Annotations[v1beta1.AnnotationInitialCluster])
}

// TestAllVolumesAreMadeBeforeTheFirstPod: a volume that is missing beside a Pod is
// then known to be lost.
func TestAllVolumesAreMadeBeforeTheFirstPod(t *testing.T) {
	c, v := unformed()
	s := newScene(t, c, v)
	s.mustDo(startAll)
	kinds := make([]string, 0, len(s.api.writes))
	for _, write := range s.api.writes {
		kinds = append(kinds, strings.Fields(write)[1])
	}
	claims, used, pods := kinds[:3], kinds[3:6], kinds[6:]
	if slices.Sort(used); strings.Join(slices.Concat(claims, used, pods), " ") !=
		"PersistentVolumeClaim PersistentVolumeClaim PersistentVolumeClaim a-0 a-1 a-2 Pod Pod Pod" {
		t.Errorf("wrote %v", s.api.writes)
	}
	for _, owner := range s.api.owners {
		if owner != v1beta1.FieldOwner {
			t.Errorf("field owners %v", s.api.owners)
		}
	}
}

// TestUnusedUntilThereIsAPod: of a volume that was made while another is refused it is known
// that it holds nothing, until Pods are made.
func TestUnusedUntilThereIsAPod(t *testing.T) {
	c, v := unformed()
	s := newScene(t, c, v)
	unused := func() (names []string) {
		for _, name := range []string{"a-0", "a-1", "a-2"} {
			if claim := (&corev1.PersistentVolumeClaim{}); s.get(name, claim) && specs.IsUnused(claim) {
				names = append(names, name)
			}
		}
		return names
	}
	s.api.failBefore(2)
	if err := s.do(startAll); err == nil || len(unused()) != 2 {
		t.Fatalf("got %v, unused are %v", err, unused())
	}
	s.api.failBefore(-1)
	s.mustDo(startAll)
	if names := unused(); len(names) > 0 {
		t.Errorf("with Pods, and said to be unused: %v", names)
	}
}

// TestDiscardOfWhatIsUsedByNow: a volume that never held data is deleted, but not one that
// has been bound or given to a Pod since it was seen.
func TestDiscardOfWhatIsUsedByNow(t *testing.T) {
	c, v := unformed()
	marked := specs.Volume(c, "a-0", c.Status.Bootstrap)
	used := specs.Volume(c, "a-1", c.Status.Bootstrap)
	delete(used.Annotations, v1beta1.AnnotationUnused)
	used.Status.Phase = corev1.ClaimBound
	s := newScene(t, c, v, marked, used)
	s.mustDo(plan.DeleteVolume{Name: "a-0", UID: "", Unused: true})
	if err := s.do(plan.DeleteVolume{Name: "a-1", Unused: true}); !errors.Is(err, act.ErrChanged) {
		t.Errorf("got %v, want that it has changed", err)
	}
	if s.get("a-0", &corev1.PersistentVolumeClaim{}) || !s.get("a-1", &corev1.PersistentVolumeClaim{}) {
		t.Error("a-0 is still there, or a-1 is gone")
	}
}

// TestNoPodWithoutEveryVolume: one volume that cannot be created, or be marked as used, holds
// back all Pods.
func TestNoPodWithoutEveryVolume(t *testing.T) {
	for n := range 6 {
		c, v := unformed()
		s := newScene(t, c, v)
		s.api.failBefore(n)
		if err := s.do(startAll); err == nil {
			t.Fatal("a failed write is taken for success")
		}
		for _, write := range s.api.writes {
			if strings.HasPrefix(write, "create Pod") {
				t.Errorf("volume %d failed, and %s", n, write)
			}
		}
	}
}

// TestRefusedVolumeHoldsBackNoOtherMember: once the cluster has formed, a quota that refuses
// one member's volume (fault 53) keeps only that member from starting. The error is returned.
func TestRefusedVolumeHoldsBackNoOtherMember(t *testing.T) {
	theirs := claim("a-2")
	theirs.Labels = nil
	s := newScene(t, example(), seen(), theirs)
	s.view.Members[2].Volume = cluster.NoVolume
	if err := s.do(startAll); err == nil || !strings.Contains(err.Error(), "a-2") {
		t.Errorf("got error %v, want one that names a-2", err)
	}
	slices.Sort(s.api.writes)
	if want := []string{"create Pod a-0", "create Pod a-1"}; !slices.Equal(s.api.writes, want) {
		t.Errorf("wrote %v, want %v", s.api.writes, want)
	}
}

// TestVolumeIsMadeOnlyForOneWhoHasNone: a volume that is going is not replaced
// under its own name.
func TestVolumeIsMadeOnlyForOneWhoHasNone(t *testing.T) {
	s := newScene(t, example(), seen())
	s.view.Members[0].Volume, s.view.Members[1].Volume, s.view.Members[2].Volume = cluster.Kept, cluster.Going, cluster.NoVolume
	s.mustDo(startAll)
	want := []string{"create PersistentVolumeClaim a-2", "create Pod a-0", "create Pod a-1", "create Pod a-2"}
	if slices.Sort(s.api.writes); !slices.Equal(s.api.writes, want) {
		t.Errorf("wrote %v, want %v", s.api.writes, want)
	}
}

// TestEphemeralMembersHaveNoVolume: their data is in the Pod.
func TestEphemeralMembersHaveNoVolume(t *testing.T) {
	c, v := unformed()
	c.Spec.Storage, v.Want.Ephemeral = v1beta1.Storage{Ephemeral: &v1beta1.Ephemeral{SizeLimit: resource.MustParse("1Gi")}}, true
	s := newScene(t, c, v)
	s.mustDo(startAll)
	if want := []string{"create Pod a-0", "create Pod a-1", "create Pod a-2"}; len(s.api.writes) != len(want) {
		t.Errorf("wrote %v, want %v", s.api.writes, want)
	}
}

// TestNewClusterOnlyBeforeFormation: members form a cluster only while it is not
// known to have formed, and always by the chosen plan.
func TestNewClusterOnlyBeforeFormation(t *testing.T) {
	const first = "--initial-cluster=a-0=https://a-0.a.default.svc:2380,a-1=https://a-1.a.default.svc:2380,a-2=https://a-2.a.default.svc:2380"
	for _, test := range []struct {
		name   string
		change func(*scene)
		want   []string
	}{
		{"unformed", func(*scene) {}, []string{first, "--initial-cluster-state=new", "--initial-cluster-token=u1"}},
		{"the size has changed", func(s *scene) {
			s.c.Spec.Size, s.view.Want.Size = ptr.To[int32](5), 5
		}, []string{first, "--initial-cluster-state=new"}},
		{"formed, but its own data is not known", func(s *scene) {
			s.view = seen()
			s.view.Members[0].Started, s.view.Members[0].Answers = false, false
		}, []string{first, "--initial-cluster-state=existing", "--initial-cluster-token=u1"}},
		{"it has data: it joins no cluster", func(s *scene) { s.view = seen() }, []string{
			"--initial-cluster=a-0=https://a-0.a.default.svc:2380", "--initial-cluster-state=existing",
		}},
		{"adopted", func(s *scene) { s.view.Record.Adopted = true }, []string{first, "--initial-cluster-state=existing"}},
		{"grown", func(s *scene) {
			s.view = seen()
			s.view.Members[0].Started, s.view.Members[0].Answers = false, false
			s.view.Members[1].Role = cluster.Unlisted
			s.view.Members[2].Name = "a-3"
		}, []string{
			"--initial-cluster=a-0=https://a-0.a.default.svc:2380,a-3=https://a-3.a.default.svc:2380", "--initial-cluster-state=existing",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, v := unformed()
			s := newScene(t, c, v)
			test.change(s)
			s.mustDo(plan.CreatePods{Names: []string{"a-0"}})
			for _, want := range test.want {
				if args := s.args("a-0"); !strings.Contains(args+" ", want+" ") {
					t.Errorf("no %s in %s", want, args)
				}
			}
		})
	}
}

// TestExistingPods: the initial cluster of a member with data has no other member, that of one
// without has those that have data, and none forms a cluster again.
func TestExistingPods(t *testing.T) {
	joining := specs.Joining{New: true, Members: []string{"a-0", "a-1", "a-2"}}
	with, without := pod("a-0", "pod-0"), pod("a-1", "pod-1")
	specs.SetJoining(example(), with, joining)
	specs.SetJoining(example(), without, joining)
	s := newScene(t, example(), seen(), with, without)
	s.view.Record.ClusterID = "" // it has formed, and that is not written down yet
	s.view.Members[1].Started, s.view.Members[1].Answers = false, false
	s.mustDo(plan.MarkPods{As: plan.Existing, Pods: []plan.PodRef{{Name: "a-0", UID: "pod-0"}, {Name: "a-1", UID: "pod-1"}}})
	for name, want := range map[string][]string{"a-0": {"a-0"}, "a-1": {"a-0", "a-1", "a-2"}} {
		var changed corev1.Pod
		s.get(name, &changed)
		state := changed.Annotations[v1beta1.AnnotationInitialClusterState]
		if peers := specs.Peers(&changed); !slices.Equal(peers, want) || state != "existing" {
			t.Errorf("%s starts again as one of %v, in a cluster that is %s", name, peers, state)
		}
	}
}

// TestPlanIsOnTheVolumesOfFirstMembersOnly: a later member's volume must not read
// as one of an unfinished bootstrap.
func TestPlanIsOnTheVolumesOfFirstMembersOnly(t *testing.T) {
	c, v := unformed()
	s := newScene(t, c, v)
	s.mustDo(plan.CreatePods{Names: []string{"a-0"}})
	var first, later corev1.PersistentVolumeClaim
	s.get("a-0", &first)
	if first.Annotations[v1beta1.AnnotationToken] != "u1" || first.Annotations[v1beta1.AnnotationPlan] != "a-0,a-1,a-2" {
		t.Errorf("the volume of a first member says %v", first.Annotations)
	}
	s.view, s.c.Status.ClusterID = seen(), "c1"
	s.mustDo(plan.CreatePods{Names: []string{"a-3"}})
	if !s.get("a-3", &later) || len(later.Annotations) != 3 || later.Annotations[v1beta1.AnnotationClusterID] != "c1" {
		t.Errorf("the volume of a later member says %v", later.Annotations)
	}
}

// TestNewVolumesSayTheirVersion, which saves a write for each: all first members form with
// the same, and one that joins later runs what another one runs. A version that no member
// runs may be one that never does, and is not written down before.
func TestNewVolumesSayTheirVersion(t *testing.T) {
	said := func(v cluster.View, name string) string {
		c, _ := unformed()
		s := newScene(t, c, v)
		s.mustDo(plan.CreatePods{Names: []string{name}})
		var claim corev1.PersistentVolumeClaim
		s.get(name, &claim)
		return claim.Annotations[v1beta1.AnnotationVersion]
	}
	_, first := unformed()
	first.Target.Version = "3.5.35"
	later, silent, mixed := seen(), seen(), seen()
	for i := range 3 {
		later.Members[i].Version, mixed.Members[i].Version = "3.6.16", "3.6.15"
		silent.Members[i].Version, silent.Members[i].Answers = "3.6.16", false
	}
	if got := said(first, "a-0"); got != "3.5.35" {
		t.Errorf("that of a first member says %q", got)
	}
	if got := said(later, "a-3"); got != "3.6.16" {
		t.Errorf("that of a later member says %q", got)
	}
	for _, v := range []cluster.View{mixed, silent} {
		if got := said(v, "a-3"); got != "" {
			t.Errorf("one that no member is known to run: %q", got)
		}
	}
}

// TestOthersObjectsStay: what has our name and another owner is named in the
// error, and not changed. If it is a volume, no Pod is made.
func TestOthersObjectsStay(t *testing.T) {
	stranger := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "x", UID: "u9", Controller: ptr.To(true)}
	theirPod, theirVolume, unlabelled, setAside := pod("a-1", "pod-9"), claim("a-1"), claim("a-1"), claim("a-1")
	elsewhere := claim("a-1")
	metav1.SetMetaDataAnnotation(&elsewhere.ObjectMeta, v1beta1.AnnotationToken, "u9")
	theirPod.OwnerReferences, theirVolume.OwnerReferences = []metav1.OwnerReference{stranger}, []metav1.OwnerReference{stranger}
	unlabelled.Labels = nil
	metav1.SetMetaDataAnnotation(&setAside.ObjectMeta, v1beta1.AnnotationToken, "u1")
	metav1.SetMetaDataLabel(&setAside.ObjectMeta, v1beta1.LabelQuarantined, "true")
	for name, object := range map[string]client.Object{
		"a pod": theirPod, "a volume": theirVolume, "a volume without labels": unlabelled, "fault 4: a quarantined volume": setAside,
		"a volume of another cluster": elsewhere, "a volume that says nothing of its past": claim("a-1"),
	} {
		t.Run(name, func(t *testing.T) {
			c, v := unformed()
			s := newScene(t, c, v, object)
			before := s.everything()
			err := s.do(plan.CreatePods{Names: []string{"a-1"}})
			if err == nil || !strings.Contains(err.Error(), "a-1") {
				t.Errorf("got error %v, want one that names a-1", err)
			}
			if _, isVolume := object.(*corev1.PersistentVolumeClaim); isVolume && s.everything() != before {
				t.Errorf("wrote %v", s.api.writes)
			}
			theirs := &corev1.Pod{}
			if s.get("a-1", theirs); theirs.Name != "" && theirs.UID != "pod-9" {
				t.Errorf("the pod is now %s", theirs.UID)
			}
		})
	}
}

// TestFault5StopWithAnOldUIDDeletesNothing: a Pod that has taken the place of the
// one that was seen stays.
func TestFault5StopWithAnOldUIDDeletesNothing(t *testing.T) {
	s := newScene(t, example(), seen(), pod("a-1", "new"))
	old := []plan.PodRef{{Name: "a-1", UID: "old"}}
	for _, how := range []plan.Deletion{plan.Plainly, plan.Detached, plan.AtOnce} {
		step := plan.DeletePods{How: how, Pods: old}
		if err := s.do(step); !apierrors.IsConflict(err) {
			t.Errorf("%s: got %v, want a conflict", step, err)
		}
		if another := (&corev1.Pod{}); !s.get("a-1", another) || another.Labels[specs.ComponentLabel] != specs.Serving {
			t.Errorf("%s: the pod is gone, or has left: %v", step, another.Labels)
		}
	}
}

// TestDetachedAndDeleted: a Pod is detached before it is deleted, and the time is written on it.
func TestDetachedAndDeleted(t *testing.T) {
	held := pod("a-1", "pod-1")
	held.Finalizers = []string{"example.com/held"}
	s := newScene(t, example(), seen(), pod("a-0", "pod-0"), held, pod("a-2", "pod-2"))
	s.mustDo(plan.DeletePods{How: plan.Detached, Pods: []plan.PodRef{{Name: "a-0", UID: "pod-0"}, {Name: "a-1", UID: "pod-1"}}})
	var ends corev1.Pod
	if s.get("a-0", &ends) || !s.get("a-1", &ends) || !s.get("a-2", &corev1.Pod{}) {
		t.Fatal("not the Pods that were named are gone")
	}
	left := ends.Labels[specs.ComponentLabel] == specs.Leaving && ends.Annotations[v1beta1.AnnotationDetachedAt] != ""
	if ends.DeletionTimestamp == nil || !left {
		t.Errorf("a-1: %+v", ends.ObjectMeta)
	}
}

// TestOnlyWhoHasEndedIsDeletedByForce: all others are given time.
func TestOnlyWhoHasEndedIsDeletedByForce(t *testing.T) {
	s := newScene(t, example(), seen(), pod("a-0", "pod-0"), pod("a-1", "pod-1"), pod("a-2", "pod-2"))
	s.mustDo(plan.DeletePods{Pods: []plan.PodRef{{Name: "a-0", UID: "pod-0"}}})
	s.mustDo(plan.DeletePods{How: plan.Detached, Pods: []plan.PodRef{{Name: "a-1", UID: "pod-1"}}})
	s.mustDo(plan.DeletePods{How: plan.AtOnce, Pods: []plan.PodRef{{Name: "a-2", UID: "pod-2"}}})
	if !slices.Equal(s.api.forced, []string{"a-2"}) {
		t.Errorf("by force: %v", s.api.forced)
	}
}

// TestMarksOnVolumes: a cluster that has formed and a member that was removed are
// written on their volume, whose other marks stay.
func TestMarksOnVolumes(t *testing.T) {
	s := newScene(t, example(), seen(), claim("a-0"), claim("a-1"))
	s.mustDo(plan.RecordFormation(cluster.View{Name: "a", UID: "u1"}, "c1", "a-0"))
	s.mustDo(plan.Quarantine{Name: "a-1"})
	var marked, aside corev1.PersistentVolumeClaim
	s.get("a-0", &marked)
	s.get("a-1", &aside)
	if marked.Annotations[v1beta1.AnnotationClusterID] != "c1" || marked.Labels[v1beta1.LabelQuarantined] != "" {
		t.Errorf("a-0: %v %v", marked.Annotations, marked.Labels)
	}
	if aside.Labels[v1beta1.LabelQuarantined] != "true" || aside.Labels[v1beta1.LabelMember] != "a-1" {
		t.Errorf("a-1: %v", aside.Labels)
	}
	for _, owner := range s.api.owners {
		if owner != v1beta1.FieldOwner {
			t.Errorf("field owners %v", s.api.owners)
		}
	}
}

// TestQuarantineIsLifted: a volume that comes back is as it was before, and until then it says for how long it is kept.
func TestQuarantineIsLifted(t *testing.T) {
	s := newScene(t, example(), seen(), claim("a-1"))
	var before, aside, after corev1.PersistentVolumeClaim
	s.get("a-1", &before)
	s.mustDo(plan.Quarantine{Name: "a-1", KeepFor: 48 * time.Hour})
	s.get("a-1", &aside)
	s.mustDo(plan.LiftQuarantine{Name: "a-1"})
	s.get("a-1", &after)
	if aside.Annotations[v1beta1.AnnotationKeepFor] != "48h0m0s" || aside.Labels[v1beta1.LabelQuarantined] == "" {
		t.Errorf("set aside: %v %v", aside.Labels, aside.Annotations)
	}
	if !maps.Equal(before.Labels, after.Labels) || !maps.Equal(before.Annotations, after.Annotations) {
		t.Errorf("%v %v become %v %v", before.Labels, before.Annotations, after.Labels, after.Annotations)
	}
}

// TestMarkOnAVolumeThatIsGone: there is nothing left to mark.
func TestMarkOnAVolumeThatIsGone(t *testing.T) {
	s := newScene(t, example(), seen())
	for _, step := range []plan.Step{
		plan.RecordFormation(cluster.View{Name: "a", UID: "u1"}, "c1", "a-0"),
		plan.Quarantine{Name: "a-1"},
		plan.Apply{Objects: []cluster.Object{part(cluster.Size, "a-2")}},
	} {
		s.mustDo(step)
	}
	if len(s.api.writes) > 0 {
		t.Errorf("wrote %v", s.api.writes)
	}
}

// TestDiscardWithAnOldUIDDeletesNothing: nor does a volume that has taken the place of
// the one that was seen.
func TestDiscardWithAnOldUIDDeletesNothing(t *testing.T) {
	s := newScene(t, example(), seen(), claim("a-7"))
	if err := s.do(plan.DeleteVolume{Name: "a-7", UID: "old"}); !apierrors.IsConflict(err) {
		t.Errorf("got %v, want a conflict", err)
	}
	if !s.get("a-7", &corev1.PersistentVolumeClaim{}) {
		t.Error("the volume is gone")
	}
}

// TestBesideOthers: a member that is to replace others starts as it is to run once the cluster has adopted it, and no client is sent to it.
// Its volume is there.
func TestBesideOthers(t *testing.T) {
	v := seen()
	v.Target.Version, v.Want.Image = "3.5.21", "registry.example/etcd:v3.6.16"
	v.Record.Defragmenting.Member = "a-3"
	for _, name := range []string{"a-3", "a-4"} {
		v.Beside = append(v.Beside, cluster.Member{Name: name, Volume: cluster.Kept, Version: "3.6.16", Started: true})
	}
	s := newScene(t, example(), v)
	s.mustDo(plan.CreatePods{Names: []string{"a-3", "a-4"}, Beside: true})
	args := s.args("a-3")
	for _, want := range []string{"--initial-cluster=a-3=https://a-3.", "--initial-cluster-token=u1", "--initial-cluster-state=existing"} {
		if !strings.Contains(args, want) || strings.Contains(args, "a-4=") {
			t.Errorf("%s lacks %s", args, want)
		}
	}
	var made corev1.Pod
	s.get("a-3", &made)
	c := specs.Targeted(example(), cluster.Target{Version: "3.6.16", Image: v.Want.Image})
	if made.Labels[specs.ComponentLabel] != specs.Leaving || specs.Change(c, &made) != cluster.Same {
		t.Errorf("labels %v, to be changed: %v", made.Labels, specs.Change(c, &made))
	}
	if specs.IsDefragmenting(&made) || !specs.IsUnchecked(example(), &made) {
		t.Errorf("it defragments, or waits for others that start: %v", made.Annotations)
	}
	slices.Sort(s.api.writes)
	if want := []string{"create Pod a-3", "create Pod a-4"}; !slices.Equal(s.api.writes, want) {
		t.Errorf("wrote %v, want %v", s.api.writes, want)
	}
	s.mustDo(plan.CreatePods{Names: []string{"a-3", "a-4"}, Beside: true}) // it is there already
}
