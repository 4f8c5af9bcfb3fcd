// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// A made EtcdBackup is good once it was looked at while a member served.
type made struct {
	name  string
	begun bool
	good  bool
	fails bool // it never will be
}

func (b made) isMaking() bool { return b.begun && !b.good && !b.fails }

// backUp makes the backup that there is, and sees what waits for it.
func (w *world) backUp() {
	v := &w.view
	b := &w.backup
	if b.name != "" && !b.good && len(v.Select(cluster.IsVoter, cluster.IsHealthy)) > 0 && !b.fails {
		b.good, b.begun = b.begun, true
	}
	v.Backup.Before = w.before()
	v.Backup.Exists = b.name != "" && b.name == v.Record.Awaited.Name
	v.Backup.Good, v.Backup.Failed, v.Backup.Why = v.Backup.Exists && b.good, v.Backup.Exists && b.fails, ""
	if v.Backup.Exists && !b.good {
		v.Backup.Why = "it is being made"
	}
	if v.Backup.Failed {
		v.Backup.Why = "its data differs"
	}
}

// before does what the observer does.
func (w *world) before() string {
	v := &w.view
	hibernates := v.Want.Size == 0 && (v.Count(cluster.HasPod) > 0 || v.Record.Awaited.Before == cluster.BeforeHibernation)
	switch {
	case !v.Formed():
		return ""
	case v.Backup.Leaving && v.Want.Last:
		return cluster.BeforeDeletion
	case v.Want.Guarded && hibernates:
		return cluster.BeforeHibernation
	case v.Want.Size == 0:
		return ""
	default:
		return v.Target.Before
	}
}

// risks is the minor version that members may change to only after a backup.
func (w *world) risks(hop cluster.Target, running []string) string {
	to := version.MinorOf(hop.Version)
	if !w.view.Want.Guarded || w.view.Unproven() || len(running) == 0 {
		return ""
	}
	for _, one := range running {
		if version.MinorOf(one) == to {
			return ""
		}
	}
	return to
}

// guardViolation guards what waits for a backup: no member goes to a minor version that none had before, and none ends for a
// hibernation, unless a backup was good that was made for it.
func guardViolation(before *world, step plan.Step) string {
	v := &before.view
	if !v.Want.Guarded || !v.Formed() || v.Unproven() {
		return ""
	}
	switch s := step.(type) {
	case plan.DeletePods:
		runs := cluster.HasPod(before.member(s.Pods[0].Name))
		if v.Want.Size == 0 && s.How == plan.Plainly && runs && v.Record.Backed() != cluster.BeforeHibernation {
			return step.String() + " before there is a backup"
		}
	case plan.Downgrade:
		if s.To != "" && v.Record.Backed() != s.To {
			return step.String() + " before there is a backup"
		}
	case plan.UpdateImage:
		if to := version.MinorOf(s.Version); !before.has(to) && v.Record.Backed() != to {
			return step.String() + " before there is a backup"
		}
	case plan.Record:
		if s.Fact.Awaited.Done && !v.Record.Awaited.Done && !before.backup.good {
			return step.String() + ", which it is not"
		}
	}
	return ""
}

// has says whether a member runs that minor version.
func (w *world) has(minor string) bool {
	for _, running := range w.running() {
		if version.MinorOf(running) == minor {
			return true
		}
	}
	return false
}

// keepsBack says whether a change still waits although its backup is good.
func keepsBack(w *world) bool {
	v := &w.view
	return v.Backup.Before != "" && v.Backup.Exists && v.Backup.Good && v.Record.Backed() == ""
}
