// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"context"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/crash"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// TestFault27InitialCheck: with the checks that members get, etcd does not start on data that is not that of its peers, and says so. A
// member with the same data starts. The words prove nothing about whose data is the good one.
func TestFault27InitialCheck(t *testing.T) {
	ofAllVersions(t, func(t *testing.T, version string) {
		a := withoutM1(t, version)
		flags := append(a.all("existing"), checks(version)...)
		others := func(*testing.T, string) { a.m1.Rewrite(strings.Repeat("value", 20), strings.Repeat("other", 20)) }
		a.after(others, flags)
		a.ends("on other data", crash.Differs)
		a.after(nothing, flags)
		a.Serves("m1")
	})
}

// TestTogetherNoneCompares: with the settings that members get which start together, etcd asks no peer before it serves, and starts on any
// data.
func TestTogetherNoneCompares(t *testing.T) {
	ofAllVersions(t, func(t *testing.T, version string) {
		a := withoutM1(t, version)
		others := func(*testing.T, string) { a.m1.Rewrite(strings.Repeat("value", 20), strings.Repeat("other", 20)) }
		a.after(others, append(a.all("existing"), flagsOf(version, "")...))
		a.Serves("m1")
	})
}

// TestFault27LearnerIsChecked: a member that joins has no data yet, which is no difference.
func TestFault27LearnerIsChecked(t *testing.T) {
	ofAllVersions(t, func(t *testing.T, version string) {
		c := process.Run(t, version, 3)
		write(t, c, keys)
		joining := c.Add("m4")
		var learner etcd.Member
		c.Until("the learner to be added", func(ctx context.Context) (err error) {
			learner, err = c.Client(c.Leader()).AddLearner(ctx, c.PeerURL("m4"))
			return err
		})
		joining.Start(version, append(c.Joins("existing", "m1", "m2", "m3", "m4"), checks(version)...)...)
		c.Until("the learner to be promoted", func(ctx context.Context) error {
			return c.Client(c.Leader()).Promote(ctx, learner.ID)
		})
		c.Serves("m4")
	})
}

// checks are the flags by which etcd compares data, as Pods of members that start beside others have them by their environment.
func checks(version string) []string {
	c := &v1beta1.EtcdCluster{Spec: v1beta1.EtcdClusterSpec{Version: version}}
	atStart := specs.Pod(c, "m1", specs.Joining{Compares: true}).Annotations[v1beta1.AnnotationInitialCorruptCheck]
	return flagsOf(version, atStart)
}

// flagsOf are those flags if the Pod's annotation holds this.
func flagsOf(version, atStart string) []string {
	var flags []string
	for _, v := range specs.CorruptionChecks(version) {
		value := strings.ReplaceAll(v.Value, "$(INITIAL_CORRUPT_CHECK)", atStart)
		if v.ValueFrom != nil {
			value = atStart
		}
		if strings.HasPrefix(v.Name, "ETCD_") && value != "" {
			flags = append(flags, "--"+flagOf(v.Name)+"="+value)
		}
	}
	return flags
}

// flagOf is the flag that etcd takes from a variable.
func flagOf(variable string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(variable, "ETCD_"), "_", "-"))
}
