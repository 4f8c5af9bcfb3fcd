package drill

import (
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// PolicyName is the name of the NetworkPolicy of a drill.
func PolicyName(d *v1beta1.EtcdDrill) string { return named(d.Name, string(d.UID), "isolation") }

// IsolatedLabel is what the Pod of an isolated member has in the label by which the policy selects it: the drill's UID, since a name may
// be too long.
func IsolatedLabel(d *v1beta1.EtcdDrill) string { return string(d.UID) }

// IsolationPolicy allows nothing to the Pod that has the label: neither ingress nor egress. What another NetworkPolicy allows the Pod stays
// allowed, so that the one of the cluster does not select it meanwhile (specs.NetworkPolicy). Traffic from the Pod's own node, such as
// the kubelet's probes, is always allowed.
func IsolationPolicy(d *v1beta1.EtcdDrill) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, Name: PolicyName(d), Labels: map[string]string{specs.ManagedByLabel: v1beta1.FieldOwner},
			OwnerReferences: []metav1.OwnerReference{ownerOf(d)},
		},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{v1beta1.LabelIsolated: IsolatedLabel(d)}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
		},
	}
}

func isolationOf(s Seen) Isolation {
	var made Isolation
	if s.Policy != nil {
		made.HasPolicy = metav1.IsControlledBy(s.Policy, s.Drill)
		made.Taken = !made.HasPolicy
	}
	for _, p := range s.Pods {
		made.HasLabel = made.HasLabel || p.Labels[v1beta1.LabelIsolated] == IsolatedLabel(s.Drill)
	}
	return made
}

func (v View) isolates() bool { return v.Spec.Action == v1beta1.IsolateMember }

// lasts says whether the failure lasts until it is ended.
func (v View) lasts() bool { return v.Spec.Lasts() > 0 }

// letGo ends the isolation, and the hold on the object, of a drill that has ended or is being deleted, at whatever point.
func letGo(v View) Step {
	switch {
	case !v.Held || !v.Deleting && v.Status.EndedAt == nil:
		return nil
	case v.Isolation.HasPolicy || v.Isolation.HasLabel:
		return Release{Targets: v.Status.Targets}
	}
	return RemoveFinalizer{}
}

// hold is before the isolation: the label of the Pod would stay if the object went.
func hold(v View) Step {
	switch {
	case !v.isolates():
		return nil
	case !v.Held:
		return AddFinalizer{}
	case v.Isolation.Taken:
		return v.end(v1beta1.DrillFailed, v1beta1.ReasonNameTaken,
			"nothing was isolated, because another object has the name of the NetworkPolicy for it: delete it, and create another EtcdDrill")
	}
	return nil
}

func endIsolation(v View) Step {
	s := v.Status
	switch {
	case s.StartedAt == nil || !v.lasts() || s.ReleasedAt != nil || v.Now.Before(s.StartedAt.Add(v.Spec.Lasts())):
		return nil
	case v.Isolation.HasPolicy || v.Isolation.HasLabel:
		return Release{Targets: s.Targets}
	case v.Press.Exists && v.Press.Owned:
		return v.endJob(v.Press, "the failure has lasted for "+v.Spec.Lasts().String())
	}
	after := v.status()
	after.ReleasedAt = new(metav1.NewMicroTime(v.Now))
	return Record{Status: after, What: fmt.Sprintf("the failure has ended after %s", v.Spec.Lasts())}
}

// needEnforcement: an isolation that nobody noticed proves nothing.
func needEnforcement(v View) Step {
	s := v.Status
	switch {
	case s.ReleasedAt == nil || s.DetectedAt != nil || v.Spec.Action == v1beta1.SlowDisk:
		return nil
	case v.Spec.Action == v1beta1.FillDisk:
		return v.end(v1beta1.DrillFailed, v1beta1.ReasonNotNoticed, fmt.Sprintf("%s stayed healthy while its disk was to be full for %s: its "+
			"database may have had room in its file; give the drill a longer duration, and see why job %s may not have run",
			s.Targets[0].Member, v.Spec.Lasts(), v.PressName))
	}
	return v.end(v1beta1.DrillFailed, v1beta1.ReasonNotEnforced, fmt.Sprintf("nothing shows that NetworkPolicies are enforced: %s stayed "+
		"healthy while it was isolated for %s; use a network that enforces them, also on connections that exist, and look for another "+
		"NetworkPolicy that selects the Pod", s.Targets[0].Member, v.Spec.Lasts()))
}

func isolate(v View) Step {
	s, t := v.Status, v.Status.Targets[0]
	m, _ := v.member(t.Member)
	if s.ReleasedAt != nil || v.Isolation.HasPolicy && v.Isolation.HasLabel || m.PodUID != t.PodUID {
		return nil
	}
	return Isolate{Target: t}
}
