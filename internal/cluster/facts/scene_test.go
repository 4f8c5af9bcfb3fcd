// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kubernetes "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/cluster/limits"
	"github.com/etcd-operator/etcd-operator/internal/cluster/memory"
	"github.com/etcd-operator/etcd-operator/internal/cluster/observe"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/etcdtest"
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// made is when the Pods of a scene were made.
var made = now.Add(-time.Hour)

// image is what the members of a scene run.
const image = "gcr.io/etcd-development/etcd:v3.6.16"

// A scene is a cluster named a as Kubernetes and etcd have it. Tests spoil it and
// look.
type scene struct {
	t        *testing.T
	c        *v1beta1.EtcdCluster
	etcd     *etcdtest.Cluster
	objects  []client.Object
	stale    []string // "Pod a-1": the cache does not show it
	vanish   []string // "Pod a-1": only the cache still shows it
	arrange  func(client.ObjectList)
	twist    func(name string, status *etcd.Status)
	members  func([]etcd.Member)
	sights   map[string]certs.TLSProbe
	meet     int // members answer when as many as this have been asked
	meeting  *sync.WaitGroup
	remains  map[string]etcd.Remains // by address of the metrics
	timings  map[string]etcd.Timings // so, too
	resizes  *specs.Resizes          // what Kubernetes can resize; nil: all
	ahead    time.Duration           // of the API server's clock
	operator string                  // namespace of the operator; empty if it runs outside of Kubernetes
	domain   string                  // of the Kubernetes cluster
	limits   limits.Limits           // of what the cluster may ask for
	broken   error                   // what every read from the API server itself ends with

	asked time.Time // when members were asked in the last look

	takes map[string]time.Duration           // how long the hash of a member's data takes, by its name
	sum   func(name string, hash *etcd.Hash) // changes what a member answers

	mutex   sync.Mutex
	hashing string   // member that is asked for its hash right now
	calls   []string // "Read a-0"
	kept    []string
}

// newScene is three healthy members with everything as wanted; a-0 leads.
func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, etcd: etcdtest.New("a-0", "a-1", "a-2")}
	s.c = &v1beta1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", UID: "u1"},
		Spec: v1beta1.EtcdClusterSpec{
			Size: ptr.To[int32](3), Version: "3.6.16", DeletionPolicy: v1beta1.Retain,
			Storage: v1beta1.Storage{Size: ptr.To(resource.MustParse("2Gi"))}, Resources: v1beta1.Resources{Requests: corev1.ResourceList{}},
		},
		Status: v1beta1.EtcdClusterStatus{
			ClusterID: "c1", NextSerial: 3,
			Bootstrap: &v1beta1.Bootstrap{Token: "u1", Members: []string{"a-0", "a-1", "a-2"}, Maintenance: true},
			LastHashCheck: &v1beta1.HashCheck{
				Time: metav1.NewTime(made), Verdict: v1beta1.HashesEqual, Members: []string{"a-0", "a-1", "a-2"},
			},
		},
	}
	for i, role := range []string{v1beta1.RoleLeader, v1beta1.RoleVoter, v1beta1.RoleVoter} {
		name := cluster.MemberName("a", i)
		s.c.Status.Members = append(s.c.Status.Members, v1beta1.MemberStatus{Name: name, ID: fmt.Sprint(i + 1), Role: role, Version: "3.6.16"})
		claim := specs.Volume(s.c, name, s.c.Status.Bootstrap)
		claim.Annotations[v1beta1.AnnotationVersion] = "3.6.16"
		delete(claim.Annotations, v1beta1.AnnotationUnused)
		claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}
		s.objects = append(s.objects, claim)
	}
	for i := range 3 {
		s.objects = append(s.objects, s.newPod(cluster.MemberName("a", i)))
	}
	for _, secret := range goodSecrets() {
		s.objects = append(s.objects, secret.DeepCopy())
	}
	s.objects = append(s.objects, specs.HeadlessService(s.c), specs.ClientService(s.c), specs.Budget(s.c, 2))
	return s
}

