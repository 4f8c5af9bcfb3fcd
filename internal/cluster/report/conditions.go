// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/quorum"
)

// conditions are those after the step. Their messages hold nothing
// that changes by itself, because every change is a write.
func conditions(c *v1beta1.EtcdCluster, v cluster.View, step plan.Step, err error) []metav1.Condition {
	all := append([]metav1.Condition(nil), c.Status.Conditions...)
	formed := v.Formed()
	now := []metav1.Condition{available(v, formed), progressing(v, step, err), degraded(v, step, err)}
	now = append(now, ready(now[0], now[1], now[2], v, step))
	if formed {
		now = append(now, performance(v))
	}
	for _, condition := range now {
		condition.ObservedGeneration = c.Generation
		condition.Message = shortened(condition.Message)
		meta.SetStatusCondition(&all, condition)
	}
	return withAdoption(withRoute(withAddress(withMonitoring(withCertificates(all, c, v), c, v), c, v), c, v), c, v, step)
}

// sourcePort is the local address of a connection in an error of Go's net package: its port
// differs each time.
var sourcePort = regexp.MustCompile(`\S+:\d+->`)

// shortened keeps a message within the limit of the API conventions, and unchanged if only the
// local port differs: each change of it is a write.
func shortened(message string) string {
	const longest = 1024
	message = sourcePort.ReplaceAllString(message, "")
	return strings.ToValidUTF8(message[:min(len(message), longest)], "")
}

func available(v cluster.View, formed bool) metav1.Condition {
	if held, whole := heldBack(v, formed); !whole {
		return held
	}
	return byQuorum(v)
}

