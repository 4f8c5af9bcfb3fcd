// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package users

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

func applyRole(o object) *Decision {
	if o.role == nil {
		return nil
	}
	return do(o.roleOperations()...).saying(metav1.ConditionTrue, v1beta1.ReasonSynced, "role %s of etcd grants what the spec says", o.name)
}

// roleOperations grant before they revoke: what a role keeps under another range is never missing.
func (o object) roleOperations() []Operation {
	all := o.finalizerOperations()
	if !o.inEtcd {
		all = append(all, AddRole{o.name})
	}
	have, want := o.Etcd.Roles[o.name], permissions(o.role.Spec.Permissions)
	for _, permission := range want {
		if !slices.Contains(have, permission) {
			all = append(all, GrantPermission{o.name, permission})
		}
	}
	for _, permission := range have {
		if !slices.ContainsFunc(want, func(w etcd.Permission) bool { return w.Of() == permission.Of() }) {
			all = append(all, RevokePermission{o.name, permission})
		}
	}
	return all
}

// permissions are those of a spec as etcd has them, sorted: one for each range, which grants all that is said of it.
func permissions(specified []v1beta1.EtcdPermission) []etcd.Permission {
	var all []etcd.Permission
	for _, s := range specified {
		p := keys(s)
		p.Read, p.Write = s.Access != v1beta1.WriteAccess, s.Access != v1beta1.ReadAccess
		i := slices.IndexFunc(all, func(other etcd.Permission) bool { return other.Of() == p.Of() })
		if i < 0 {
			all = append(all, p)
			continue
		}
		all[i].Read, all[i].Write = all[i].Read || p.Read, all[i].Write || p.Write
	}
	slices.SortFunc(all, func(a, b etcd.Permission) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.End, b.End))
	})
	return all
}

func keys(s v1beta1.EtcdPermission) etcd.Permission {
	switch {
	case s.Key != nil:
		return etcd.Permission{Key: *s.Key}
	case s.Range != nil:
		return etcd.Permission{Key: s.Range.From, End: cmp.Or(s.Range.To, etcd.NoEnd)}
	case s.Prefix != nil && *s.Prefix != "":
		return etcd.Permission{Key: *s.Prefix, End: after(*s.Prefix)}
	default:
		return etcd.Permission{Key: etcd.NoEnd, End: etcd.NoEnd}
	}
}

// after is the first key that comes after all keys with the prefix. No text in UTF-8 has a byte 0xff, which has none after it.
func after(prefix string) string {
	last := len(prefix) - 1
	return prefix[:last] + string([]byte{prefix[last] + 1})
}
