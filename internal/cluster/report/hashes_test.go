// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// TestComparisonsAreReported: their speed, and how many in a row could not be made, by which the next one is put off.
func TestComparisonsAreReported(t *testing.T) {
	c, v := formed(), healthy()
	made := cluster.Comparison{Members: first, Revision: 5, Speed: 1 << 30}
	unknown, goesOn := made, cluster.Comparison{Read: []cluster.Hash{{Member: "a-1"}}}
	unknown.Unknown, unknown.Speed = "compacted", 0
	for i, of := range []struct {
		cluster.Comparison
		verdict  v1beta1.HashVerdict
		failures int32
		speed    string
	}{
		{made, v1beta1.HashesEqual, 0, "1Gi"},
		{unknown, v1beta1.HashesUnknown, 1, ""},
		{goesOn, v1beta1.HashesUnknown, 1, ""},
		{unknown, v1beta1.HashesUnknown, 2, ""},
		{unknown, v1beta1.HashesUnknown, 3, ""},
		{made, v1beta1.HashesEqual, 0, "1Gi"},
		{unknown, v1beta1.HashesUnknown, 1, ""},
	} {
		v.Hashes = of.Comparison
		c.Status = report.Status(c, v, plan.Done{}, nil)
		last, speed := c.Status.LastHashCheck, ""
		if last.Speed != nil {
			speed = last.Speed.String()
		}
		if last.Verdict != of.verdict || last.Failures != of.failures || speed != of.speed {
			t.Errorf("comparison %d: %s, %d failures, speed %q", i, last.Verdict, last.Failures, speed)
		}
	}
}
