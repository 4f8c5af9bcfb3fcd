// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// nodes says of every member with a Pod what its node means for it. Of nodes that were not read,
// nothing is known to be wrong.
func (j *builder) nodes() {
	for name, pod := range j.pods {
		m := j.member(name)
		if pod.Spec.NodeName == "" {
			j.unscheduled(m, pod)
		} else if node := j.Nodes[pod.Spec.NodeName]; node != nil {
			j.scheduled(m, pod, node)
		}
	}
}

// scheduled checks the node that a Pod is on. When a node is deleted its Pods are
// deleted too; until then there is nothing to report.
func (j *builder) scheduled(m *cluster.Member, pod *corev1.Pod, node *corev1.Node) {
	m.Pod.Cordoned = node.Spec.Unschedulable
	since, silent := silentSince(node)
	if silent {
		m.Pod.Silent = node.Name
	}
	switch {
	case silent && j.come().Sub(since) >= j.c.Spec.Recovery.MemberTimeout.Duration:
		m.NodeUnreachable = "node " + node.Name + " has been silent for longer than spec.recovery.memberTimeout"
	case !silent && m.Pod.Trouble == "" && j.isStuck(pod):
		m.Pod.Trouble = fmt.Sprintf("its pod was deleted long ago, and node %s, which is ready, does not stop it; check the kubelet there, "+
			"and force-delete the pod once none of its containers runs", node.Name)
	}
}

// stuckAfter is for how long after its time to end a Pod may still be there: the kubelet kills
// what has not ended by itself, and takes its volumes away.
const stuckAfter = time.Minute

// isStuck says whether a Pod should long have ended.
func (s *Snapshot) isStuck(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && s.come().Sub(pod.DeletionTimestamp.Time) >= stuckAfter
}

// silentSince says whether the node is not known to be ready, and since when.
func silentSince(node *corev1.Node) (time.Time, bool) {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
			return condition.LastTransitionTime.Time, true
		}
	}
	return time.Time{}, false
}

// unscheduled checks a Pod that has found no node for too long: if its volume is
// bound to nodes that are gone or silent, it will find none.
func (j *builder) unscheduled(m *cluster.Member, pod *corev1.Pod) {
	if !waitsForNode(j.Snapshot, pod) {
		return
	}
	j.noteOutOfReach(m, pod)
	hosts := AffinityHosts(j.Disks[m.Name])
	if m.Volume != cluster.Kept || len(hosts) == 0 {
		return
	}
	gone := 0
	for _, host := range hosts {
		nodes, read := j.Hosts[host]
		if !read || slices.ContainsFunc(nodes, isWell) {
			return // it may be back any moment, or is only full
		}
		if len(nodes) == 0 {
			gone++
		}
	}
	if gone == len(hosts) {
		m.NodeGone = fmt.Sprintf("its volume is on node %s, which no longer exists", hosts[0])
	} else {
		m.NodeUnreachable = fmt.Sprintf("its volume is on node %s, which is silent", hosts[0])
	}
}

func isWell(node corev1.Node) bool {
	_, silent := silentSince(&node)
	return !silent
}

// AffinityHosts are the hostnames of the nodes that a disk can be used on; none if they
// are not known: it can be used on any, or on those of a zone.
func AffinityHosts(disk *corev1.PersistentVolume) []string {
	if disk == nil || disk.Spec.NodeAffinity == nil || disk.Spec.NodeAffinity.Required == nil {
		return nil
	}
	var names []string
	for _, term := range disk.Spec.NodeAffinity.Required.NodeSelectorTerms {
		hosts, bound := hostsOf(term)
		if !bound {
			return nil // by this term another node may match
		}
		names = append(names, hosts...)
	}
	return names
}

// hostsOf are the only hostnames that a node may have to match the term, and whether the term
// limits them. An empty term matches no node.
func hostsOf(term corev1.NodeSelectorTerm) (hosts []string, bound bool) {
	for _, expression := range term.MatchExpressions {
		if expression.Key == corev1.LabelHostname && expression.Operator == corev1.NodeSelectorOpIn {
			return expression.Values, true
		}
	}
	return nil, len(term.MatchExpressions)+len(term.MatchFields) == 0
}

// noteOutOfReach says what to do about a Pod whose node selector allows none of the nodes that its volume can be used on: it will find
// none. It may be asked to be replaced, by a member whose volume is made where its Pod is.
func (j *builder) noteOutOfReach(m *cluster.Member, pod *corev1.Pod) {
	where := j.excluded(j.Disks[m.Name], pod.Spec.NodeSelector)
	if where == "" || slices.Contains(askedFor(j.c), m.Name) {
		return
	}
	m.Pod.Trouble = fmt.Sprintf("its volume can only be used where %s, which scheduling.nodeSelector excludes: change that back, or have the "+
		"member replaced: kubectl annotate --overwrite etcdclusters.etcd-operator.dev %s %s=%s", where, j.c.Name,
		v1beta1.AnnotationReplaceMembers, m.Name)
}

// excluded is by which labels of nodes a disk is bound, if the selector wants others; empty if a node may have both.
func (j *builder) excluded(disk *corev1.PersistentVolume, selector map[string]string) string {
	if disk == nil || disk.Spec.NodeAffinity == nil || disk.Spec.NodeAffinity.Required == nil {
		return ""
	}
	where := ""
	for _, term := range disk.Spec.NodeAffinity.Required.NodeSelectorTerms {
		if where = j.contradiction(term, selector); where == "" {
			return ""
		}
	}
	return where
}

func (j *builder) contradiction(term corev1.NodeSelectorTerm, selector map[string]string) string {
	for _, expression := range term.MatchExpressions {
		wanted, named := selector[expression.Key]
		if expression.Operator == corev1.NodeSelectorOpIn && named && !slices.Contains(expression.Values, wanted) {
			return expression.Key + " is " + strings.Join(expression.Values, " or ")
		}
	}
	hosts, bound := hostsOf(term)
	for _, host := range hosts {
		nodes, read := j.Hosts[host]
		if !read || len(nodes) == 0 || slices.ContainsFunc(nodes, func(n corev1.Node) bool { return has(n, selector) }) {
			return ""
		}
	}
	if !bound || len(hosts) == 0 {
		return ""
	}
	return corev1.LabelHostname + " is " + strings.Join(hosts, " or ")
}

func has(node corev1.Node, selector map[string]string) bool {
	for key, value := range selector {
		if node.Labels[key] != value {
			return false
		}
	}
	return true
}
