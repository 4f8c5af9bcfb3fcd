// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// advice is what a condition means to a person, and a command that shows more of it.
type advice struct {
	severity Severity
	do       string
	run      string
	page     string
}

// of is the finding that a condition is.
func (a advice) of(what string) []Finding { return []Finding{{a.severity, what, a.do, a.run, a.page}} }

// Pages that several findings lead to.
const (
	pageDown   = "runbooks/EtcdMemberDown.md"
	pageQuorum = "runbooks/EtcdNoQuorum.md"
	pageAction = "runbooks/EtcdActionRequired.md"
	pageBackup = "runbooks/EtcdBackupFailing.md"
)

// Commands that show more. CLUSTER stands for the name of the EtcdCluster; one that names no namespace is run in its.
const (
	runStatus   = "kubectl etcd status CLUSTER"
	runBackups  = "kubectl etcd backups CLUSTER"
	runKeys     = "kubectl etcd keys CLUSTER"
	runPods     = "kubectl get pods -l " + v1beta1.LabelCluster + "=CLUSTER -o wide"
	runClaims   = "kubectl describe pvc -l " + v1beta1.LabelCluster + "=CLUSTER"
	runPolicies = "kubectl get networkpolicies"
	runServices = "kubectl describe services -l " + v1beta1.LabelCluster + "=CLUSTER"
	runEvents   = "kubectl events --types=Warning"
)

// availability is what each reason of Available means.
var availability = map[string]advice{
	v1beta1.ReasonHealthy:       {severity: Fine},
	v1beta1.ReasonQuorumHealthy: {RedundancyLost, "see which member is missing or is one too many", runStatus, pageDown},
	v1beta1.ReasonCorrupt: {
		ServiceDown, "keep every volume; wait while the operator replaces the member that differs, and read Degraded",
		runStatus, "runbooks/EtcdCorrupt.md",
	},
	v1beta1.ReasonNoSpace: {
		ServiceDown, "wait a minute while the operator makes room; if Degraded says that data fills the quota, delete keys or raise etcd.quota",
		runKeys, "runbooks/EtcdNoSpace.md",
	},
	v1beta1.ReasonBootstrapping: {ServiceDown, "wait until the first members run, or see what keeps one from starting", runPods, pageDown},
	v1beta1.ReasonRestoring: {
		ServiceDown, "wait until the volumes have the data of the backup",
		runStatus, "operations/restore.md#what-stops-a-restore",
	},
	v1beta1.ReasonQuorumLost: {
		ServiceDown, "have members that are down start again: nodes that are back, room for Pods and on disks",
		runPods, pageQuorum,
	},
	v1beta1.ReasonMembersPending: {
		ServiceDown, "give Pods room on nodes, or correct resources and scheduling in the spec",
		runPods, pageDown,
	},
	v1beta1.ReasonRestarting: {
		ServiceDown, "wait: a cluster of one does not serve while its member restarts",
		runPods, "operations/roll.md",
	},
	v1beta1.ReasonUnreachable: {
		ServiceDown, "look for a NetworkPolicy or a mesh between the operator and port 2379, then at CPU and disks of members",
		runPolicies, "runbooks/EtcdNoLeader.md",
	},
	v1beta1.ReasonAuthenticationRequired: {
		ServiceDown, "let the operator in again: etcd answers its users only",
		runStatus, "operations/users.md#an-operator-that-is-locked-out",
	},
	v1beta1.ReasonHibernated: {Hint, "set spec.size to wake the cluster", runStatus, "operations/scale.md#hibernate-and-wake"},
	v1beta1.ReasonDeleting:   {Hint, "nothing: it is being deleted", runStatus, "operations/create.md"},
}

