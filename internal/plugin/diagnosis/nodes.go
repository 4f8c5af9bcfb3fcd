package diagnosis

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// notReady is why a node is not ready; empty if it is.
func notReady(node *corev1.Node) string {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			if c.Status == corev1.ConditionTrue {
				return ""
			}
			return reasoned(c.Reason, c.Message)
		}
	}
	return "it has never said so"
}

// nodes are those below members that are short of something, and what one of them takes with it.
func nodes(f Facts) []Finding {
	if !f.knows(Pods) || !f.knows(Nodes) {
		return nil
	}
	on := map[string][]string{}
	for _, m := range f.Cluster.Status.Members {
		if pod := f.pod(m.Name); pod != nil && pod.Spec.NodeName != "" {
			on[pod.Spec.NodeName] = append(on[pod.Spec.NodeName], m.Name)
		}
	}
	var findings []Finding
	for _, name := range slices.Sorted(maps.Keys(on)) {
		if node := f.node(name); node != nil {
			findings = append(findings, pressed(node, on[name])...)
		}
		findings = append(findings, crowded(f, name, on[name])...)
	}
	return findings
}

func pressed(node *corev1.Node, members []string) []Finding {
	for _, c := range node.Status.Conditions {
		isPressure := c.Type == corev1.NodeMemoryPressure || c.Type == corev1.NodeDiskPressure || c.Type == corev1.NodePIDPressure
		if isPressure && c.Status == corev1.ConditionTrue {
			return one(WillBeAProblem, fmt.Sprintf("node %s of %s has %s: %s", node.Name, strings.Join(members, ", "), c.Type, reasoned(c.Reason,
				c.Message)),
				"make room on the node, or drain it", "operations/nodes.md#drain")
		}
	}
	return nil
}

// crowded says that one node takes the quorum with it, where there are others.
func crowded(f Facts, node string, members []string) []Finding {
	size := f.Cluster.Size()
	if size < 3 || size-len(members) > size/2 {
		return nil
	}
	severity, ready := Hint, 0
	for i := range f.Nodes {
		if notReady(&f.Nodes[i]) == "" && !f.Nodes[i].Spec.Unschedulable {
			ready++
		}
	}
	if ready > 1 {
		severity = WillBeAProblem
	}
	return one(severity, fmt.Sprintf("%s run on node %s: the quorum ends with it", strings.Join(members, ", "), node),
		"spread members over nodes by spec.scheduling", "operations/nodes.md#spread-over-nodes-and-zones")
}
