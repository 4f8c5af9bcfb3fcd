// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package v1beta1_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/drill"
)

// madeOfDrill: its Job, by a name that is made of that of the drill.
func madeOfDrill(t *testing.T, d *v1beta1.EtcdDrill) error {
	t.Helper()
	c := &v1beta1.EtcdCluster{}
	d.UID = "d2719c6f-5b5e-4f8e-8f0a-0d6a3f5c9b11"
	s := drill.Seen{Drill: d, Cluster: c}
	c.Spec.Drills = v1beta1.DrillsAllowed
	c.Status.Conditions = []metav1.Condition{
		{Type: v1beta1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonHealthy},
		{Type: v1beta1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: v1beta1.ReasonUpToDate},
	}
	step, _ := drill.Next(drill.Facts(s))
	record, records := step.(drill.Record)
	if !records {
		t.Fatalf("%+v: %s", d, step)
	}
	order := jobspec.Order{Verb: jobspec.Write, Write: drill.Order(d, c)}
	job := jobs.Write(d, c, record.Status.Job.Name, order, jobs.Image{Operator: "registry.example/etcd-operator:v1"})
	return tryAll(t, job)
}
