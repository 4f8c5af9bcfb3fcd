package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/plugin/screen"
)

// advice is what a reason of a condition means to a person.
type advice struct {
	severity Severity
	do       string
	page     string
}

// Pages that several findings lead to.
const (
	pageDown     = "runbooks/EtcdMemberDown.md"
	pageQuorum   = "runbooks/EtcdNoQuorum.md"
	pageAction   = "runbooks/EtcdActionRequired.md"
	pageBackup   = "runbooks/EtcdBackupFailing.md"
	pageOperator = "operations/operator.md#when-it-stands-still"
)

// availability is what each reason of Available means.
var availability = map[string]advice{
	v1beta1.ReasonHealthy:       {severity: Fine},
	v1beta1.ReasonQuorumHealthy: {RedundancyLost, "see which member is missing or is one too many, below and in Progressing", pageDown},
	v1beta1.ReasonCorrupt: {
		ServiceDown, "keep every volume; wait while the operator replaces the member that differs, and read Degraded", "runbooks/EtcdCorrupt.md",
	},
	v1beta1.ReasonNoSpace: {
		ServiceDown, "wait a minute while the operator makes room; if Degraded says that data fills the quota, delete keys or raise etcd.quota",
		"runbooks/EtcdNoSpace.md",
	},
	v1beta1.ReasonBootstrapping: {ServiceDown, "wait until the first members run; what keeps one from starting is below", pageDown},
	v1beta1.ReasonRestoring: {
		ServiceDown, "wait until the volumes have the data of the backup",
		"operations/restore.md#what-stops-a-restore",
	},
	v1beta1.ReasonQuorumLost: {
		ServiceDown, "have members that are down start again: nodes that are back, room for Pods and on disks",
		pageQuorum,
	},
	v1beta1.ReasonMembersPending: {ServiceDown, "give Pods room on nodes, or correct resources and scheduling in the spec", pageDown},
	v1beta1.ReasonRestarting:     {ServiceDown, "wait: a cluster of one does not serve while its member restarts", "operations/roll.md"},
	v1beta1.ReasonUnreachable: {
		ServiceDown, "look for a NetworkPolicy or a mesh between the operator and port 2379, then at CPU and disks of members",
		"runbooks/EtcdNoLeader.md",
	},
	v1beta1.ReasonAuthenticationRequired: {
		ServiceDown, "let the operator in again: etcd answers its users only", "operations/users.md#an-operator-that-is-locked-out",
	},
	v1beta1.ReasonHibernated: {Hint, "set spec.size to wake the cluster", "operations/scale.md#hibernate-and-wake"},
	v1beta1.ReasonDeleting:   {Hint, "nothing: it is being deleted", "operations/create.md"},
}

// degradation is what each reason of Degraded means.
var degradation = map[string]advice{
	v1beta1.ReasonAsExpected:    {severity: Fine},
	v1beta1.ReasonMemberDown:    {RedundancyLost, "have its Pod start again: what it waits for is below", pageDown},
	v1beta1.ReasonMemberBlocked: {RedundancyLost, "correct the spec, or what Kubernetes lacks", pageDown},
	v1beta1.ReasonAlarm: {
		DataAtRisk, "keep every volume; wait while the operator ends the alarm, or do what the message says",
		pageAction,
	},
	v1beta1.ReasonDataDamaged: {
		DataAtRisk, "nothing while the others hold a quorum: the member is replaced",
		"operations/replace.md#damaged-data-an-emptied-directory",
	},
	v1beta1.ReasonForeignData: {
		DataAtRisk, "nothing while the others hold a quorum: the member is replaced",
		"operations/replace.md#data-that-is-not-its-own",
	},
	v1beta1.ReasonVolumeGrowthRefused: {
		WillBeAProblem, "let the storage class expand volumes, or take the size back", "operations/roll.md#a-volume-that-cannot-grow",
	},
	v1beta1.ReasonAuthorityEnds: {WillBeAProblem, "see why the authority is not rotated", "runbooks/EtcdAuthorityEnds.md"},
	v1beta1.ReasonRecovering: {
		DataAtRisk, "wait until the cluster is recovered, and change nothing",
		"operations/recover-quorum.md#what-happens",
	},
	v1beta1.ReasonRestoreFailing: {DataAtRisk, "do what the message says", "operations/restore.md#what-stops-a-restore"},
	v1beta1.ReasonActionRequired: {DataAtRisk, "do what the message says: the operator does nothing before that", pageAction},
	v1beta1.ReasonStepRejected:   {RedundancyLost, "lift what rejects the step, or correct the spec", pageAction},
	v1beta1.ReasonCertificatesNotAccepted: {
		WillBeAProblem, "put a certificate that serves into the Secret",
		"operations/certificates.md#invalid-certificates-are-rejected",
	},
	v1beta1.ReasonOperatorNotRoot: {
		RedundancyLost, "let the operator in again: nothing heals before that", "operations/users.md#an-operator-that-is-locked-out",
	},
}

