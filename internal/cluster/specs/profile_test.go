// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// argumentsWith are those of a member's etcd that begin with one of these flags.
func argumentsWith(c *v1beta1.EtcdCluster, flags ...string) []string {
	var all []string
	for _, argument := range specs.Etcd(specs.Pod(c, "example-0", specs.Joining{})).Args {
		for _, flag := range flags {
			if strings.HasPrefix(argument, "--"+flag) {
				all = append(all, argument)
			}
		}
	}
	return all
}

// TestProfile: what a profile sets is what members run with, a field of the spec wins over it, and the status says both.
func TestProfile(t *testing.T) {
	const off, notify = "--auto-compaction-retention=0", "--watch-progress-notify-interval=5s"
	usual := []string{"--auto-compaction-mode=periodic", "--auto-compaction-retention=1h"}
	all := []string{"auto-compaction-retention=0", "watch-progress-notify-interval=5s", "InitialCorruptCheck=true"}
	for name, test := range map[string]struct {
		spec       func(*v1beta1.EtcdClusterSpec)
		args       []string
		settings   []string
		overridden []string
	}{
		"none":    {func(*v1beta1.EtcdClusterSpec) {}, usual, nil, nil},
		"general": {func(s *v1beta1.EtcdClusterSpec) { s.Profile = v1beta1.ProfileGeneral }, usual, nil, nil},
		"retention": {
			func(s *v1beta1.EtcdClusterSpec) { s.Etcd.AutoCompaction.Retention = "2h" },
			[]string{"--auto-compaction-mode=periodic", "--auto-compaction-retention=2h"},
			nil, nil,
		},
		"kubernetes": {forKubernetes(func(*v1beta1.EtcdClusterSpec) {}), []string{off, notify}, all, nil},
		"of 3.5": {
			forKubernetes(func(s *v1beta1.EtcdClusterSpec) { s.Version = "3.5.35" }),
			[]string{off, "--experimental-watch-progress-notify-interval=5s"},
			all, nil,
		},
		"compaction": {
			forKubernetes(func(s *v1beta1.EtcdClusterSpec) { s.Etcd.AutoCompaction.Retention = "5m" }),
			[]string{"--auto-compaction-mode=periodic", "--auto-compaction-retention=5m", notify},
			all[1:],
			[]string{"etcd.autoCompaction"},
		},
		"compaction as the API server writes it": {
			forKubernetes(func(s *v1beta1.EtcdClusterSpec) {
				s.Etcd.AutoCompaction = v1beta1.AutoCompaction{Mode: v1beta1.CompactPeriodic, Retention: "1h"}
			}),
			[]string{off, notify},
			all, nil,
		},
		"notifications": {
			forKubernetes(func(s *v1beta1.EtcdClusterSpec) {
				s.Etcd.ExtraArgs = map[string]string{"watch-progress-notify-interval": "1m"}
			}),
			[]string{off, "--watch-progress-notify-interval=1m"},
			[]string{all[0], all[2]},
			[]string{"etcd.extraArgs.watch-progress-notify-interval"},
		},
		"no check": {
			forKubernetes(func(s *v1beta1.EtcdClusterSpec) { s.Maintenance.CorruptionCheck = v1beta1.CorruptionCheckOff }),
			[]string{off, notify},
			all[:2],
			[]string{"maintenance.corruptionCheck"},
		},
		"check by a gate": {
			forKubernetes(func(s *v1beta1.EtcdClusterSpec) {
				s.Etcd.ExtraArgs = map[string]string{"feature-gates": "InitialCorruptCheck=false"}
			}),
			[]string{off, notify},
			all[:2],
			[]string{"etcd.extraArgs.feature-gates"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := example()
			c.Spec.Etcd.AutoCompaction = v1beta1.AutoCompaction{}
			test.spec(&c.Spec)
			args := argumentsWith(c, "auto-compaction", "watch-progress", "experimental-watch-progress")
			if !slices.Equal(args, test.args) {
				t.Errorf("etcd has %q, want %q", args, test.args)
			}
			status := specs.Profile(c)
			if (status != nil) != (test.settings != nil) {
				t.Fatalf("the status says %+v", status)
			}
			if status != nil && (!slices.Equal(status.Settings, test.settings) || !slices.Equal(status.Overridden, test.overridden)) {
				t.Errorf("the status says %q and %q, want %q and %q", status.Settings, status.Overridden, test.settings, test.overridden)
			}
		})
	}
}

// forKubernetes is a change beside the profile.
func forKubernetes(change func(*v1beta1.EtcdClusterSpec)) func(*v1beta1.EtcdClusterSpec) {
	return func(s *v1beta1.EtcdClusterSpec) {
		s.Profile = v1beta1.ProfileKubernetes
		change(s)
	}
}

// TestNoProfileRestartsNobody: members of a cluster that an earlier release had written defaults into have the same Pods without them.
func TestNoProfileRestartsNobody(t *testing.T) {
	before, after := example(), example()
	after.Spec.Etcd.AutoCompaction = v1beta1.AutoCompaction{}
	if specs.Fingerprint(before, "example-0") != specs.Fingerprint(after, "example-0") {
		t.Error("members restart")
	}
}
