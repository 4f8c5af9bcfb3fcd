// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package drill_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/drill"
)

// TestOrder: the Job writes by the Service first, and outlives every drill by some minutes only.
func TestOrder(t *testing.T) {
	d := &v1beta1.EtcdDrill{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "d", UID: "u"}}
	d.Spec = v1beta1.EtcdDrillSpec{Action: v1beta1.Measure, Duration: &metav1.Duration{Duration: time.Hour}}
	c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
	c.Status.Members = []v1beta1.MemberStatus{{Name: "c-0"}, {Name: "c-1"}}
	order := drill.Order(d, c)
	if order.Key != "etcd-operator.dev/drills/u" || !order.Secure || order.Lasts < 75*time.Minute || order.Lasts > 90*time.Minute {
		t.Errorf("%+v", order)
	}
	want := []string{"c-client.ns.svc:2379", "c-0.c.ns.svc:2379", "c-1.c.ns.svc:2379"}
	for i, m := range order.Members {
		if m.Address != want[i] {
			t.Errorf("member %d is %s, not %s", i, m.Address, want[i])
		}
	}
	whole := jobspec.Order{Verb: jobspec.Write, Write: order}
	if problem := whole.Problem(); problem != "" || len(order.Members) != len(want) {
		t.Errorf("%s: %+v", problem, order.Members)
	}
}

// TestOneDrillComesFirst: of any two drills of a cluster exactly one waits for the other, whether none, one or both have begun; nobody
// waits for one that has ended.
func TestOneDrillComesFirst(t *testing.T) {
	states := []string{"new", "begun", "ended"}
	of := func(name, state string, created int64) v1beta1.EtcdDrill {
		d := v1beta1.EtcdDrill{ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name), CreationTimestamp: metav1.Unix(created, 0),
		}, Spec: v1beta1.EtcdDrillSpec{Cluster: "c"}}
		if state != "new" {
			d.Status.Job = &v1beta1.JobReference{Name: "j"}
		}
		if state == "ended" {
			d.Status.EndedAt = &metav1.MicroTime{Time: time.Unix(9, 0)}
		}
		return d
	}
	for _, one := range states[:2] {
		for _, two := range states {
			for _, created := range []int64{1, 2, 3} {
				a, b := of("a", one, 2), of("b", two, created)
				all := []v1beta1.EtcdDrill{a, b}
				aWaits := drill.Facts(drill.Seen{Drill: &a, Drills: all}).Earlier != ""
				bWaits := drill.Facts(drill.Seen{Drill: &b, Drills: all}).Earlier != ""
				if two == "ended" && aWaits || two != "ended" && aWaits == bWaits || one == "begun" && two == "new" && aWaits {
					t.Errorf("a is %s, b is %s and created at %d: a waits %t, b waits %t", one, two, created, aWaits, bWaits)
				}
			}
		}
	}
}
