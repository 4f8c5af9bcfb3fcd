// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// TestReady: True once the members that are wanted are healthy and run as the spec says, and not before.
func TestReady(t *testing.T) {
	outdated := func(v *cluster.View) { v.Members[1].Pod.Change = cluster.Rebuild }
	for name, test := range map[string]struct {
		change func(*cluster.View)
		step   plan.Step
		err    error
		status metav1.ConditionStatus
		reason string
	}{
		"as wanted":               {step: plan.Done{}, status: "True", reason: v1beta1.ReasonHealthy},
		"a certificate is issued": {step: plan.Apply{Objects: []cluster.Object{{Kind: "Secret", Name: "a"}}}, status: "True", reason: "Healthy"},
		"a rotation waits": {
			change: func(v *cluster.View) { v.Rotation.Await = "clients" }, step: plan.Wait{For: "clients"}, status: "True", reason: "Healthy",
		},
		"a revocation waits": {
			change: func(v *cluster.View) { v.Revocation.Await = "a-1" }, step: plan.Wait{For: "a-1"}, status: "True", reason: "Healthy",
		},
		"an authority ends soon": {
			change: func(v *cluster.View) { v.Ending = []cluster.Ending{{Secret: "a-client-ca", Near: true}} },
			step:   plan.Done{}, status: "True", reason: "Healthy",
		},
		"another wait":                 {step: plan.Wait{For: "etcd to answer"}, status: "False", reason: v1beta1.ReasonWaiting},
		"a member is replaced":         {step: plan.AddLearner{Name: "a-3"}, status: "False", reason: v1beta1.ReasonActing},
		"members run an older spec":    {change: outdated, step: plan.Apply{}, status: "False", reason: v1beta1.ReasonActing},
		"a step has failed":            {step: plan.Done{}, err: errors.New("no"), status: "False", reason: v1beta1.ReasonStepRejected},
		"a person is needed":           {step: plan.Refuse{Because: "no"}, status: "False", reason: v1beta1.ReasonActionRequired},
		"nothing is changed or healed": {change: paused, step: plan.Wait{For: "it"}, status: "False", reason: v1beta1.ReasonPaused},
		"more are wanted": {
			change: func(v *cluster.View) { v.Want.Size = 5 }, step: plan.Done{}, status: "False", reason: v1beta1.ReasonQuorumHealthy,
		},
		"one is down": {
			change: func(v *cluster.View) { v.Members[2].Healthy = false }, step: plan.Wait{For: "a-2"},
			status: "False", reason: v1beta1.ReasonQuorumHealthy,
		},
		"members cannot be read": {
			change: func(v *cluster.View) { v.Unread, v.Locked = "locked", true; unhealthy(v) }, step: plan.Wait{For: "it"},
			status: "Unknown", reason: v1beta1.ReasonAuthenticationRequired,
		},
		"it hibernates":       {change: hibernating, step: plan.Done{}, status: "True", reason: v1beta1.ReasonHibernated},
		"it goes to sleep":    {change: hibernating, step: plan.Wait{For: "a-0 to end"}, status: "False", reason: v1beta1.ReasonWaiting},
		"it is being deleted": {change: func(v *cluster.View) { v.Deleting = true }, step: plan.Done{}, status: "False", reason: "Deleting"},
	} {
		v := healthy()
		if test.change != nil {
			test.change(&v)
		}
		c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "a", Generation: 7}}
		status := report.Status(c, v, test.step, test.err)
		ready := meta.FindStatusCondition(status.Conditions, v1beta1.ConditionReady)
		if ready == nil || ready.Status != test.status || ready.Reason != test.reason || ready.ObservedGeneration != 7 ||
			status.ObservedGeneration != 7 {
			t.Errorf("%s: %+v", name, ready)
		}
	}
}

func paused(v *cluster.View) { v.Want.Paused = "spec.paused is true" }

func unhealthy(v *cluster.View) {
	for i := range v.Members {
		v.Members[i].Healthy = false
	}
}

func hibernating(v *cluster.View) {
	v.Want.Size = 0
	for i := range v.Members {
		v.Members[i].Pod = cluster.Pod{}
		v.Members[i].Healthy, v.Members[i].Answers = false, false
	}
}
