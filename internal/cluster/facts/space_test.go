// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/cluster/memory"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

const mib = 1 << 20

// TestFragmented: when a member's database is defragmented, by its size and what of it is in use. The volumes have 2 GiB, of which
// the quota is three quarters.
func TestFragmented(t *testing.T) {
	for what, test := range map[string]struct {
		size, inUse int64 // MiB
		set         func(*scene)
		want        string
	}{
		"half is free":    {size: 800, inUse: 400, want: "400 MiB of its database of 800 MiB are free"},
		"a third is free": {size: 700, inUse: 470},
		"small":           {size: 150, inUse: 60},
		"a third is enough": {
			size: 800, inUse: 540, set: rules(v1beta1.Defragmentation{FreePercent: 30, QuotaPercent: 75}), want: "260 MiB",
		},
		"small, and that is enough": {size: 20, inUse: 5, set: rules(leastFree("10Mi")), want: "15 MiB of its database of 20 MiB"},
		"near the quota":            {size: 1200, inUse: 1000, want: "its database takes 78 % of its quota, and 200 MiB of it are free"},

		"a copy would have no room before long": {size: 790, inUse: 700, want: "its database takes 51 % of its quota, and 90 MiB of it are free"},
		"near the quota, all used":              {size: 1200, inUse: 1110},
		"off": {size: 800, inUse: 400, set: func(s *scene) {
			rules(v1beta1.Defragmentation{Mode: v1beta1.DefragmentOff, FreePercent: 45})(s)
		}},
		"off, and asked for": {size: 800, inUse: 700, set: func(s *scene) {
			rules(v1beta1.Defragmentation{Mode: v1beta1.DefragmentOff, FreePercent: 45})(s)
			s.c.Annotations = map[string]string{v1beta1.AnnotationDefragment: "now"}
		}, want: "the annotation etcd-operator.dev/defragment asks for it"},
		"asked for, and done": {size: 800, inUse: 750, set: func(s *scene) {
			s.c.Annotations = map[string]string{v1beta1.AnnotationDefragment: "now"}
			s.c.Status.Members[1].LastDefragmentation = &v1beta1.MemberDefragmentation{Request: "now"}
		}},
		"an hour ago":               {size: 800, inUse: 400, set: last(time.Hour)},
		"a day ago":                 {size: 800, inUse: 400, set: last(24 * time.Hour), want: "400 MiB"},
		"the window is open":        {size: 800, inUse: 400, want: "400 MiB", set: window(now.Add(-time.Hour), 2*time.Hour)},
		"it was open":               {size: 800, inUse: 400, set: window(now.Add(-3*time.Hour), 2*time.Hour)},
		"it will be":                {size: 800, inUse: 400, set: window(now.Add(time.Hour), 2*time.Hour)},
		"a backup is being written": {size: 800, inUse: 400, set: func(s *scene) { s.objects = append(s.objects, backupOf("a")) }},
		"a backup of another cluster": {size: 800, inUse: 400, want: "400 MiB", set: func(s *scene) {
			s.objects = append(s.objects, backupOf("b"))
		}},
	} {
		t.Run(what, func(t *testing.T) {
			s := newScene(t)
			rules(v1beta1.Defragmentation{FreePercent: 45, QuotaPercent: 75})(s)
			s.twist = func(name string, status *etcd.Status) {
				if name == "a-1" {
					status.DBSize, status.DBSizeInUse = test.size*mib, test.inUse*mib
				}
			}
			if test.set != nil {
				test.set(s)
			}
			step, _ := plan.Next(s.look())
			why, is := strings.CutPrefix(step.String(), "defragment a-1: ")
			if is != (test.want != "") || is && !strings.HasPrefix(why, test.want) {
				t.Errorf("got %q, want %q", step, test.want)
			}
		})
	}
}

// backupOf is a backup of a cluster that is being written.
func backupOf(name string) *v1beta1.EtcdBackup {
	return &v1beta1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Name: "nightly", Namespace: "default"},
		Spec:       v1beta1.EtcdBackupSpec{Cluster: name}, Status: v1beta1.EtcdBackupStatus{Phase: v1beta1.BackupRunning},
	}
}

func rules(d v1beta1.Defragmentation) func(*scene) {
	return func(s *scene) { s.c.Spec.Maintenance.Defragmentation = d }
}

func leastFree(size string) v1beta1.Defragmentation {
	least := resource.MustParse(size)
	return v1beta1.Defragmentation{MinFree: &least, FreePercent: 45, QuotaPercent: 75}
}

