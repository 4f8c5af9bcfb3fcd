// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"regexp"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

const us = "olm/etcd-operator.dev"

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// settled is a cluster of ours that is as wanted, changed. Progressing has been what it is
// for ten minutes.
func settled(changes ...func(*v1beta1.EtcdCluster)) v1beta1.EtcdCluster {
	c := v1beta1.EtcdCluster{}
	c.Spec.Size, c.Spec.Version = ptr.To[int32](3), "3.6.16"
	c.Status = v1beta1.EtcdClusterStatus{
		Operator: us, Format: v1beta1.StatusFormat, ClusterID: "c1", Version: "3.6.16", TargetVersion: "3.6.16",
		Replicas: 3, ReadyMembers: 3, UpdatedMembers: 3,
		Members: []v1beta1.MemberStatus{{Role: v1beta1.RoleLeader}, {Role: v1beta1.RoleVoter}, {Role: v1beta1.RoleVoter}},
	}
	says(v1beta1.ConditionProgressing, metav1.ConditionFalse, v1beta1.ReasonUpToDate)(&c)
	says(v1beta1.ConditionDegraded, metav1.ConditionFalse, v1beta1.ReasonAsExpected)(&c)
	for _, change := range changes {
		change(&c)
	}
	return c
}

func says(kind string, status metav1.ConditionStatus, reason string) func(*v1beta1.EtcdCluster) {
	return func(c *v1beta1.EtcdCluster) {
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(noon.Add(-10 * time.Minute)),
		})
	}
}

// since changes how long it has been progressing.
func since(ago time.Duration) func(*v1beta1.EtcdCluster) {
	return func(c *v1beta1.EtcdCluster) {
		meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionProgressing).LastTransitionTime = metav1.NewTime(noon.Add(-ago))
	}
}

var (
	acts     = says(v1beta1.ConditionProgressing, metav1.ConditionTrue, v1beta1.ReasonActing)
	waits    = says(v1beta1.ConditionProgressing, metav1.ConditionTrue, v1beta1.ReasonWaiting)
	fails    = says(v1beta1.ConditionProgressing, metav1.ConditionTrue, v1beta1.ReasonStepFailed)
	refuses  = says(v1beta1.ConditionProgressing, metav1.ConditionFalse, v1beta1.ReasonRefused)
	pauses   = says(v1beta1.ConditionProgressing, metav1.ConditionFalse, v1beta1.ReasonPaused)
	blocked  = says(v1beta1.ConditionDegraded, metav1.ConditionTrue, v1beta1.ReasonMemberBlocked)
	oneDown  = says(v1beta1.ConditionDegraded, metav1.ConditionTrue, v1beta1.ReasonMemberDown)
	rejected = says(v1beta1.ConditionDegraded, metav1.ConditionTrue, v1beta1.ReasonStepRejected)
	twoVote  = func(c *v1beta1.EtcdCluster) { c.Status.Replicas, c.Status.Members = 2, c.Status.Members[:2] }
	rolls    = func(c *v1beta1.EtcdCluster) { c.Status.UpdatedMembers = 1 }
	recovers = func(c *v1beta1.EtcdCluster) {
		c.Status.Recovering, c.Status.Replicas, c.Status.UpdatedMembers = "a-0", 3, 0
		says(v1beta1.ConditionDegraded, metav1.ConditionTrue, v1beta1.ReasonRecovering)(c)
	}
	learns = func(c *v1beta1.EtcdCluster) {
		c.Status.Members = append(c.Status.Members, v1beta1.MemberStatus{Role: v1beta1.RoleLearner})
	}
)

