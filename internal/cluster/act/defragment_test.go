// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestQuotaOfADefragmentedMember: it is that of the spec, unless it is refused because members have larger databases. etcd exceeds its
// quota by what it was writing when it found out.
func TestQuotaOfADefragmentedMember(t *testing.T) {
	for refused, want := range map[bool]int64{false: 64 << 20, true: 66 << 20} {
		c, v := example(), seen()
		c.Spec.Etcd.Quota = ptr.To(resource.MustParse("64Mi"))
		without("a-1")(c, &v)
		v.Members[0].Pod.QuotaBelowDBSize = refused
		v.Record.Defragmenting = cluster.Defragmenting{Member: "a-1", Pod: "earlier", Size: 66 << 20}
		s := newScene(t, c, v)
		s.mustDo(plan.CreatePods{Names: []string{"a-1"}})
		var made corev1.Pod
		if !s.get("a-1", &made) || specs.QuotaOf(&made) != want || !specs.IsDefragmenting(&made) {
			t.Errorf("refused %t: quota %d, want %d", refused, specs.QuotaOf(&made), want)
		}
	}
}