// Patience is how long a step may fail, and how long the operator may wait for one thing, before that is a problem or a hint.
const (
	failingFor = 5 * time.Minute
	waitingFor = time.Hour
)

// conditions say what the operator says.
func conditions(f Facts) []Finding {
	all := f.Cluster.Status.Conditions
	if len(all) == 0 {
		return one(ServiceDown, "no operator has looked at the cluster yet",
			"see that the operator runs, leads and watches the namespace", pageOperator)
	}
	findings := slices.Concat(available(f), degraded(f), progressing(f), others(all))
	if meta.FindStatusCondition(all, v1beta1.ConditionAvailable) == nil {
		findings = append(findings, Finding{
			ServiceDown, "the condition Available is missing", "see that the operator runs and leads",
			pageOperator,
		})
	}
	return findings
}

func available(f Facts) []Finding {
	c := meta.FindStatusCondition(f.Cluster.Status.Conditions, v1beta1.ConditionAvailable)
	if c == nil {
		return nil
	}
	reason := v1beta1.CurrentReason(c.Reason)
	to, known := availability[reason]
	switch {
	case !known && c.Status != metav1.ConditionTrue:
		to = advice{
			ServiceDown, "do what the message says; a newer operator wrote it: update the plugin",
			"operations/troubleshoot.md#conditions",
		}
	case !known, to.severity == Fine:
		return nil
	case reason == v1beta1.ReasonQuorumHealthy && int(f.Cluster.Status.ReadyMembers) >= f.Cluster.Size():
		to.severity = Hint // members are one too many
	case reason == v1beta1.ReasonQuorumHealthy && f.names():
		return nil
	case reason == v1beta1.ReasonUnreachable && len(isolating(f)) > 0:
		to.do = "look at NetworkPolicy " + strings.Join(isolating(f), ", ") + ": it selects the members too; " + to.do
	}
	return one(to.severity, sentence("Available", *c), to.do, to.page)
}

// names says whether members says which ones are not healthy, and why: that is more than these conditions say.
func (f Facts) names() bool {
	return slices.ContainsFunc(f.Cluster.Status.Members, func(m v1beta1.MemberStatus) bool { return isDown(f, m) })
}

func degraded(f Facts) []Finding {
	c := meta.FindStatusCondition(f.Cluster.Status.Conditions, v1beta1.ConditionDegraded)
	if c == nil || c.Status != metav1.ConditionTrue {
		return nil
	}
	reason := v1beta1.CurrentReason(c.Reason)
	if reason == v1beta1.ReasonMemberDown && f.names() {
		return nil
	}
	to, known := degradation[reason]
	if !known || to.severity == Fine {
		to = advice{RedundancyLost, "do what the message says", pageAction}
	}
	return one(to.severity, sentence("Degraded", *c), to.do, to.page)
}

