package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// leaseExpired is after how long a Lease that is not renewed says that nobody leads, if it does not say so itself.
const leaseExpired = 15 * time.Second

// operator says whether somebody looks after the cluster: a Lease that is held says so, whatever runs the operator.
func operator(f Facts) []Finding {
	namespace, lease := f.Operator()
	since, led := f.led()
	switch {
	case namespace == "":
		return nil
	case f.knows(Lease) && led:
		if c := f.Cluster; c.Status.ObservedGeneration > 0 && c.Status.ObservedGeneration < c.Generation {
			return one(Hint, "the operator has not looked at the last change of the spec yet", "wait a moment, and see its log if that lasts",
				pageOperator)
		}
		return nil
	}
	ready, wanted := int32(0), int32(0)
	for _, d := range f.Deployments {
		ready, wanted = ready+d.Status.ReadyReplicas, wanted+ptr.Deref(d.Spec.Replicas, 1)
	}
	const page = "runbooks/EtcdOperatorWithoutLeader.md"
	switch {
	case f.knows(Deployments) && wanted == 0:
		return one(RedundancyLost, "namespace "+namespace+" has no Deployment of the operator, or one without replicas: nothing heals",
			"install the operator again", "install.md")
	case f.knows(Deployments) && ready == 0:
		return one(RedundancyLost, "no Pod of the operator in namespace "+namespace+" is ready: nothing heals", "see its Pods and their logs",
			page)
	case f.knows(Lease):
		return one(RedundancyLost, "no replica of the operator holds Lease "+namespace+"/"+lease+since+": nothing heals, backs up or upgrades",
			"see the operator's Pods: kubectl -n "+namespace+" get pods", page)
	}
	return nil
}

// led says whether a replica of the operator leads, and if none does since when.
func (f Facts) led() (since string, is bool) {
	if f.Lease == nil || ptr.Deref(f.Lease.Spec.HolderIdentity, "") == "" || f.Lease.Spec.RenewTime == nil {
		return "", false
	}
	expired := leaseExpired
	if s := f.Lease.Spec.LeaseDurationSeconds; s != nil {
		expired = time.Duration(*s) * time.Second
	}
	idle := f.Now.Sub(f.Lease.Spec.RenewTime.Time)
	// The clocks of this machine and of the operator's may differ: twice the time is no mistake.
	return ", since " + age(idle), idle <= 2*expired
}

// policies are the cluster's own that is missing, and others that isolate its members.
func policies(f Facts) []Finding {
	if !f.knows(Policies) {
		return nil
	}
	var findings []Finding
	if f.Cluster.Spec.NetworkPolicy.Mode == v1beta1.NetworkPolicyEnabled && f.Cluster.Status.ClusterID != "" && f.policy() == nil {
		findings = one(WillBeAProblem, "NetworkPolicy "+f.Cluster.MemberPolicy()+" is missing: every peer reaches the members",
			"see what Progressing and the log of the operator say", "operations/network.md")
	}
	if others := isolating(f); len(others) > 0 {
		findings = append(findings, Finding{
			Hint, "other NetworkPolicies isolate the members as well: " + strings.Join(others, ", "),
			"have them let in the operator, members and clients on 2379 and 2380, and let members out", "operations/network.md",
		})
	}
	return findings
}

func (f Facts) policy() *networkingv1.NetworkPolicy {
	return find(f.Policies, func(p networkingv1.NetworkPolicy) bool { return p.Name == f.Cluster.MemberPolicy() })
}

// isolating are the policies that could keep traffic from members: those that limit what goes out, and, where the cluster has no policy of
// its own, those that limit what comes in. Beside its own, policies that limit what comes in only allow more.
func isolating(f Facts) []string {
	var names []string
	for _, p := range f.Policies {
		limits := slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) || f.policy() == nil
		if p.Name != f.Cluster.MemberPolicy() && limits && f.selectsMembers(&p.Spec.PodSelector) {
			names = append(names, p.Name)
		}
	}
	return names
}

func (f Facts) selectsMembers(by *metav1.LabelSelector) bool {
	selector, err := metav1.LabelSelectorAsSelector(by)
	if err != nil {
		return false
	}
	for _, pod := range f.Pods {
		if selector.Matches(labels.Set(pod.Labels)) {
			return true
		}
	}
	return false
}

// budgets are the cluster's own that is missing, and others for the same Pods: Kubernetes evicts no Pod that has two.
func budgets(f Facts) []Finding {
	if !f.knows(Budgets) || f.Cluster.Status.ClusterID == "" || f.Cluster.Size() == 0 {
		return nil
	}
	var findings []Finding
	own := find(f.Budgets, func(b policyv1.PodDisruptionBudget) bool { return b.Name == f.Cluster.Name })
	if own == nil {
		findings = one(RedundancyLost, "PodDisruptionBudget "+f.Cluster.Name+" is missing: a drain may end the quorum",
			"drain nothing, and see what Progressing and the log of the operator say", "operations/nodes.md#drain")
	}
	for _, b := range f.Budgets {
		if b.Name != f.Cluster.Name && b.Spec.Selector != nil && f.selectsMembers(b.Spec.Selector) {
			findings = append(findings, Finding{
				WillBeAProblem, "PodDisruptionBudget " + b.Name + " selects the members as well: Kubernetes evicts no Pod that has two budgets",
				"delete it, or have it select other Pods", "operations/nodes.md#drain",
			})
		}
	}
	return findings
}

// versions are what was tried and rolled back, and what waits for a backup.
func versions(f Facts) []Finding {
	var findings []Finding
	if r := f.Cluster.Status.Rollback; r != nil {
		findings = one(WillBeAProblem, fmt.Sprintf("etcd %s was tried and rolled back to %s: %s", r.Refused, r.Version, r.Because),
			"set spec.version to another version", "operations/upgrade.md#when-the-new-version-does-not-run")
	}
	if b := f.Cluster.Status.AwaitedBackup; b != nil && !b.Done {
		findings = append(findings, Finding{
			Hint, fmt.Sprintf("EtcdBackup %s is awaited before %s", b.Name, b.Before), "see how far it is: kubectl etcd backups " + f.Cluster.Name,
			"operations/backup.md#before-something-risky",
		})
	}
	return findings
}

// mostWarnings is how many warnings are said: the newest ones.
const mostWarnings = 5

// warned are the newest warnings of the last hour, each once.
func warned(f Facts) []Finding {
	var lines []string
	for _, e := range f.warnings() {
		line := fmt.Sprintf("%s ago %s %s: %s", age(f.Now.Sub(lastSeen(e))), e.InvolvedObject.Kind, e.InvolvedObject.Name, reasoned(e.Reason,
			e.Message))
		if len(lines) < mostWarnings {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return one(Hint, "warnings of the last hour: "+strings.Join(lines, "; "),
		"see all: kubectl events -n "+f.Cluster.Namespace+" --types=Warning",
		"operations/troubleshoot.md#events")
}