// last has the member been defragmented that long ago.
func last(ago time.Duration) func(*scene) {
	return func(s *scene) {
		s.c.Status.Members[1].LastDefragmentation = &v1beta1.MemberDefragmentation{Time: metav1.NewTime(now.Add(-ago))}
	}
}

func window(opens time.Time, lasts time.Duration) func(*scene) {
	return func(s *scene) {
		s.c.Spec.Maintenance.Defragmentation.Window = &v1beta1.MaintenanceWindow{
			Opens: opens.UTC().Format("4 15 * * *"), Duration: metav1.Duration{Duration: lasts},
		}
	}
}

// TestRoomForACopy: a defragmentation writes the data a second time beside the database, and the log needs its room.
func TestRoomForACopy(t *testing.T) {
	for inUse, fits := range map[int64]bool{400: true, 561: true, 562: false, 900: false} {
		s := newScene(t)
		s.twist = func(_ string, status *etcd.Status) { status.DBSize, status.DBSizeInUse = 1000*mib, inUse*mib }
		if m := s.member("a-1"); fits != hasRoom(m) {
			t.Errorf("1000 MiB with %d in use on 2 GiB: %+v", inUse, m.Room)
		}
	}
}

func hasRoom(m cluster.Member) bool { return m.DBSize+m.InUse+m.Room.Log <= m.Room.Files }

// TestWindowsThatNeverOpen are said, with what to do.
func TestWindowsThatNeverOpen(t *testing.T) {
	for opens, want := range map[string]string{
		"0 2 * * 6": "", "0 2 31 2 *": "is no day of any year", "0 2 * *": "cannot be read", "61 2 * * *": "cannot be read",
	} {
		s := newScene(t)
		s.c.Spec.Maintenance.Defragmentation.Window = &v1beta1.MaintenanceWindow{Opens: opens, Duration: metav1.Duration{Duration: time.Hour}}
		if got := s.look().Want.NoWindow; !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: %q", opens, got)
		}
	}
}

// TestPodsThatDefragment: the member that is chosen gets a Pod that defragments, and keeps it until the spec changes; one that does not
// start by it gets a plain one once it is given up.
func TestPodsThatDefragment(t *testing.T) {
	for _, test := range []struct {
		chosen, defragments, fails, before bool
		want                               cluster.Change
	}{
		{chosen: true, want: cluster.Rebuild},
		{chosen: true, defragments: true},
		{chosen: true, defragments: true, before: true, want: cluster.Rebuild}, // it was for an earlier one
		{chosen: true, defragments: true, fails: true},
		{defragments: true},
		{defragments: true, fails: true, want: cluster.Rebuild},
		{},
	} {
		s := newScene(t)
		pod := s.pod("a-1")
		if test.chosen {
			s.c.Status.Defragmenting = &v1beta1.DefragmentingStatus{Member: "a-1", Size: *resource.NewQuantity(800*mib, resource.BinarySI)}
		}
		if test.before {
			s.c.Status.Defragmenting.PodUID = string(pod.UID)
		}
		if test.defragments {
			specs.Defragmenting(s.c, pod)
		}
		if test.fails {
			pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
			pod.Status.Conditions[0].Status = "False"
		}
		m := s.member("a-1")
		if m.Pod.Change != test.want || m.Pod.Defragments != (test.defragments && !test.before) || m.Pod.Failing != test.fails {
			t.Errorf("%+v: change %d, defragments %t, failing %t", test, m.Pod.Change, m.Pod.Defragments, m.Pod.Failing)
		}
	}
}

// TestBackingUp: only a backup that is being written counts, not one that waits or is verified.
func TestBackingUp(t *testing.T) {
	c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	for phase, want := range map[v1beta1.BackupPhase]string{
		v1beta1.BackupPending: "", v1beta1.BackupRunning: "b", v1beta1.BackupVerifying: "", v1beta1.BackupComplete: "",
	} {
		b := v1beta1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: v1beta1.EtcdBackupSpec{Cluster: "a"}}
		b.Status.Phase = phase
		if got := facts.BackingUp(c, []v1beta1.EtcdBackup{b}); got != want {
			t.Errorf("%s: %q", phase, got)
		}
	}
}

