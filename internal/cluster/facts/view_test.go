// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/etcdtest"
)

// TestHealthyClusterIsSeenWhole: every fact of a cluster as wanted, and that the
// plan finds nothing to do.
func TestHealthyClusterIsSeenWhole(t *testing.T) {
	s := newScene(t)
	first := []string{"a-0", "a-1", "a-2"}
	want := cluster.View{
		Name: "a", UID: "u1", At: now.Unix(), Want: cluster.Want{Size: 3, Version: "3.6.16", Heals: true},
		Target: cluster.Target{Version: "3.6.16"},
		Record: cluster.Record{
			Token: "u1", First: first, HasMaintenance: true, ClusterID: "c1", NextSerial: 3, TLS: cluster.TLSState{Secure: true},
		},
		TLS:   cluster.TLSChange{Wanted: true, At: now.Unix()},
		Space: cluster.Space{Defragments: true, InWindow: true, LeastFree: 100 * mib, Volume: 2 << 30, QuotaGrows: true},
	}
	for name, secret := range map[string]string{"client": "a-client-ca", "peer": "a-peer-ca"} {
		want.Rotation.Authorities = append(want.Rotation.Authorities, cluster.Authority{
			Name: name, Secret: secret, Phase: cluster.Stable, End: now.Add(v1beta1.DefaultAuthorityLifetime).Unix(),
		})
	}
	slices.SortFunc(want.Rotation.Authorities, func(a, b cluster.Authority) int { return strings.Compare(a.Name, b.Name) })
	for i, name := range first {
		want.Volumes = append(want.Volumes, cluster.Volume{
			Name: name, Token: "u1", First: first, Version: "3.6.16", TLSMode: "Enabled", Size: 2 << 30,
		})
		want.Members = append(want.Members, cluster.Member{
			Name: name, Recorded: true, ID: uint64(i + 1), Role: cluster.Voter, Started: true, Volume: cluster.Kept,
			Pod: cluster.Pod{
				Phase: cluster.Running, UID: "pod-" + name, Made: made.Unix(), Address: "10.0.0." + name[2:],
				Ready: true, Proven: true, Lingers: true, Entry: cluster.Ends, Image: image, DefaultImage: true,
				Quota: 3 << 29,
			},
			Answers: true, Healthy: true, Confirmed: 1, Leader: i == 0, ClusterID: "c1", Version: "3.6.16", Revision: 1,
			DBSize: 1 << 20, InUse: 1 << 20, Defragmented: cluster.Defragmented{At: time.Time{}.Unix()},
			Room: cluster.Room{Volume: 2 << 30, Files: (2 << 30) / 20 * 19, Log: 384 * mib, Copied: 780 * mib},
		})
	}
	want.Outside.Read = true
	want.Certificates.Begin, want.Certificates.End = now.Add(-24*time.Hour).Unix(), now.Add(365*24*time.Hour).Unix()
	got := s.look()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("saw\n%+v\nwant\n%+v", got, want)
	}
	if step, because := plan.Next(got); step != (plan.Done{}) {
		t.Errorf("%s (%s)", step, because)
	}
	if !slices.Equal(s.kept, first) {
		t.Errorf("kept connections to %v", s.kept)
	}
	if asked := s.callsOf("Get"); len(asked) > 0 {
		t.Errorf("asked the API server itself for %v", asked)
	}
}

// TestOrderOfListsDoesNotMatter: what is seen depends on what there is, and not on
// the order in which it is listed. Members are joined by name.
func TestOrderOfListsDoesNotMatter(t *testing.T) {
	s := newScene(t)
	aside := specs.Volume(s.c, "a-5", nil)
	metav1.SetMetaDataLabel(&aside.ObjectMeta, v1beta1.LabelQuarantined, "true")
	small := specs.Volume(s.c, "a-10", nil)
	small.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("1Gi")
	s.objects = append(s.objects, aside, small)
	s.claim("a-1").Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("1Gi")
	s.stop("a-1")
	want := s.look()
	random := rand.New(rand.NewPCG(1, 2))
	s.arrange = func(list client.ObjectList) { shuffle(list, random.Shuffle) }
	s.members = func(m []etcd.Member) { random.Shuffle(len(m), func(i, j int) { m[i], m[j] = m[j], m[i] }) }
	for range 20 {
		random.Shuffle(len(s.c.Status.Members), func(i, j int) {
			s.c.Status.Members[i], s.c.Status.Members[j] = s.c.Status.Members[j], s.c.Status.Members[i]
		})
		if got := s.look(); !reflect.DeepEqual(got, want) {
			t.Fatalf("saw\n%+v\nwant\n%+v", got, want)
		}
	}
	if got := strings.Join(cluster.Names(want.Members), " "); got != "a-0 a-1 a-2 a-10" {
		t.Errorf("members are %s", got)
	}
}

