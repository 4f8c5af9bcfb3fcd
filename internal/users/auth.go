// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package users

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/rules"
)

// enabledByHand says what a person can do.
const enabledByHand = "authentication was enabled by other means and is left as it is: set spec.auth.enabled to true and the operator " +
	"manages it, or disable it (etcdctl auth disable)"

// A member learns what was committed with the next entry, or with the next heartbeat of the leader. The pause before the switch is that
// of a few heartbeats, and at least settling: ten of those that etcd sends by default.
const (
	settling   = time.Second
	heartbeats = 3
)

var authRule = rules.New[View, *Decision]

// authRules bring authentication to the spec. The operator is root before etcd admits users only, and users are there. What is recorded
// comes first, so that authentication that the operator has enabled never counts as enabled by other means. No change of a user or role is
// near the switch: etcd refuses a request that a member has taken before such a change and that the log has after the switch. The switch
// itself is no such change.
var authRules = rules.List[View, *Decision]{rules.Under("Authentication of an EtcdCluster",
	authRule("leave authentication alone", leaveAuth, "changes nothing where there is no cluster, or it has no TLS or is paused"),
	authRule("say that the operator is not root", sayNotRoot, "says why etcd refuses the operator what root may do, and how it gets in"),
	authRule("wait to switch", waitToSwitch, "says that authentication is to be switched when the cluster can be asked"),
	authRule("need root", needRoot, "does not enable authentication while the operator could not prove that it is root"),
	authRule("need users", needUsers, "does not enable authentication while a user or role could not be made: it would be locked out"),
	authRule("prepare root", prepareRoot, "records that the operator enables authentication, then adds the user root and its role"),
	authRule("wait for members", waitForMembers, "waits until all members know of the last change of a user or role"),
	authRule("enable", enable, "enables authentication if the spec says so"),
	authRule("disable", disable, "disables authentication that the spec had enabled, and records that it does so no longer"),
	authRule("leave authentication to others", leaveToOthers, "leaves authentication enabled that the spec has not enabled"),
	authRule("say that it is disabled", sayDisabled, "says so once authentication was enabled before"),
)}

func leaveAuth(v View) *Decision {
	if v.canHaveUsers() && !v.Paused {
		return nil
	}
	return do()
}

func sayNotRoot(v View) *Decision {
	if !v.NotRoot {
		return nil
	}
	because := v.Held.Operator(v.Cluster, v.Now).ShutOut(v.Cluster)
	return do().retry().saying(metav1.ConditionTrue, v1beta1.ReasonOperatorNotRoot, "%s", because)
}

func waitToSwitch(v View) *Decision {
	switch {
	case v.Etcd != nil:
		return nil
	case v.Cluster.HasAuth() == v.isManaged():
		return do()
	default:
		return do().unreachable().changing("authentication is brought to spec.auth.enabled when the cluster can be asked: %s", v.Unreachable)
	}
}

func (v View) isManaged() bool { return v.Cluster.Status.Auth != nil && v.Cluster.Status.Auth.Managed }

func (d *Decision) changing(format string, arguments ...any) *Decision {
	return d.saying(metav1.ConditionUnknown, v1beta1.ReasonAuthChanging, format, arguments...)
}

// willEnable says whether authentication is about to be enabled.
func (v View) willEnable() bool { return v.Cluster.HasAuth() && !v.Etcd.Enabled }

func needRoot(v View) *Decision {
	operator := v.Held.Operator(v.Cluster, v.Now)
	if !v.willEnable() || operator.IsRoot() {
		return nil
	}
	return do().retry().changing("authentication is not enabled, because the operator could not prove that it is root: %s", operator.Lacks)
}

// needUsers keeps a failure from locking users out. It does not keep authentication enabled: disabling it locks no user out.
func needUsers(v View) *Decision {
	if !v.willEnable() || v.Failed == nil {
		return nil
	}
	return do().changing("authentication is enabled when all users and roles are as specified: %s", firstLine(v.Failed.Error()))
}

func prepareRoot(v View) *Decision {
	if !v.Cluster.HasAuth() {
		return nil
	}
	var all []Operation
	if !v.isManaged() {
		all = append(all, RecordManaged{})
	}
	roles, there := v.Etcd.Users[v1beta1.RootUser]
	if !there {
		all = append(all, AddUser{User: v1beta1.RootUser})
	}
	if _, there := v.Etcd.Roles[v1beta1.RootUser]; !there {
		all = append(all, AddRole{v1beta1.RootUser})
	}
	if !slices.Contains(roles, v1beta1.RootUser) {
		all = append(all, GrantRole{v1beta1.RootUser, v1beta1.RootUser})
	}
	switch {
	case len(all) == 0:
		return nil
	case v.Etcd.Enabled:
		return do(all...).enabled()
	default:
		d := do(all...)
		d.RetryAfter = v.pause()
		return d
	}
}

// pause is how long users and roles stay as they are before the switch.
func (v View) pause() time.Duration {
	return max(settling, heartbeats*v.Cluster.EtcdSettings().HeartbeatInterval.Duration)
}

func waitForMembers(v View) *Decision {
	left := v.pause() - v.Now.Sub(v.Changed)
	if !v.willEnable() || left <= 0 {
		return nil
	}
	d := do()
	d.RetryAfter = min(left, v.pause())
	return d
}

func enable(v View) *Decision {
	switch {
	case v.willEnable():
		return do(EnableAuth{}).enabled()
	case v.Cluster.HasAuth():
		return do().enabled()
	default:
		return nil
	}
}

func (d *Decision) enabled() *Decision {
	return d.saying(metav1.ConditionTrue, v1beta1.ReasonAuthAsSpecified, "only users of etcd read and write keys")
}

func disable(v View) *Decision {
	switch {
	case !v.isManaged():
		return nil
	case v.Etcd.Enabled:
		return do(DisableAuth{}, RecordUnmanaged{}).disabled()
	default:
		return do(RecordUnmanaged{}).disabled()
	}
}

func (d *Decision) disabled() *Decision {
	return d.saying(metav1.ConditionFalse, v1beta1.ReasonAuthAsSpecified, "everybody with a certificate reads and writes all keys")
}

func leaveToOthers(v View) *Decision {
	if !v.Etcd.Enabled {
		return nil
	}
	return do().saying(metav1.ConditionTrue, v1beta1.ReasonAuthEnabledByHand, enabledByHand)
}

func sayDisabled(v View) *Decision {
	if meta.FindStatusCondition(v.Cluster.Status.Conditions, v1beta1.ConditionAuthEnabled) == nil {
		return nil
	}
	return do().disabled()
}
