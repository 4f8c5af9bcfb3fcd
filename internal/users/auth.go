package users

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// enabledByHand says what a person can do.
const enabledByHand = "authentication was enabled by somebody else and is left as it is: set spec.auth.enabled to true and the operator " +
	"looks after it, or disable it (etcdctl auth disable)"

// A member learns what was committed with the next entry, or with the next heartbeat of the leader. The pause before the switch is that
// of a few heartbeats, and at least settling: ten of those that etcd sends unless told otherwise.
const (
	settling   = time.Second
	heartbeats = 3
)

// planAuth brings authentication to the spec. Users and roles come before, so that whoever has one is let in at every moment.
func (p planner) planAuth() Task {
	if p.isGone() || !p.Cluster.IsSecure() || p.Paused {
		return Task{}
	}
	t := Task{Name: p.Cluster.Name}
	wanted, managed := p.Cluster.HasAuth(), p.Cluster.Status.Auth != nil && p.Cluster.Status.Auth.Managed
	switch {
	case p.Shut:
		t.Then = Verdict{
			Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonOperatorNotRoot, Again: true,
			Message: p.Held.Operator(p.Cluster, p.Now).ShutOut(p.Cluster),
		}
	case p.Etcd == nil:
		if wanted != managed {
			t.Then = changing("authentication is brought to spec.auth.enabled when the cluster can be asked: %s", p.Unread)
			t.Then.Unread = true
		}
	case wanted:
		t.Steps, t.Then = p.enable(managed)
	case managed && p.Etcd.Enabled:
		t.Steps, t.Then = []Step{DisableAuth{}, Release{}}, disabled()
	case managed:
		t.Steps, t.Then = []Step{Release{}}, disabled()
	case p.Etcd.Enabled:
		t.Then = Verdict{Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAuthEnabledByHand, Message: enabledByHand}
	case meta.FindStatusCondition(p.Cluster.Status.Conditions, v1alpha1.ConditionAuthEnabled) != nil:
		t.Then = disabled()
	}
	return t
}

// enable makes the operator root before it lets users in only. What it writes down comes first, so that authentication that it has
// enabled is never taken for somebody else's. No change of a user or role is near the switch: etcd refuses a request that a member
// has taken before such a change and that the log has after the switch. The switch itself is no such change.
func (p planner) enable(managed bool) ([]Step, Verdict) {
	if operator := p.Held.Operator(p.Cluster, p.Now); !operator.IsRoot() && !p.Etcd.Enabled {
		then := changing("authentication is not enabled, because the operator could not prove that it is root: %s", operator.Lacks)
		then.Again = true
		return nil, then
	}
	var steps []Step
	if !managed {
		steps = append(steps, TakeCharge{})
	}
	roles, there := p.Etcd.Users[v1alpha1.RootUser]
	if !there {
		steps = append(steps, AddUser{User: v1alpha1.RootUser})
	}
	if _, there := p.Etcd.Roles[v1alpha1.RootUser]; !there {
		steps = append(steps, AddRole{v1alpha1.RootUser})
	}
	if !slices.Contains(roles, v1alpha1.RootUser) {
		steps = append(steps, GrantRole{v1alpha1.RootUser, v1alpha1.RootUser})
	}
	if !p.Etcd.Enabled {
		steps = append(steps, Settle{max(settling, heartbeats*p.Cluster.Spec.Etcd.HeartbeatInterval.Duration)}, EnableAuth{})
	}
	return steps, Verdict{
		Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAuthAsSpecified, Message: "only users of etcd read and write keys",
	}
}

// After is the task about authentication after something of users or roles has failed: it does not enable it.
func (t Task) After(failed error) Task {
	if !slices.Contains(t.Steps, Step(EnableAuth{})) {
		return t
	}
	t.Steps = nil
	t.Then = changing("authentication is enabled when all users and roles are as specified: %s", firstLine(failed.Error()))
	return t
}

func changing(format string, arguments ...any) Verdict {
	return Verdict{Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonAuthChanging, Message: fmt.Sprintf(format, arguments...)}
}

func disabled() Verdict {
	return Verdict{
		Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonAuthAsSpecified, Message: "everybody with a certificate reads and writes all keys",
	}
}