func availability(status metav1.ConditionStatus, reason, format string, args ...any) metav1.Condition {
	return metav1.Condition{Type: v1beta1.ConditionAvailable, Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// heldBack says why the cluster does not serve, regardless of its voters; whole if nothing
// keeps it from that.
func heldBack(v cluster.View, formed bool) (held metav1.Condition, whole bool) {
	is := availability
	voters, healthy := v.Count(cluster.IsVoter), v.Count(cluster.IsVoter, cluster.IsHealthy)
	asleep := v.Want.Size == 0 && v.Want.Paused == ""
	switch {
	case v.Deleting:
		return is(metav1.ConditionFalse, v1beta1.ReasonDeleting, "the EtcdCluster is being deleted"), false
	case formed && v.Unread != "" && v.IsDisplaced():
		reason := v1beta1.ReasonUnreachable
		if v.Locked {
			reason = v1beta1.ReasonAuthenticationRequired
		}
		return is(metav1.ConditionUnknown, reason, "whether members serve is not known: %s", v.Unread), false
	case v.Split != "":
		return is(metav1.ConditionUnknown, v1beta1.ReasonUnreachable, "whether clients are served the same data is not known: %s",
			v.Split), false
	case asleep && v.Count(cluster.HasPod) == 0:
		return is(metav1.ConditionFalse, v1beta1.ReasonHibernated, "spec.size is 0: no member runs, volumes are kept"), false
	case asleep && !quorum.Holds(healthy, voters):
		return is(metav1.ConditionFalse, v1beta1.ReasonHibernated, "spec.size is 0: too few members run to serve, volumes are kept"), false
	case v.Restore.InPlace != "":
		return is(metav1.ConditionFalse, v1beta1.ReasonRestoring, "members are being replaced by restored ones, %s", restoredWith(v)), false
	case isRestoring(v):
		return is(metav1.ConditionFalse, v1beta1.ReasonRestoring, "the volumes of the first members have yet to get the data of the backup "+
			"that the cluster begins with"), false
	case !formed:
		return is(metav1.ConditionFalse, v1beta1.ReasonBootstrapping, "the first members have not formed a cluster yet"), false
	case v.Unread == "" && len(v.Raised(cluster.Corrupt)) > 0:
		return is(metav1.ConditionFalse, v1beta1.ReasonCorrupt, "etcd refuses every write: it has raised the alarm %s",
			v.Raised(cluster.Corrupt)), false
	case v.Unread == "" && len(v.Raised(cluster.NoSpace)) > 0:
		return is(metav1.ConditionFalse, v1beta1.ReasonNoSpace, "etcd reads and deletes, and refuses every write that needs room: "+
			"it has raised the alarm %s", v.Raised(cluster.NoSpace)), false
	default:
		return held, true
	}
}

// byQuorum says whether enough voters are healthy.
func byQuorum(v cluster.View) metav1.Condition {
	is := availability
	voters, healthy, unknown := v.Count(cluster.IsVoter), v.Count(cluster.IsVoter, cluster.IsHealthy), v.UnknownVoters()
	awaited := v.Select(cluster.IsVoter, cluster.IsAwaited)
	switch {
	case quorum.Holds(healthy, voters) && healthy == v.Want.Size && voters == v.Want.Size:
		return is(metav1.ConditionTrue, v1beta1.ReasonHealthy, "all %d members are healthy", healthy)
	case quorum.Holds(healthy, voters):
		return is(metav1.ConditionTrue, v1beta1.ReasonQuorumHealthy, "%d of %d voters are healthy, %d are wanted", healthy, voters, v.Want.Size)
	case v.Unread == "" && quorum.Holds(healthy+unknown, voters+unknown):
		return is(metav1.ConditionTrue, v1beta1.ReasonQuorumHealthy, "%d of %d voters are healthy, %d are wanted; "+
			"with %d unknown voters they are a quorum", healthy, voters, v.Want.Size, unknown)
	case len(awaited) > 0 && healthy+len(awaited) == voters:
		return is(metav1.ConditionFalse, v1beta1.ReasonRestarting, "%d of %d voters are healthy, %d are needed; the operator restarts %s",
			healthy, voters, quorum.Size(voters), strings.Join(cluster.Names(awaited), ", "))
	case v.Locked:
		return is(metav1.ConditionUnknown, v1beta1.ReasonAuthenticationRequired, "whether members serve is not known: %s", v.Unread)
	case unreachable(v) && v.Count(cluster.IsVoter, isSilent) == v.Count(cluster.IsVoter, isSilent, isSlow):
		return is(metav1.ConditionUnknown, v1beta1.ReasonUnreachable, "members whose pods are ready take connections of the operator and do "+
			"not answer in time: %s; look at their logs, at their CPU and at their disks", v.Unread)
	case unreachable(v):
		return is(metav1.ConditionUnknown, v1beta1.ReasonUnreachable, "the operator cannot reach members whose pods are ready: %s; "+
			"check network policies between the operator and port %d", v.Unread, v1beta1.ClientPort)
	case voters > 0 && v.Count(cluster.IsVoter, cluster.IsUnschedulable) == voters:
		return is(metav1.ConditionFalse, v1beta1.ReasonMembersPending, "no member runs: Kubernetes finds no node for the Pods of all %d voters; "+
			"give them room, or correct resources and scheduling in the spec", voters)
	default:
		return is(metav1.ConditionFalse, v1beta1.ReasonQuorumLost, "%d of %d voters are healthy, %d are needed",
			healthy, v.Voters(), quorum.Size(v.Voters()))
	}
}

// unreachable says whether the kubelet reports a quorum of Pods as ready while
// none answers the operator: then the fault is likely between them.
func unreachable(v cluster.View) bool {
	return quorum.Holds(v.Count(cluster.IsVoter, isSilent), v.Count(cluster.IsVoter))
}

// isSilent says whether a member does not answer the operator, although the kubelet says that it is ready.
func isSilent(m cluster.Member) bool { return m.Pod.Ready && !m.Answers && !cluster.IsForeign(m) }

// isSlow says whether the operator reaches it.
func isSlow(m cluster.Member) bool { return m.Slow }

func progressing(v cluster.View, step plan.Step, err error) metav1.Condition {
	is := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: v1beta1.ConditionProgressing, Status: status, Reason: reason, Message: message}
	}
	if err != nil {
		return is(metav1.ConditionTrue, v1beta1.ReasonStepFailed, "trying again: "+err.Error())
	}
	if v.Want.Paused != "" && !v.Deleting {
		return is(metav1.ConditionFalse, v1beta1.ReasonPaused, v.Want.Paused+": nothing is changed or healed")
	}
	wait, waits := step.(plan.Wait)
	if waits && (isRestoring(v) || v.Restore.InPlace != "") && !v.Deleting && v.Want.Size > 0 {
		return is(metav1.ConditionTrue, v1beta1.ReasonRestoring, "waiting for "+wait.For)
	}
	if waits && v.Certificates.Lacking && !v.Deleting && v.Want.Size > 0 {
		return is(metav1.ConditionTrue, v1beta1.ReasonWaiting, "waiting for "+wait.For)
	}
	if _, refused := step.(plan.Refuse); !v.Formed() && !refused && !v.Deleting && v.Want.Size > 0 {
		return is(metav1.ConditionTrue, v1beta1.ReasonBootstrapping, "the first members are being started")
	}
	switch s := step.(type) {
	case plan.Refuse:
		return is(metav1.ConditionFalse, v1beta1.ReasonRefused, s.Because)
	case plan.Done:
		return is(metav1.ConditionFalse, v1beta1.ReasonUpToDate, "nothing is left to do")
	case plan.Wait:
		return is(metav1.ConditionTrue, v1beta1.ReasonWaiting, "waiting for "+s.For)
	case plan.Record:
		if s.Fact.ClusterID != v.Record.ClusterID && s.Fact.ClusterID != "" {
			return is(metav1.ConditionTrue, v1beta1.ReasonActing, "the cluster has formed")
		}
	case plan.Apply, plan.CreatePods, plan.DeletePods, plan.MarkPods, plan.UpdateImage, plan.ResizePod, plan.AddLearner,
		plan.UpdatePeerURLs, plan.AdoptVolume, plan.Promote,
		plan.MoveLeader, plan.RemoveMember, plan.Downgrade, plan.Compact, plan.DisarmAlarm, plan.Quarantine, plan.LiftQuarantine,
		plan.DeleteVolume, plan.CreateBackup, plan.CreateRestore, plan.Expire, plan.Hold, plan.RouteService, plan.ScaleStatefulSet:
	}
	return is(metav1.ConditionTrue, v1beta1.ReasonActing, step.String())
}

