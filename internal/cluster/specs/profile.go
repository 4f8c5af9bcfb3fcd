// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"cmp"
	"strings"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

const (
	// usualRetention is how much history is kept where neither the spec nor a profile says otherwise.
	usualRetention = "1h"
	noCompaction   = "--auto-compaction-retention=0"
	// notify is the flag for how often etcd says how far a watch is on which nothing happens: the watch cache of API servers asks for it. etcd
	// 3.5 has it under an experimental name only.
	notify         = "watch-progress-notify-interval"
	notifyInterval = "5s"
	initialCheck   = "InitialCorruptCheck"
)

// Profile is what spec.profile sets, and which fields of the spec win over it; nil if it sets nothing. It is what kubeadm sets beside
// names, addresses and files (https://github.com/kubernetes/kubernetes/blob/v1.37.2/cmd/kubeadm/app/phases/etcd/local.go); no quota is
// among that. snapshot-count is 10000 there and here by default.
func Profile(c *v1beta1.EtcdCluster) *v1beta1.ProfileStatus {
	if c.Spec.Profile != v1beta1.ProfileKubernetes {
		return nil
	}
	status := &v1beta1.ProfileStatus{Name: c.Spec.Profile}
	for _, each := range []struct{ setting, overriddenBy string }{
		{strings.TrimPrefix(noCompaction, "--"), compactionField(c)},
		{notify + "=" + notifyInterval, notifyField(c)},
		{initialCheck + "=true", initialCheckField(c)},
	} {
		if each.overriddenBy != "" {
			status.Overridden = append(status.Overridden, each.overriddenBy)
		} else {
			status.Settings = append(status.Settings, each.setting)
		}
	}
	return status
}

// compactionField is the field that says how etcd compacts; empty if none does, as in the next two.
func compactionField(c *v1beta1.EtcdCluster) string {
	if isDefault(c.Spec.Etcd.AutoCompaction) {
		return ""
	}
	return "etcd.autoCompaction"
}

// isDefault says whether auto-compaction is as the API server writes it into a spec that says nothing of it.
func isDefault(given v1beta1.AutoCompaction) bool {
	return cmp.Or(given.Mode, v1beta1.CompactPeriodic) == v1beta1.CompactPeriodic && cmp.Or(given.Retention, usualRetention) == usualRetention
}

func notifyField(c *v1beta1.EtcdCluster) string {
	for _, flag := range []string{notify, experimental + notify} {
		if _, given := c.Spec.Etcd.ExtraArgs[flag]; given {
			return "etcd.extraArgs." + flag
		}
	}
	return ""
}

func initialCheckField(c *v1beta1.EtcdCluster) string {
	if c.Spec.Maintenance.CorruptionCheck == v1beta1.CorruptionCheckOff {
		return "maintenance.corruptionCheck"
	}
	for _, check := range checks {
		if _, given := c.Spec.Etcd.ExtraArgs[check.flag]; given {
			return "etcd.extraArgs." + check.flag
		}
	}
	if hasGate(c.Spec.Etcd.ExtraArgs[featureGates], initialCheck) {
		return "etcd.extraArgs." + featureGates
	}
	return ""
}

// profileArguments are the flags that depend on the profile where the spec says nothing. What compares members' data is there without a
// profile, too: checkCorruption.
func profileArguments(c *v1beta1.EtcdCluster) []string {
	isForKubernetes := c.Spec.Profile == v1beta1.ProfileKubernetes
	args := compaction(c.Spec.Etcd.AutoCompaction, isForKubernetes)
	if !isForKubernetes || notifyField(c) != "" {
		return args
	}
	flag := notify
	if strings.HasPrefix(c.Spec.Version, "3.5.") {
		flag = experimental + notify
	}
	return append(args, "--"+flag+"="+notifyInterval)
}

func compaction(given v1beta1.AutoCompaction, isForKubernetes bool) []string {
	mode := cmp.Or(given.Mode, v1beta1.CompactPeriodic)
	if isForKubernetes && isDefault(given) {
		mode = v1beta1.CompactOff
	}
	if mode == v1beta1.CompactOff {
		return []string{noCompaction}
	}
	return []string{
		"--auto-compaction-mode=" + strings.ToLower(string(mode)),
		"--auto-compaction-retention=" + cmp.Or(given.Retention, usualRetention),
	}
}