// TestGrowth: volumes grow by a quarter before data fills the quota that is derived from their size, up to the size that is allowed, and
// one step at a time.
func TestGrowth(t *testing.T) {
	gib := func(size string) *resource.Quantity { q := resource.MustParse(size); return &q }
	for what, test := range map[string]struct {
		inUse int64 // MiB of a quota of 1536
		size  int64 // MiB; 0: all is in use
		set   func(*scene)
		want  int64 // MiB
	}{
		"two thirds":              {inUse: 1024},
		"seven tenths":            {inUse: 1080, want: 2560},
		"full, and half is free":  {inUse: 700, size: 1530, want: 2560}, // its volume has no room to defragment it
		"not allowed":             {inUse: 1500, set: func(s *scene) { s.c.Spec.Storage.AutoGrow = nil }},
		"as large as is allowed":  {inUse: 1500, set: func(s *scene) { s.c.Spec.Storage.AutoGrow.MaxSize = *gib("2Gi") }},
		"nearly so":               {inUse: 1500, set: func(s *scene) { s.c.Spec.Storage.AutoGrow.MaxSize = *gib("2200Mi") }, want: 2200},
		"a quota of the user":     {inUse: 1100, set: func(s *scene) { s.c.Spec.Etcd.Quota = gib("1536Mi") }},
		"no room beside the log":  {inUse: 1060, size: 1160, want: 2560},
		"little room beside it":   {inUse: 1060, size: 1150},
		"before the last is done": {inUse: 1500, set: func(s *scene) { s.c.Status.GrownSize = gib("2560Mi") }},
	} {
		t.Run(what, func(t *testing.T) {
			s := newScene(t)
			s.c.Spec.Storage.AutoGrow, s.c.Status.VolumeSize = &v1beta1.AutoGrow{MaxSize: *gib("4Gi")}, gib("2Gi")
			s.twist = func(_ string, status *etcd.Status) {
				status.DBSize, status.DBSizeInUse = max(test.size, test.inUse)*mib, test.inUse*mib
			}
			if test.set != nil {
				test.set(s)
			}
			step, _ := plan.Next(s.look())
			grown, _, grows := strings.Cut(step.String(), " MiB: ")
			if grows != (test.want > 0) || grows && grown != fmt.Sprintf("grow volumes to %d", test.want) {
				t.Errorf("got %q, want %d MiB", step, test.want)
			}
		})
	}
}

// TestGrowthByRate: volumes grow hours before data fills the quota, if it grows fast enough and takes half of it.
func TestGrowthByRate(t *testing.T) {
	for what, test := range map[string]struct {
		inUse, rate int64 // MiB of a quota of 1536, and MiB an hour
		grows       bool
	}{
		"fast":          {inUse: 900, rate: 120, grows: true},
		"slow":          {inUse: 900, rate: 60},
		"fast, and few": {inUse: 400, rate: 600},
		"shrinks":       {inUse: 1000, rate: -300},
	} {
		t.Run(what, func(t *testing.T) {
			s, remembered := newScene(t), &memory.Cluster{}
			size := resource.MustParse("2Gi")
			s.c.Spec.Storage.AutoGrow, s.c.Status.VolumeSize = &v1beta1.AutoGrow{MaxSize: resource.MustParse("4Gi")}, &size
			var v cluster.View
			for _, ago := range []time.Duration{time.Hour, 0} {
				s.twist = func(_ string, status *etcd.Status) {
					status.DBSizeInUse = test.inUse*mib - int64(ago.Hours()*float64(test.rate))*mib
					status.DBSize = status.DBSizeInUse
				}
				v = s.lookLater(remembered, -ago)
			}
			if step, because := plan.Next(v); (because == "grow volumes") != test.grows {
				t.Errorf("%s", step)
			}
		})
	}
}

// TestRoomOfEphemeralMembers: it is that of the emptyDir, and what is on it goes with the Pod.
func TestRoomOfEphemeralMembers(t *testing.T) {
	s := newScene(t)
	s.c.Spec.Storage = v1beta1.Storage{Ephemeral: &v1beta1.Ephemeral{SizeLimit: resource.MustParse("3Gi")}}
	if v := s.look(); v.Members[1].Room.Volume != 3<<30 || !v.Want.Ephemeral || v.Space.MaxVolume != 0 {
		t.Errorf("%+v, %+v", v.Members[1].Room, v.Space)
	}
}

// TestLastDefragmentation: when it was, whether it has failed, and who had asked for it.
func TestLastDefragmentation(t *testing.T) {
	s := newScene(t)
	if m := s.member("a-1"); m.Defragmented.At > 0 || m.Defragmented.Failed {
		t.Errorf("never: %+v", m.Defragmented)
	}
	last(time.Minute)(s)
	s.c.Status.Members[1].LastDefragmentation.Failure, s.c.Status.Members[1].LastDefragmentation.Request = "no space left on device", "now"
	v := s.look()
	if want := (cluster.Defragmented{At: v.At - 60, Failed: true, Request: "now"}); v.Members[1].Defragmented != want {
		t.Errorf("got %+v, want %+v", v.Members[1].Defragmented, want)
	}
}