// faults are asked in order; the first that has something to say is what Degraded says.
var faults = []struct {
	reason  string
	message func(cluster.View) string
}{
	{v1beta1.ReasonStepRejected, plan.Denied},
	{v1beta1.ReasonActionRequired, plan.LostAuthority},
	{v1beta1.ReasonActionRequired, plan.InTheWay},
	{v1beta1.ReasonCertificatesNotAccepted, uncertified},
	{v1beta1.ReasonRestoreFailing, restoreFailing},
	{v1beta1.ReasonRecovering, recovering},
	{v1beta1.ReasonForeignData, foreign},
	{v1beta1.ReasonDataDamaged, damaged},
	{v1beta1.ReasonDataDamaged, differing},
	{v1beta1.ReasonMemberBlocked, blocked},
	{v1beta1.ReasonAlarm, alarms},
	{v1beta1.ReasonMemberDown, down},
	{v1beta1.ReasonVolumeGrowthRefused, plan.Ungrown},
}

func degraded(v cluster.View, step plan.Step, err error) metav1.Condition {
	is := func(reason, message string) metav1.Condition {
		return metav1.Condition{Type: v1beta1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: reason, Message: message}
	}
	refused, isRefused := step.(plan.Refuse)
	switch {
	case v.NotRoot != "":
		return is(v1beta1.ReasonOperatorNotRoot, v.NotRoot)
	case err != nil:
		return is(v1beta1.ReasonStepRejected, err.Error())
	case ended(v) != "":
		return is(v1beta1.ReasonAuthorityEnds, ended(v))
	case isRefused && !refused.Denied:
		return is(v1beta1.ReasonActionRequired, refused.Because)
	}
	for _, fault := range faults {
		if message := fault.message(v); message != "" {
			return is(fault.reason, message)
		}
	}
	message := noFault
	if end, urgent := plan.EndOfAuthority(v); urgent {
		return is(v1beta1.ReasonAuthorityEnds, end)
	} else if end != "" {
		message += " yet; " + end
	}
	return metav1.Condition{
		Type: v1beta1.ConditionDegraded, Status: metav1.ConditionFalse, Reason: v1beta1.ReasonAsExpected, Message: message,
	}
}

