// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// says waits until the cluster says the reason in the condition, with a message
// that contains the words.
func says(c *v1beta1.EtcdCluster, kind, reason, words string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(conditionOf(read(g, c), kind)).To(And(HaveField("Reason", reason), HaveField("Message", ContainSubstring(words))))
	}).Should(Succeed())
}

func conditionOf(c *v1beta1.EtcdCluster, kind string) metav1.Condition {
	if found := meta.FindStatusCondition(c.Status.Conditions, kind); found != nil {
		return *found
	}
	return metav1.Condition{Type: kind}
}

// tells waits until there are events about the cluster with the reasons. Each is written
// a moment after the status.
func tells(c *v1beta1.EtcdCluster, reasons ...any) {
	GinkgoHelper()
	Eventually(reasonsOf).WithArguments(c).Should(ContainElements(reasons...))
}

// reasonsOf are the reasons of all events about the cluster.
func reasonsOf(g Gomega, c *v1beta1.EtcdCluster) []string { return reasonsAbout(g, c) }

// reasonsAbout are the reasons of all events about objects of that name.
func reasonsAbout(g Gomega, object client.Object) []string {
	var list eventsv1.EventList
	g.Expect(api.List(ctx, &list, client.InNamespace(object.GetNamespace()))).To(Succeed())
	var reasons []string
	for _, event := range list.Items {
		if event.Regarding.Name == object.GetName() {
			reasons = append(reasons, event.Reason)
		}
	}
	return reasons
}

// notesOf are the sentences of all events about the cluster, or of those with one of
// the reasons.
func notesOf(g Gomega, c *v1beta1.EtcdCluster, reasons ...string) []string {
	var list eventsv1.EventList
	g.Expect(api.List(ctx, &list, client.InNamespace(c.Namespace))).To(Succeed())
	var notes []string
	for _, event := range list.Items {
		if event.Regarding.Name == c.Name && (len(reasons) == 0 || contains(reasons, event.Reason)) {
			notes = append(notes, event.Note)
		}
	}
	return notes
}