// degradation is what each reason of Degraded means.
var degradation = map[string]advice{
	v1beta1.ReasonAsExpected:    {severity: Fine},
	v1beta1.ReasonMemberDown:    {RedundancyLost, "have its Pod start again", runPods, pageDown},
	v1beta1.ReasonMemberBlocked: {RedundancyLost, "correct the spec, or what Kubernetes lacks", runPods, pageDown},
	v1beta1.ReasonAlarm: {
		DataAtRisk, "keep every volume; wait while the operator ends the alarm, or do what the message says",
		runStatus, pageAction,
	},
	v1beta1.ReasonDataDamaged: {
		DataAtRisk, "nothing while the others hold a quorum: the member is replaced",
		runStatus, "operations/replace.md#damaged-data-an-emptied-directory",
	},
	v1beta1.ReasonForeignData: {
		DataAtRisk, "nothing while the others hold a quorum: the member is replaced",
		runStatus, "operations/replace.md#data-that-is-not-its-own",
	},
	v1beta1.ReasonVolumeGrowthRefused: {
		WillBeAProblem, "let the storage class expand volumes, or take the size back",
		runClaims, "operations/roll.md#a-volume-that-cannot-grow",
	},
	v1beta1.ReasonAuthorityEnds: {WillBeAProblem, "see why the authority is not rotated", runStatus, "runbooks/EtcdAuthorityEnds.md"},
	v1beta1.ReasonRecovering: {
		DataAtRisk, "wait until the cluster is recovered, and change nothing",
		runStatus, "operations/recover-quorum.md#what-happens",
	},
	v1beta1.ReasonRestoreFailing: {DataAtRisk, "do what the message says", runEvents, "operations/restore.md#what-stops-a-restore"},
	v1beta1.ReasonActionRequired: {DataAtRisk, "do what the message says: the operator does nothing before that", runStatus, pageAction},
	v1beta1.ReasonStepRejected:   {RedundancyLost, "lift what rejects the step, or correct the spec", runEvents, pageAction},
	v1beta1.ReasonCertificatesNotAccepted: {
		WillBeAProblem, "put a certificate that serves into the Secret",
		runStatus, "operations/certificates.md#invalid-certificates-are-rejected",
	},
	v1beta1.ReasonOperatorNotRoot: {
		RedundancyLost, "let the operator in again: nothing heals before that",
		runStatus, "operations/users.md#an-operator-that-is-locked-out",
	},
}

// others are conditions that a cluster may have beside, its schedule and its log: said while they have the status, but for the reasons that
// end by themselves. Degraded says what CertificatesAccepted says.
var others = []struct {
	kind   string
	status metav1.ConditionStatus
	reason string // the only one that is said; empty: all are
	advice
}{
	{v1beta1.ConditionPerformanceDegraded, metav1.ConditionTrue, "", advice{
		WillBeAProblem, "look at the disk, CPU and node that the message names", runPods, "operations/nodes.md#slow-members",
	}},
	{v1beta1.ConditionAuthEnabled, metav1.ConditionTrue, v1beta1.ReasonAuthEnabledByHand, advice{
		Hint, "set spec.auth.enabled, or disable authentication", runStatus, "operations/users.md#when-ready-is-not-true",
	}},
	{v1beta1.ConditionAddressAssigned, metav1.ConditionFalse, v1beta1.ReasonAddressMissing, advice{
		WillBeAProblem, "see what assigns addresses to load balancers, and what it says of the Service", runServices,
		"operations/connect-from-outside.md#no-address",
	}},
	{v1beta1.ConditionRouteAccepted, metav1.ConditionFalse, v1beta1.ReasonRouteRefused, advice{
		WillBeAProblem, "correct what the message names", runStatus, "operations/connect-from-outside.md#by-a-gateway",
	}},
	{v1beta1.ConditionImported, metav1.ConditionFalse, "", advice{
		WillBeAProblem, "correct what the message names", runStatus, "operations/create.md",
	}},
	{v1beta1.ConditionMonitored, metav1.ConditionFalse, "", advice{
		Hint, "correct what the message names", runStatus, "operations/monitoring.md#a-cluster",
	}},
	{v1beta1.ConditionBackedUp, metav1.ConditionFalse, "", advice{
		WillBeAProblem, "correct what the message names", runBackups, pageBackup,
	}},
	{v1beta1.ConditionRetentionApplied, metav1.ConditionFalse, "", advice{
		Hint, "let the store delete, or delete old backups there", runBackups, "operations/backup.md#deleting",
	}},
	{v1beta1.ConditionLogCurrent, metav1.ConditionFalse, "", advice{
		WillBeAProblem, "see whether the message changes", runStatus, "operations/log.md#what-needs-your-help",
	}},
}

