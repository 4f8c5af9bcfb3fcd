// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// looked writes advice into the status, as the report does.
func looked(c *v1beta1.EtcdCluster, all []cluster.Advice) string {
	c.Status.Recommendations = nil
	var text []string
	for _, a := range all {
		c.Status.Recommendations = append(c.Status.Recommendations, v1beta1.Recommendation{
			Setting: a.Setting, Now: a.Now, Wanted: a.Wanted, Why: a.Why, Since: metav1.Unix(a.Since, 0),
		})
		text = append(text, fmt.Sprintf("%s %s %s", strings.TrimPrefix(a.Setting, "etcd."), a.Now, a.Wanted))
	}
	return strings.Join(text, ", ")
}

// TestAdvice: advice does not change with every measurement, outlives the process that has measured, and ends when it is followed or
// turned off.
func TestAdvice(t *testing.T) {
	c := &v1beta1.EtcdCluster{}
	etcd := &c.Spec.Etcd
	etcd.HeartbeatInterval.Duration, etcd.ElectionTimeout.Duration = 100*time.Millisecond, 2500*time.Millisecond
	look := func(roundTrip time.Duration, want string) {
		t.Helper()
		if got := looked(c, advice(c, roundTrip, 0, time.Now())); got != want {
			t.Errorf("%s: %q, want %q", roundTrip, got, want)
		}
	}
	look(0, "")
	look(210*time.Millisecond, "heartbeatInterval 100ms 210ms")
	look(235*time.Millisecond, "heartbeatInterval 100ms 210ms")
	look(0, "heartbeatInterval 100ms 210ms")
	etcd.HeartbeatInterval.Duration = 210 * time.Millisecond
	look(0, "")
	look(235*time.Millisecond, "")
	etcd.HeartbeatInterval.Duration = 50 * time.Millisecond
	look(220*time.Millisecond, "heartbeatInterval 50ms 220ms")
	c.Spec.Tuning = v1beta1.TuningOff
	look(220*time.Millisecond, "")
}

// TestAsksForNothing: who has three members or more of an earlier version is told so, once, and not who has said that nothing is meant.
func TestAsksForNothing(t *testing.T) {
	c := &v1beta1.EtcdCluster{Status: v1beta1.EtcdClusterStatus{ClusterID: "c1", Bootstrap: &v1beta1.Bootstrap{}}}
	begun := time.Unix(1767225600, 0)
	is := func(what, want string) {
		t.Helper()
		all := asksForNothing(c, begun.Add(time.Hour))
		if got := looked(c, all); got != want || len(all) > 0 && all[0].Since != begun.Unix() {
			t.Errorf("%s: %q, %+v", what, got, all)
		}
	}
	c.Status.Recommendations = []v1beta1.Recommendation{{Setting: v1beta1.SettingRequests, Since: metav1.NewTime(begun)}}
	is("an earlier version", v1beta1.SettingRequests+" none "+v1beta1.DefaultRequestsText)
	c.Status.Bootstrap.Requests = true
	is("this version", "")
	c.Status.Bootstrap.Requests, c.Spec.Size = false, new(int32(1))
	is("one member", "")
	c.Spec.Size, c.Spec.Resources.Requests = nil, corev1.ResourceList{}
	is("nothing is meant", "")
	c.Spec.Resources = v1beta1.Resources{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}
	is("a limit", "")
}

// TestAdviceByEntries: what was measured of the log does not change with every measurement either, and outlives the process that has
// measured it. What follows from the version ends with it.
func TestAdviceByEntries(t *testing.T) {
	c := &v1beta1.EtcdCluster{}
	c.Spec.Etcd.SnapshotCount, c.Status.Version = 10_000, "3.6.16"
	c.Spec.Etcd.HeartbeatInterval.Duration, c.Spec.Etcd.ElectionTimeout.Duration = 100*time.Millisecond, time.Second
	look := func(entry int64, want string) {
		t.Helper()
		if got := looked(c, advice(c, time.Millisecond, entry, time.Now())); got != want {
			t.Errorf("entries of %d KiB: %q, want %q", entry>>10, got, want)
		}
	}
	look(0, "")
	look(200<<10, "snapshotCount 10000 600")
	look(230<<10, "snapshotCount 10000 600")
	look(0, "snapshotCount 10000 600")
	look(100<<10, "snapshotCount 10000 1300")
	look(1<<10, "")
	c.Spec.Etcd.SnapshotCount = 100_000
	look(0, "snapshotCount 100000 10000")
	look(100<<10, "snapshotCount 100000 1300")
	look(0, "snapshotCount 100000 1300")
	look(1<<10, "snapshotCount 100000 10000")
	c.Status.Version = "3.5.35"
	look(0, "")
	look(4<<10, "snapshotCount 100000 32700")
	c.Spec.Etcd.SnapshotCount = 32_700
	look(0, "")
}

// TestTuned: what an earlier version has put into effect is no advice, and counts until the spec is changed.
func TestTuned(t *testing.T) {
	const roundTrip = 250 * time.Millisecond
	c, now := &v1beta1.EtcdCluster{}, time.Unix(1_800_000_000, 0)
	c.Spec.Etcd.HeartbeatInterval.Duration, c.Spec.Etcd.ElectionTimeout.Duration = 100*time.Millisecond, time.Second
	c.Spec.Tuning = v1beta1.TuningApply
	looked(c, advice(c, roundTrip, 0, now))
	c.Status.Tuned = c.Status.Recommendations
	if got := advice(c, roundTrip, 0, now); len(got) > 0 {
		t.Errorf("advised although it is in effect: %v", got)
	}
	if is := c.EtcdSettings(); is.HeartbeatInterval.Duration != roundTrip || is.ElectionTimeout.Duration != 10*roundTrip {
		t.Errorf("in effect: %s and %s", is.HeartbeatInterval.Duration, is.ElectionTimeout.Duration)
	}
	c.Spec.Etcd.HeartbeatInterval.Duration = 150 * time.Millisecond
	if is := c.EtcdSettings(); is.HeartbeatInterval.Duration != 150*time.Millisecond || is.ElectionTimeout.Duration != 10*roundTrip {
		t.Errorf("after a change of one: %s and %s", is.HeartbeatInterval.Duration, is.ElectionTimeout.Duration)
	}
	c.Spec.Etcd.HeartbeatInterval.Duration, c.Spec.Etcd.ElectionTimeout.Duration = 100*time.Millisecond, 600*time.Millisecond
	if is := c.EtcdSettings(); is.HeartbeatInterval.Duration != 100*time.Millisecond || len(c.Tuned()) > 0 {
		t.Errorf("etcd would not start: %s and %s", is.HeartbeatInterval.Duration, is.ElectionTimeout.Duration)
	}
	c.Spec.Etcd.HeartbeatInterval.Duration, c.Spec.Etcd.ElectionTimeout.Duration = 150*time.Millisecond, time.Second
	c.Status.Tuned[1].Wanted = "soon"
	if is := c.EtcdSettings().ElectionTimeout.Duration; is != time.Second {
		t.Errorf("with one that cannot be read: %s", is)
	}
	c.Status.Tuned[1].Wanted, c.Spec.Tuning = "2.5s", v1beta1.TuningAdvise
	if is := c.EtcdSettings().ElectionTimeout.Duration; is != time.Second || len(c.Tuned()) > 0 {
		t.Errorf("when it is only advised: %s", is)
	}
}
