// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestLeanNodeKeepsWhatIsRead: whether a node is ready and cordoned, and by which address it is reached from outside.
func TestLeanNodeKeepsWhatIsRead(t *testing.T) {
	node := &corev1.Node{}
	node.Spec.Unschedulable = true
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeMemoryPressure}, {Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	node.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: "10.1.1.1"}, {Type: corev1.NodeExternalIP, Address: "198.51.100.1"},
	}
	kept, err := leanNode(node)
	if err != nil {
		t.Fatal(err)
	}
	lean, is := kept.(*corev1.Node)
	if !is || !lean.Spec.Unschedulable || len(lean.Status.Conditions) != 1 || lean.Status.Conditions[0].Status != corev1.ConditionTrue ||
		fmt.Sprint(lean.Status.Addresses) != "[{ExternalIP 198.51.100.1}]" {
		t.Errorf("kept %+v", kept)
	}
}
