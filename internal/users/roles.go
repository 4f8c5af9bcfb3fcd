package users

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

func (p planner) planRole(r *v1alpha1.EtcdRole) Task {
	role, owner := r.Role(), p.roles[r.Role()]
	if r.DeletionTimestamp != nil {
		var remove Step
		if p.Etcd != nil {
			if _, there := p.Etcd.Roles[role]; there {
				remove = DeleteRole{role}
			}
		}
		return p.leaving(r, owner, remove)
	}
	settled := isSettled(r.Status.Conditions, r.Generation)
	t := Task{Name: r.Name, Then: p.obstacle("EtcdRole", r.Spec.Cluster, settled)}
	switch {
	case t.Then.isFinal():
	case owner != r.Name:
		t.Then = taken("EtcdRole", "role", role, owner)
	case p.Etcd == nil:
		t.Then = p.unread(settled)
	default:
		t.Steps = p.roleSteps(r)
		t.Then = Verdict{Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSynced, Message: fmt.Sprintf(
			"role %s of etcd grants what the spec says", role)}
	}
	return t
}

// roleSteps grant before they revoke: what a role keeps under another range is never missing.
func (p planner) roleSteps(r *v1alpha1.EtcdRole) []Step {
	var steps []Step
	if !holds(r) {
		steps = append(steps, Hold{})
	}
	role := r.Role()
	have, there := p.Etcd.Roles[role]
	if !there {
		steps = append(steps, AddRole{role})
	}
	want := permissions(r.Spec.Permissions)
	for _, permission := range want {
		if !slices.Contains(have, permission) {
			steps = append(steps, Grant{role, permission})
		}
	}
	for _, permission := range have {
		if !slices.ContainsFunc(want, func(w etcd.Permission) bool { return w.Of() == permission.Of() }) {
			steps = append(steps, Revoke{role, permission})
		}
	}
	return steps
}

// permissions are those of a spec as etcd has them, sorted: one for each range, which grants all that is said of it.
func permissions(specified []v1alpha1.EtcdPermission) []etcd.Permission {
	var all []etcd.Permission
	for _, s := range specified {
		p := keys(s)
		p.Read, p.Write = s.Access != v1alpha1.WriteAccess, s.Access != v1alpha1.ReadAccess
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

func keys(s v1alpha1.EtcdPermission) etcd.Permission {
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
