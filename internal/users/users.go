package users

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

func (p planner) planUser(u *v1alpha1.EtcdUser) Task {
	user, owner := u.User(), p.users[u.User()]
	if u.DeletionTimestamp != nil {
		var remove Step
		if p.Etcd != nil {
			if _, there := p.Etcd.Users[user]; there {
				remove = DeleteUser{user}
			}
		}
		return p.leaving(u, owner, remove)
	}
	settled := isSettled(u.Status.Conditions, u.Generation)
	t := Task{Name: u.Name, Then: p.obstacle("EtcdUser", u.Spec.Cluster, settled)}
	switch {
	case t.Then.isFinal():
		return t
	case owner != u.Name:
		t.Then = taken("EtcdUser", "user", user, owner)
		return t
	}
	written, unsigned := p.secretSteps(u)
	t.Steps = append(p.askSteps(u), written...)
	roles, missing := p.rolesOf(u)
	switch {
	case unsigned.Reason != "" && u.HasPassword() && !p.hasPassword(u): // etcd cannot be told a password that there is not
		t.Then = unsigned
		return t
	case p.Etcd == nil:
		t.Then = p.unread(settled)
		return t
	}
	t.Steps = append(t.Steps, p.userSteps(u, roles)...)
	t.Then = p.inPlace(u, unsigned, missing)
	return t
}

// inPlace is the verdict on a user that etcd has, or is about to have.
func (p planner) inPlace(u *v1alpha1.EtcdUser, unsigned Verdict, missing []string) Verdict {
	switch {
	case unsigned.Reason != "":
		return unsigned
	case len(missing) > 0:
		return Verdict{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonRoleMissing, Message: fmt.Sprintf(
			"user %s lacks a role: %s; what else it is to have is granted", u.User(), strings.Join(missing, "; "))}
	}
	if !p.Held.IssuesUsers() {
		if defect, because := p.Held.LacksCertificate(p.Cluster, u, p.Secrets[u.Name], p.Now); defect != "" {
			return p.uncertified(u, defect, because)
		}
	}
	return Verdict{Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSynced, Message: fmt.Sprintf(
		"user %s of etcd has the roles that the spec says; applications connect with Secret %s", u.User(), u.Secret())}
}

// secretSteps write the Secret if there is something wrong with it, or say why nobody can.
func (p planner) secretSteps(u *v1alpha1.EtcdUser) ([]Step, Verdict) {
	fault := p.Held.UserFault(p.Cluster, u, p.Secrets[u.Name], p.Now)
	if fault == nil {
		return nil, Verdict{}
	}
	if trouble := p.Held.CannotMakeUser(p.Cluster, p.Secrets[u.Name], p.Now); trouble != nil {
		return nil, Verdict{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNoAuthority, Again: true, Message: fmt.Sprintf(
			"Secret %s cannot be written: authority %s: %s", u.Secret(), p.Cluster.ClientCA(), firstLine(trouble.Error()))}
	}
	return []Step{WriteSecret{firstLine(fault.Error())}}, Verdict{}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func (p planner) hasPassword(u *v1alpha1.EtcdUser) bool {
	secret := p.Secrets[u.Name]
	return secret != nil && certs.IsPassword(secret.Data[specs.PasswordKey])
}

// rolesOf are the roles of etcd that a user is to have, sorted, and which EtcdRoles of its spec do not count, and why.
func (p planner) rolesOf(u *v1alpha1.EtcdUser) (roles, missing []string) {
	for _, name := range u.Spec.Roles {
		r := p.role(name)
		switch {
		case r == nil:
			missing = append(missing, fmt.Sprintf("there is no EtcdRole %s of this cluster", name))
		case r.DeletionTimestamp != nil:
			missing = append(missing, fmt.Sprintf("EtcdRole %s is being deleted", name))
		case p.roles[r.Role()] != name:
			missing = append(missing, fmt.Sprintf("EtcdRole %s does not count, because another one stands for role %s", name, r.Role()))
		default:
			roles = append(roles, r.Role())
		}
	}
	slices.Sort(roles)
	return slices.Compact(roles), missing
}

// PasswordVersion says which password etcd was told last. A cluster that was brought back to a backup has another ID, and may have
// the password of then.
func PasswordVersion(c *v1alpha1.EtcdCluster, secret *corev1.Secret) string {
	return c.Status.ClusterID + "/" + secret.ResourceVersion
}

// KeptVersion is the version of the password of a Secret that the operator has written: where etcd knows the password that it had before,
// and it is the same, etcd need not be told again. Each time costs a revision of authentication, by which requests that are under way are
// refused.
func KeptVersion(c *v1alpha1.EtcdCluster, version string, before, after *corev1.Secret) string {
	same := bytes.Equal(before.Data[specs.PasswordKey], after.Data[specs.PasswordKey])
	if same && version == PasswordVersion(c, before) {
		return PasswordVersion(c, after)
	}
	return version
}

// NoPasswordVersion says that the operator added the user without a password.
func NoPasswordVersion(c *v1alpha1.EtcdCluster) string { return c.Status.ClusterID + "/-" }

// isProven says whether the operator added that user to this cluster of etcd. Only then it is known whether the user has a password, which
// etcd never says: it keeps the kind with which a user was added, and ignores a password for a user without one.
func (p planner) isProven(u *v1alpha1.EtcdUser) bool {
	return strings.HasPrefix(u.Status.PasswordVersion, p.Cluster.Status.ClusterID+"/")
}

// predecessor is another EtcdUser that stood for the same user of etcd, and for which the operator added it with as much of a password;
// nil if there is none.
func (p planner) predecessor(u *v1alpha1.EtcdUser) *v1alpha1.EtcdUser {
	for i := range p.Users {
		other := &p.Users[i]
		if other.Name != u.Name && other.User() == u.User() && other.HasPassword() == u.HasPassword() && p.isProven(other) {
			return other
		}
	}
	return nil
}

// userSteps bring a user of etcd to the spec. One of which nobody knows whether it has a password is deleted and added: else a password
// that somebody gave it before stays valid, or etcd ignores the one of the Secret.
func (p planner) userSteps(u *v1alpha1.EtcdUser, roles []string) []Step {
	var steps []Step
	if !holds(u) {
		steps = append(steps, Hold{})
	}
	user := u.User()
	have, there := p.Etcd.Users[user]
	from := p.predecessor(u)
	switch {
	case !there:
		steps = append(steps, AddUser{user, u.HasPassword()})
	case !p.isProven(u) && from == nil:
		steps = append(steps, DeleteUser{user}, AddUser{user, u.HasPassword()})
		have = nil
	case u.HasPassword() && p.passwordIsNews(u):
		steps = append(steps, SetPassword{user})
	case !p.isProven(u):
		steps = append(steps, Inherit{user, from.Name})
	}
	for _, role := range roles {
		if !slices.Contains(have, role) {
			steps = append(steps, GrantRole{user, role})
		}
	}
	for _, role := range have {
		if !slices.Contains(roles, role) {
			steps = append(steps, RevokeRole{user, role})
		}
	}
	return steps
}

// passwordIsNews says whether etcd has not been told the password of a user's Secret. A Secret that is written has the password that it
// had, unless that is none.
func (p planner) passwordIsNews(u *v1alpha1.EtcdUser) bool {
	return !p.hasPassword(u) || PasswordVersion(p.Cluster, p.Secrets[u.Name]) != u.Status.PasswordVersion
}
