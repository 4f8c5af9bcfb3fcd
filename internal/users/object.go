// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package users

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// object is the view of one EtcdUser or EtcdRole.
type object struct {
	View
	metav1.Object
	kind, what, name string // EtcdUser, user, and the name of that in etcd
	cluster          string // that the spec names
	owner            string // which object stands for that name: the oldest that is not being deleted; empty: none
	isSynced         bool   // it was found to be as its spec says now
	inEtcd           bool   // etcd has it

	role *v1beta1.EtcdRole // nil: it is a user
	user *v1beta1.EtcdUser // nil: it is a role

	roles       []string // of etcd that the user is to have, sorted
	missing     []string // which EtcdRoles of its spec do not count, and why
	secretFault string   // why the Secret of the user must be written; empty: it is as it is to be
	cannotWrite string   // why it cannot be; empty: it can, or need not
}

// owners are the objects that stand for users and roles of etcd, by the name in etcd: the oldest that is not being deleted.
type owners struct{ users, roles map[string]metav1.Object }

func ownersOf(v View) owners {
	all := owners{map[string]metav1.Object{}, map[string]metav1.Object{}}
	for i := range v.Users {
		claim(all.users, v.Users[i].User(), &v.Users[i])
	}
	for i := range v.Roles {
		claim(all.roles, v.Roles[i].Role(), &v.Roles[i])
	}
	return all
}

func claim(owners map[string]metav1.Object, name string, object metav1.Object) {
	if object.GetDeletionTimestamp() != nil {
		return
	}
	if owner, taken := owners[name]; !taken || isOlder(object, owner) {
		owners[name] = object
	}
}

// isOlder says which of two objects was there first.
func isOlder(a, b metav1.Object) bool {
	return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time), strings.Compare(a.GetName(), b.GetName())) < 0
}

func nameOf(owner metav1.Object) string {
	if owner == nil {
		return ""
	}
	return owner.GetName()
}

func (all owners) role(v View, r *v1beta1.EtcdRole) object {
	o := object{
		View: v, Object: r, role: r, kind: "EtcdRole", what: "role", name: r.Role(), cluster: r.Spec.Cluster,
		owner: nameOf(all.roles[r.Role()]), isSynced: isSynced(r.Status.Conditions, r.Generation),
	}
	if v.Etcd != nil {
		_, o.inEtcd = v.Etcd.Roles[o.name]
	}
	return o
}

func (all owners) user(v View, u *v1beta1.EtcdUser) object {
	o := object{
		View: v, Object: u, user: u, kind: "EtcdUser", what: "user", name: u.User(), cluster: u.Spec.Cluster,
		owner: nameOf(all.users[u.User()]), isSynced: isSynced(u.Status.Conditions, u.Generation),
	}
	if v.Etcd != nil {
		_, o.inEtcd = v.Etcd.Users[o.name]
	}
	o.roles, o.missing = all.rolesOf(v, u)
	if !v.canHaveUsers() || v.Paused {
		return o
	}
	if fault := v.Held.UserFault(v.Cluster, u, v.Secrets[u.Name], v.Now); fault != nil {
		o.secretFault = firstLine(fault.Error())
		if trouble := v.Held.CannotMakeUser(v.Cluster, v.Secrets[u.Name], v.Now); trouble != nil {
			o.cannotWrite = firstLine(trouble.Error())
		}
	}
	return o
}

func isSynced(conditions []metav1.Condition, generation int64) bool {
	ready := meta.FindStatusCondition(conditions, v1beta1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == generation
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func (o object) hasFinalizer() bool {
	return slices.Contains(o.GetFinalizers(), v1beta1.FinalizerAccess)
}
