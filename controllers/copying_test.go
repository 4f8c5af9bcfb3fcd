// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !envtest

package controllers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/members"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/copying"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// copies is a source and an EtcdCluster a, each of one real etcd process, in a Kubernetes that is not real.
type copies struct {
	*testing.T
	client         client.Client
	source, target *process.Cluster
	away           error // the source does not answer
}

func (w *copies) Member(context.Context, *v1beta1.EtcdCluster, cluster.Member) (etcd.Client, error) {
	return w.target.Client("m1"), nil
}

func (w *copies) Source(context.Context, *v1beta1.EtcdCluster, string) (etcd.Client, error) {
	return nil, errors.New("none is adopted")
}

func (w *copies) Copied(context.Context, *v1beta1.EtcdCluster, string) (etcd.Client, error) {
	return w.source.Client("m1"), w.away
}

func (w *copies) Keep(context.Context, *v1beta1.EtcdCluster, []cluster.Member) {}

func (w *copies) Probe(context.Context, *v1beta1.EtcdCluster, cluster.Member) certs.TLSProbe {
	return certs.TLSProbe{}
}

func newCopies(t *testing.T) *copies {
	t.Helper()
	w := &copies{T: t, source: process.Run(t, "3.6.16", 1), target: process.Run(t, "3.6.16", 1)}
	scheme := runtime.NewScheme()
	must(t, clientgoscheme.AddToScheme(scheme))
	must(t, v1beta1.AddToScheme(scheme))
	c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "u1"}}
	c.Spec.Bootstrap = &v1beta1.BootstrapSpec{Copy: &v1beta1.Copy{Endpoints: []string{"http://b:2379"}, Services: []string{"old"}}}
	c.Status.ClusterID = strconv.FormatUint(w.target.Status("m1").ClusterID, 16)
	c.Status.Bootstrap = &v1beta1.Bootstrap{Token: "u1", Members: []string{"a-0"}}
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
		Type: v1beta1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: "R",
	})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a-0", UID: "p1", Labels: specs.MemberSelector(c)}}
	pod.Status = corev1.PodStatus{PodIP: "127.0.0.1", Phase: corev1.PodRunning}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "old", Annotations: map[string]string{v1beta1.AnnotationAdoptedBy: c.Consent()},
	}}
	service.Spec.Selector = map[string]string{"app": "old"}
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(c, pod, service).WithStatusSubresource(c).Build()
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// look has an operator look once that has just started.
func (w *copies) look(now time.Time) error {
	operator := &CopyReconciler{
		client: w.client, live: w.client, asked: members.Finder{Client: w.client, Dialer: w}, source: w,
		actor: &act.Actor{Client: w.client, Live: w.client, Dialer: w, Now: time.Now}, events: events.NewFakeRecorder(1000),
		now: func() time.Time { return now },
	}
	_, err := operator.Reconcile(w.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "default", Name: "a"}})
	return err
}

func (w *copies) cluster() *v1beta1.EtcdCluster {
	w.Helper()
	c := &v1beta1.EtcdCluster{}
	must(w.T, w.client.Get(w.Context(), client.ObjectKey{Namespace: "default", Name: "a"}, c))
	return c
}

// becomes looks until the condition has that reason.
func (w *copies) becomes(reason string) *v1beta1.EtcdCluster {
	w.Helper()
	for range 40 {
		must(w.T, w.look(time.Now()))
		is := meta.FindStatusCondition(w.cluster().Status.Conditions, v1beta1.ConditionCopied)
		if is != nil && is.Reason == reason {
			return w.cluster()
		}
	}
	w.Fatalf("never %s: %+v", reason, w.cluster().Status.Conditions)
	return nil
}

func (w *copies) annotate(value string) {
	w.Helper()
	c := w.cluster()
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, v1beta1.AnnotationSwitch, value)
	must(w.T, w.client.Update(w.Context(), c))
}

func (w *copies) put(in *process.Cluster, key, value string) error {
	_, err := in.Client("m1").Put(w.Context(), etcd.KeyValue{Key: []byte(key), Value: []byte(value)})
	return err
}

