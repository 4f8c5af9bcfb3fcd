// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// TestReplacesSlow: what the spec says of members that stay slow, and which was replaced last.
func TestReplacesSlow(t *testing.T) {
	for policy, want := range map[v1beta1.SlowMemberPolicy]bool{v1beta1.SlowReplace: true, v1beta1.SlowKeep: false} {
		c := &v1beta1.EtcdCluster{}
		c.Spec.Recovery.SlowMembers, c.Spec.Recovery.SlowMemberTimeout.Duration = policy, time.Hour
		c.Status.SlowReplacement = &v1beta1.SlowReplacement{Member: "a-1", Since: metav1.Unix(9, 0)}
		v := begin(Snapshot{Cluster: c}).v
		if v.Want.ReplacesSlow != want || v.Want.SlowTimeout != time.Hour || v.Record.Replacing != (cluster.Replacing{Member: "a-1", Since: 9}) {
			t.Errorf("%s: %+v, %+v", policy, v.Want, v.Record.Replacing)
		}
	}
}

// TestExchanging: a member is exchanged whose volume has another class than the spec names, or which the annotation names; a spec without a
// class has none exchanged, and a name that was never a member's is said.
func TestExchanging(t *testing.T) {
	volume := func(name, class string, labels map[string]string) corev1.PersistentVolumeClaim {
		claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		if class != "" {
			claim.Spec.StorageClassName = &class
		}
		return claim
	}
	volumes := []corev1.PersistentVolumeClaim{
		volume("a-0", "fast", nil), volume("a-1", "slow", nil), volume("a-2", "", nil), volume("b-0", "slow", nil),
		volume("a-3", "slow", map[string]string{v1beta1.LabelQuarantined: "true"}),
	}
	for what, test := range map[string]struct {
		class, asked        string
		exchanged, noMember string
	}{
		"no class is named":     {},
		"another class":         {class: "fast", exchanged: "a-1 a-2"},
		"a person asks":         {asked: "a-0", exchanged: "a-0"},
		"both":                  {class: "fast", asked: "a-0, a-2 a-0", exchanged: "a-0 a-1 a-2"},
		"one that was replaced": {asked: "a-4", exchanged: ""},
		"one that never was":    {asked: "a-7,a-1", exchanged: "a-1", noMember: "a-7"},
		"of another cluster":    {asked: "b-0", noMember: "b-0"},
	} {
		t.Run(what, func(t *testing.T) {
			c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
			c.Status.NextSerial = 5
			if test.class != "" {
				c.Spec.Storage.StorageClassName = &test.class
			}
			if test.asked != "" {
				c.Annotations = map[string]string{v1beta1.AnnotationReplaceMembers: test.asked}
			}
			j := begin(Snapshot{Cluster: c, Volumes: volumes})
			for _, name := range []string{"a-0", "a-1", "a-2", "a-3"} {
				j.member(name)
			}
			j.exchanging()
			var exchanged []string
			for _, m := range j.sorted() {
				if m.Exchange != "" {
					exchanged = append(exchanged, m.Name)
				}
				if m.Asked && !strings.Contains(test.asked, m.Name) {
					t.Errorf("%s was not asked for", m.Name)
				}
			}
			if got := strings.Join(exchanged, " "); got != test.exchanged || j.v.Want.NoMember != test.noMember {
				t.Errorf("got %q, %q", got, j.v.Want.NoMember)
			}
		})
	}
}
