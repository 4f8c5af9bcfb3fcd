package e2e

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

func secrecy() {
	It("I8: no secret is in the operator's log, in events, in the status or in Pods", func() {
		namespace := newNamespace()
		o := startOperator(namespace)
		c := create(newCluster(namespace, "discreet"))
		victim, _ := aFollower(c)
		deletePod(c, victim)
		comesBack(c, victim)
		Expect(edit(c, func(spec *v1alpha1.EtcdClusterSpec) { spec.Image = noImage })).To(Succeed())
		says(c, v1alpha1.ConditionDegraded, v1alpha1.ReasonMemberBlocked, noImage)

		places := map[string]string{"status": asText(now(c)), "pods": asText(pods(c))}
		var list eventsv1.EventList
		Expect(api.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
		Expect(list.Items).NotTo(BeEmpty())
		places["events"] = asText(list.Items)
		if o.command != nil {
			places["log"] = o.log()
			Expect(places["log"]).To(ContainSubstring("planned"))
		}
		secrets := privateLines(c)
		Expect(len(secrets)).To(BeNumerically(">=", 5))
		for place, text := range places {
			for _, secret := range secrets {
				Expect(strings.Contains(text, secret)).To(BeFalse(), "a line of a private key is in the "+place)
			}
			Expect(text).NotTo(ContainSubstring("PRIVATE KEY"), place)
		}
	})
}
