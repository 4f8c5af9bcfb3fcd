// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// TestUnknownMembersAreRecorded: until the view, which knows what the status had, has none.
func TestUnknownMembersAreRecorded(t *testing.T) {
	c := formed()
	for _, unread := range []string{"", "no member runs"} {
		v := with(func(v *cluster.View) {
			v.Unread = unread
			v.Unknown = []cluster.UnknownMember{{ID: 0xc0ffee, Name: "b-0", PeerURL: "https://b-0:2380,https://b:2380", Voter: true}, {ID: 9}}
		})
		want := []v1beta1.UnknownMember{
			{ID: "c0ffee", Name: "b-0", PeerURLs: []string{"https://b-0:2380", "https://b:2380"}, Role: v1beta1.RoleVoter},
			{ID: "9", Role: v1beta1.RoleLearner},
		}
		c.Status = report.Status(c, v, plan.Refuse{Because: "etcd lists an unknown member"}, nil)
		if !reflect.DeepEqual(c.Status.UnknownMembers, want) {
			t.Errorf("unread %q: %+v", unread, c.Status.UnknownMembers)
		}
	}
	if c.Status = report.Status(c, healthy(), plan.Done{}, nil); len(c.Status.UnknownMembers) > 0 {
		t.Errorf("they are gone: %+v", c.Status.UnknownMembers)
	}
}

// TestUnknownVotersServe: a cluster is available that has its quorum with voters which
// the operator has not added, and only as long as a read succeeds.
func TestUnknownVotersServe(t *testing.T) {
	for unread, want := range map[string]metav1.ConditionStatus{"": metav1.ConditionTrue, "no leader": metav1.ConditionFalse} {
		v := with(func(v *cluster.View) {
			down(v, "a-1", "a-2")
			v.Unread = unread
			v.Unknown = []cluster.UnknownMember{
				{ID: 7, Name: "b-0", Voter: true}, {ID: 8, Name: "b-1", Voter: true}, {ID: 9, Name: "b-2", Voter: true},
			}
		})
		status := report.Status(formed(), v, plan.Refuse{Because: "etcd lists an unknown member"}, nil)
		available := meta.FindStatusCondition(status.Conditions, v1beta1.ConditionAvailable)
		named := strings.Contains(available.Message, "with 3 unknown voters")
		if available.Status != want || named != (want == metav1.ConditionTrue) {
			t.Errorf("unread %q: %+v", unread, available)
		}
	}
}
