// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package users

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/internal/rules"
)

// Decision is what there is to do about one object, and what is then true of it.
type Decision struct {
	Name        string        // of the object
	Rule        string        // that decided
	Operations  []Operation   // in their order
	Condition   Condition     // of the object, once the operations are done
	Retry       bool          // no watch reports when it is otherwise
	Unreachable bool          // it is otherwise when the cluster can be asked
	RetryAfter  time.Duration // what is left can be done so much later; 0: nothing is left
}

// Condition is what the condition of an object says; without a reason it stays as it is.
type Condition struct {
	Status          metav1.ConditionStatus
	Reason, Message string
}

// Requests says whether cert-manager is asked for a certificate.
func (d Decision) Requests() bool {
	return slices.Contains(d.Operations, Operation(RequestCertificate{}))
}

// Decide says what there is to do about each role and each user. Roles come before users, which have them; roles do not depend on each
// other, and neither do users.
func Decide(v View) (ofRoles, ofUsers []Decision) {
	owners := ownersOf(v)
	for i := range v.Roles {
		ofRoles = append(ofRoles, first(objectRules, owners.role(v, &v.Roles[i]), v.Roles[i].Name))
	}
	for i := range v.Users {
		ofUsers = append(ofUsers, first(objectRules, owners.user(v, &v.Users[i]), v.Users[i].Name))
	}
	return ofRoles, ofUsers
}

// DecideAuth says what there is to do about the authentication of a cluster that is there, once all that Decide says is done or has failed:
// the view has when users and roles have changed, and the failure.
func DecideAuth(v View) Decision { return first(authRules, v, v.Cluster.Name) }

// Rules are what documentation says of all rules, in their order.
func Rules() []rules.Line { return append(objectRules.Lines(), authRules.Lines()...) }

// Otherwise is instead of a rule where none decides.
const Otherwise = "nothing to do"

func first[V any](list rules.List[V, *Decision], view V, name string) Decision {
	decision, rule := list.Next(view)
	if decision == nil {
		decision, rule = &Decision{}, Otherwise
	}
	decision.Name, decision.Rule = name, rule
	return *decision
}

// do decides that there are these operations, and says nothing.
func do(operations ...Operation) *Decision { return &Decision{Operations: operations} }

// saying adds what the condition says once the operations are done.
func (d *Decision) saying(status metav1.ConditionStatus, reason, format string, arguments ...any) *Decision {
	d.Condition = Condition{status, reason, fmt.Sprintf(format, arguments...)}
	return d
}

func (d *Decision) retry() *Decision {
	d.Retry = true
	return d
}

func (d *Decision) unreachable() *Decision {
	d.Unreachable = true
	return d
}
