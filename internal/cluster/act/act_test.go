// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/etcdtest"
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// example is a cluster of three that has formed.
func example() *v1beta1.EtcdCluster {
	return &v1beta1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", UID: "u1", Generation: 7},
		Spec: v1beta1.EtcdClusterSpec{
			Size: ptr.To[int32](3), Version: "3.6.16", DeletionPolicy: v1beta1.Retain,
			Storage: v1beta1.Storage{Size: ptr.To(resource.MustParse("2Gi"))},
		},
		Status: v1beta1.EtcdClusterStatus{
			ClusterID: "c1", NextSerial: 3,
			Bootstrap: &v1beta1.Bootstrap{Token: "u1", Members: []string{"a-0", "a-1", "a-2"}},
		},
	}
}

// seen is what is seen of the example: three healthy voters, a-0 leads.
func seen() cluster.View {
	v := cluster.View{
		Name: "a", UID: "u1", Want: cluster.Want{Size: 3, Version: "3.6.16"}, Target: cluster.Target{Version: "3.6.16"},
		Record: cluster.Record{Token: "u1", First: []string{"a-0", "a-1", "a-2"}, ClusterID: "c1", NextSerial: 3},
	}
	for i := range 3 {
		v.Members = append(v.Members, cluster.Member{
			Name: cluster.MemberName("a", i), ID: uint64(i + 1), Role: cluster.Voter, Leader: i == 0, Recorded: true, Started: true,
			Answers: true, Healthy: true, Volume: cluster.Kept, Pod: cluster.Pod{Phase: cluster.Running, UID: fmt.Sprint("pod-", i)},
		})
	}
	return v
}

// unformed is a cluster whose first members are chosen and of which nothing exists yet.
func unformed() (*v1beta1.EtcdCluster, cluster.View) {
	c, v := example(), seen()
	c.Status.ClusterID, v.Record.ClusterID = "", ""
	for i := range v.Members {
		v.Members[i] = cluster.Member{Name: v.Members[i].Name, Recorded: true}
	}
	return c, v
}

// part is a part of a member's volume that is not as wanted.
func part(of cluster.Part, name string) cluster.Object {
	return cluster.Object{Kind: "PersistentVolumeClaim", Name: name, Part: of}
}

// claim is the volume of a member, on which nothing is written.
func claim(name string) *corev1.PersistentVolumeClaim {
	c := specs.Volume(example(), name, nil)
	c.Annotations = nil
	return c
}

func pod(name, uid string) *corev1.Pod {
	p := specs.Pod(example(), name, specs.Joining{Members: []string{name}})
	p.UID = types.UID(uid)
	return p
}

// A scene is an API server, an etcd and an actor between them.
type scene struct {
	t     *testing.T
	api   *api
	etcd  *etcdtest.Cluster
	dials atomic.Int32 // members are asked beside each other
	actor *act.Actor
	c     *v1beta1.EtcdCluster
	view  cluster.View
	age   time.Duration // of what members have answered
}

func newScene(t *testing.T, c *v1beta1.EtcdCluster, v cluster.View, objects ...client.Object) *scene {
	t.Helper()
	s := &scene{t: t, api: newAPI(append(objects, c.DeepCopy())...), etcd: etcdtest.New("a-0", "a-1", "a-2"), c: c, view: v}
	clock := func() time.Time { return now }
	s.actor = &act.Actor{Client: s.api, Live: s.api, Dialer: s, Now: clock, Later: clock, Random: rand.Reader}
	t.Cleanup(func() {
		if len(s.api.unseen) > 0 {
			t.Errorf("reads wait for news of %v, which no watch reports", s.api.unseen)
		}
	})
	return s
}

func (s *scene) do(step plan.Step) error {
	return s.actor.Do(s.t.Context(), s.c, s.view, step, now.Add(-s.age))
}

func (s *scene) mustDo(step plan.Step) {
	s.t.Helper()
	if err := s.do(step); err != nil {
		s.t.Fatalf("%s: %v", step, err)
	}
}

// get reads an object and says whether it exists.
func (s *scene) get(name string, into client.Object) bool {
	s.t.Helper()
	err := s.api.Get(s.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, into)
	if client.IgnoreNotFound(err) != nil {
		s.t.Fatal(err)
	}
	return err == nil
}

