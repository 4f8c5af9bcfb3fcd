// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func whatIsChangedBack() {
	It("fault 53: a Service that a policy changes back each time holds up no repair, and is told of", func() {
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "undone"))
		lift := changeBack(c)
		victim, _ := aFollower(c)
		lose(c, victim.Name)
		Eventually(membersOf).WithArguments(c).Should(And(Not(HaveKey(victim.Name)), HaveLen(3)))
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonStepRejected, "Service "+c.Name)
		lift()
		settles(c)
		discard(c)
	})
}