var goodSecrets = sync.OnceValue(func() []*corev1.Secret {
	c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", UID: "u1"}}
	held := certs.Read(c, func(string) *corev1.Secret { return nil })
	var all []*corev1.Secret
	for _, name := range certs.Names(c) {
		secret, err := held.Make(rand.Reader, now, c, name)
		if err != nil {
			panic(err)
		}
		all = append(all, secret)
	}
	return all
})

// newPod is a member's Pod that has run for an hour.
func (s *scene) newPod(name string) *corev1.Pod {
	pod := specs.Pod(s.c, name, specs.Joining{Members: []string{name}, Compares: true})
	pod.UID, pod.CreationTimestamp = types.UID("pod-"+name), metav1.NewTime(made)
	pod.Spec.NodeName = "n0"
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: "10.0.0." + strings.TrimPrefix(name, "a-"),
		StartTime:  &metav1.Time{Time: now.Add(-time.Hour)},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "etcd", Image: "etcd:v3.6.16",
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now.Add(-time.Hour))}},
		}},
	}
	return pod
}

func key(object client.Object) string {
	if _, is := object.(*unstructured.Unstructured); is {
		return object.GetObjectKind().GroupVersionKind().Kind + " " + object.GetName()
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", object), "*v1.") + " " + object.GetName()
}

// find returns the object, so that a test can spoil it.
func (s *scene) find(name string) client.Object {
	s.t.Helper()
	i := slices.IndexFunc(s.objects, func(o client.Object) bool { return key(o) == name })
	if i < 0 {
		s.t.Fatalf("the scene has no %s", name)
	}
	return s.objects[i]
}

func (s *scene) pod(name string) *corev1.Pod { return s.find("Pod " + name).(*corev1.Pod) }

func (s *scene) claim(name string) *corev1.PersistentVolumeClaim {
	return s.find("PersistentVolumeClaim " + name).(*corev1.PersistentVolumeClaim)
}

// drop takes the object away, in truth and in the cache.
func (s *scene) drop(names ...string) {
	s.t.Helper()
	for _, name := range names {
		gone := s.find(name)
		s.objects = slices.DeleteFunc(s.objects, func(o client.Object) bool { return o == gone })
	}
}

// stop stops a member in etcd and takes its Pod's readiness away.
func (s *scene) stop(names ...string) {
	for _, name := range names {
		s.etcd.Stop(name)
		s.pod(name).Status.Conditions = nil
	}
}

// scheme has all of Kubernetes' types: to fill one for each look took most of the time of these tests.
var scheme = sync.OnceValue(func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return scheme
})

func (s *scene) client(without []string) client.WithWatch {
	var objects []client.Object
	for _, object := range s.objects {
		if !slices.Contains(without, key(object)) {
			objects = append(objects, object.DeepCopyObject().(client.Object))
		}
	}
	// Nothing is applied here, for which the client would fill another scheme.
	return kubernetes.NewClientBuilder().WithScheme(scheme()).WithTypeConverters(managedfields.NewDeducedTypeConverter()).
		WithObjects(objects...).
		WithIndex(&v1beta1.EtcdBackup{}, v1beta1.FieldCluster, func(o client.Object) []string {
			return []string{o.(*v1beta1.EtcdBackup).Spec.Cluster}
		}).Build()
}

// observer looks at the scene as it is now.
func (s *scene) observer() *observe.Observer {
	cache := interceptor.NewClient(s.client(s.stale), interceptor.Funcs{
		List: func(ctx context.Context, inner client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := inner.List(ctx, list, opts...)
			if s.arrange != nil {
				s.arrange(list)
			}
			return err
		},
	})
	live := interceptor.NewClient(s.client(s.vanish), interceptor.Funcs{
		Get: func(ctx context.Context, inner client.WithWatch, name client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			s.called("Get", strings.TrimPrefix(fmt.Sprintf("%T", into), "*v1.")+" "+name.Name)
			if s.broken != nil {
				return s.broken
			}
			return inner.Get(ctx, name, into, opts...)
		},
		List: func(ctx context.Context, inner client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			s.called("List", fmt.Sprintf("%T", list))
			var options client.ListOptions
			if selector := options.ApplyOptions(opts).LabelSelector; selector != nil {
				if _, err := labels.Parse(selector.String()); err != nil {
					return apierrors.NewBadRequest(err.Error())
				}
			}
			return cmp.Or(s.broken, inner.List(ctx, list, opts...))
		},
	})
	return &observe.Observer{
		Cache: cache, Live: live, Dialer: s, Remains: s.remainsAt, Timings: s.timingsAt,
		Resizes: func() specs.Resizes { return ptr.Deref(s.resizes, specs.ResizesAll) }, Now: func() time.Time { return now },
		Ahead: func() time.Duration { return max(s.ahead, 0) }, Behind: func() time.Duration { return max(-s.ahead, 0) },
		Operator: s.operator, Domain: s.domain, Limits: s.limits,
	}
}

