// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// TestTransition: what members are to run now, on the way to what is wanted.
func TestTransition(t *testing.T) {
	up := Transition{Wanted: cluster.Revision{Version: "3.7.3"}, Running: []string{"3.6.16", "3.6.16"}, Answers: true}
	down := Transition{Wanted: cluster.Revision{Version: "3.6.16"}, Running: []string{"3.7.3", "3.7.3"}, Answers: true}
	for what, test := range map[string]struct {
		of     Transition
		change func(*Transition)
		want   cluster.Target
	}{
		"up":                {up, func(*Transition) {}, cluster.Target{Version: "3.7.3"}},
		"up, with an image": {up, func(s *Transition) { s.Wanted.Image = "x" }, cluster.Target{Version: "3.7.3", Image: "x"}},
		"up, and data is not there yet": {
			up, func(s *Transition) { s.Unmigrated = "a-1" },
			cluster.Target{Version: "3.6.16", Await: "etcd to prepare its data: a-1"},
		},
		"up, with requests of etcd 3.5": {
			up, func(s *Transition) { s.Legacy = true },
			cluster.Target{Version: "3.6.16", DropLegacyEntries: true},
		},
		"up, and all have dropped these": {
			up, func(s *Transition) { s.Legacy, s.Cleansed = true, true },
			cluster.Target{Version: "3.7.3"},
		},
		"up, of members that were not seen": {up, func(s *Transition) { s.Unproven = true }, cluster.Target{Version: "3.6.16"}},
		"down: etcd is asked first":         {down, func(*Transition) {}, cluster.Target{Version: "3.7.3", Downgrade: "3.6"}},
		"down: it was asked":                {down, func(s *Transition) { s.Downgrade = "3.6" }, cluster.Target{Version: "3.6.16"}},
		"down: it was, and no member answers": {
			down, func(s *Transition) { s.Answers, s.LastTarget = false, "3.6.16" },
			cluster.Target{Version: "3.6.16"},
		},
		"down: it was another version, and no member answers": {
			down, func(s *Transition) { s.Answers, s.LastTarget = false, "3.7.3" },
			cluster.Target{Version: "3.7.3", Downgrade: "3.6"},
		},
		"down: data is not there yet": {
			down, func(s *Transition) { s.Downgrade, s.Unmigrated = "3.6", "a-1" },
			cluster.Target{Version: "3.7.3", Await: "etcd to prepare its data: a-1"},
		},
		"up, before there is a backup": {
			up, func(s *Transition) { s.Guarded = true },
			cluster.Target{Version: "3.6.16", Before: "3.7"},
		},
		"up, with an image, before there is a backup": {
			up, func(s *Transition) { s.Guarded, s.Wanted.Image, s.Image = true, "x", "y" },
			cluster.Target{Version: "3.6.16", Image: "y", Before: "3.7"},
		},
		"up, with requests of etcd 3.5, which were dropped, before there is a backup": {
			up, func(s *Transition) { s.Guarded, s.Legacy, s.Cleansed = true, true, true },
			cluster.Target{Version: "3.6.16", DropLegacyEntries: true, Before: "3.7"},
		},
		"up, and the backup is of another change": {
			up, func(s *Transition) { s.Guarded, s.Backed = true, "3.6" },
			cluster.Target{Version: "3.6.16", Before: "3.7"},
		},
		"up, after the backup": {
			up, func(s *Transition) { s.Guarded, s.Backed = true, "3.7" },
			cluster.Target{Version: "3.7.3", Before: "3.7"},
		},
		"up, and one is there": {
			up, func(s *Transition) { s.Guarded, s.Running = true, []string{"3.6.16", "3.7.3"} },
			cluster.Target{Version: "3.7.3"},
		},
		"up, of members that were not seen, guarded": {
			up, func(s *Transition) { s.Guarded, s.Unproven = true, true },
			cluster.Target{Version: "3.6.16"},
		},
		"down, before there is a backup": {
			down, func(s *Transition) { s.Guarded = true },
			cluster.Target{Version: "3.7.3", Before: "3.6"},
		},
		"down, after the backup": {
			down, func(s *Transition) { s.Guarded, s.Backed = true, "3.6" },
			cluster.Target{Version: "3.7.3", Downgrade: "3.6", Before: "3.6"},
		},
		"a patch, guarded": {
			up, func(s *Transition) { s.Guarded, s.Running = true, []string{"3.7.2", "3.7.2"} },
			cluster.Target{Version: "3.7.3"},
		},
	} {
		s := test.of
		test.change(&s)
		if got := s.Target(); got != test.want {
			t.Errorf("%s: %+v, want %+v", what, got, test.want)
		}
	}
}