// TestHolds: which clusters hold an update of the operator back, and for what.
func TestHolds(t *testing.T) {
	const recovery, roll = v1beta1.ReasonQuorumRecoveryInProgress, v1beta1.ReasonRollInProgress
	const replacement = v1beta1.ReasonMemberReplacementInProgress
	reserved := func(c *v1beta1.EtcdCluster) { c.Status.Joining = "a-3" }
	removed := func(c *v1beta1.EtcdCluster) { c.Status.Members[2].Role = v1beta1.RoleUnlisted }
	unformed := func(c *v1beta1.EtcdCluster) { c.Status.Replicas, c.Status.UpdatedMembers = 0, 0 }
	deleted := func(c *v1beta1.EtcdCluster) { c.DeletionTimestamp = &metav1.Time{Time: noon} }
	size := func(n int32) func(*v1beta1.EtcdCluster) { return func(c *v1beta1.EtcdCluster) { c.Spec.Size = &n } }
	wants := func(v string) func(*v1beta1.EtcdCluster) {
		return func(c *v1beta1.EtcdCluster) { c.Spec.Version = v }
	}
	for what, test := range map[string]struct {
		c    v1beta1.EtcdCluster
		want string
	}{
		"as wanted":                            {settled(), ""},
		"a new one":                            {v1beta1.EtcdCluster{}, ""},
		"supporting objects are applied":       {settled(acts), ""},
		"waits for one that is down":           {settled(waits, oneDown), ""},
		"a quorum is recovered":                {settled(recovers, acts), recovery},
		"a survivor has yet to start":          {settled(recovers, waits), recovery},
		"the survivor was lost, too":           {settled(recovers, refuses), ""},
		"a member was removed":                 {settled(twoVote, acts), replacement},
		"a name is reserved":                   {settled(reserved, acts), replacement},
		"a learner catches up":                 {settled(learns, waits), replacement},
		"one that was removed ends":            {settled(removed, waits), replacement},
		"it grows":                             {settled(size(5), acts), replacement},
		"it shrinks":                           {settled(size(1), acts), replacement},
		"the new one cannot be scheduled":      {settled(twoVote, waits, blocked), ""},
		"a roll":                               {settled(rolls, acts), roll},
		"a roll, a member is down for long":    {settled(rolls, waits, oneDown), roll},
		"a roll, a step is tried again":        {settled(rolls, fails, rejected), roll},
		"a roll has halted":                    {settled(rolls, waits, blocked), ""},
		"a roll is paused":                     {settled(rolls, pauses), ""},
		"between two versions":                 {settled(wants("3.7.3"), waits), roll},
		"the newest patch of a minor version":  {settled(wants("3.6"), acts), ""},
		"the version is not known yet":         {settled(func(c *v1beta1.EtcdCluster) { c.Status.Version = "" }, acts), ""},
		"a version was rolled back":            {settled(wants("3.7.3"), refuses), ""},
		"quorum is lost, and a person decides": {settled(rolls, refuses), ""},
		"it forms":                             {settled(unformed, acts), ""},
		"it goes to sleep":                     {settled(size(0), rolls, acts), ""},
		"another operator's":                   {settled(rolls, acts, func(c *v1beta1.EtcdCluster) { c.Status.Operator = "theirs" }), ""},
		"a newer operator's":                   {settled(rolls, acts, func(c *v1beta1.EtcdCluster) { c.Status.Format++ }), ""},
		"it is deleted":                        {settled(rolls, acts, deleted), ""},
		"a roll of almost an hour":             {settled(rolls, acts, since(time.Hour-time.Second)), roll},
		"a roll of an hour":                    {settled(rolls, acts, since(time.Hour)), ""},
		"a recovery of an hour":                {settled(recovers, waits, since(time.Hour)), ""},
	} {
		reason, until := report.Holds(&test.c, us, noon)
		if reason != test.want || until.IsZero() != (reason == "") {
			t.Errorf("%s: got %q until %s, want %q", what, reason, until, test.want)
		}
	}
}

// What the CRD of OperatorCondition asks of a reason; and a message that never changes.
var allowed, stable = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`), regexp.MustCompile(`^[a-z ,]+$`)

// TestUpgradeable: one cluster is enough to hold an update back, the most important reason
// is reported, and the first end of a reason is when to look again.
func TestUpgradeable(t *testing.T) {
	roll := settled(rolls, acts)
	younger := settled(learns, acts)
	since(time.Minute)(&younger)
	recovery := settled(recovers, acts)
	for _, test := range []struct {
		clusters []v1beta1.EtcdCluster
		status   metav1.ConditionStatus
		reason   string
		until    time.Duration // from now on
	}{
		{nil, metav1.ConditionTrue, v1beta1.ReasonIdle, 0},
		{[]v1beta1.EtcdCluster{settled(), settled()}, metav1.ConditionTrue, v1beta1.ReasonIdle, 0},
		{[]v1beta1.EtcdCluster{settled(), roll}, metav1.ConditionFalse, v1beta1.ReasonRollInProgress, 50 * time.Minute},
		{[]v1beta1.EtcdCluster{younger}, metav1.ConditionFalse, v1beta1.ReasonMemberReplacementInProgress, 59 * time.Minute},
		{[]v1beta1.EtcdCluster{roll, younger, roll}, metav1.ConditionFalse, v1beta1.ReasonMemberReplacementInProgress, 50 * time.Minute},
		{[]v1beta1.EtcdCluster{younger, roll, recovery}, metav1.ConditionFalse, v1beta1.ReasonQuorumRecoveryInProgress, 50 * time.Minute},
	} {
		got, until := report.Upgradeable(test.clusters, us, noon)
		if got.Type != "Upgradeable" || got.Status != test.status || got.Reason != test.reason {
			t.Errorf("got %+v, want %s %s", got, test.status, test.reason)
		}
		if want := noon.Add(test.until); until.IsZero() != (test.until == 0) || !until.IsZero() && !until.Equal(want) {
			t.Errorf("%s: until %s, want %s", got.Reason, until, want)
		}
		if !allowed.MatchString(got.Reason) || !stable.MatchString(got.Message) {
			t.Errorf("reason %q, message %q", got.Reason, got.Message)
		}
	}
}
