// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"testing"
	"testing/synctest"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/cluster/memory"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// TestSpeeds: voters that serve are asked how fast they are, where there are enough to compare; one that does not tell is left out, and a
// defragmentation or a backup is known.
func TestSpeeds(t *testing.T) {
	for what, test := range map[string]struct {
		spoil func(*scene)
		want  int
		busy  bool
	}{
		"all":              {func(*scene) {}, 3, false},
		"one does not say": {func(s *scene) { delete(s.timings, s.pod("a-1").Status.PodIP+":2381") }, 2, false},
		"one has begun": {func(s *scene) {
			s.pod("a-2").Status.ContainerStatuses[0].State.Running.StartedAt.Time = now
		}, 2, false},
		"two are left": {func(s *scene) { s.drop("Pod a-2") }, 2, false},
		"two are left, and nothing is advised": {func(s *scene) {
			s.drop("Pod a-2")
			s.c.Spec.Tuning = v1beta1.TuningOff
		}, 0, false},
		"a defragmentation": {func(s *scene) {
			s.c.Status.Defragmenting = &v1beta1.DefragmentingStatus{Member: "a-1"}
		}, 3, true},
		"a backup": {func(s *scene) {
			s.objects = append(s.objects, backupOf("a"))
			s.twist = func(_ string, status *etcd.Status) { status.DBSize, status.DBSizeInUse = 20*mib, 19*mib }
		}, 3, true},
	} {
		t.Run(what, func(t *testing.T) {
			s := newScene(t)
			s.timings = map[string]etcd.Timings{}
			for _, name := range []string{"a-0", "a-1", "a-2"} {
				s.timings[s.pod(name).Status.PodIP+":2381"] = etcd.Timings{Fsync: etcd.Total{Seconds: 1, Count: 2}}
			}
			test.spoil(s)
			o := s.observer()
			var v cluster.View
			synctest.Test(t, func(t *testing.T) {
				seen, err := o.Cluster(t.Context(), s.c, nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := o.Speed(t.Context(), &seen); err != nil {
					t.Fatal(err)
				}
				v = facts.View(seen, &memory.Cluster{})
			})
			if len(v.Speeds) != test.want || v.Busy != test.busy {
				t.Errorf("busy %t: %+v", v.Busy, v.Speeds)
			}
		})
	}
}
