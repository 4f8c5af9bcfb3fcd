// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package users

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// needPassword adds no user to etcd that is to have a password which there is not.
func needPassword(o object) *Decision {
	if o.user == nil || o.cannotWrite == "" || !o.user.HasPassword() || o.hasPassword() {
		return nil
	}
	return o.unwritten(o.secretOperations())
}

// needAuthority says why the Secret cannot be written.
func needAuthority(o object) *Decision {
	if o.cannotWrite == "" {
		return nil
	}
	return o.unwritten(o.userOperations())
}

func (o object) unwritten(operations []Operation) *Decision {
	return do(operations...).retry().saying(metav1.ConditionFalse, v1beta1.ReasonNoAuthority,
		"Secret %s cannot be written: authority %s: %s", o.user.Secret(), o.Cluster.ClientCA(), o.cannotWrite)
}

func needRoles(o object) *Decision {
	if len(o.missing) == 0 {
		return nil
	}
	return do(o.userOperations()...).saying(metav1.ConditionFalse, v1beta1.ReasonRoleMissing,
		"user %s lacks a role: %s; what else it is to have is granted", o.name, strings.Join(o.missing, "; "))
}

func applyUser(o object) *Decision {
	return do(o.userOperations()...).saying(metav1.ConditionTrue, v1beta1.ReasonSynced,
		"user %s of etcd has the roles that the spec says; applications connect with Secret %s", o.name, o.user.Secret())
}

// secretOperations request the certificate of a user, and write its Secret if there is something wrong with it.
func (o object) secretOperations() []Operation {
	var all []Operation
	if o.lacksRequest() {
		all = append(all, RequestCertificate{})
	}
	if o.secretFault != "" && o.cannotWrite == "" {
		all = append(all, WriteSecret{o.secretFault})
	}
	return all
}

func (o object) hasPassword() bool {
	secret := o.Secrets[o.user.Name]
	return secret != nil && certs.IsPassword(secret.Data[specs.PasswordKey])
}

// rolesOf are the roles of etcd that a user is to have, sorted, and which EtcdRoles of its spec do not count, and why.
func (all owners) rolesOf(v View, u *v1beta1.EtcdUser) (roles, missing []string) {
	for _, name := range u.Spec.Roles {
		i := slices.IndexFunc(v.Roles, func(r v1beta1.EtcdRole) bool { return r.Name == name })
		if i < 0 {
			missing = append(missing, fmt.Sprintf("there is no EtcdRole %s of this cluster", name))
			continue
		}
		switch r := &v.Roles[i]; {
		case r.DeletionTimestamp != nil:
			missing = append(missing, fmt.Sprintf("EtcdRole %s is being deleted", name))
		case all.roles[r.Role()].GetName() != name:
			missing = append(missing, fmt.Sprintf("EtcdRole %s does not count, because another one stands for role %s", name, r.Role()))
		default:
			roles = append(roles, r.Role())
		}
	}
	slices.Sort(roles)
	return slices.Compact(roles), missing
}

// PasswordVersion says which password was last set in etcd. A cluster that was restored from a backup has another ID, and may have
// the password of then.
func PasswordVersion(c *v1beta1.EtcdCluster, secret *corev1.Secret) string {
	return c.Status.ClusterID + "/" + secret.ResourceVersion
}

// KeptVersion is the version of the password of a Secret that the operator has written: where etcd knows the password that it had before,
// and it is the same, it need not be set again. Each time costs a revision of authentication, by which requests that are under way are
// refused.
func KeptVersion(c *v1beta1.EtcdCluster, version string, before, after *corev1.Secret) string {
	same := bytes.Equal(before.Data[specs.PasswordKey], after.Data[specs.PasswordKey])
	if same && version == PasswordVersion(c, before) {
		return PasswordVersion(c, after)
	}
	return version
}

// NoPasswordVersion says that the operator added the user without a password.
func NoPasswordVersion(c *v1beta1.EtcdCluster) string { return c.Status.ClusterID + "/-" }

// isProven says whether the operator added that user to this cluster of etcd. Only then it is known whether the user has a password, which
// etcd never says: it keeps the kind with which a user was added, and ignores a password for a user without one.
func (v View) isProven(u *v1beta1.EtcdUser) bool {
	return strings.HasPrefix(u.Status.PasswordVersion, v.Cluster.Status.ClusterID+"/")
}

// predecessor is another EtcdUser that stood for the same user of etcd, and for which the operator added it with as much of a password;
// empty if there is none.
func (o object) predecessor() string {
	for i := range o.Users {
		other, u := &o.Users[i], o.user
		if other.Name != u.Name && other.User() == u.User() && other.HasPassword() == u.HasPassword() && o.isProven(other) {
			return other.Name
		}
	}
	return ""
}

// userOperations bring the Secret and the user of etcd to the spec. If it is not known whether a user has a password, it is deleted and
// added: else an earlier password stays valid, or etcd ignores the one of the Secret.
func (o object) userOperations() []Operation {
	all := append(o.secretOperations(), o.finalizerOperations()...)
	have, from, proven := o.Etcd.Users[o.name], o.predecessor(), o.isProven(o.user)
	switch {
	case !o.inEtcd:
		all = append(all, AddUser{o.name, o.user.HasPassword()})
	case !proven && from == "":
		all = append(all, DeleteUser{o.name}, AddUser{o.name, o.user.HasPassword()})
		have = nil
	case o.user.HasPassword() && o.isPasswordNew():
		all = append(all, SetPassword{o.name})
	case !proven:
		all = append(all, AdoptUser{o.name, from})
	}
	for _, role := range o.roles {
		if !slices.Contains(have, role) {
			all = append(all, GrantRole{o.name, role})
		}
	}
	for _, role := range have {
		if !slices.Contains(o.roles, role) {
			all = append(all, RevokeRole{o.name, role})
		}
	}
	return all
}

// isPasswordNew says whether the password of a user's Secret is not set in etcd yet. A Secret that is written has the password that it
// had, unless that is none.
func (o object) isPasswordNew() bool {
	return !o.hasPassword() || PasswordVersion(o.Cluster, o.Secrets[o.user.Name]) != o.user.Status.PasswordVersion
}
