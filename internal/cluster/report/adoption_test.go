// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// TestWhatIsInTheWayOfAnAdoption: the condition Adopted names what keeps sources from leaving, that a deletion waits, and afterwards the
// Service by which clients come no more. The format keeps older operators away until it is complete.
func TestWhatIsInTheWayOfAnAdoption(t *testing.T) {
	gone := cluster.AdoptedService{Name: "old", Missing: true}
	for says, of := range map[string]struct {
		set    func(v *cluster.View)
		step   plan.Step
		status metav1.ConditionStatus
	}{
		"leave one at a time; service/old does not allow it": {
			func(*cluster.View) {}, plan.Refuse{Because: "service/old does not allow it"}, metav1.ConditionFalse,
		},
		"leave again, before the EtcdCluster is deleted; of 1 members": {
			func(v *cluster.View) { v.Adoption.Undo, v.Backup.Leaving = true, true }, plan.Done{}, metav1.ConditionFalse,
		},
		"before are kept; Service old, by which clients reached": {func(v *cluster.View) {
			v.Adoption = cluster.Adoption{Services: []cluster.AdoptedService{gone}}
			v.Record.Adopting.Ended, v.Unknown = 2, nil
		}, plan.Done{}, metav1.ConditionTrue},
	} {
		c, v := formed(), healthy()
		c.Spec.Bootstrap = &v1beta1.BootstrapSpec{Adopt: &v1beta1.Adopt{Services: []string{"old"}}}
		c.Status.Adoption = &v1beta1.AdoptionStatus{}
		v.Unknown = []cluster.UnknownMember{{ID: 9, Name: "old-0", Voter: true, Source: true, Healthy: true}}
		v.Record.Adopting = cluster.Adopting{Sources: []cluster.Source{{ID: 9, Name: "old-0"}}, Begun: 1}
		v.Adoption.Wanted, v.Record.Token = true, "u1"
		of.set(&v)
		status := report.Status(c, v, of.step, nil)
		got := meta.FindStatusCondition(status.Conditions, v1beta1.ConditionAdopted)
		if got == nil || got.Status != of.status || !strings.Contains(got.Message, says) {
			t.Errorf("want %q, got %+v", says, got)
		}
		if status.Format != v1beta1.FormatAdopting {
			t.Errorf("%q: format %d", says, status.Format)
		}
		c.Status.Adoption.CompletedAt = new(metav1.Now())
		if status := report.Status(c, v, of.step, nil); status.Format != v1beta1.FormatPlain {
			t.Errorf("%q: format %d when it is complete", says, status.Format)
		}
	}
}