// ended says which authorities have ended, which is why members accept no connection.
func ended(v cluster.View) string {
	if !slices.ContainsFunc(v.Ending, func(e cluster.Ending) bool { return e.Over }) {
		return ""
	}
	message, _ := plan.EndOfAuthority(v)
	return message
}

// isRestoring says whether the cluster has yet to begin with the data of a backup.
func isRestoring(v cluster.View) bool { return v.Restore.Wanted && !v.Planned() }

// restoredWith says which data the restored members have.
func restoredWith(v cluster.View) string {
	if v.Restore.Undo {
		return "which were set aside and come back with their data"
	}
	return "whose volumes have the data of a backup"
}

// restoreFailing is what no refusal says: while volumes are filled beside members that serve, no step is refused because of them.
func restoreFailing(v cluster.View) string {
	switch {
	case v.Restore.Filling:
		return cmp.Or(v.Restore.Problem, v.Restore.Failure)
	case isRestoring(v) || v.Restore.InPlace != "":
		return v.Restore.Failure
	}
	return ""
}

func recovering(v cluster.View) string {
	if v.Record.Recovering == "" {
		return ""
	}
	return "quorum was lost for good; the cluster goes on from the data of " + v.Record.Recovering
}

// down names voters that are not healthy, and that the operator does not restart.
func down(v cluster.View) string {
	members := v.Select(cluster.IsVoter, cluster.Not(cluster.IsHealthy), cluster.Not(cluster.IsAwaited))
	if !v.Formed() || len(members) == 0 || v.Deleting || v.Want.Size == 0 || v.Restore.InPlace != "" {
		return ""
	}
	return names(members) + " not healthy; a member with a volume comes back with its data"
}

// noFault is what Degraded says while it is False; what will be wrong within a year follows it.
const noFault = "nothing is wrong"

// names are the names of the members, and why they do not answer.
func names(down []cluster.Member) string {
	var all []string
	for _, m := range down {
		name := m.Name
		if silence := m.Silence(); silence != "" {
			name += " (" + silence + ")"
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}

func damaged(v cluster.View) string {
	var all []string
	for _, m := range v.Select(cluster.IsListed, func(m cluster.Member) bool { return m.Damage != "" && !m.Answers }) {
		all = append(all, m.Name+": "+m.Damage)
	}
	if len(all) == 0 {
		return ""
	}
	return strings.Join(all, "; ") + "; the member is replaced as soon as the others hold a quorum"
}

func foreign(v cluster.View) string {
	var all []string
	for _, m := range v.Select(cluster.IsListed, cluster.IsForeign) {
		all = append(all, m.Name+": "+m.Foreign)
	}
	if len(all) == 0 {
		return ""
	}
	return strings.Join(all, "; ") + "; it is detached from clients, and replaced as soon as the others hold a quorum"
}

func blocked(v cluster.View) string {
	var all []string
	for _, m := range v.Members {
		if m.Pod.Trouble != "" {
			all = append(all, m.Name+": "+m.Pod.Trouble)
		}
	}
	return strings.Join(all, "; ")
}
