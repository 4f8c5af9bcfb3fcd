package observe

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// nodes says of every member with a Pod what its node means for it. Whoever may not read
// nodes, or what is on them, does not know that anything is wrong with them.
func (o *Observer) nodes(ctx context.Context, c *v1alpha1.EtcdCluster, members *join) error {
	if o.NoNodes {
		return nil
	}
	timeout := c.Spec.Recovery.MemberTimeout.Duration
	for _, m := range members.sorted() {
		pod := members.pods[m.Name]
		if pod == nil || !m.Pod.Exists {
			continue
		}
		err := o.scheduled(ctx, members.member(m.Name), pod, timeout)
		if pod.Spec.NodeName == "" {
			err = o.unscheduled(ctx, members.member(m.Name), pod, timeout)
		}
		if err != nil && !apierrors.IsForbidden(err) {
			return err
		}
	}
	return nil
}

// scheduled looks at the node that a Pod is on. A node that is gone takes its Pods
// with it; until then there is nothing to say of it.
func (o *Observer) scheduled(ctx context.Context, m *cluster.Member, pod *corev1.Pod, timeout time.Duration) error {
	var node corev1.Node
	there, err := o.cached(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, &node)
	if !there || err != nil {
		return err
	}
	m.Pod.Cordoned = node.Spec.Unschedulable
	since, silent := silentSince(&node)
	if silent {
		m.Pod.Silent = node.Name
	}
	switch {
	case silent && o.come().Sub(since) >= timeout:
		m.Stranded = "node " + node.Name + " has been silent for longer than spec.recovery.memberTimeout"
	case !silent && m.Pod.Trouble == "" && o.isStuck(pod):
		m.Pod.Trouble = fmt.Sprintf("its pod was told to end long ago, and node %s, which is ready, does not end it; look at the kubelet there, "+
			"and delete the pod by force when none of its containers runs any more", node.Name)
	}
	return nil
}

// stuckAfter is for how long after its time to end a Pod may still be there: the kubelet kills
// what has not ended by itself, and takes its volumes away.
const stuckAfter = time.Minute

// isStuck says whether a Pod should long have ended.
func (o *Observer) isStuck(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && o.come().Sub(pod.DeletionTimestamp.Time) >= stuckAfter
}

// silentSince says whether the node's kubelet is not known to be well, and since when.
func silentSince(node *corev1.Node) (time.Time, bool) {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
			return condition.LastTransitionTime.Time, true
		}
	}
	return time.Time{}, false
}

// unscheduled looks at a Pod that has found no node for too long: if its volume is
// bound to nodes that are gone or silent, it will find none.
func (o *Observer) unscheduled(ctx context.Context, m *cluster.Member, pod *corev1.Pod, timeout time.Duration) error {
	condition := hasCondition(pod, corev1.PodScheduled, corev1.ConditionFalse)
	if condition == nil || m.Volume != cluster.Kept || o.come().Sub(condition.LastTransitionTime.Time) < timeout {
		return nil
	}
	names, err := o.nodesOf(ctx, pod)
	if err != nil || len(names) == 0 {
		return err
	}
	gone := 0
	for _, name := range names {
		nodes, err := o.nodesAt(ctx, name)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(nodes, isWell) {
			return nil // it may be back any moment, or is only full
		}
		if len(nodes) == 0 {
			gone++
		}
	}
	if gone == len(names) {
		m.NodeGone = fmt.Sprintf("its volume is on node %s, which no longer exists", names[0])
	} else {
		m.Stranded = fmt.Sprintf("its volume is on node %s, which is silent", names[0])
	}
	return nil
}

func isWell(node corev1.Node) bool {
	_, silent := silentSince(&node)
	return !silent
}

// nodesAt are the nodes of that hostname. It is a label of theirs, which need not be their
// name; a node of that name counts, too, so that none is taken for gone that may be meant.
func (o *Observer) nodesAt(ctx context.Context, hostname string) ([]corev1.Node, error) {
	var labelled corev1.NodeList
	if len(validation.IsValidLabelValue(hostname)) == 0 { // else no node has it, and the API server refuses the question
		if err := o.Live.List(ctx, &labelled, client.MatchingLabels{corev1.LabelHostname: hostname}); err != nil {
			return nil, fmt.Errorf("list nodes with hostname %s: %w", hostname, err)
		}
	}
	if len(labelled.Items) > 0 {
		return labelled.Items, nil
	}
	var node corev1.Node
	there, err := o.read(ctx, client.ObjectKey{Name: hostname}, &node)
	if !there || err != nil {
		return nil, err
	}
	return []corev1.Node{node}, nil
}

// nodesOf are the hostnames of the nodes that a member's volume can be used on; none if they
// cannot be told: it can be used on any, or on those of a zone.
func (o *Observer) nodesOf(ctx context.Context, pod *corev1.Pod) ([]string, error) {
	var claim corev1.PersistentVolumeClaim
	there, err := o.cached(ctx, client.ObjectKeyFromObject(pod), &claim)
	if !there || err != nil || claim.Spec.VolumeName == "" {
		return nil, err
	}
	var volume corev1.PersistentVolume
	there, err = o.read(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, &volume)
	if !there || err != nil || volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		return nil, err
	}
	var names []string
	for _, term := range volume.Spec.NodeAffinity.Required.NodeSelectorTerms {
		hosts, bound := hostsOf(term)
		if !bound {
			return nil, nil // by this term some other node may do
		}
		names = append(names, hosts...)
	}
	return names, nil
}

// hostsOf are the only hostnames of which a node that satisfies the term may be, and whether
// it says so. One that says nothing is satisfied by no node.
func hostsOf(term corev1.NodeSelectorTerm) (hosts []string, bound bool) {
	for _, expression := range term.MatchExpressions {
		if expression.Key == corev1.LabelHostname && expression.Operator == corev1.NodeSelectorOpIn {
			return expression.Values, true
		}
	}
	return nil, len(term.MatchExpressions)+len(term.MatchFields) == 0
}
