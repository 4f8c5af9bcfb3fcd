// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package users

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/rules"
)

var rule, under = rules.New[object, *Decision], rules.Under[object, *Decision]

// objectRules are evaluated for each EtcdUser and EtcdRole: what is deleted from etcd is gone there before the object is; nothing is
// changed where there is no cluster, or another object stands for the same.
var objectRules = rules.List[object, *Decision]{
	under("EtcdUsers and EtcdRoles that are being deleted",
		rule("ignore without finalizer", ifDeleted(ignore), "leaves an object alone that is being deleted and has no finalizer of ours"),
		rule("remove with the cluster", ifDeleted(removeWithCluster),
			"removes the finalizer if there is no cluster, it is being deleted, or it has no TLS and so no users"),
		rule("hand over", ifDeleted(handOver), "removes the finalizer if another object stands for the same, which etcd keeps"),
		rule("keep while paused", ifDeleted(keepPaused), "keeps the finalizer while the cluster is paused"),
		rule("keep until etcd answers", ifDeleted(keepUnreachable), "keeps the finalizer while the cluster cannot be asked"),
		rule("delete", ifDeleted(remove), "deletes the user or role from etcd, then removes the finalizer"),
	),
	under("EtcdUsers and EtcdRoles",
		rule("need a cluster", needCluster, "says that there is no cluster of the name"),
		rule("need TLS", needTLS, "says that a cluster without TLS cannot have users"),
		rule("pause", pause, "changes nothing while the cluster is paused"),
		rule("one object per name", needName, "leaves a user or role to the oldest object that stands for it"),
		rule("need a password", needPassword, "does not add a user to etcd whose password cannot be written to its Secret"),
		rule("wait for etcd", waitForEtcd, "writes Secrets and changes nothing in etcd while the cluster cannot be asked"),
		rule("apply a role", applyRole, "adds the role to etcd, grants what the spec says, then revokes everything else"),
		rule("need an authority", needAuthority, "says why the Secret of a user cannot be written; etcd has the user all the same"),
		rule("need roles", needRoles, "says which EtcdRoles a user lacks; others are granted"),
		rule("need a certificate", needCertificate, "says why a user has no certificate that others issue; etcd has the user all the same"),
		rule("apply a user", applyUser, "writes the Secret of a user, adds the user to etcd with its password, and grants and revokes roles"),
	),
}

func ifDeleted(decide func(object) *Decision) func(object) *Decision {
	return func(o object) *Decision {
		if o.GetDeletionTimestamp() == nil {
			return nil
		}
		return decide(o)
	}
}

func ignore(o object) *Decision {
	if o.hasFinalizer() {
		return nil
	}
	return do()
}

func removeWithCluster(o object) *Decision {
	if o.canHaveUsers() {
		return nil
	}
	return do(RemoveFinalizer{"there is no cluster"})
}

func handOver(o object) *Decision {
	if o.owner == "" {
		return nil
	}
	return do(RemoveFinalizer{o.owner + " stands for the same"})
}

func keepPaused(o object) *Decision {
	if !o.Paused {
		return nil
	}
	return o.paused()
}

func keepUnreachable(o object) *Decision {
	if o.Etcd != nil {
		return nil
	}
	d := o.unreachable()
	d.Condition.Message = "the object stays until it is gone from etcd, too: " + d.Condition.Message
	return d
}

func remove(o object) *Decision {
	var del Operation = DeleteUser{o.name}
	if o.role != nil {
		del = DeleteRole{o.name}
	}
	if !o.inEtcd {
		return do(RemoveFinalizer{"etcd does not have it"})
	}
	return do(del, RemoveFinalizer{"etcd does not have it any more"})
}

func needCluster(o object) *Decision {
	if !o.isGone() {
		return nil
	}
	return do().saying(metav1.ConditionFalse, v1beta1.ReasonClusterMissing,
		"there is no EtcdCluster %s in this namespace, or it is being deleted: create it, or delete this %s", o.cluster, o.kind)
}

func needTLS(o object) *Decision {
	if o.Cluster.IsSecure() {
		return nil
	}
	return do().saying(metav1.ConditionFalse, v1beta1.ReasonTLSDisabled,
		"EtcdCluster %s has tls.mode Disabled, where authentication cannot be enabled: delete this %s", o.cluster, o.kind)
}

// pause leaves the condition of what was as specified: it stays so.
func pause(o object) *Decision {
	switch {
	case !o.Paused:
		return nil
	case o.isSynced:
		return do()
	default:
		return o.paused()
	}
}

func (o object) paused() *Decision {
	return do().saying(metav1.ConditionUnknown, v1beta1.ReasonClusterPaused, "EtcdCluster %s is paused: nothing is changed", o.cluster)
}

func needName(o object) *Decision {
	if o.owner == o.GetName() {
		return nil
	}
	return do().saying(metav1.ConditionFalse, v1beta1.ReasonNameTaken,
		"%s %s is older and stands for %s %s already: delete one of the two", o.kind, o.owner, o.what, o.name)
}

// waitForEtcd takes what was as specified to be so still: each change of a condition is a write.
func waitForEtcd(o object) *Decision {
	if o.Etcd != nil {
		return nil
	}
	d := do().unreachable()
	if !o.isSynced {
		d = o.unreachable()
	}
	if o.user != nil {
		d.Operations = o.secretOperations()
	}
	return d
}

func (o object) unreachable() *Decision {
	return do().saying(metav1.ConditionUnknown, v1beta1.ReasonClusterUnreachable,
		"EtcdCluster %s cannot be asked: %s; what is wanted happens when it can", o.cluster, o.Unreachable).unreachable()
}

// finalizerOperations come before etcd has what the object stands for.
func (o object) finalizerOperations() []Operation {
	if o.hasFinalizer() {
		return nil
	}
	return []Operation{AddFinalizer{}}
}
