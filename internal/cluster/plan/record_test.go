// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// TestReservedNameIsCounted: the name of a member that never joined is not given out again, although nothing else remembers it.
func TestReservedNameIsCounted(t *testing.T) {
	v := cluster.View{Name: "a", Record: cluster.Record{NextSerial: 3}}
	step, is := plan.ReserveName(v, "a-3").(plan.Record)
	if !is || step.Fact.Joining != "a-3" || step.Fact.NextSerial != 4 {
		t.Errorf("%+v", step)
	}
}
