package users

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// Verdict is what a condition says.
type Verdict struct {
	Status          metav1.ConditionStatus
	Reason, Message string
	Again           bool // no watch tells when it is otherwise
	Unread          bool // it is otherwise when the cluster can be asked
	Untouched       bool // nothing is to be done, and nothing said
}

func (v Verdict) isFinal() bool { return v.Reason != "" || v.Untouched }

// Plan says all that there is to do. Where the cluster is not there, or not to be touched, that is nothing but to say so, and to
// let objects go that are being deleted.
func Plan(v View) Work {
	p := planner{View: v, users: map[string]string{}, roles: map[string]string{}}
	for i := range v.Users {
		u := &v.Users[i]
		claim(p.users, u.User(), u, func(name string) metav1.Object { return p.user(name) })
	}
	for i := range v.Roles {
		r := &v.Roles[i]
		claim(p.roles, r.Role(), r, func(name string) metav1.Object { return p.role(name) })
	}
	var w Work
	for i := range v.Roles {
		w.Roles = append(w.Roles, p.planRole(&v.Roles[i]))
	}
	for i := range v.Users {
		w.Users = append(w.Users, p.planUser(&v.Users[i]))
	}
	w.Auth = p.planAuth()
	return w
}

type planner struct {
	View
	users, roles map[string]string // which object stands for a user or role of etcd
}

// claim notes which object stands for a name in etcd: the oldest that is not being deleted.
func claim(owners map[string]string, name string, object metav1.Object, find func(name string) metav1.Object) {
	if object.GetDeletionTimestamp() != nil {
		return
	}
	if owner, taken := owners[name]; !taken || isOlder(object, find(owner)) {
		owners[name] = object.GetName()
	}
}

func (p planner) user(name string) *v1alpha1.EtcdUser {
	for i := range p.Users {
		if p.Users[i].Name == name {
			return &p.Users[i]
		}
	}
	return nil
}

func (p planner) role(name string) *v1alpha1.EtcdRole {
	for i := range p.Roles {
		if p.Roles[i].Name == name {
			return &p.Roles[i]
		}
	}
	return nil
}

// isGone says whether there is no cluster of which an object can be a part.
func (p planner) isGone() bool { return p.Cluster == nil || p.Cluster.IsGoing() }

// obstacle says why nothing can be done for an object of that kind; without a reason something can. What was as specified stays so
// while the cluster is paused.
func (p planner) obstacle(kind, cluster string, settled bool) Verdict {
	switch {
	case p.isGone():
		return Verdict{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonClusterMissing, Message: fmt.Sprintf(
			"there is no EtcdCluster %s in this namespace, or it is being deleted: create it, or delete this %s", cluster, kind)}
	case !p.Cluster.IsSecure():
		return Verdict{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonTLSDisabled, Message: fmt.Sprintf(
			"EtcdCluster %s has tls.mode Disabled, where authentication cannot be enabled: delete this %s", cluster, kind)}
	case p.Paused && settled:
		return Verdict{Untouched: true}
	case p.Paused:
		return Verdict{Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonClusterPaused, Message: fmt.Sprintf(
			"EtcdCluster %s is paused: nothing is changed", cluster)}
	default:
		return Verdict{}
	}
}

// unread is the verdict while etcd cannot be asked. What was as specified is taken to be so still: each change of a condition is a write.
func (p planner) unread(settled bool) Verdict {
	if settled {
		return Verdict{Unread: true}
	}
	return Verdict{Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonClusterUnreachable, Unread: true, Message: fmt.Sprintf(
		"EtcdCluster %s cannot be asked: %s; what is wanted happens when it can", p.Cluster.Name, p.Unread)}
}

// leaving is the task about an object that is being deleted, given the step that deletes what it stands for; nil if there is nothing.
func (p planner) leaving(object metav1.Object, owner string, remove Step) Task {
	t := Task{Name: object.GetName()}
	switch {
	case !holds(object):
	case p.isGone() || !p.Cluster.IsSecure():
		t.Steps = []Step{LetGo{"there is no cluster"}}
	case owner != "":
		t.Steps = []Step{LetGo{owner + " stands for the same"}}
	case p.Paused:
		t.Then = p.obstacle("object", p.Cluster.Name, false)
	case p.Etcd == nil:
		t.Then = p.unread(false)
		t.Then.Message = "the object stays until it is gone from etcd, too: " + t.Then.Message
	case remove == nil:
		t.Steps = []Step{LetGo{"etcd does not have it"}}
	default:
		t.Steps = []Step{remove, LetGo{"etcd does not have it any more"}}
	}
	return t
}

// isSettled says whether an object was found to be as its spec says now.
func isSettled(conditions []metav1.Condition, generation int64) bool {
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == generation
}

func holds(object metav1.Object) bool {
	for _, finalizer := range object.GetFinalizers() {
		if finalizer == v1alpha1.FinalizerAccess {
			return true
		}
	}
	return false
}

// taken is the verdict on an object that does not count, because another one stands for the same.
func taken(kind, what, name, owner string) Verdict {
	return Verdict{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNameTaken, Message: fmt.Sprintf(
		"%s %s is older and stands for %s %s already: delete one of the two", kind, owner, what, name)}
}
