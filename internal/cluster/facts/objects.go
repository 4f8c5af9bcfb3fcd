// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// objects names the supporting objects that are missing or not as wanted.
func (j *builder) objects() {
	j.secrets()
	j.certificates()
	for _, want := range []*corev1.Service{specs.HeadlessService(j.c), specs.ClientService(j.c)} {
		have := j.Services[want.Name]
		j.compare("Service", want, have, have != nil, func() bool { return isService(want, have) })
	}
	j.memberServices()
	j.outside()
	j.route()
	want, have := specs.Budget(j.c, j.v.MustStay()), j.Budget
	j.compare("PodDisruptionBudget", want, have, have != nil, func() bool {
		return equality.Semantic.DeepDerivative(want.Spec, have.Spec) && equality.Semantic.DeepEqual(want.Spec.Selector, have.Spec.Selector)
	})
	j.networkPolicy()
	j.monitors()
}

func (j *builder) secrets() {
	c, v, found := j.c, &j.v, j.Found()
	held := j.held()
	v.Lost, v.Ending, v.Certificates = lost(c, held, j.later()), held.Ending(c, j.later()), held.Certificates(c, j.later())
	v.NotRoot = notRoot(c, held.Operator(c, j.Now))
	v.Rotation = held.Rotation(c, j.facts())
	j.unmounted(held)
	for _, name := range certs.Names(c) {
		if secret := found[name]; secret != nil && j.belongsToOthers("Secret", secret) {
			continue
		}
		fault := held.Fault(c, name, j.later())
		if fault != nil && !held.CanMake(c, name, j.later()) {
			continue
		}
		abandoned := found[name] != nil && specs.IsAbandoned(c, found[name])
		switch {
		case abandoned && fault != nil && slices.Contains(certs.Authorities(c), name):
			v.Foreign = append(v.Foreign, cluster.Object{Kind: "Secret", Name: name, Why: "no EtcdCluster owns it, and " + fault.Error()})
		case abandoned && fault == nil:
			v.Objects = append(v.Objects, cluster.Object{Kind: "Secret", Name: name, Why: unowned, CanWait: true})
		case fault == nil && found[name] != nil && lacksLabels(c, found[name]):
			v.Objects = append(v.Objects, cluster.Object{Kind: "Secret", Name: name, Why: "its labels were removed", CanWait: true})
		case fault != nil:
			parts := slices.ContainsFunc(v.Lost, func(lost cluster.Object) bool { return certs.Signs(c, lost.Name, name) })
			canWait := name == c.ClientSecret() || name == c.RootSecret() || pki.IsDue(fault)
			v.Objects = append(v.Objects, cluster.Object{Kind: "Secret", Name: name, Why: fault.Error(), ChangesCA: parts, CanWait: canWait})
		}
	}
}

// notRoot says why the operator is locked out: etcd has said so, or will, no matter how authentication was enabled.
func notRoot(c *v1beta1.EtcdCluster, operator certs.Identity) string {
	enabled := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionAuthEnabled)
	switch {
	case enabled == nil || enabled.Status != metav1.ConditionTrue:
		return ""
	case enabled.Reason == v1beta1.ReasonOperatorNotRoot:
		return enabled.Message
	case !operator.IsRoot():
		return operator.ShutOut(c)
	default:
		return ""
	}
}

// unowned is why an object of the cluster without an owner is adopted.
const unowned = "no EtcdCluster owns it"

// lost are the authorities that cannot sign.
func lost(c *v1beta1.EtcdCluster, held certs.KeyMaterial, now time.Time) []cluster.Object {
	var all []cluster.Object
	for _, name := range certs.Authorities(c) {
		err := held.Lost(c, name, now)
		if err == nil {
			continue
		}
		object := cluster.Object{Kind: "Secret", Name: name, Why: err.Error()}
		if held.Holds(c, name) {
			object.Holder = specs.MemberSecret(c)
		}
		all = append(all, object)
	}
	return all
}

// compare notes an object that is missing or not as wanted. Labels that are not can wait.
func (j *builder) compare(kind string, want, have metav1.Object, there bool, asWanted func() bool) {
	object := cluster.Object{Kind: kind, Name: want.GetName(), Why: "it is missing"}
	switch {
	case there && j.belongsToOthers(kind, have):
		return
	case there && specs.IsAbandoned(j.c, have):
		object.Why = unowned
	case there && !asWanted():
		object.Why = "it is not as wanted" + amount(want)
		if hasOtherType(want, have) {
			object.Why = cluster.OtherType
		}
	case there && equality.Semantic.DeepDerivative(want.GetLabels(), have.GetLabels()):
		return
	case there:
		object.Why, object.CanWait = "labels of it are not as wanted", true
	}
	j.v.Objects = append(j.v.Objects, object)
}

// amount is the part of an object that changes from time to time: another amount is another wish.
func amount(want metav1.Object) string {
	if budget, is := want.(*policyv1.PodDisruptionBudget); is {
		return ": " + budget.Spec.MinAvailable.String() + " pods must stay"
	}
	return ""
}

// belongsToOthers notes an object with a name of ours that has another owner. One of an earlier
// EtcdCluster of this name is being deleted.
func (j *builder) belongsToOthers(kind string, have metav1.Object) bool {
	why, owner := specs.Foreign(j.c, have), metav1.GetControllerOf(have)
	if why == "" {
		return false
	}
	ofEarlier := owner != nil && owner.Kind == "EtcdCluster" && owner.Name == j.c.Name
	j.v.Foreign = append(j.v.Foreign, cluster.Object{
		Kind: kind, Name: have.GetName(), Why: why, Gone: ofEarlier || have.GetDeletionTimestamp() != nil,
	})
	return true
}
