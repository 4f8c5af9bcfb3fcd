// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// TestDefrag: it asks by an annotation, waits until every member had its turn, and says what that has given back, or why one had none.
func TestDefrag(t *testing.T) {
	for failure, exit := range map[string]int{"": Done, "a-1 does not start": Unwell} {
		w := newWorld(t, cluster("a", available))
		looks := 0
		w.operator = func(o client.Object) error {
			c, is := o.(*v1beta1.EtcdCluster)
			if !is || c.Annotations[v1beta1.AnnotationDefragment] == "" {
				return nil
			}
			looks++
			c.Status.Members = nil
			for i, name := range []string{"a-0", "a-1"} {
				m := v1beta1.MemberStatus{Name: name, LastDefragmentation: &v1beta1.MemberDefragmentation{Request: "before"}}
				if looks > 2+i {
					m.LastDefragmentation = &v1beta1.MemberDefragmentation{
						Before: resource.MustParse("2Gi"), After: resource.MustParse("800Mi"), Request: c.Annotations[v1beta1.AnnotationDefragment],
					}
				}
				if looks > 3 && name == "a-1" {
					m.LastDefragmentation.Failure = failure
				}
				c.Status.Members = append(c.Status.Members, m)
			}
			return nil
		}
		wantExit(t, w.run(t.Context(), "defrag", "a", "--wait"), exit)
		if looks < 4 {
			t.Errorf("it waited for %d looks", looks)
		}
		if failure == "" {
			wantText(t, &w.out, "a is defragmented: a-0 from 2Gi to 800Mi, a-1 from 2Gi to 800Mi")
		} else {
			wantText(t, &w.err, "a-1 is not defragmented: a-1 does not start")
		}
	}
}

// TestDefragWithoutVolumes is refused: no member restarts where its data would go.
func TestDefragWithoutVolumes(t *testing.T) {
	c := cluster("a", available)
	c.Spec.Storage.Ephemeral = &v1beta1.Ephemeral{}
	w := newWorld(t, c)
	wantExit(t, w.run(t.Context(), "defrag", "a"), Failed)
	wantText(t, &w.err, "storage.ephemeral")
}