// everything is all that exists, as text that two runs can be compared by. Of
// Secrets it has whether they are good, because keys are never the same.
func (s *scene) everything() string {
	s.t.Helper()
	var out []string
	held := s.held()
	for _, name := range certs.Names(s.c) {
		out = append(out, fmt.Sprintf("secret %s: %v", name, held.Fault(s.c, name, now)))
	}
	for _, list := range []client.ObjectList{
		&corev1.PodList{}, &corev1.PersistentVolumeClaimList{}, &corev1.ServiceList{}, &policyv1.PodDisruptionBudgetList{},
		&v1beta1.EtcdBackupList{}, &v1beta1.EtcdRestoreList{}, &v1beta1.EtcdClusterList{},
	} {
		if err := s.api.List(s.t.Context(), list); err != nil {
			s.t.Fatal(err)
		}
		err := meta.EachListItem(list, func(object runtime.Object) error {
			accessor, err := meta.Accessor(object)
			if err != nil {
				return err
			}
			accessor.SetResourceVersion("")
			accessor.SetManagedFields(nil)
			text, err := yaml.Marshal(object)
			out = append(out, fmt.Sprintf("%T", object), string(text))
			return err
		})
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return strings.Join(append(out, s.etcd.Log()...), "\n")
}

func (s *scene) held() certs.KeyMaterial {
	return certs.Read(s.c, func(name string) *corev1.Secret {
		secret := &corev1.Secret{}
		if !s.get(name, secret) {
			return nil
		}
		return secret
	})
}

var errLost = errors.New("the response was lost")

// applyAll asks for everything.
func applyAll() plan.Apply {
	return plan.Apply{Objects: []cluster.Object{
		{Kind: "Secret", Name: "a-client-ca", Why: "it is missing"},
		{Kind: "Secret", Name: "a-peer-ca", Why: "it is missing"},
		{Kind: "Secret", Name: "a-member-tls", Why: "it is missing"},
		{Kind: "Secret", Name: "a-client", Why: "it is missing"},
		{Kind: "Service", Name: "a", Why: "it is missing"},
		{Kind: "Service", Name: "a-client", Why: "it is missing"},
		{Kind: "PodDisruptionBudget", Name: "a", Why: "it is missing"},
	}}
}

// steps are one example of every step that changes something outside the status.
var steps = []struct {
	step   plan.Step
	set    func(*testing.T) *scene
	writes int           // how many writes it takes
	call   etcdtest.Call // of a step in etcd
}{
	{step: applyAll(), writes: 7, set: func(t *testing.T) *scene { return newScene(t, example(), seen()) }},
	{step: introduce(), writes: 2, set: func(t *testing.T) *scene { return newScene(t, example(), seen(), secrets(t, now)...) }},
	{
		step: plan.Apply{Objects: []cluster.Object{part(cluster.Size, "a-0"), part(cluster.Size, "a-1")}},
		set: func(t *testing.T) *scene {
			s := newScene(t, example(), seen(), claim("a-0"), claim("a-1"))
			s.c.Spec.Storage.Size = ptr.To(resource.MustParse("4Gi"))
			return s
		},
		writes: 2,
	},
	{
		step: plan.RecordFormation(cluster.View{Name: "a", UID: "u1"}, "c1", "a-0"), writes: 1,
		set: func(t *testing.T) *scene { return newScene(t, example(), seen(), claim("a-0")) },
	},
	{
		step: plan.CreatePods{Names: []string{"a-0", "a-1", "a-2"}}, writes: 9,
		set: func(t *testing.T) *scene {
			c, v := unformed()
			return newScene(t, c, v)
		},
	},
	{
		step: plan.DeletePods{Pods: []plan.PodRef{{Name: "a-1", UID: "pod-1"}}, Because: "test"}, writes: 1,
		set: func(t *testing.T) *scene {
			return newScene(t, example(), seen(), pod("a-0", "pod-0"), pod("a-1", "pod-1"))
		},
	},
	{
		step: plan.DeletePods{
			How: plan.Detached, Pods: []plan.PodRef{{Name: "a-0", UID: "pod-0"}, {Name: "a-1", UID: "pod-1"}}, Because: "test",
		}, writes: 4,
		set: func(t *testing.T) *scene {
			return newScene(t, example(), seen(), pod("a-0", "pod-0"), pod("a-1", "pod-1"))
		},
	},
	{
		step: plan.DeletePods{How: plan.AtOnce, Pods: []plan.PodRef{{Name: "a-0", UID: "pod-0"}, {Name: "a-1", UID: "pod-1"}}}, writes: 2,
		set: func(t *testing.T) *scene {
			return newScene(t, example(), seen(), pod("a-0", "pod-0"), pod("a-1", "pod-1"))
		},
	},
	{
		step: plan.AddLearner{Name: "a-3"}, call: etcdtest.AddLearner,
		set: func(t *testing.T) *scene { return newScene(t, example(), seen()) },
	},
	{
		step: plan.UpdatePeerURLs{Name: "a-1"}, call: etcdtest.UpdatePeerURLs,
		set: func(t *testing.T) *scene { return newScene(t, example(), seen()) },
	},
	{
		step: plan.Promote{Name: "a-3"}, call: etcdtest.Promote,
		set: func(t *testing.T) *scene {
			s := newScene(t, example(), seen())
			withLearner(s)
			return s
		},
	},
	{
		step: plan.MoveLeader{From: "a-0", To: "a-2"}, call: etcdtest.MoveLeader,
		set: func(t *testing.T) *scene { return newScene(t, example(), seen()) },
	},
	{
		step: plan.RemoveMember{Name: "a-2", Because: "test"}, call: etcdtest.Remove,
		set: func(t *testing.T) *scene {
			s := newScene(t, example(), seen())
			s.etcd.Stop("a-2")
			return s
		},
	},
	{
		step: plan.MarkPods{Pods: []plan.PodRef{{Name: "a-1", UID: "pod-1"}}, As: plan.Detach}, writes: 1,
		set: func(t *testing.T) *scene { return newScene(t, example(), seen(), pod("a-1", "pod-1")) },
	},
	{
		step: plan.MarkPods{As: plan.Existing, Pods: []plan.PodRef{{Name: "a-1", UID: "pod-1"}}}, writes: 1,
		set: func(t *testing.T) *scene {
			open := pod("a-1", "pod-1")
			specs.SetJoining(example(), open, specs.Joining{New: true, Members: []string{"a-0", "a-1", "a-2"}})
			return newScene(t, example(), seen(), open)
		},
	},
	{
		step: plan.MarkPods{As: plan.Comparing, Pods: []plan.PodRef{{Name: "a-1", UID: "pod-1"}}}, writes: 1,
		set: func(t *testing.T) *scene { return newScene(t, example(), seen(), pod("a-1", "pod-1")) },
	},
	{
		step: plan.MarkPods{As: plan.Plain, Pods: []plan.PodRef{{Name: "a-1", UID: "pod-1"}}}, writes: 1,
		set: func(t *testing.T) *scene {
			return newScene(t, example(), seen(), specs.Defragmenting(example(), pod("a-1", "pod-1")))
		},
	},
	{
		step: plan.MarkPods{Pods: []plan.PodRef{{Name: "a-1", UID: "pod-1"}}, As: plan.Attach}, writes: 1,
		set: func(t *testing.T) *scene {
			away := pod("a-1", "pod-1")
			away.Labels[specs.ComponentLabel] = specs.Leaving
			away.Annotations[v1beta1.AnnotationDetachedAt] = "2026-01-01T00:00:00Z"
			return newScene(t, example(), seen(), away)
		},
	},
	{
		step: plan.UpdateImage{Name: "a-1", UID: "pod-1", Version: "3.7.3"}, writes: 1,
		set: func(t *testing.T) *scene {
			s := newScene(t, example(), seen(), pod("a-1", "pod-1"))
			s.view.Target.Version = "3.7.3"
			return s
		},
	},
	{
		step: plan.ResizePod{Name: "a-1", UID: "pod-1"}, writes: 2,
		set: func(t *testing.T) *scene {
			s := newScene(t, example(), seen(), pod("a-1", "pod-1"))
			s.c.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
			return s
		},
	},
	{
		step: plan.CreatePods{Names: []string{"a-0"}, Forced: true}, writes: 1,
		set: func(t *testing.T) *scene {
			c := example()
			c.Status.Recovering = "a-0"
			return newScene(t, c, seen())
		},
	},
	{
		step: plan.Downgrade{To: "3.5"}, call: etcdtest.Downgrade,
		set: func(t *testing.T) *scene { return newScene(t, example(), seen()) },
	},
	{
		step: plan.Downgrade{}, call: etcdtest.CancelDowngrade,
		set: func(t *testing.T) *scene {
			s := newScene(t, example(), seen())
			if err := s.etcd.Client("a-0").Downgrade(t.Context(), "3.5"); err != nil {
				t.Fatal(err)
			}
			return s
		},
	},
	{
		step: plan.Compact{Revision: 7}, call: etcdtest.Compact,
		set: func(t *testing.T) *scene { return newScene(t, example(), seen()) },
	},
	{
		step: plan.DisarmAlarm{Kind: "CORRUPT", ID: 9}, call: etcdtest.Disarm,
		set: func(t *testing.T) *scene {
			s := newScene(t, example(), seen())
			s.etcd.Raise(9, "CORRUPT")
			return s
		},
	},
	{
		step: plan.DeleteVolume{Name: "a-7", UID: "volume"}, writes: 1,
		set: func(t *testing.T) *scene {
			aside := claim("a-7")
			aside.UID = "volume"
			return newScene(t, example(), seen(), aside)
		},
	},
	{
		step: plan.LiftQuarantine{Name: "a-2"}, writes: 1,
		set: func(t *testing.T) *scene {
			aside := claim("a-2")
			aside.Labels[v1beta1.LabelQuarantined] = "true"
			return newScene(t, example(), seen(), aside)
		},
	},
	{
		step: plan.CreateBackup{Name: "a-before-3.7-1", Before: "3.7"}, writes: 1,
		set: func(t *testing.T) *scene { return newScene(t, example(), seen()) },
	},
	{
		step: plan.CreateRestore{Name: "a-accepted-1", Backup: "nightly", Accepted: "backup/nightly@60"}, writes: 1,
		set: func(t *testing.T) *scene { return newScene(t, example(), seen()) },
	},
	{
		step: plan.Expire{}, writes: 1,
		set: func(t *testing.T) *scene { return newScene(t, example(), seen()) },
	},
	{
		step: plan.Hold{Held: true}, writes: 1,
		set: func(t *testing.T) *scene { return newScene(t, example(), seen()) },
	},
	{
		step: plan.Hold{Because: "test"}, writes: 1,
		set: func(t *testing.T) *scene {
			c := example()
			c.Finalizers = []string{v1beta1.FinalizerLastBackup}
			return newScene(t, c, seen())
		},
	},
	{
		step: plan.Hold{Held: true, Adoption: true}, writes: 1,
		set: func(t *testing.T) *scene { return newScene(t, example(), seen()) },
	},
	{
		step: plan.Quarantine{Name: "a-2"}, writes: 1,
		set: func(t *testing.T) *scene { return newScene(t, example(), seen(), claim("a-2")) },
	},
}

// withLearner adds the learner a-3, which runs and is in sync.
func withLearner(s *scene) {
	added, err := s.etcd.Client("a-0").AddLearner(s.t.Context(), etcdtest.PeerURL("a-3"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.etcd.Start("a-3")
	s.etcd.Sync("a-3")
	s.view.Members = append(s.view.Members, cluster.Member{Name: "a-3", ID: added.ID, Role: cluster.Learner, Synced: true})
}

// TestMoreTime: an EtcdCluster whose spec was changed since it was read does not expire.
func TestMoreTime(t *testing.T) {
	s := newScene(t, example(), seen())
	s.c.Generation--
	before := s.everything()
	if err := s.do(plan.Expire{}); !errors.Is(err, act.ErrChanged) || s.everything() != before {
		t.Errorf("it is deleted: %v", err)
	}
}

// TestStepIsSafeToRepeat: a step that is taken twice ends as if taken once.
func TestStepIsSafeToRepeat(t *testing.T) {
	for _, test := range steps {
		t.Run(test.step.String(), func(t *testing.T) {
			s := test.set(t)
			before := s.everything()
			s.mustDo(test.step)
			once := s.everything()
			if once == before {
				t.Error("the step changed nothing")
			}
			if test.call == "" && len(s.api.writes) != test.writes {
				t.Errorf("%d writes, want %d: %v", len(s.api.writes), test.writes, s.api.writes)
			}
			s.mustDo(test.step)
			if twice := s.everything(); twice != once {
				t.Errorf("once:\n%s\ntwice:\n%s", once, twice)
			}
		})
	}
}

// TestFault2ResponseLost: each write of each step takes effect while its answer is
// lost. The step fails, and taken again it ends as if all had been well.
func TestFault2ResponseLost(t *testing.T) {
	eachInterruption(t, func(s *scene, n int, call etcdtest.Call) {
		s.api.loseAfter(n)
		s.etcd.FailAfter(call, errLost)
	})
}

// TestErrorBefore: each write of each step fails without effect. The step says so,
// and taken again it ends as if all had been well.
func TestErrorBefore(t *testing.T) {
	eachInterruption(t, func(s *scene, n int, call etcdtest.Call) {
		s.api.failBefore(n)
		s.etcd.FailBefore(call, errLost)
	})
}

func eachInterruption(t *testing.T, interrupt func(s *scene, n int, call etcdtest.Call)) {
	for _, test := range steps {
		well := test.set(t)
		well.mustDo(test.step)
		want := well.everything()
		for n := range max(test.writes, 1) {
			t.Run(fmt.Sprintf("%s, write %d", test.step, n+1), func(t *testing.T) {
				s := test.set(t)
				interrupt(s, n, test.call)
				if err := s.do(test.step); !errors.Is(err, errLost) {
					t.Fatalf("got %v, want the error of the write", err)
				}
				s.mustDo(test.step)
				if got := s.everything(); got != want {
					t.Errorf("got:\n%s\nwant:\n%s", got, want)
				}
			})
		}
	}
}

// TestStepsOfTheRecordTouchNothing: what is only remembered or waited for needs no
// act.
func TestStepsOfTheRecordTouchNothing(t *testing.T) {
	s := newScene(t, example(), seen())
	before := s.everything()
	for _, step := range []plan.Step{
		plan.Record{},
		plan.RecordFormation(seen(), "c1", ""),
		plan.Wait{},
		plan.Refuse{},
		plan.Done{},
	} {
		s.mustDo(step)
	}
	if len(s.api.writes) > 0 || s.dials.Load() > 0 || s.everything() != before {
		t.Errorf("writes %v, %d dials", s.api.writes, s.dials.Load())
	}
}

// everyKind has a step of each kind.
var everyKind = []plan.Step{
	plan.Record{},
	plan.Apply{},
	plan.CreatePods{},
	plan.DeletePods{},
	plan.MarkPods{},
	plan.UpdateImage{},
	plan.ResizePod{},
	plan.AddLearner{},
	plan.UpdatePeerURLs{},
	plan.Promote{},
	plan.MoveLeader{},
	plan.RemoveMember{},
	plan.Downgrade{},
	plan.DisarmAlarm{},
	plan.Compact{},
	plan.Quarantine{},
	plan.LiftQuarantine{},
	plan.DeleteVolume{},
	plan.CreateBackup{},
	plan.CreateRestore{},
	plan.Expire{},
	plan.Hold{},
	plan.Wait{},
	plan.Refuse{},
	plan.Done{},
	plan.RouteService{},
	plan.ScaleStatefulSet{},
	plan.AdoptVolume{},
}

// TestEveryStepIsActed: a step that is added must be carried out, or be said to
// need no act.
func TestEveryStepIsActed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../plan/step.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, step := range everyKind {
		known[strings.TrimPrefix(fmt.Sprintf("%T", step), "plan.")] = true
		if err := newScene(t, example(), seen()).do(step); err != nil && strings.Contains(err.Error(), "no act for step") {
			t.Error(err)
		}
	}
	for _, declaration := range file.Decls {
		method, is := declaration.(*ast.FuncDecl)
		if !is || method.Recv == nil || method.Name.Name != "meta" {
			continue
		}
		kind := method.Recv.List[0].Type.(*ast.Ident).Name
		if !known[kind] {
			t.Errorf("%s is not tried here", kind)
		}
		delete(known, kind)
	}
	if len(known) > 0 {
		t.Errorf("the plan has no step %v", known)
	}
	if err := newScene(t, example(), seen()).do(nil); err == nil {
		t.Error("an unknown step is taken for done")
	}
}

func (s *scene) Source(context.Context, *v1beta1.EtcdCluster, string) (etcd.Client, error) {
	return nil, errors.New("no running cluster is adopted here")
}