// TestCopyLives: copied, followed, switched, with every write that was acknowledged, and its leases.
func TestCopyLives(t *testing.T) {
	w := newCopies(t)
	for n := range 500 {
		must(t, w.put(w.source, fmt.Sprintf("first/%03d", n), "x"))
	}
	must(t, w.source.Client("m1").GrantLease(t.Context(), etcd.Lease{ID: 77, TTL: 600}))
	if _, err := w.source.Client("m1").Attach(t.Context(), 77, [][]byte{[]byte("first/007")}, 9999); err != nil {
		t.Fatal(err)
	}
	w.becomes(v1beta1.ReasonReadyToSwitch)
	acknowledged, writing := 0, true
	var mutex sync.Mutex
	var writer sync.WaitGroup
	writer.Go(func() {
		for n := 0; ; n++ {
			err := w.put(w.source, fmt.Sprintf("later/%05d", n), "x")
			mutex.Lock()
			if err == nil {
				acknowledged++
			}
			ends := !writing
			mutex.Unlock()
			if ends {
				return
			}
		}
	})
	w.annotate("now")
	c := w.becomes(v1beta1.ReasonSwitched)
	mutex.Lock()
	writing = false
	mutex.Unlock()
	writer.Wait()
	target := w.target.Client("m1")
	count, err := target.Count(t.Context(), 0)
	must(t, err)
	status := c.Status.Copy
	t.Logf("%d writes were acknowledged meanwhile; writes were stopped for %s", acknowledged, status.StoppedFor.Duration)
	if int(count) != 500+acknowledged || status.Comparison.Keys != count {
		t.Errorf("%d keys of %d, and %d were compared", count, 500+acknowledged, status.Comparison.Keys)
	}
	if item, err := target.Get(t.Context(), []byte("first/007")); err != nil || item.Lease != 77 || status.LeasedKeys != 1 {
		t.Errorf("%+v, %v: %+v", item, err, status)
	}
	if err := w.put(w.source, "stray", "x"); err == nil {
		t.Error("a stray client writes to the source")
	}
	service := &corev1.Service{}
	must(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "old"}, service))
	if !specs.Selects(c, service) {
		t.Errorf("the Service selects %v", service.Spec.Selector)
	}
	must(t, w.put(w.target, "first/000", "a client's"))
	must(t, w.look(time.Now()))
}

// TestFault127CopyOverForeignData: a cluster that was written to is not copied into, before and after the copy has begun, and is not
// switched to.
func TestFault127CopyOverForeignData(t *testing.T) {
	w := newCopies(t)
	must(t, w.put(w.source, "a", "1"))
	w.becomes(v1beta1.ReasonReadyToSwitch)
	must(t, w.put(w.target, "a", "2"))
	w.annotate("now")
	w.becomes(v1beta1.ReasonTargetChanged)
	must(t, w.put(w.source, "b", "1"))
	other := newCopies(t)
	must(t, other.put(other.target, "a", "2"))
	other.becomes(v1beta1.ReasonTargetNotEmpty)
}

// TestFault128DifferentData: what looks like a write of the copy, and is none, is found by the comparison; writes to the source go on.
func TestFault128DifferentData(t *testing.T) {
	w := newCopies(t)
	must(t, w.put(w.source, "a", "1"))
	w.becomes(v1beta1.ReasonReadyToSwitch)
	target := w.target.Client("m1")
	item, err := target.Get(t.Context(), []byte(copying.MarkKey))
	must(t, err)
	mark := copying.ParseMark(item.Value)
	mark.Base = item.Revision
	forged := []etcd.Change{{KeyValue: etcd.KeyValue{Key: []byte("a"), Value: []byte("2")}}}
	_, err = target.Apply(t.Context(), forged, etcd.KeyValue{Key: item.Key, Value: mark.Text()}, item.Changed)
	must(t, err)
	w.annotate("now")
	c := w.becomes(v1beta1.ReasonDataDiffers)
	if c.Status.Copy.SwitchedAt != nil || c.Status.Copy.StoppedAt != nil {
		t.Errorf("%+v", c.Status.Copy)
	}
	must(t, w.put(w.source, "b", "1"))
}

// TestFault129WritesGoOn: an operator that comes back after the limit disarms the alarm, whatever else is to be done; and after the switch
// never.
func TestFault129WritesGoOn(t *testing.T) {
	w := newCopies(t)
	must(t, w.put(w.source, "a", "1"))
	w.becomes(v1beta1.ReasonReadyToSwitch)
	w.annotate("now")
	w.becomes(v1beta1.ReasonWritesStopped)
	must(t, w.look(time.Now()))
	if err := w.put(w.source, "b", "1"); err == nil || !strings.Contains(err.Error(), "corrupt") {
		t.Fatalf("writes are not stopped: %v", err)
	}
	must(t, w.look(time.Now().Add(time.Hour)))
	must(t, w.put(w.source, "b", "1"))
	if status := w.cluster().Status.Copy; status.StoppedAt != nil || status.Failure == "" || status.SwitchedAt != nil {
		t.Errorf("%+v", status)
	}
}

// TestFault126SourceAway: while its writes are stopped it does not answer; when it does, writes go on.
func TestFault126SourceAway(t *testing.T) {
	w := newCopies(t)
	must(t, w.put(w.source, "a", "1"))
	w.away = errors.New("no leader")
	w.becomes(v1beta1.ReasonSourceUnreachable)
	w.away = nil
	w.becomes(v1beta1.ReasonReadyToSwitch)
	w.annotate("now")
	w.becomes(v1beta1.ReasonWritesStopped)
	must(t, w.look(time.Now()))
	w.away = errors.New("no leader")
	if err := w.look(time.Now().Add(time.Hour)); err == nil {
		t.Error("it is said that writes go on")
	}
	w.away = nil
	must(t, w.look(time.Now().Add(time.Hour)))
	must(t, w.put(w.source, "b", "1"))
}