// passing are the reasons of others that end by themselves.
var passing = map[string]bool{
	v1beta1.ReasonWaitingForCluster: true, v1beta1.ReasonMonitorPending: true, v1beta1.ReasonFullBackupPending: true,
	v1beta1.ReasonLogInterrupted: true,
}

// conditions are those of the cluster, as the operator has written them.
func conditions(f Facts) []Finding {
	c := &f.Cluster
	if meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionAvailable) == nil {
		return advice{
			ServiceDown, "see that the operator runs, leads and watches the namespace", runStatus, "operations/operator.md#when-it-stands-still",
		}.of("no operator has looked at the cluster yet")
	}
	var findings []Finding
	for _, is := range c.Status.Conditions {
		switch is.Type {
		case v1beta1.ConditionAvailable:
			findings = append(findings, available(c, is)...)
		case v1beta1.ConditionDegraded:
			findings = append(findings, degraded(is)...)
		case v1beta1.ConditionProgressing:
			findings = append(findings, progressing(is)...)
		}
	}
	return append(findings, beside(c)...)
}

func available(cluster *v1beta1.EtcdCluster, c metav1.Condition) []Finding {
	reason := v1beta1.CurrentReason(c.Reason)
	to, known := availability[reason]
	switch {
	case !known && c.Status != metav1.ConditionTrue:
		to = advice{
			ServiceDown, "do what the message says; a newer operator wrote it: update the plugin", runStatus,
			"operations/troubleshoot.md#conditions",
		}
	case !known, to.severity == Fine:
		return nil
	case reason == v1beta1.ReasonQuorumHealthy && int(cluster.Status.ReadyMembers) >= cluster.Size():
		to.severity = Hint // members are one too many
	case reason == v1beta1.ReasonQuorumHealthy && meta.IsStatusConditionTrue(cluster.Status.Conditions, v1beta1.ConditionDegraded):
		return nil // that names the member
	}
	return to.of(sentence(c))
}

func degraded(c metav1.Condition) []Finding {
	if c.Status != metav1.ConditionTrue {
		return nil
	}
	to, known := degradation[v1beta1.CurrentReason(c.Reason)]
	if !known || to.severity == Fine {
		to = advice{RedundancyLost, "do what the message says", runStatus, pageAction}
	}
	return to.of(sentence(c))
}

// progressing says what the operator waits for, and that it does not act; what keeps it from that is in Degraded.
func progressing(c metav1.Condition) []Finding {
	switch v1beta1.CurrentReason(c.Reason) {
	case v1beta1.ReasonPaused:
		return advice{RedundancyLost, "end the pause when the work by hand is done", runStatus, "operations/roll.md#pause"}.of(sentence(c))
	case v1beta1.ReasonWaiting, v1beta1.ReasonActing:
		return advice{
			Hint, "see whether what the message names gets on", runStatus, "operations/troubleshoot.md#what-the-messages-lead-to",
		}.of(sentence(c))
	}
	return nil
}

func beside(c *v1beta1.EtcdCluster) []Finding {
	all := append([]metav1.Condition(nil), c.Status.Conditions...)
	if c.Status.Backup != nil {
		all = append(all, c.Status.Backup.Conditions...)
	}
	if c.Status.Log != nil {
		all = append(all, c.Status.Log.Conditions...)
	}
	var findings []Finding
	for _, o := range others {
		is := meta.FindStatusCondition(all, o.kind)
		if is != nil && is.Status == o.status && !passing[is.Reason] && (o.reason == "" || is.Reason == o.reason) {
			findings = append(findings, o.of(sentence(*is))...)
		}
	}
	return findings
}

// sentence is what a condition says.
func sentence(c metav1.Condition) string {
	return fmt.Sprintf("%s is %s (%s): %s", c.Type, c.Status, c.Reason, c.Message)
}
