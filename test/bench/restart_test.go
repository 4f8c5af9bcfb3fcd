// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestLastWord: what the kubelet says after the operator has begun came too late to be what
// it had waited for.
func TestLastWord(t *testing.T) {
	const kubelet, ours = "system:node:node-1", "operator"
	line := func(user, verb, what, name string, second int) string {
		return fmt.Sprintf(`{"stage":"ResponseComplete","verb":%q,"user":{"username":%q},"responseStatus":{"code":200},`+
			`"objectRef":{"resource":"pods","subresource":%q,"namespace":"demo","name":%q},"stageTimestamp":"2026-01-01T00:00:%02dZ"}`+"\n",
			verb, user, what, name, second)
	}
	all, err := parseAudit([]byte(line(kubelet, "patch", "status", "a-1", 1) + line(kubelet, "get", "", "a-1", 2) +
		line(kubelet, "patch", "status", "a-1", 3) + line(kubelet, "patch", "status", "a-2", 4) +
		line(ours, "delete", "", "a-1", 5) + line(kubelet, "patch", "status", "a-1", 6) + line(ours, "create", "", "a-1", 7)))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{options: options{operator: operator{user: ours}}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "a-1"}, Spec: corev1.PodSpec{NodeName: "node-1"}}
	if at, told := b.lastWord(all, pod); !told || at.Second() != 3 {
		t.Errorf("it was at %s (%t), want second 3", at.Format(time.TimeOnly), told)
	}
	if _, told := b.lastWord(all[4:], pod); told {
		t.Error("it said nothing before the operator began")
	}
}