// progressing says what keeps the operator from going on, where Degraded does not.
func progressing(f Facts) []Finding {
	c := meta.FindStatusCondition(f.Cluster.Status.Conditions, v1beta1.ConditionProgressing)
	if c == nil {
		return nil
	}
	lasts := f.Now.Sub(c.LastTransitionTime.Time)
	switch v1beta1.CurrentReason(c.Reason) {
	case v1beta1.ReasonPaused:
		return one(RedundancyLost, sentence("Progressing", *c), "end the pause when the work by hand is done", "operations/roll.md#pause")
	case v1beta1.ReasonStepFailed:
		if lasts >= failingFor {
			return one(WillBeAProblem, sentence("Progressing", *c), "fix what the message names", "operations/troubleshoot.md#conditions")
		}
	case v1beta1.ReasonWaiting, v1beta1.ReasonActing:
		if lasts >= waitingFor {
			return one(Hint, sentence("Progressing", *c)+", for "+age(lasts), "see whether what the message names gets on",
				"operations/troubleshoot.md#what-the-messages-lead-to")
		}
	}
	return nil
}

// others are the conditions of what a cluster may have: authentication, the address of a load balancer and imported keys.
// CertificatesAccepted is said by Degraded.
func others(all []metav1.Condition) []Finding {
	var findings []Finding
	if c := meta.FindStatusCondition(all, v1beta1.ConditionAuthEnabled); c != nil && c.Reason == v1beta1.ReasonAuthEnabledByHand {
		findings = append(findings, Finding{
			Hint, sentence(c.Type, *c), "set spec.auth.enabled, or disable authentication", "operations/users.md#when-ready-is-not-true",
		})
	}
	if c := meta.FindStatusCondition(all, v1beta1.ConditionAddressAssigned); c != nil && c.Reason == v1beta1.ReasonAddressMissing {
		findings = append(findings, Finding{
			WillBeAProblem, sentence(c.Type, *c), "see what assigns addresses to load balancers, and what it says of the Service",
			"operations/connect-from-outside.md#no-address",
		})
	}
	c := meta.FindStatusCondition(all, v1beta1.ConditionImported)
	if c != nil && c.Status == metav1.ConditionFalse && c.Reason != v1beta1.ReasonWaitingForCluster {
		findings = append(findings, Finding{WillBeAProblem, sentence(c.Type, *c), "correct what the message names", "operations/create.md"})
	}
	return findings
}

// lostQuorum says what a person may accept where quorum is lost for good.
func lostQuorum(f Facts) []Finding {
	loss := f.Cluster.Status.QuorumLoss
	if loss == nil {
		return nil
	}
	var left []string
	for _, s := range loss.Survivors {
		left = append(left, fmt.Sprintf("%s at revision %d", s.Name, s.Revision))
	}
	what := fmt.Sprintf("quorum is lost for good: the data of %s is gone; what is left: %s",
		strings.Join(slices.Concat(loss.Lost, loss.Missing), ", "), cmp.Or(strings.Join(left, ", "), "nothing"))
	do := cmp.Or(strings.Join(screen.WaysOn(loss), "; "), "wait until every survivor has said which data it has")
	return one(DataAtRisk, what, do, "operations/recover-quorum.md#decide")
}

// unknownMembers are those that somebody has added by hand: they count for quorum, and nobody looks after them.
func unknownMembers(f Facts) []Finding {
	var names []string
	for _, m := range f.Cluster.Status.UnknownMembers {
		names = append(names, cmp.Or(m.Name, m.ID))
	}
	if len(names) == 0 {
		return nil
	}
	return one(RedundancyLost, "etcd lists members that the operator has not added: "+strings.Join(names,
		", ")+"; voters among them count for quorum",
		"remove them with etcdctl if nobody needs them", "operations/by-hand.md")
}

// sentence is what a condition says.
func sentence(kind string, c metav1.Condition) string {
	return fmt.Sprintf("%s is %s (%s): %s", kind, c.Status, c.Reason, c.Message)
}
