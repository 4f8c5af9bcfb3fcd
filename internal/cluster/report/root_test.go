// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// TestFault83Degraded: that the operator is not root is said before what it cannot do therefore.
func TestFault83Degraded(t *testing.T) {
	v := with(func(v *cluster.View) { v.NotRoot = "etcd does not accept the operator as root" })
	after := report.Status(formed(), v, plan.AddLearner{}, errors.New("add learner: user name not found"))
	degraded := meta.FindStatusCondition(after.Conditions, v1beta1.ConditionDegraded)
	if degraded == nil || degraded.Reason != v1beta1.ReasonOperatorNotRoot || degraded.Message != v.NotRoot {
		t.Errorf("Degraded is %+v", degraded)
	}
}
