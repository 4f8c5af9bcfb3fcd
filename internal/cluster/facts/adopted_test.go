// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// TestAdoptedMinority: of three volumes one is left when the EtcdCluster is created again.
// Its member finds no leader and serves no client, but the volume and the data show enough to
// judge by. The cluster goes on from it only when a person accepts the loss.
func TestAdoptedMinority(t *testing.T) {
	s := newScene(t)
	s.drop("Pod a-1", "Pod a-2", "PersistentVolumeClaim a-1", "PersistentVolumeClaim a-2", "PodDisruptionBudget a")
	s.objects = append(s.objects, specs.Budget(s.c, 1))
	s.etcd.Stop("a-0")
	s.c.Status = v1beta1.EtcdClusterStatus{
		NextSerial: 1, Bootstrap: &v1beta1.Bootstrap{Token: "u0", Members: []string{"a-0"}, Adopted: true},
	}
	s.remains = map[string]etcd.Remains{"10.0.0.0:2381": {Revision: 70, Index: 90, Members: 3}}
	s.c.Spec.Recovery.QuorumLoss = v1beta1.Automatic
	v := s.look()
	step, because := plan.Next(v)
	if !strings.Contains(step.String(), `spec.recovery.acceptDataLoss to "a-0@70"`) {
		t.Errorf("%s (%s)", step, because)
	}
	loss := report.Status(s.c, v, step, nil).QuorumLoss
	if loss == nil || strings.Join(loss.Lost, " ") != "a-1 a-2" || len(loss.Survivors) != 1 || loss.Accept != "a-0@70" {
		t.Errorf("loss: %+v", loss)
	}
	s.c.Spec.Recovery.AcceptDataLoss = "a-0@70"
	if step, because := plan.Next(s.look()); step.String() != "recover quorum from a-0" {
		t.Errorf("accepted: %s (%s)", step, because)
	}
	if m, _ := v.Member("a-0"); m.Lists != 3 {
		t.Errorf("its data lists %d members", m.Lists)
	}
	if v.Record.NextSerial != 3 {
		t.Errorf("next is %d: the names of its first members were used", v.Record.NextSerial)
	}
}