// TestForeignersAreInTheSameOrderAlways: two at once are sorted by kind and name.
func TestForeignersAreInTheSameOrderAlways(t *testing.T) {
	s := newScene(t)
	for _, name := range []string{"Pod a-2", "Pod a-0", "Service a"} {
		s.find(name).SetOwnerReferences(owner("EtcdCluster", "b", "u9"))
	}
	want := s.look().Foreign
	if len(want) != 3 {
		t.Fatalf("foreign: %v", want)
	}
	random := rand.New(rand.NewPCG(3, 4))
	s.arrange = func(list client.ObjectList) { shuffle(list, random.Shuffle) }
	for range 10 {
		if got := s.look().Foreign; !reflect.DeepEqual(got, want) {
			t.Fatalf("saw %v, want %v", got, want)
		}
	}
}

// TestDeletedClusterIsNotLookedAt: nothing is read on behalf of one.
func TestDeletedClusterIsNotLookedAt(t *testing.T) {
	s := newScene(t)
	s.c.DeletionTimestamp = &metav1.Time{Time: now}
	if v := s.look(); !v.Deleting || len(v.Members)+len(s.calls) > 0 {
		t.Errorf("saw %+v after %v", v, s.calls)
	}
}

// TestBeforeThePlanNoMemberIsAsked: what runs under our names before the plan is
// frozen is not ours to ask.
func TestBeforeThePlanNoMemberIsAsked(t *testing.T) {
	s := newScene(t)
	s.c.Status = v1beta1.EtcdClusterStatus{}
	v := s.look()
	if v.Planned() || v.Unread != "" || len(s.callsOf("Status")) > 0 || len(v.Volumes) != 3 {
		t.Errorf("saw %+v after %v", v, s.calls)
	}
}

// TestAPIServerThatFailsIsAnError: unlike an etcd that does.
func TestAPIServerThatFailsIsAnError(t *testing.T) {
	for _, name := range []string{"Pod a-1", "PersistentVolumeClaim a-1"} {
		s := newScene(t)
		s.stale, s.broken = []string{name}, errors.New("overloaded")
		if _, err := s.observer().Cluster(t.Context(), s.c, nil); !errors.Is(err, s.broken) {
			t.Errorf("without %s: got error %v, want %v", name, err, s.broken)
		}
	}
}

// TestRecordAfterStart: until the cluster was seen to form, the plan names its
// members.
func TestRecordAfterStart(t *testing.T) {
	s := newScene(t)
	s.c.Status.ClusterID, s.c.Status.Members, s.c.Status.Joining = "", nil, "a-7"
	s.etcd = etcdtest.New()
	s.drop("Pod a-0", "Pod a-1", "Pod a-2")
	v := s.look()
	if names := strings.Join(cluster.Names(v.Members), " "); names != "a-0 a-1 a-2 a-7" {
		t.Errorf("members are %s", names)
	}
	for _, m := range v.Members {
		if m.Recorded != (m.Name != "a-7") || m.Started || m.Role != cluster.Unlisted {
			t.Errorf("saw %+v", m)
		}
	}
	s.c.Status.Bootstrap.Adopted = true
	if m := s.member("a-1"); !m.Started {
		t.Errorf("a member of an adopted plan has data: %+v", m)
	}
}

// TestFormationSaysWhetherItIsTheLastStep: one write says that the cluster has formed and that nothing is left to do, unless something is.
func TestFormationSaysWhetherItIsTheLastStep(t *testing.T) {
	for size, last := range map[int32]bool{3: true, 5: false} {
		s := newScene(t)
		s.c.Status.ClusterID = ""
		s.c.Status.Bootstrap = &v1beta1.Bootstrap{Token: string(s.c.UID), Members: []string{"a-0", "a-1", "a-2"}, NetworkPolicy: true}
		s.c.Spec.Size = ptr.To(size)
		step, because := plan.Next(s.look())
		if record, is := step.(plan.Record); !is || record.Fact.ClusterID == "" || record.Last != last {
			t.Errorf("size %d: %+v (%s)", size, step, because)
		}
	}
}