func (s *scene) look() cluster.View {
	s.t.Helper()
	return s.lookBy(s.observer())
}

// lookBy is what one observer sees. Its deadlines are those of a bubble's time: a busy machine delays
// nothing.
func (s *scene) lookBy(o *observe.Observer) (v cluster.View) {
	s.t.Helper()
	synctest.Test(s.t, func(t *testing.T) {
		s.meeting = &sync.WaitGroup{}
		s.meeting.Add(s.meet)
		seen, err := o.Cluster(t.Context(), s.c, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.asked = seen.AskedAt
		v = facts.View(seen, &memory.Cluster{})
	})
	return v
}

// lookLater is what is seen at another time, with a memory of earlier looks.
func (s *scene) lookLater(remembered *memory.Cluster, later time.Duration) (v cluster.View) {
	s.t.Helper()
	synctest.Test(s.t, func(t *testing.T) {
		s.meeting = &sync.WaitGroup{}
		seen, err := s.observer().Cluster(t.Context(), s.c, nil)
		if err != nil {
			t.Fatal(err)
		}
		seen.Now = seen.Now.Add(later)
		v = facts.View(seen, remembered)
	})
	return v
}

// timedLook is a later look at which members are asked what they use, too.
func (s *scene) timedLook(remembered *memory.Cluster, later time.Duration) (v cluster.View) {
	s.t.Helper()
	synctest.Test(s.t, func(t *testing.T) {
		s.meeting = &sync.WaitGroup{}
		o := s.observer()
		seen, err := o.Cluster(t.Context(), s.c, nil)
		if err == nil {
			err = o.Speed(t.Context(), &seen)
		}
		if err != nil {
			t.Fatal(err)
		}
		seen.Now = seen.Now.Add(later)
		v = facts.View(seen, remembered)
	})
	return v
}

// member looks and returns what was seen of one member.
func (s *scene) member(name string) cluster.Member {
	s.t.Helper()
	m, found := s.look().Member(name)
	if !found {
		s.t.Fatalf("no member %s is seen", name)
	}
	return m
}

func (s *scene) called(what, name string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.calls = append(s.calls, what+" "+name)
}

// callsOf lists the calls of one kind, in order of their members.
func (s *scene) callsOf(what string) []string {
	var names []string
	for _, call := range s.calls {
		if name, ok := strings.CutPrefix(call, what+" "); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Member is the client of a member in memory, as the observer dials it.
func (s *scene) Member(_ context.Context, _ *v1beta1.EtcdCluster, m cluster.Member) (etcd.Client, error) {
	if m.Pod.Address == "10.0.0.99" {
		return nil, errors.New("no identity")
	}
	return &recorder{Client: s.etcd.Client(m.Name), name: m.Name, scene: s}, nil
}

// peerURL is the URL that the operator gives a member which the fake knows by its bare
// name; any other host is as it is.
func (s *scene) peerURL(url string) string {
	name := strings.TrimSuffix(strings.TrimPrefix(url, "https://"), ":2380")
	if etcdtest.PeerURL(name) != url || strings.Contains(name, ".") {
		return url
	}
	return specs.PeerURL(s.c, name)
}

func (s *scene) remainsAt(_ context.Context, address string) (etcd.Remains, error) {
	if remains, ok := s.remains[address]; ok {
		return remains, nil
	}
	return etcd.Remains{}, errors.New("connection refused")
}

// Probe is what the scene says that the member shows and accepts.
func (s *scene) timingsAt(_ context.Context, address string) (etcd.Timings, error) {
	timings, known := s.timings[address]
	if !known {
		return etcd.Timings{}, errors.New("connection refused")
	}
	return timings, nil
}

func (s *scene) Probe(_ context.Context, _ *v1beta1.EtcdCluster, m cluster.Member) certs.TLSProbe {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.calls = append(s.calls, "Sight "+m.Name)
	sight := s.sights[m.Name]
	sight.Member = m.Name
	return sight
}

// Keep notes whose connections stay open.
func (s *scene) Keep(_ context.Context, _ *v1beta1.EtcdCluster, members []cluster.Member) {
	s.kept = cluster.Names(members)
}

// A recorder records what a client was asked, and changes what it answers.
type recorder struct {
	etcd.Client
	name  string
	scene *scene
}

func (c *recorder) Status(ctx context.Context) (etcd.Status, error) {
	c.scene.called("Status", c.name)
	if _, bounded := ctx.Deadline(); !bounded {
		c.scene.t.Error("a status without a deadline")
	}
	if c.scene.meet > 0 {
		c.scene.meeting.Done()
		c.scene.meeting.Wait()
	}
	status, err := c.Client.Status(ctx)
	if c.scene.twist != nil {
		c.scene.twist(c.name, &status)
	}
	return status, err
}

func (c *recorder) Revision(ctx context.Context) (int64, error) {
	c.scene.called("Read", c.name)
	if _, bounded := ctx.Deadline(); !bounded {
		c.scene.t.Error("a read without a deadline")
	}
	return c.Client.Revision(ctx)
}

// HashKV takes its time. No two members are to be asked at once: clients go on with the others.
func (c *recorder) HashKV(ctx context.Context, revision int64) (etcd.Hash, error) {
	c.scene.called("HashKV", c.name)
	if other := c.scene.nowHashing(c.name); other != "" {
		c.scene.t.Errorf("%s is asked for its hash while %s is", c.name, other)
	}
	defer c.scene.nowHashing("")
	select {
	case <-ctx.Done():
		return etcd.Hash{}, ctx.Err()
	case <-time.After(c.scene.takes[c.name]):
		hash, err := c.Client.HashKV(ctx, revision)
		if c.scene.sum != nil {
			c.scene.sum(c.name, &hash)
		}
		return hash, err
	}
}

// nowHashing notes who is asked for a hash now, and says who was.
func (s *scene) nowHashing(name string) (before string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	before, s.hashing = s.hashing, name
	return before
}

func (c *recorder) WriteEntry(ctx context.Context) error {
	c.scene.called("WriteEntry", c.name)
	if _, bounded := ctx.Deadline(); !bounded {
		c.scene.t.Error("an entry without a deadline")
	}
	return c.Client.WriteEntry(ctx)
}

func (c *recorder) DowngradeEnabled(ctx context.Context) (bool, error) {
	c.scene.called("DowngradeEnabled", c.name)
	if _, bounded := ctx.Deadline(); !bounded {
		c.scene.t.Error("a question for a downgrade without a deadline")
	}
	return c.Client.DowngradeEnabled(ctx)
}

func (c *recorder) Members(ctx context.Context) ([]etcd.Member, error) {
	c.scene.called("Members", c.name)
	members, err := c.Client.Members(ctx)
	for i := range members {
		for j, url := range members[i].PeerURLs {
			members[i].PeerURLs[j] = c.scene.peerURL(url)
		}
	}
	if c.scene.members != nil {
		c.scene.members(members)
	}
	return members, err
}

// shuffle puts the items of a list into another order.
func shuffle(list client.ObjectList, swap func(n int, swap func(i, j int))) {
	items, err := meta.ExtractList(list)
	if err != nil {
		panic(err)
	}
	swap(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	if err := meta.SetList(list, items); err != nil {
		panic(err)
	}
}

func (s *scene) Source(context.Context, *v1beta1.EtcdCluster, string) (etcd.Client, error) {
	return nil, errors.New("no running cluster is adopted here")
}
